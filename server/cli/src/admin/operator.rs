//! `trefoil admin operator` and `trefoil admin audit`.

use super::once::Once;
use super::service::Service;
use super::show;
use super::table::table;
use crate::pages;
use clap::Subcommand;
use std::path::PathBuf;
use trefoil_api::{
    AuditEntry, AuditOutcome, CreateOperator, CreatedOperatorToken, Hex, Operator, OperatorToken, Role,
};
use trefoil_client::{Admin, ClientError};
use trefoil_service::time;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Make an operator with a token, which is shown once, here.
    #[command(
        after_help = "A viewer reads, an operator also changes tenants, policies and keys, an owner also manages operators.\n\n\
        Example:\n  trefoil admin operator create ann --role operator --expires 2027-01-01T00:00:00Z --output ann.token"
    )]
    Create {
        /// Name for people, which receipts and the audit trail show.
        name: String,
        /// viewer, operator or owner.
        #[arg(long, value_name = "ROLE", value_parser = role)]
        role: Role,
        /// When the token expires: Unix seconds, or UTC such as 2027-01-01T00:00:00Z.
        #[arg(long, value_name = "TIME", value_parser = time::parse)]
        expires: Option<u64>,
        /// A new file for the token, which only you can read. Absent: standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        once: Once,
    },
    /// All operators, including revoked ones.
    #[command(after_help = "Example:\n  trefoil admin operator list --json")]
    List,
    /// An operator and its tokens.
    #[command(after_help = "Example:\n  trefoil admin operator show 0123456789abcdef")]
    Show {
        #[arg(value_name = "OPERATOR", value_parser = super::operator_id)]
        operator: Hex<8>,
    },
    /// Refuse all tokens of an operator from now on, or one of them.
    #[command(
        after_help = "0000000000000000 is the operator of the file admin.token. It can be revoked once there is another owner.\n\n\
        Examples:\n  trefoil admin operator revoke 0123456789abcdef\n  trefoil admin operator revoke 0123456789abcdef --token 1"
    )]
    Revoke {
        #[arg(value_name = "OPERATOR", value_parser = super::operator_id)]
        operator: Hex<8>,
        /// Number of the only token to revoke.
        #[arg(long, value_name = "NUMBER")]
        token: Option<u32>,
    },
    /// Make another token of an operator. At most two are valid at a time.
    #[command(after_help = "To replace a token: create another one, move to it, revoke the old one.\n\n\
        Example:\n  trefoil admin operator new-token 0123456789abcdef --expires 2028-01-01T00:00:00Z --output ann.token")]
    NewToken {
        #[arg(value_name = "OPERATOR", value_parser = super::operator_id)]
        operator: Hex<8>,
        /// When it expires: Unix seconds, or UTC such as 2027-01-01T00:00:00Z.
        #[arg(long, value_name = "TIME", value_parser = time::parse)]
        expires: Option<u64>,
        /// A new file for the token, which only you can read. Absent: standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        once: Once,
    },
}

impl Command {
    pub(super) fn answer(self, service: &Service, json: bool) -> Result<String, String> {
        match self {
            Command::Create { name, role, expires, output, once } => {
                let request = CreateOperator { name, role, expires_at: expires };
                let create = async |admin: &Admin| admin.create_operator(&request).await;
                once.secret(service, (json, output.as_deref()), create, "token", token)
            }
            Command::NewToken { operator, expires, output, once } => {
                let create = async |admin: &Admin| admin.create_operator_token(operator, expires).await;
                once.secret(service, (json, output.as_deref()), create, "token", token)
            }
            Command::List => {
                let all = service.call(all_operators)?;
                show(json, &all, || operators(&all))
            }
            Command::Show { operator } => {
                let shown = service.call(async |admin| admin.operator(operator).await)?;
                show(json, &shown, || {
                    format!("{}\n{}", operators(std::slice::from_ref(&shown)), tokens(&shown.tokens))
                })
            }
            Command::Revoke { operator, token } => {
                let changed = service.change(async |admin| match token {
                    None => admin.revoke_operator(operator).await,
                    Some(number) => admin.revoke_operator_token(operator, number).await,
                })?;
                show(json, &changed, || {
                    let shown = std::slice::from_ref(&changed.operator);
                    format!("{}\n{}", operators(shown), tokens(&changed.operator.tokens))
                })
            }
        }
    }
}

fn token(created: &CreatedOperatorToken) -> String {
    format!("token {} of operator {}", created.number, hex::encode(created.operator_id.0))
}

/// `trefoil admin audit`
pub(super) fn audit(
    service: &Service,
    json: bool,
    from: u64,
    tenant: Option<Hex<16>>,
) -> Result<String, String> {
    let all = service.call(async |admin| all_entries(admin, from, tenant).await)?;
    show(json, &all, || entries(&all))
}

async fn all_operators(admin: &Admin) -> Result<Vec<Operator>, ClientError> {
    let page = async |from| admin.operators(from).await.map(|page| (page.operators, page.next));
    pages::all("the operators", Hex([0; 8]), page).await
}

async fn all_entries(
    admin: &Admin,
    from: u64,
    tenant: Option<Hex<16>>,
) -> Result<Vec<AuditEntry>, ClientError> {
    let page = async |from| admin.audit(from, tenant).await.map(|page| (page.entries, page.next));
    pages::all("the audit trail", from, page).await
}

fn operators(operators: &[Operator]) -> String {
    let row = |operator: &Operator| {
        [
            hex::encode(operator.operator_id.0),
            operator.role.name().to_owned(),
            operator.revoked_at.map_or("no".to_owned(), time::format),
            operator.name.clone(),
        ]
    };
    table(["OPERATOR", "ROLE", "REVOKED", "NAME"], operators.iter().map(row))
}

fn tokens(tokens: &[OperatorToken]) -> String {
    let row = |token: &OperatorToken| {
        [
            token.number.to_string(),
            time::format(token.created_at),
            token.expires_at.map_or("never".to_owned(), time::format),
            token.revoked_at.map_or("no".to_owned(), time::format),
        ]
    };
    table(["TOKEN", "CREATED", "EXPIRES", "REVOKED"], tokens.iter().map(row))
}

fn entries(entries: &[AuditEntry]) -> String {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let row = |entry: &AuditEntry| {
        [
            entry.number.to_string(),
            time::format(entry.at),
            or_none(entry.operator_name.clone()),
            entry.action.clone(),
            match entry.outcome {
                AuditOutcome::Done => "done".to_owned(),
                AuditOutcome::Refused => "refused".to_owned(),
            },
            or_none(entry.tenant.map(|tenant| hex::encode(tenant.0))),
            or_none(entry.object.clone()),
            or_none(entry.receipt.as_ref().map(|receipt| receipt.seal_number.to_string())),
        ]
    };
    let head = ["ENTRY", "AT", "OPERATOR", "ACTION", "OUTCOME", "TENANT", "OBJECT", "SEAL"];
    table(head, entries.iter().map(row))
}

fn role(text: &str) -> Result<Role, String> {
    Role::ALL
        .into_iter()
        .find(|role| role.name() == text)
        .ok_or_else(|| "expected viewer, operator or owner".to_owned())
}
