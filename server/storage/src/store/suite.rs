//! One suite for every store. Each implementation runs it on an empty one.

mod rotation;

use super::*;
use rotation::{old_keys_take_no_template, templates_are_renewed};
use trefoil_attest::Restoration;
use trefoil_matching::{Model, TemplateName};

/// A tenant.
pub const T: TenantId = TenantId::new([1; 16]);
const U: TenantId = TenantId::new([2; 16]);
/// A subject of it.
pub const H: Handle = Handle::new([3; 32]);

/// A tenant with this identifier.
pub fn tenant(id: TenantId) -> Tenant {
    Tenant {
        id,
        name: "a".to_owned(),
        policy: "{}".to_owned(),
        policy_version: 1,
        public_key: vec![0; 37],
        next_key: None,
        wrapped_key: vec![5; 60],
        created_at: 6,
        disabled_at: None,
        deleted_at: None,
    }
}

/// An entry of the audit trail.
pub fn note() -> Note {
    Note { tenant: T, statement: vec![1; 200], once: None }
}

/// An open session of [`T`].
pub fn session(id: u8) -> Session {
    Session { tenant: T, id: SessionId::new([id; 32]), opened_at: 10, expires_at: 100, wrapped: vec![1; 100] }
}

/// An API key of [`T`].
pub fn api_key(id: u8) -> ApiKey {
    ApiKey {
        id: ApiKeyId::new([id; 8]),
        tenant: T,
        tag: [2; 32],
        scopes: 2,
        created_at: 3,
        label: String::new(),
        expires_at: None,
        revoked_at: None,
        last_used_at: None,
    }
}

const MODEL: Model = Model::from_bytes([4; 9]).unwrap();

fn subject(generation: u32) -> Subject {
    Subject {
        tenant: T,
        handle: H,
        generation,
        lane: 31,
        model: MODEL,
        epoch: 0,
        wrapped_key: vec![7; 60],
        consent_ref: "form 9".to_owned(),
        created_at: 10,
        revoked_at: None,
    }
}

fn template(generation: u32) -> Template {
    Template { subject: subject(generation), wrapped: vec![8; 49_200] }
}

fn answer(key: &str) -> Idempotency {
    Idempotency {
        tenant: T,
        key: key.to_owned(),
        request_digest: [11; 32],
        generation: 13,
        replaced: (key != "k1").then_some(12),
        created_at: 12,
    }
}

/// A root of a tenant.
pub fn root(tenant: TenantId, generation: u32, generation_min: u32) -> Root {
    let (statement, signature) = (vec![14; 132], vec![15; 3309]);
    let root = [generation as u8; 32];
    Root { tenant, root, generation, generation_min, statement, signature, published_at: 13 }
}

/// A row in each table, but for those of a fleet.
///
/// # Panics
/// When the store refuses one.
pub fn fill(store: &dyn Store) {
    let full = Tenant { name: "a\0b".to_owned(), next_key: Some(vec![0; 37]), ..tenant(T) };
    store.create_tenant(full, note()).unwrap();
    store.add_api_key(api_key(1), note()).unwrap();
    store
        .add_issuer_key(IssuerKey { tenant: T, number: 0, key: vec![1; 1952], registered_at: 4 }, note())
        .unwrap();
    store.publish_root(root(T, 5, 4)).unwrap();
    let generation = store.reserve_generation(&T, &H).unwrap();
    store.enrol(template(generation), answer("k")).unwrap();
    store.reserve_replacement(&T, &H).unwrap();
    store.put_sessions(vec![session(5)]).unwrap();
    store.put_cosignature(7, "w".to_owned(), "line".to_owned()).unwrap();
    store.put_seal(0, vec![1; 100], vec![[2; 32]]).unwrap();
    store.put_restoration(Restoration { time: 9, first: 1 }).unwrap();
    store.put_accepted_clock(AcceptedClock { id: 0, first: 1, at: 9, from: 10, until: 11 }).unwrap();
    let counts = UsageCounts { matched: 1, not_matched: 2, enrolments: 3, refusals: 4 };
    let used = Usage { tenant: T, api_key: ApiKeyId::new([1; 8]), day: 5, counts };
    store.add_usage(UsageWrite { process: 1, number: 1 }, vec![used], 0).unwrap();
    let operator = operator();
    let token = OperatorToken {
        operator: operator.id,
        number: 1,
        tag: [2; 32],
        created_at: 4,
        expires_at: None,
        revoked_at: None,
    };
    let once = Once { operator: operator.id, key: "k".to_owned(), request_digest: [9; 32], at: 5 };
    let entry = store.put_operator(operator, Some(token), Note { once: Some(once), ..note() }).unwrap();
    store.seal_note(entry, vec![3; 100]).unwrap();
}

/// Everything a store promises, on an empty one.
///
/// # Panics
/// When it does not hold.
pub fn holds(store: &dyn Store) {
    store.create_tenant(tenant(T), note()).unwrap();
    store.create_tenant(tenant(U), note()).unwrap();
    assert_eq!(store.create_tenant(tenant(T), note()), Err(StoreError::Conflict));
    policies_are_kept(store);
    let key = api_keys_live_and_end(store);
    tenants_are_disabled(store);
    usage_is_added_up(store);

    roots_only_move_forward(store);
    templates_come_and_go(store);
    restorations_stay(store);
    operators_come_and_go_and_the_trail_stays(store);

    let [session, other] = [5, 6].map(|id| Session { wrapped: vec![1; 100_000], ..session(id) });
    store.put_sessions(vec![session.clone()]).unwrap();
    store.put_sessions(vec![session.clone(), other.clone()]).unwrap();
    let live = |tenant, after: Option<&SessionId>, now, limit| {
        store.live_sessions(tenant, after, now, limit).unwrap()
    };
    assert_eq!(live(&T, None, 99, 10), [session.clone(), other.clone()]);
    assert_eq!(live(&T, None, 99, 1), std::slice::from_ref(&session));
    assert_eq!(live(&T, Some(&SessionId::new([5; 32])), 99, 10), std::slice::from_ref(&other));
    assert_eq!((live(&T, None, 100, 10), live(&U, None, 99, 10)), (vec![], vec![]));
    assert_eq!((store.count_sessions(99), store.count_sessions(100)), (Ok(2), Ok(0)));
    assert_eq!(store.session(&T, &SessionId::new([6; 32])), Ok(Some(other)));
    assert_eq!(store.session(&T, &SessionId::new([5; 32])), Ok(Some(session)));
    assert_eq!(store.session(&U, &SessionId::new([5; 32])), Ok(None), "a session belongs to its tenant");
    an_ended_session_stays_ended(store);
    store.expire(100, 12).unwrap();
    assert!(
        store.session(&T, &SessionId::new([5; 32])).unwrap().is_some()
            && store.idempotency(&T, "k1").unwrap().is_some()
    );
    store.expire(101, 13).unwrap();
    assert!(
        store.session(&T, &SessionId::new([5; 32])).unwrap().is_none()
            && store.idempotency(&T, "k1").unwrap().is_none()
    );
    let late = Session { expires_at: 1 << 40, ..self::session(7) };
    store.put_sessions(vec![late.clone()]).unwrap();
    store.remove_sessions().unwrap();
    assert_eq!(store.session(&T, &late.id), Ok(None));

    assert_eq!(store.last_seal(), Ok(None));
    store.put_seal(0, vec![1], vec![[7; 32]]).unwrap();
    store.put_seal(1, vec![2], vec![[8; 32], [9; 32]]).unwrap();
    assert_eq!(store.put_seal(1, vec![3], vec![[1; 32]]), Err(StoreError::Conflict));
    assert_eq!((store.log_node(0, 0), store.log_node(0, 1)), (Ok(Some([7; 32])), Ok(Some([8; 32]))));
    assert_eq!((store.log_node(1, 0), store.log_node(1, 1)), (Ok(Some([9; 32])), Ok(None)));
    assert_eq!(store.log_node(0, u64::MAX), Ok(None));
    assert_eq!((store.seal(1), store.seal(u64::MAX)), (Ok(Some(vec![2])), Ok(None)));
    assert_eq!(store.last_seal(), Ok(Some((1, vec![2]))));

    assert_eq!((store.last_cosigned(), store.cosignatures(1)), (Ok(None), Ok(vec![])));
    for (size, witness) in [(1, "w"), (1, "v"), (0, "w")] {
        store.put_cosignature(size, witness.to_owned(), format!("{witness}{size}")).unwrap();
    }
    assert_eq!(store.put_cosignature(1, "w".to_owned(), String::new()), Err(StoreError::Conflict));
    assert_eq!(store.cosignatures(1), Ok(vec!["v1".to_owned(), "w1".to_owned()]));
    assert_eq!((store.last_cosigned(), store.cosignatures(u64::MAX)), (Ok(Some(1)), Ok(vec![])));

    old_keys_take_no_template(store);
    a_deleted_tenant_leaves_its_root_log(store);
    let mut registry = store.registry().unwrap();
    registry.tenants.retain(|tenant| tenant.deleted_at.is_none());
    registry.roots.retain(|root| [T, U].contains(&root.tenant));
    let changed = Tenant { policy_version: 3, ..tenant(T) };
    assert_eq!((registry.tenants, registry.api_keys), (vec![changed, tenant(U)], vec![key, api_key(2)]));
    assert_eq!(registry.roots, vec![root(T, 4, 3), root(U, 1, 1)], "withdrawn roots are not loaded");
}

fn an_ended_session_stays_ended(store: &dyn Store) {
    let row = |id: u8, wrapped: &[u8]| Session { wrapped: wrapped.to_vec(), ..session(id) };
    let (live, ended) = (row(7, &[1; 99]), row(7, &[]));
    let found = || store.session(&T, &live.id).unwrap().unwrap();
    assert_eq!((store.put_sessions(vec![live.clone()]), found()), (Ok(true), live.clone()));
    assert_eq!((store.put_sessions(vec![ended.clone()]), found()), (Ok(true), ended.clone()));
    assert_eq!(store.put_sessions(vec![live.clone(), row(8, &[2; 99])]), Ok(false));
    assert_eq!(found(), ended, "a node that was opening it meanwhile does not bring it back");
    assert_eq!(
        store.session(&T, &SessionId::new([8; 32])),
        Ok(Some(row(8, &[2; 99]))),
        "the others are there"
    );
    let later = Session { expires_at: 101, ..ended };
    assert_eq!((store.put_sessions(vec![later.clone()]), found()), (Ok(true), later));
    assert_eq!(store.count_sessions(99), Ok(3), "the two before, and the one beside it");
}

fn a_deleted_tenant_leaves_its_root_log(store: &dyn Store) {
    const W: TenantId = TenantId::new([8; 16]);
    store.create_tenant(tenant(W), note()).unwrap();
    store.add_api_key(ApiKey { tenant: W, ..api_key(8) }, note()).unwrap();
    store.publish_root(root(W, 1, 1)).unwrap();
    assert_eq!([store.reserve_generation(&W, &H), store.reserve_generation(&W, &H)], [Ok(1), Ok(2)]);
    let enrolled = |number| {
        let subject = Subject { tenant: W, ..subject(number) };
        (Template { subject, ..template(number) }, Idempotency { tenant: W, ..answer("w") })
    };
    let (template, answer) = enrolled(1);
    store.enrol(template, answer).unwrap();
    store.revoke_subject(&W, &H, 70).unwrap();
    store.put_sessions(vec![Session { tenant: W, expires_at: 900, ..session(8) }]).unwrap();
    store.delete_tenant(&W, 77, note()).unwrap();
    let registry = store.registry().unwrap();
    let left = registry.tenants.iter().find(|tenant| tenant.id == W).unwrap();
    let empty = (left.name.as_str(), left.policy.as_str(), left.wrapped_key.len(), left.public_key.len());
    assert_eq!((empty, left.deleted_at), (("", "", 0, 0), Some(77)));
    assert!(registry.api_keys.iter().all(|key| key.tenant != W));
    assert_eq!((store.template(&W, &H), store.idempotency(&W, "w")), (Ok(None), Ok(None)));
    assert_eq!((store.subjects(&W, &H, 9), store.revoke_subject(&W, &H, 78)), (Ok(vec![]), Ok(None)));
    assert_eq!(store.session(&W, &SessionId::new([8; 32])), Ok(None));
    assert_eq!((store.policies(&W, 0, 9), store.roots(&W, 0, 9)), (Ok(vec![]), Ok(vec![root(W, 1, 1)])));
    let (template, answer) = enrolled(2);
    assert_eq!(store.enrol(template, answer), Err(StoreError::Conflict), "nothing is enrolled any more");
}

fn operator() -> Operator {
    let id = OperatorId::new([1; 8]);
    Operator { id, name: "ann".to_owned(), role: 2, created_at: 3, revoked_at: None }
}

fn operators_come_and_go_and_the_trail_stays(store: &dyn Store) {
    let of_u = |byte| Note { tenant: U, statement: vec![byte; 3], once: None };
    let before = store.audit(0, None, 1000).unwrap();
    assert!(before.iter().zip(1..).all(|(entry, number)| entry.number == number && entry.receipt.is_none()));
    let last = before.len() as u64;
    let operator = operator();
    let token = |number, revoked_at| OperatorToken {
        operator: operator.id,
        number,
        tag: [number as u8; 32],
        created_at: 4,
        expires_at: Some(9),
        revoked_at,
    };
    assert_eq!(store.put_operator(operator.clone(), Some(token(1, None)), of_u(1)), Ok(last + 1));
    assert_eq!(store.put_operator_token(token(2, None), of_u(2)), Ok(last + 2));
    assert_eq!(store.put_operator_token(token(1, Some(7)), of_u(3)), Ok(last + 3));
    let revoked = Operator { revoked_at: Some(8), ..operator };
    assert_eq!(store.put_operator(revoked.clone(), None, note()), Ok(last + 4));
    assert_eq!(store.note(of_u(4)), Ok(last + 5));
    let Registry { operators, operator_tokens, .. } = store.registry().unwrap();
    assert_eq!(
        (operators, operator_tokens),
        (vec![revoked.clone()], vec![token(1, Some(7)), token(2, None)])
    );

    let once = Once { operator: revoked.id, key: "k".to_owned(), request_digest: [9; 32], at: 5 };
    assert_eq!(store.created(&revoked.id, "k"), Ok(None));
    let asked = || Note { once: Some(once.clone()), ..of_u(6) };
    assert_eq!(store.put_operator_token(token(3, None), asked()), Ok(last + 6));
    assert_eq!(store.put_operator_token(token(4, None), asked()), Err(StoreError::Conflict));
    assert_eq!(store.registry().unwrap().operator_tokens.len(), 3, "both or neither");
    let entry = |number, byte: u8, receipt| AuditEntry {
        number: last + number,
        tenant: U,
        statement: vec![byte; 3],
        receipt,
    };
    let left = entry(6, 6, None);
    assert_eq!(store.created(&revoked.id, "k"), Ok(Some(([9; 32], left))));
    store.expire(0, 5).unwrap();
    assert!(store.created(&revoked.id, "k").unwrap().is_some());
    store.expire(0, 6).unwrap();
    assert_eq!(store.created(&revoked.id, "k"), Ok(None));

    store.seal_note(last + 1, vec![5]).unwrap();
    store.seal_note(last + 1, vec![6]).unwrap();
    let sealed = entry(1, 1, Some(vec![5]));
    assert_eq!(store.audit(last + 1, None, 1).unwrap(), vec![sealed.clone()], "the first receipt stays");
    let own = store.audit(0, Some(&U), 1000).unwrap();
    assert_eq!(own.iter().map(|entry| entry.number - last).collect::<Vec<_>>(), [1, 2, 3, 5, 6]);
    assert_eq!((&own[0], store.audit(u64::MAX, None, 9)), (&sealed, Ok(vec![])));
    let unsealed = store.unsealed_notes(1000).unwrap();
    assert_eq!(unsealed.len() as u64, last + 5);
    assert_eq!(store.unsealed_notes(1).unwrap(), before[..1]);
}

/// Leaves the tenants as they were.
fn policies_are_kept(store: &dyn Store) {
    const W: TenantId = TenantId::new([9; 16]);
    let version = |version, policy: &str, made_at| PolicyVersion {
        tenant: T,
        version,
        policy: policy.to_owned(),
        made_at,
    };
    let all = [version(1, "{}", 6), version(2, "{2}", 7), version(3, "{}", 8)];
    assert_eq!(store.policies(&T, 0, 9).unwrap(), all[..1]);
    store.put_policy(all[1].clone(), note()).unwrap();
    assert_eq!(store.put_policy(version(2, "{3}", 9), note()), Err(StoreError::Conflict));
    let present = |store: &dyn Store| {
        let tenant = store.registry().unwrap().tenants.remove(0);
        (tenant.policy, tenant.policy_version)
    };
    assert_eq!(present(store), ("{2}".to_owned(), 2), "a conflict changes nothing");
    store.put_policy(all[2].clone(), note()).unwrap();
    assert_eq!(present(store), ("{}".to_owned(), 3));
    assert_eq!(store.policies(&T, 0, 9).unwrap(), all);
    assert_eq!(store.policies(&T, 2, 1).unwrap(), all[1..2]);
    assert_eq!((store.policies(&U, 2, 9), store.policies(&W, 0, 9)), (Ok(vec![]), Ok(vec![])));
}

/// With one template, of `H`.
fn subjects_are_listed(store: &dyn Store) {
    let all = store.subjects(&T, &Handle::new([0; 32]), 9).unwrap();
    let own = store.template(&T, &H).unwrap().unwrap();
    assert_eq!(all, [own.subject]);
    assert_eq!(store.subjects(&T, &H, 9).unwrap(), all);
    assert_eq!(store.subjects(&T, &Handle::new([4; 32]), 9), Ok(vec![]));
    assert_eq!((store.subjects(&U, &H, 9), store.subjects(&T, &H, 0)), (Ok(vec![]), Ok(vec![])));
}

/// A key that has ended, and another one that is still valid.
fn api_keys_live_and_end(store: &dyn Store) -> ApiKey {
    let key = ApiKey { label: "till 4".to_owned(), expires_at: Some(90), ..api_key(1) };
    store.add_api_key(key.clone(), note()).unwrap();
    assert_eq!(store.add_api_key(key.clone(), note()), Err(StoreError::Conflict));
    store.add_api_key(api_key(2), note()).unwrap();
    for at in [0, 60, 30] {
        store.note_api_key_uses(vec![(ApiKeyId::new([1; 8]), at), (ApiKeyId::new([9; 8]), at)]).unwrap();
    }
    store.revoke_api_key(&ApiKeyId::new([1; 8]), 70, note()).unwrap();
    store.revoke_api_key(&ApiKeyId::new([1; 8]), 80, note()).unwrap();
    store.revoke_api_key(&ApiKeyId::new([9; 8]), 80, note()).unwrap();
    let ended = ApiKey { last_used_at: Some(60), revoked_at: Some(70), ..key };
    assert_eq!(store.registry().unwrap().api_keys, vec![ended.clone(), api_key(2)]);
    ended
}

fn usage_is_added_up(store: &dyn Store) {
    let counts = |matched| UsageCounts { matched, not_matched: 2, enrolments: 3, refusals: 4 };
    let row = |key: u8, day, matched| Usage {
        tenant: T,
        api_key: ApiKeyId::new([key; 8]),
        day,
        counts: counts(matched),
    };
    let all = |from: u8, since, keys| store.usage(&T, ApiKeyId::new([from; 8]), since, keys).unwrap();
    assert_eq!(all(0, 0, 9), vec![]);
    let write = |number| UsageWrite { process: 1, number };
    store.add_usage(write(1), vec![row(1, 100, 5), row(2, 100, 6), row(1, 101, 7)], 90).unwrap();
    store.add_usage(write(2), vec![row(1, 100, 50)], 90).unwrap();
    let both = UsageCounts { matched: 55, not_matched: 4, enrolments: 6, refusals: 8 };
    let sum = Usage { counts: both, ..row(1, 100, 0) };
    assert_eq!(all(0, 0, 9), vec![sum, row(1, 101, 7), row(2, 100, 6)]);
    assert_eq!(all(0, 0, 1), vec![sum, row(1, 101, 7)], "all days of so many keys");
    assert_eq!((all(2, 0, 9), all(0, 101, 9)), (vec![row(2, 100, 6)], vec![row(1, 101, 7)]));
    assert_eq!(store.usage(&U, ApiKeyId::new([0; 8]), 0, 9), Ok(vec![]), "another tenant's");
    store.add_usage(write(3), vec![row(2, 131, 1)], 101).unwrap();
    assert_eq!(all(0, 0, 9), vec![row(1, 101, 7), row(2, 131, 1)], "old days are gone");
}

fn tenants_are_disabled(store: &dyn Store) {
    let disabled = || store.registry().unwrap().tenants.into_iter().map(|tenant| tenant.disabled_at);
    store.set_tenant_disabled(&U, Some(20), note()).unwrap();
    assert_eq!(disabled().collect::<Vec<_>>(), [None, Some(20)]);
    store.set_tenant_disabled(&U, None, note()).unwrap();
    assert_eq!(disabled().collect::<Vec<_>>(), [None, None]);
}

fn roots_only_move_forward(store: &dyn Store) {
    store.publish_root(root(T, 2, 1)).unwrap();
    assert_eq!(store.publish_root(root(T, 2, 1)), Err(StoreError::Conflict));
    assert_eq!(store.publish_root(root(T, 1, 1)), Err(StoreError::Conflict));
    store.publish_root(root(T, 4, 3)).unwrap();
    store.publish_root(root(U, 1, 1)).unwrap();
    assert_eq!(
        store.roots(&T, 0, 9),
        Ok(vec![root(T, 2, 1), root(T, 4, 3)]),
        "the log keeps withdrawn roots"
    );
    assert_eq!(store.roots(&T, 3, 9), Ok(vec![root(T, 4, 3)]));
    assert_eq!(store.roots(&T, 0, 1), Ok(vec![root(T, 2, 1)]));
    let key = |number| IssuerKey { tenant: T, number, key: vec![16; 1952], registered_at: 17 };
    store.add_issuer_key(key(0), note()).unwrap();
    store.add_issuer_key(key(1), note()).unwrap();
    assert_eq!(store.add_issuer_key(key(1), note()), Err(StoreError::Conflict));
    assert_eq!(store.registry().unwrap().issuer_keys, vec![key(0), key(1)]);
}

fn restorations_stay(store: &dyn Store) {
    assert_eq!(store.last_restoration(), Ok(None));
    for (time, first) in [(10, 4), (30, 2), (20, 9)] {
        store.put_restoration(Restoration { time, first }).unwrap();
    }
    assert_eq!(store.put_restoration(Restoration { time: 20, first: 1 }), Err(StoreError::Conflict));
    assert_eq!(store.last_restoration(), Ok(Some(Restoration { time: 30, first: 2 })));
    let accepted = |id| AcceptedClock { id, first: 3, at: 50 - id, from: 60, until: 1 << 40 };
    assert_eq!(store.accepted_clocks(), Ok(vec![]));
    for id in 0..2 {
        store.put_accepted_clock(accepted(id)).unwrap();
    }
    assert_eq!(store.put_accepted_clock(accepted(1)), Err(StoreError::Conflict));
    assert_eq!(store.accepted_clocks(), Ok(vec![accepted(0), accepted(1)]));
}

fn templates_come_and_go(store: &dyn Store) {
    assert_eq!(store.reserve_generation(&T, &H), Ok(1));
    assert_eq!(store.reserve_generation(&T, &H), Ok(2), "a reserved generation is not given twice");
    let name = |generation| TemplateName { tenant: T, handle: H, generation };
    assert_eq!(store.leftovers(), Ok(vec![name(1), name(2)]), "until it is stored it is left behind");
    assert_eq!(store.enrol(template(2), answer("k1")), Ok(true));
    assert_eq!(store.reserve_generation(&T, &H), Err(StoreError::Conflict));
    assert_eq!(store.enrol(template(1), answer("k2")), Err(StoreError::Conflict));
    assert_eq!(store.leftovers(), Ok(vec![name(1)]), "only one is stored");
    store.forget_leftover(&name(1)).unwrap();
    assert_eq!(store.idempotency(&T, "k2"), Ok(None), "a refused enrolment leaves no trace");
    assert_eq!(store.idempotency(&T, "k1"), Ok(Some(answer("k1"))));
    assert_eq!(store.template(&T, &H), Ok(Some(template(2))));
    assert_eq!(store.template(&U, &H), Ok(None), "a template belongs to its tenant");
    templates_are_renewed(store);
    subjects_are_listed(store);
    assert_eq!(store.delete_template(&U, &H), Ok(None));
    assert_eq!(store.delete_template(&T, &H), Ok(Some(3)));
    assert_eq!((store.template(&T, &H), store.delete_template(&T, &H)), (Ok(None), Ok(None)));
    assert_eq!(store.reserve_renewal(&T, &H), Err(StoreError::Conflict));
    assert_eq!(store.reserve_generation(&T, &H), Ok(4), "generations outlive deletion");
    assert_eq!(store.enrol(template(4), answer("k1")), Err(StoreError::Conflict));
    assert_eq!((store.template(&T, &H), store.leftovers()), (Ok(None), Ok(vec![name(4)])), "all or nothing");
    assert_eq!(store.enrol(template(3), answer("k3")), Ok(false), "it may be forgotten");
    assert_eq!((store.template(&T, &H), store.idempotency(&T, "k3")), (Ok(None), Ok(None)));
    assert_eq!(store.enrol(template(4), answer("k3")), Ok(true));
    templates_are_replaced(store);
}

/// The template of generation 4 becomes one of generation 6, and 5 is left to be forgotten.
fn templates_are_replaced(store: &dyn Store) {
    let name = |generation| TemplateName { tenant: T, handle: H, generation };
    assert_eq!(store.reserve_replacement(&U, &H), Err(StoreError::Conflict));
    let from = |generation| Present { generation, revoked_at: None };
    assert_eq!(store.reserve_replacement(&T, &H), Ok((5, from(4))));
    assert_eq!(store.reserve_replacement(&T, &H), Ok((6, from(4))));
    assert_eq!(
        store.leftovers(),
        Ok(vec![name(5), name(6)]),
        "until it is stored the new one is left behind"
    );
    let subject = Subject { consent_ref: "form 10".to_owned(), ..subject(6) };
    let new = Template { subject, wrapped: vec![9; 49_200] };
    assert_eq!(
        store.replace_template(new.clone(), from(3), answer("k4")),
        Ok(false),
        "another one than that is there"
    );
    assert_eq!(store.replace_template(new.clone(), from(4), answer("k3")), Err(StoreError::Conflict));
    assert_eq!(store.replace_template(template(7), from(4), answer("k4")), Ok(false), "it may be forgotten");
    assert_eq!(store.template(&T, &H), Ok(Some(template(4))), "all or nothing");
    assert_eq!((store.idempotency(&T, "k4"), store.leftovers()), (Ok(None), Ok(vec![name(5), name(6)])));
    assert_eq!(store.replace_template(new.clone(), from(4), answer("k4")), Ok(true));
    assert_eq!(
        (store.template(&T, &H), store.idempotency(&T, "k4")),
        (Ok(Some(new)), Ok(Some(answer("k4"))))
    );
    assert_eq!(store.leftovers(), Ok(vec![name(4), name(5)]), "now the old one is");
    for generation in [4, 4, 3] {
        store.forget_leftover(&name(generation)).unwrap();
    }
    assert_eq!(store.leftovers(), Ok(vec![name(5)]));
    assert_eq!(store.delete_template(&T, &H), Ok(Some(6)));
    assert_eq!(store.reserve_generation(&T, &H), Ok(7));
    store.enrol(template(7), answer("k5")).unwrap();
    subjects_are_revoked(store);
}

/// The template of generation 7 is revoked, then replaced by one of generation 9, which is revoked and deleted.
fn subjects_are_revoked(store: &dyn Store) {
    let name = |generation| TemplateName { tenant: T, handle: H, generation };
    let revoked = |generation, revoked_at| Ok(Some(Revocation { generation, revoked_at }));
    let shown = || store.subjects(&T, &H, 1).unwrap().pop().map(|subject| subject.revoked_at);
    assert_eq!((store.revoke_subject(&U, &H, 20), shown()), (Ok(None), Some(None)));
    let (_, before) = store.reserve_replacement(&T, &H).unwrap();
    store.forget_leftover(&name(8)).unwrap();
    assert_eq!(store.revoke_subject(&T, &H, 20), revoked(7, 20));
    assert_eq!(store.revoke_subject(&T, &H, 30), revoked(7, 20), "the first time stays");
    assert_eq!((store.template(&T, &H), shown()), (Ok(None), Some(Some(20))));
    assert_eq!(store.leftovers(), Ok(vec![name(5), name(7)]), "its key is to be forgotten");
    // It has a template still, which no rotation renews.
    assert_eq!(store.reserve_generation(&T, &H), Err(StoreError::Conflict));
    assert_eq!((store.subjects_of_epoch(&T, 0, 9), store.count_epoch(&T, 0)), (Ok(vec![]), Ok(1)));
    assert_eq!(store.renew_template(template(8), 7), Ok(false));
    assert_eq!(
        store.replace_template(template(8), before, answer("k6")),
        Ok(false),
        "a replacement that began before the revocation does not undo it"
    );
    let (next, from) = store.reserve_replacement(&T, &H).unwrap();
    assert_eq!((next, from), (9, Present { generation: 7, revoked_at: Some(20) }));
    assert_eq!(store.replace_template(template(9), from, answer("k6")), Ok(true));
    assert_eq!((store.template(&T, &H), shown()), (Ok(Some(template(9))), Some(None)));
    assert_eq!(store.leftovers(), Ok(vec![name(5), name(7)]), "noted once, by both");
    store.forget_leftover(&name(7)).unwrap();
    assert_eq!(store.revoke_subject(&T, &H, 40), revoked(9, 40));
    assert_eq!((store.delete_template(&T, &H), shown()), (Ok(Some(9)), None));
    assert_eq!(store.revoke_subject(&T, &H, 50), Ok(None));
    assert_eq!(store.reserve_generation(&T, &H), Ok(10));
    store.enrol(template(10), answer("k7")).unwrap();
    assert_eq!(store.template(&T, &H), Ok(Some(template(10))), "enrolled again, it is not revoked");
}

/// Claim V123: In a fleet no template is stored under keys that a rotation of the tenant's keys replaces, however long its enrolment takes,
/// and a rotation whose node died is ended by another one without a command.
#[test]
fn sqlite_holds_what_a_store_promises() {
    let directory = tempfile::tempdir().unwrap();
    holds(&Sqlite::open(&directory.path().join("store.sqlite"), &[7; 32]).unwrap());
}

#[test]
fn sqlite_refuses_tables_of_another_version() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    drop(Sqlite::open(&path, &[7; 32]).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
    drop(connection);
    let Err(StoreError::Fault(text)) = Sqlite::open(&path, &[7; 32]) else { panic!("opened a newer schema") };
    assert!(text.contains(&format!("schema version {}", VERSION + 1)), "{text}");
}

/// Claim V25.
///
/// Twenty fields of each table, and rows that were removed.
#[test]
fn sqlite_refuses_what_somebody_else_wrote() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let open = || Sqlite::open(&path, &[7; 32]);
    let store = open().unwrap();
    fill(&store);
    store.revoke_subject(&T, &H, 11).unwrap();
    drop(store);
    let refuses = |edit: &str| {
        let refused = open().err();
        assert!(
            matches!(refused, Some(StoreError::Altered(_) | StoreError::Damaged(_))),
            "{edit}: {refused:?}"
        );
    };
    trefoil_testing::edit_fields(&path, refuses);
    let tables = [
        "api_keys",
        "roots",
        "templates",
        "sessions",
        "cosignatures",
        "seals",
        "usage",
        "template_bytes",
        "leftovers",
        "audit",
    ];
    for table in tables {
        let good = std::fs::read(&path).unwrap();
        let delete = format!("DELETE FROM {table}");
        rusqlite::Connection::open(&path).unwrap().execute_batch(&delete).unwrap();
        refuses(table);
        std::fs::write(&path, good).unwrap();
    }
    open().unwrap();
}

#[test]
fn sqlite_deletion_leaves_no_copy_in_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let store = Sqlite::open(&path, &[7; 32]).unwrap();
    store.create_tenant(tenant(T), note()).unwrap();
    let mark: Vec<u8> = (0..64_u8).map(|i| i.wrapping_mul(167) ^ 0x5c).collect();
    let generation = store.reserve_generation(&T, &H).unwrap();
    let subject = Subject { wrapped_key: mark.clone(), ..subject(generation) };
    let marked = Template { subject, ..template(generation) };
    store.enrol(marked, answer("k")).unwrap();
    let present = || {
        std::fs::read_dir(directory.path()).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            trefoil_testing::contains(&bytes, &mark)
        })
    };
    assert!(present());
    store.delete_template(&T, &H).unwrap();
    assert!(!present());
}
