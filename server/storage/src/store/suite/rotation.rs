//! A rotation of a tenant's keys, as a store sees it.

use super::*;
use trefoil_matching::Model;

/// The template of generation 2 becomes one of generation 3 and epoch 1.
pub(super) fn templates_are_renewed(store: &dyn Store) {
    assert_eq!((store.count_epoch(&T, 0), store.count_epoch(&T, 1)), (Ok(1), Ok(0)));
    let other = Model::from_bytes([1; 9]).unwrap();
    assert_eq!((store.count_model(&T, MODEL), store.count_model(&T, other)), (Ok(1), Ok(0)));
    assert_eq!(store.reserve_renewal(&U, &H), Err(StoreError::Conflict));
    assert_eq!(store.reserve_renewal(&T, &H), Ok(3));
    let renewed = |consent: &str| Template {
        subject: Subject { epoch: 1, consent_ref: consent.to_owned(), ..subject(3) },
        wrapped: vec![9; 49_200],
    };
    assert_eq!(store.renew_template(renewed(""), 1), Ok(false), "not the generation that it is");
    assert_eq!(store.renew_template(renewed(""), 2), Ok(true));
    assert_eq!(store.template(&T, &H), Ok(Some(renewed("form 9"))), "the consent stays");
    assert_eq!(
        (store.subjects_of_epoch(&T, 0, 9), store.subjects_of_epoch(&T, 1, 9)),
        (Ok(vec![]), Ok(vec![H]))
    );
    assert_eq!(store.subjects_of_epoch(&T, 1, 0), Ok(vec![]));
    store.set_tenant_keys(&U, vec![1], Some(vec![2]), note()).unwrap();
    let tenants = store.registry().unwrap().tenants;
    assert_eq!((&tenants[1].public_key, &tenants[1].next_key), (&vec![1], &Some(vec![2])));
    let Tenant { public_key, next_key, .. } = tenant(U);
    store.set_tenant_keys(&U, public_key, next_key, note()).unwrap();
}

/// From the beginning of a rotation to its end, and after it.
pub(super) fn old_keys_take_no_template(store: &dyn Store) {
    const W: TenantId = TenantId::new([9; 16]);
    let key = |epoch: u32| [&[0][..], &epoch.to_le_bytes(), &[4; 32]].concat();
    let of = |generation, epoch| Template {
        subject: Subject { tenant: W, epoch, ..subject(generation) },
        ..template(generation)
    };
    let under = |name: &str| Idempotency { tenant: W, ..answer(name) };
    store.create_tenant(tenant(W), note()).unwrap();
    let mut generation = store.reserve_generation(&W, &H).unwrap();
    store.set_tenant_keys(&W, key(0), Some(key(1)), note()).unwrap();
    for (old, keys) in [(0, (key(1), None)), (0, (key(1), Some(key(2)))), (1, (key(1), Some(key(2))))] {
        assert_eq!(store.enrol(of(generation, old), under("r1")), Err(StoreError::OldKeys), "{old}");
        let (public_key, next_key) = keys;
        store.set_tenant_keys(&W, public_key, next_key, note()).unwrap();
    }
    assert_eq!(
        (store.template(&W, &H), store.idempotency(&W, "r1")),
        (Ok(None), Ok(None)),
        "it leaves no trace"
    );
    // A node that has not heard of the next keys may have a template under them.
    assert_eq!(store.enrol(of(generation, 2), under("r1")), Ok(true));
    let from = Present { generation, revoked_at: None };
    generation = store.reserve_replacement(&W, &H).unwrap().0;
    let replaced = |epoch| store.replace_template(of(generation, epoch), from, under("r2"));
    assert_eq!(replaced(1), Err(StoreError::OldKeys));
    assert_eq!(store.template(&W, &H), Ok(Some(of(from.generation, 2))));
    let name = TemplateName { tenant: W, handle: H, generation };
    assert!(store.leftovers().unwrap().contains(&name), "its note stays");
    assert_eq!(replaced(3), Ok(true));
    store.forget_leftover(&TemplateName { generation: from.generation, ..name }).unwrap();
    store.delete_tenant(&W, 76, note()).unwrap();
}
