//! Every profile of `load`, as a program, because its services are this program again.

use std::process::Command;

use serde_json::Value;

fn load(words: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil-bench"));
    let output = command.env("TREFOIL_TEST_ANY_BUILD", "1").args(words.split(' ')).arg("--json").output();
    let output = output.expect("trefoil-bench starts");
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn logins_in_batches_match_and_verify() {
    let of = load("load --seconds 0.2 --rounds 1 --people 4 --connections 1,4 --verify-every 8 --batch 8");
    for closed in [&of["closed"][0], &of["closed"][1]] {
        assert!(closed["logins"].as_u64() > Some(0) && closed["p99_ms"].as_f64() > Some(0.0), "{closed}");
    }
    for phase in [&of["closed"][0], &of["closed"][1], &of["open"]] {
        assert_eq!(
            (&phase["wrong"], &phase["refused"], &phase["unverified"]),
            (&0.into(), &0.into(), &0.into())
        );
    }
    assert!(of["closed"][1]["verified_offline"].as_u64() > Some(0), "{of}");
}

#[test]
fn a_tenant_is_measured_beside_a_flood_and_a_greedy_tenant_and_the_service_ends_cleanly() {
    let of = load("load --profile flood --seconds 0.2 --rounds 1 --people 2 --connections 4");
    assert!(of["flood"]["attacked"]["logins"].as_u64() > Some(0) && of["flood"]["exit_code"] == 0, "{of}");
    let of = load("load --profile overload --seconds 0.3 --rounds 1 --people 4 --connections 100");
    for kind in ["capacity", "twice", "tenfold"] {
        let greedy = &of["overload"][kind]["greedy"];
        assert!(greedy["logins"].as_u64() > Some(0) && greedy["goodput"].as_f64() > Some(0.0), "{greedy}");
    }
    assert_eq!(of["overload"]["exit_code"], 0);
}
