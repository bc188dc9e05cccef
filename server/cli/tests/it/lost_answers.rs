//! `trefoil admin` creates once, although an answer is lost.

use crate::relay::Relay;
use crate::world::*;
use tokio::task::spawn_blocking;

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_whose_answer_is_lost_is_repeated_and_creates_one() {
    // What the command did at one node, another one may hear of a moment later.
    let service = Service::start().await.at_one_node();
    let path = Relay::to(&service.admin).await;
    let (ca, file) = (service.file("relay.pem"), service.file("api.key"));
    std::fs::write(&ca, path.place().1).unwrap();
    // What a command says of which so many answers are lost, each once the service has carried it out.
    let loses = async |answers: usize, command: &str| -> Output {
        path.lose(answers);
        let place = format!("admin --admin {} --ca {} --data-dir", path.place().0, ca.display());
        let line = format!("{place} {} {command}", service.data().display());
        spawn_blocking(move || trefoil(&line.split(' ').collect::<Vec<_>>())).await.unwrap()
    };
    let count =
        async |list: &str, field: &str| service.admin.get(list).await.json()[field].as_array().unwrap().len();
    let tenants = async || count("/v1/tenants", "tenants").await;
    assert_eq!(tenants().await, 1);

    // Lost once: the command asks again by itself.
    let create =
        |name: &str| format!("tenant create {name} --audience https://shop.example --embedder facenet-128");
    let created = loses(1, &create("one")).await.done();
    let list = service.admin.get("/v1/tenants").await.text().to_owned();
    let id = created.trim().strip_prefix("tenant ").unwrap();
    assert!(list.contains(id) && tenants().await == 2, "{list}");

    // Lost twice: the error names the key, with which the next command gets the answer.
    let lost = loses(2, &create("two")).await.ends(1, "--idempotency-key ");
    assert_eq!(tenants().await, 3);
    let (_, key) = lost.split_once("--idempotency-key ").unwrap();
    loses(0, &format!("{} --idempotency-key {}", create("two"), key.trim())).await.done();
    assert_eq!(tenants().await, 3);

    // A secret is shown once: its repetition says what to revoke, and no key goes on with it.
    let (keys, tenant) = (service.path("/api-keys"), hex::encode(service.tenant));
    let before = count(&keys, "api_keys").await;
    let create = format!("api-key create --tenant {tenant} --scope enrol --output {}", file.display());
    let shown = loses(1, &create).await.ends(1, "secret-shown");
    assert!(shown.contains("trefoil admin api-key revoke"), "{shown}");
    assert!(!shown.contains("--idempotency-key") && !file.exists(), "{shown}");
    assert_eq!(count(&keys, "api_keys").await, before + 1);
    let before = count("/v1/operators", "operators").await;
    loses(1, "operator create ann --role viewer").await.ends(1, "secret-shown");
    assert_eq!(count("/v1/operators", "operators").await, before + 1);
}
