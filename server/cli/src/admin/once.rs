//! A creation that is made once, although its answer may be lost.

use super::service::Service;
use super::table::show;
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;
use trefoil_client::{Admin, ClientError, Receipted, Unverified};

/// The answer while a request with the same key is at work.
const IN_FLIGHT: &str = "idempotency-in-flight";
/// How often it is waited for, and how long.
const WAITS_MAX: u32 = 10;
const WAIT: Duration = Duration::from_millis(300);

#[derive(clap::Args)]
pub(super) struct Once {
    /// Repeats a call whose answer was lost, with the key that its error names: nothing is created twice. Absent: a fresh key.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

impl Once {
    /// Creates something. If the connection ends before the answer, asks a second time with the same key. An error after which the thing
    /// may be there names the key.
    pub(super) fn create<T: Receipted>(
        &self,
        service: &Service,
        create: impl AsyncFn(&Admin) -> Result<Unverified<T>, ClientError>,
    ) -> Result<T, String> {
        let drawn = || hex::encode(rand::random::<[u8; 16]>());
        let key = self.idempotency_key.clone().unwrap_or_else(drawn);
        let mut open = false;
        let created = service.change(async |admin| {
            let admin = admin.creating_once(&key);
            let mut answer = create(&admin).await;
            if answer.as_ref().is_err_and(ClientError::is_answer_lost) {
                answer = create(&admin).await;
            }
            // The first request may still be at work.
            for _ in 0..WAITS_MAX {
                if !answer.as_ref().is_err_and(|cause| cause.code() == Some(IN_FLIGHT)) {
                    break;
                }
                tokio::time::sleep(WAIT).await;
                answer = create(&admin).await;
            }
            open = answer.as_ref().is_err_and(may_be_there);
            answer
        });
        created.map_err(|cause| match open {
            true => format!("{cause}\nit may have been created; to go on with it: --idempotency-key {key}"),
            false => cause,
        })
    }

    /// Creates something whose secret is this field of the answer, and puts that into the file or into the answer.
    pub(super) fn secret<T: Receipted + Serialize>(
        &self,
        service: &Service,
        (json, output): (bool, Option<&Path>),
        create: impl AsyncFn(&Admin) -> Result<Unverified<T>, ClientError>,
        field: &str,
        name: impl Fn(&T) -> String,
    ) -> Result<String, String> {
        // Before the secret, so that none is made that cannot be stored.
        let file = output.map(|path| {
            let file = File::options().create_new(true).write(true).mode(0o600).open(path);
            let refused = |cause| format!("{}: {cause}; give --output a new file", path.display());
            file.map(|file| (file, path)).map_err(refused)
        });
        let file = file.transpose()?;
        let created = self.create(service, create).inspect_err(|_| {
            // A remaining empty file does no harm: the next call reports it.
            let _ = output.map(std::fs::remove_file);
        })?;
        let mut told = serde_json::to_value(&created).map_err(|cause| cause.to_string())?;
        let Some((file, path)) = file else {
            return show(json, &created, || format!("{}\n", told[field].as_str().unwrap_or_default()));
        };
        let (name, place) = (name(&created), path.display());
        store(file, &told[field]).map_err(|cause| format!("{place}: {cause}; revoke {name}"))?;
        if let Value::Object(fields) = &mut told {
            fields.remove(field);
            fields.insert("output".to_owned(), path.to_string_lossy().into());
        }
        show(json, &told, || format!("{name} in {place}\n"))
    }
}

/// Puts a secret, and else nothing, into a file.
fn store(mut file: File, secret: &Value) -> std::io::Result<()> {
    writeln!(file, "{}", secret.as_str().unwrap_or_default())?;
    file.sync_all()
}

/// Whether the thing may have been created all the same.
pub(super) fn may_be_there(cause: &ClientError) -> bool {
    match cause {
        ClientError::Problem(problem) => problem.status >= 500 || problem.code == IN_FLIGHT,
        ClientError::Unreachable { .. } => !cause.is_unsent(),
        ClientError::Status { .. } | ClientError::Answer { .. } => true,
        _ => false,
    }
}
