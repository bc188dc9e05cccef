//! Usage counts of API keys, as their tenant and operators read them.

use crate::world::*;

/// Waits until the counts of all keys on all days, added up, are these: matched, not matched, enrolments, refusals.
async fn becomes(endpoint: &Endpoint, path: &str, expected: [u64; 4]) -> Value {
    let names = ["matched", "not_matched", "enrolments", "refusals"];
    loop {
        let page = endpoint.get(path).await.is(200);
        let page = page.json();
        let days = page["usage"].as_array().unwrap();
        let sum = |name: &str| days.iter().map(|day| day[name].as_u64().unwrap()).sum::<u64>();
        let sums = names.map(sum);
        assert!(sums.iter().zip(expected).all(|(sum, most)| *sum <= most), "{sums:?} {expected:?}");
        if sums == expected {
            return page;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_counted_by_key_and_day_for_bills_and_outlives_a_restart() {
    let service = Service::start().await;
    let people = service.welcomed(2, 72).await;
    let own = service.path("/usage");
    let login = |nonce, shown: usize| service.request(&people[0], &people[shown].face, nonce);
    answer(&service.authenticate(&login(1, 0)).await);
    answer(&service.authenticate(&login(2, 1)).await);
    service.authenticate(&login(2, 1)).await.problem(409, "nonce-replayed");
    // One key more, for logins in batches.
    let other = service.api_key(&["authenticate"]).await;
    let other = service.public.with_bearer(&other);
    let batch = json!({"authentications": [login(3, 0), login(4, 0), login(4, 0)]});
    other.post("/v1/authentications/batch", &batch).await.is(200);
    other.get("/v1/subjects").await.problem(403, "scope-missing");
    // Counted for no API key: the service does not know this one.
    service
        .public
        .with_bearer("trefoil_nothing")
        .get("/v1/usage")
        .await
        .problem(401, "caller-unauthenticated");

    let all = becomes(&service.public, "/v1/usage", [3, 1, 2, 3]).await;
    assert_eq!(becomes(&service.admin, &own, [3, 1, 2, 3]).await, all);
    assert_eq!(becomes(&other, "/v1/usage", [3, 1, 2, 3]).await, all, "any scope reads it");
    let days = all["usage"].as_array().unwrap();
    assert_eq!((days.len(), &all["next"]), (2, &Value::Null));
    let of_batch = days.iter().find(|day| day["enrolments"] == 0).unwrap();
    let counts = ["matched", "not_matched", "refusals"].map(|name| of_batch[name].as_u64().unwrap());
    assert_eq!(counts, [2, 0, 2], "{of_batch}");
    let tenant = hex::encode(service.tenant);
    for (name, value) in [
        (format!("trefoil_tenant_logins_total{{tenant=\"{tenant}\",decision=\"match\"}}"), 3),
        (format!("trefoil_tenant_logins_total{{tenant=\"{tenant}\",decision=\"no_match\"}}"), 1),
        (format!("trefoil_tenant_enrolments_total{{tenant=\"{tenant}\"}}"), 2),
        (format!("trefoil_tenant_refusals_total{{tenant=\"{tenant}\"}}"), 3),
    ] {
        assert_eq!(service.metric(&name).await, value, "{name}");
    }
    let text = all.to_string();
    assert!(people.iter().all(|person| !text.contains(&hex::encode(person.handle))));

    // Counts that are not stored yet are stored at a stop, on another day.
    service.clock.advance(86_400);
    let people = service.people(1, 2, 73).await;
    service.welcome(&people[0]).await;
    let service = service.restart().await;
    let both = becomes(&service.admin, &own, [3, 1, 3, 3]).await;
    assert_eq!(both["usage"].as_array().unwrap().len(), 3, "{both}");
    // After 31 days the first is over.
    service.clock.advance(30 * 86_400);
    let rest = becomes(&service.admin, &own, [0, 0, 1, 0]).await;
    assert_eq!(rest["usage"].as_array().unwrap().len(), 1);
    let unknown = format!("/v1/tenants/{}/usage", "00".repeat(16));
    service.admin.get(&unknown).await.problem(404, "tenant-unknown");
}
