//! Operators: the callers of the admin listener, with their roles and tokens.
//!
//! As with tenants, readers have a snapshot, and changes are rare: each takes the one lock, becomes durable with its note, and then replaces
//! the snapshot.
//!
//! The first owner has the token in the data directory. It can be revoked once another owner exists. Read access to the data
//! directory gives full control anyway, so that token is accepted again if no other owner has a valid token: an expiry cannot lock
//! operators out of a service.

#![expect(clippy::disallowed_types, reason = "changes of operators are rare; readers have a snapshot")]

use crate::refused::Refused;
use crate::tenants::changing::Changing;
use crate::tenants::notes::{By, Noted, Notes};
use crate::tenants::tenant::{OperatorTokenName, Pepper};
use arc_swap::ArcSwap;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use trefoil_attest::{SERVICE, What};
use trefoil_storage::store::{self, OperatorId, Store, StoreError};
use trefoil_types::Role;
use zeroize::Zeroizing;

/// The operator of the token in the data directory.
pub const BOOTSTRAP: OperatorId = OperatorId::new([0; 8]);
/// Its name in receipts and the audit trail.
const BOOTSTRAP_NAME: &str = "admin.token";
/// Operators in one page of the list.
const PAGE: usize = 256;
/// Most valid tokens of one operator: the old one and the new one of a rotation.
const LIVE_TOKENS_MAX: usize = 2;

/// See the module.
pub struct Operators {
    store: Arc<dyn Store>,
    pepper: Pepper,
    notes: Notes,
    /// The token in the data directory.
    bootstrap: Zeroizing<String>,
    snapshot: ArcSwap<Snapshot>,
    changing: Mutex<()>,
}

type Snapshot = BTreeMap<OperatorId, Operator>;

/// An operator and its tokens.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The stored record. The owner of the token in the data directory has no time of creation.
    pub record: store::Operator,
    /// What it may do.
    pub role: Role,
    /// Its tokens, oldest first.
    pub tokens: Vec<store::OperatorToken>,
}

/// A new token. Its text exists only here.
pub struct NewToken {
    /// The token.
    pub text: Zeroizing<String>,
    /// Its record.
    pub record: store::OperatorToken,
    /// The note of the change.
    pub noted: Noted,
}

/// The caller.
#[derive(Clone, Debug)]
pub struct Acting {
    /// The operator.
    pub by: By,
    /// What it may do.
    pub role: Role,
}

impl Operator {
    /// The operator of the token in the data directory.
    fn bootstrap() -> Operator {
        let name = BOOTSTRAP_NAME.to_owned();
        let role = Role::Owner;
        let record =
            store::Operator { id: BOOTSTRAP, name, role: role.number(), created_at: 0, revoked_at: None };
        Operator { record, role, tokens: Vec::new() }
    }

    fn live_tokens(&self, now: u64) -> impl Iterator<Item = &store::OperatorToken> {
        let revoked = self.record.revoked_at.is_some();
        self.tokens.iter().filter(move |token| {
            !revoked && token.revoked_at.is_none() && token.expires_at.is_none_or(|end| now < end)
        })
    }

    /// Whether it is an owner with a valid token.
    fn owns(&self, now: u64) -> bool {
        let has_token = match self.record.id {
            BOOTSTRAP => self.record.revoked_at.is_none(),
            _ => self.live_tokens(now).next().is_some(),
        };
        self.role == Role::Owner && has_token
    }

    fn acting(&self) -> Acting {
        let by = By { operator: self.record.id, name: self.record.name.as_str().into(), once: None };
        Acting { by, role: self.role }
    }
}

impl Operators {
    /// Loads everything from the store; `bootstrap` is the token in the data directory.
    pub fn load(
        store: Arc<dyn Store>,
        pepper: Pepper,
        notes: Notes,
        bootstrap: Zeroizing<String>,
    ) -> Result<Operators, String> {
        let all = all_of(store.registry().map_err(|cause| cause.to_string())?)?;
        let snapshot = ArcSwap::from_pointee(all);
        Ok(Operators { store, pepper, notes, bootstrap, snapshot, changing: Mutex::default() })
    }

    /// Replaces the snapshot by what the store has now. Changes of this node wait.
    pub(crate) fn refresh(
        &self,
        read: impl FnOnce() -> Result<store::Registry, StoreError>,
    ) -> Result<(), String> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.snapshot.store(Arc::new(all_of(read().map_err(|cause| cause.to_string())?)?));
        Ok(())
    }

    /// The token in the data directory.
    pub fn bootstrap_token(&self) -> &str {
        &self.bootstrap
    }

    /// The operator of a token. Tokens that are unknown, expired or revoked get the same answer.
    pub fn caller(&self, token: &str, now: u64) -> Result<Acting, Refused> {
        let all = self.snapshot.load();
        if aws_lc_rs::constant_time::verify_slices_are_equal(token.as_bytes(), self.bootstrap.as_bytes())
            .is_ok()
        {
            let own = all.get(&BOOTSTRAP).ok_or(Refused::OperatorToken)?;
            let other_owns = all.values().any(|other| other.record.id != BOOTSTRAP && other.owns(now));
            return match own.record.revoked_at {
                Some(_) if other_owns => Err(Refused::OperatorToken),
                _ => Ok(own.acting()),
            };
        }
        let name = OperatorTokenName::of(token).ok_or(Refused::OperatorToken)?;
        let operator = all.get(&name.operator).ok_or(Refused::OperatorToken)?;
        let mut live = operator.live_tokens(now).filter(|record| record.number == name.number);
        match live.next().is_some_and(|record| self.pepper.is_operator_token(&name, record)) {
            true => Ok(operator.acting()),
            false => Err(Refused::OperatorToken),
        }
    }

    /// A page of the operators ordered by identifier, starting at an identifier, and the start of the next page.
    pub fn list(&self, from: OperatorId) -> (Vec<Operator>, Option<OperatorId>) {
        let all = self.snapshot.load();
        let mut page: Vec<_> =
            all.range(from..).take(PAGE + 1).map(|(_, operator)| operator.clone()).collect();
        let next = page.get(PAGE).map(|operator| operator.record.id);
        page.truncate(PAGE);
        (page, next)
    }

    /// An operator.
    pub fn show(&self, id: &OperatorId) -> Result<Operator, Refused> {
        self.snapshot.load().get(id).cloned().ok_or(Refused::OperatorUnknown)
    }

    /// Creates an operator with a token.
    pub fn create(
        &self,
        (name, role, expires_at): (String, Role, Option<u64>),
        by: &By,
        now: u64,
    ) -> Result<NewToken, Refused> {
        check_end(expires_at, now)?;
        let mut id = [0; 8];
        aws_lc_rs::rand::fill(&mut id).map_err(Refused::fault)?;
        let id = OperatorId::new(id);
        let record = store::Operator { id, name, role: role.number(), created_at: now, revoked_at: None };
        let _changing = self.change()?;
        if self.snapshot.load().contains_key(&id) {
            return Err(Refused::fault("an operator's identifier was drawn twice"));
        }
        let (text, token) = self.pepper.new_operator_token(id, 1, expires_at, now);
        let what = What::OperatorCreated { operator: id, role: role.number() };
        let noted = self.notes.with((SERVICE, now, what), Some(by), |note| {
            self.store.put_operator(record.clone(), Some(token.clone()), note)
        })?;
        self.publish(Operator { record, role, tokens: vec![token.clone()] });
        Ok(NewToken { text, record: token, noted })
    }

    /// Revokes an operator: all of its tokens are refused from now on. An operator that is revoked already stays as it is.
    pub fn revoke(&self, id: &OperatorId, by: &By, now: u64) -> Result<(Operator, Option<Noted>), Refused> {
        let _changing = self.change()?;
        let mut operator = self.show(id)?;
        if operator.record.revoked_at.is_some() {
            return Ok((operator, None));
        }
        operator.record.revoked_at = Some(now);
        self.check_owned(&operator, now)?;
        let what = What::OperatorRevoked { operator: *id };
        let noted = self.notes.with((SERVICE, now, what), Some(by), |note| {
            self.store.put_operator(operator.record.clone(), None, note)
        })?;
        self.publish(operator.clone());
        Ok((operator, Some(noted)))
    }

    /// Makes another token of an operator, so that its programs can move to it before the old one is revoked.
    pub fn add_token(
        &self,
        id: &OperatorId,
        expires_at: Option<u64>,
        by: &By,
        now: u64,
    ) -> Result<NewToken, Refused> {
        check_end(expires_at, now)?;
        let _changing = self.change()?;
        let mut operator = self.with_tokens(id)?;
        if operator.record.revoked_at.is_some() {
            return Err(Refused::OperatorRevoked);
        }
        if operator.live_tokens(now).count() >= LIVE_TOKENS_MAX {
            return Err(Refused::TwoTokens);
        }
        let number = operator.tokens.last().map_or(1, |last| last.number + 1);
        let (text, token) = self.pepper.new_operator_token(*id, number, expires_at, now);
        let what = What::OperatorTokenCreated { operator: *id, token: number };
        let noted = self.notes.with((SERVICE, now, what), Some(by), |note| {
            self.store.put_operator_token(token.clone(), note)
        })?;
        operator.tokens.push(token.clone());
        self.publish(operator);
        Ok(NewToken { text, record: token, noted })
    }

    /// Revokes one token of an operator. A token that is revoked already stays as it is.
    pub fn revoke_token(
        &self,
        id: &OperatorId,
        number: u32,
        by: &By,
        now: u64,
    ) -> Result<(Operator, Option<Noted>), Refused> {
        let _changing = self.change()?;
        let mut operator = self.with_tokens(id)?;
        let token = operator.tokens.iter_mut().find(|token| token.number == number);
        let token = token.ok_or(Refused::OperatorTokenUnknown)?;
        if token.revoked_at.is_some() {
            return Ok((operator, None));
        }
        token.revoked_at = Some(now);
        let record = token.clone();
        self.check_owned(&operator, now)?;
        let what = What::OperatorTokenRevoked { operator: *id, token: number };
        let noted = self
            .notes
            .with((SERVICE, now, what), Some(by), |note| self.store.put_operator_token(record, note))?;
        self.publish(operator.clone());
        Ok((operator, Some(noted)))
    }

    fn with_tokens(&self, id: &OperatorId) -> Result<Operator, Refused> {
        if *id == BOOTSTRAP {
            return Err(Refused::BootstrapToken);
        }
        self.show(id)
    }

    /// Refuses a change that leaves no valid owner.
    fn check_owned(&self, changed: &Operator, now: u64) -> Result<(), Refused> {
        let all = self.snapshot.load();
        let owned = changed.owns(now)
            || all.values().any(|other| other.record.id != changed.record.id && other.owns(now));
        if owned { Ok(()) } else { Err(Refused::LastOwner) }
    }

    /// The right to change something, from a snapshot that has every change of other nodes.
    fn change(&self) -> Result<Changing<'_>, Refused> {
        Ok(Changing::begin(&self.changing, &*self.store)?)
    }

    fn publish(&self, operator: Operator) {
        let mut all = Snapshot::clone(&self.snapshot.load());
        all.insert(operator.record.id, operator);
        self.snapshot.store(Arc::new(all));
    }
}

/// The operators of a registry, and the one of the token in the data directory.
fn all_of(registry: store::Registry) -> Result<Snapshot, String> {
    let store::Registry { operators, operator_tokens, .. } = registry;
    let mut all = Snapshot::from([(BOOTSTRAP, Operator::bootstrap())]);
    for record in operators {
        let unknown = || format!("operator {} has an unknown role", hex::encode(record.id));
        let role = Role::of_number(record.role).ok_or_else(unknown)?;
        let own = operator_tokens.iter().filter(|token| token.operator == record.id);
        let tokens = own.cloned().collect();
        all.insert(record.id, Operator { record, role, tokens });
    }
    Ok(all)
}

fn check_end(expires_at: Option<u64>, now: u64) -> Result<(), Refused> {
    match expires_at {
        Some(end) if end <= now => Err(Refused::Over { end, now }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::scratch;
    use trefoil_storage::store::Sqlite;

    const BY: fn() -> By = || By { operator: BOOTSTRAP, name: BOOTSTRAP_NAME.into(), once: None };

    fn loaded(store: &Arc<Sqlite>) -> Operators {
        let (store, pepper) = (Arc::clone(store) as Arc<dyn Store>, Pepper::new(&[1; 32]));
        let bootstrap = Zeroizing::new("0".repeat(64));
        Operators::load(store, pepper, Notes::new("https://auth.example"), bootstrap).unwrap()
    }

    fn made(operators: &Operators, role: Role, expires_at: Option<u64>) -> NewToken {
        operators.create(("ann".to_owned(), role, expires_at), &BY(), 10).unwrap()
    }

    #[test]
    fn a_token_is_taken_by_its_whole_text_until_it_ends_also_after_a_restart() {
        let (store, _folder) = scratch();
        let store = Arc::new(store);
        let operators = loaded(&store);
        let NewToken { text, record, .. } = made(&operators, Role::Viewer, Some(20));
        let acting = operators.caller(&text, 19).unwrap();
        assert_eq!((acting.by.operator, acting.role), (record.operator, Role::Viewer));
        assert_eq!(operators.caller(&text, 20).err(), Some(Refused::OperatorToken));
        for at in 0..text.len() {
            let mut other = text.as_bytes().to_vec();
            other[at] = if other[at] == b'x' { b'y' } else { b'x' };
            let other = std::str::from_utf8(&other).unwrap();
            assert_eq!(operators.caller(other, 11).err(), Some(Refused::OperatorToken), "at {at}");
        }
        assert_eq!(loaded(&store).caller(&text, 11).unwrap().role, Role::Viewer);
        operators.revoke(&record.operator, &BY(), 12).unwrap();
        for operators in [operators, loaded(&store)] {
            assert_eq!(operators.caller(&text, 13).err(), Some(Refused::OperatorToken));
        }
    }

    #[test]
    fn two_tokens_are_taken_at_a_time_and_no_third_is_made() {
        let (store, _folder) = scratch();
        let operators = loaded(&Arc::new(store));
        let first = made(&operators, Role::Operator, None);
        let id = first.record.operator;
        let second = operators.add_token(&id, None, &BY(), 11).unwrap();
        assert_eq!(operators.add_token(&id, None, &BY(), 12).err(), Some(Refused::TwoTokens));
        assert!(operators.caller(&first.text, 12).is_ok() && operators.caller(&second.text, 12).is_ok());
        operators.revoke_token(&id, 1, &BY(), 13).unwrap();
        assert!(operators.caller(&first.text, 13).is_err() && operators.caller(&second.text, 13).is_ok());
        assert_eq!(operators.add_token(&id, None, &BY(), 14).unwrap().record.number, 3);
        assert_eq!(operators.revoke_token(&id, 9, &BY(), 14).err(), Some(Refused::OperatorTokenUnknown));
        assert_eq!(
            operators.add_token(&id, Some(14), &BY(), 14).err(),
            Some(Refused::Over { end: 14, now: 14 })
        );
        operators.revoke(&id, &BY(), 15).unwrap();
        assert_eq!(operators.add_token(&id, None, &BY(), 16).err(), Some(Refused::OperatorRevoked));
    }

    #[test]
    fn the_token_of_the_data_directory_can_be_revoked_while_another_owner_can_act() {
        let (store, _folder) = scratch();
        let store = Arc::new(store);
        let operators = loaded(&store);
        let bootstrap = "0".repeat(64);
        assert_eq!(operators.caller(&bootstrap, 10).unwrap().role, Role::Owner);
        made(&operators, Role::Operator, None);
        assert_eq!(operators.revoke(&BOOTSTRAP, &BY(), 11).err(), Some(Refused::LastOwner));
        let owner = made(&operators, Role::Owner, Some(50));
        operators.revoke(&BOOTSTRAP, &BY(), 12).unwrap();
        assert_eq!(operators.revoke(&owner.record.operator, &BY(), 13).err(), Some(Refused::LastOwner));
        assert_eq!(
            operators.revoke_token(&owner.record.operator, 1, &BY(), 13).err(),
            Some(Refused::LastOwner)
        );
        for operators in [operators, loaded(&store)] {
            assert_eq!(operators.caller(&bootstrap, 49).err(), Some(Refused::OperatorToken));
            assert!(operators.caller(&bootstrap, 50).is_ok(), "no other owner has a token any more");
        }
    }
}
