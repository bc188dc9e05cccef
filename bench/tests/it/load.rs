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
fn logins_alone_and_in_batches_match_and_verify() {
    for batch in ["1", "8"] {
        let of = load(&format!(
            "load --seconds 0.5 --rounds 1 --people 4 --connections 1,4 --verify-every 8 --batch {batch}"
        ));
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
}

#[test]
fn a_tenant_is_measured_beside_every_trouble_and_the_service_ends_cleanly() {
    let of = load("load --profile flood --seconds 0.3 --rounds 1 --people 2 --connections 4");
    assert!(of["flood"]["attacked"]["logins"].as_u64() > Some(0), "{of}");
    let of = load("load --profile overload --seconds 0.5 --rounds 1 --people 4 --connections 200");
    for kind in ["capacity", "twice", "tenfold"] {
        let greedy = &of["overload"][kind]["greedy"];
        assert!(greedy["logins"].as_u64() > Some(0) && greedy["goodput"].as_f64() > Some(0.0), "{greedy}");
    }
    let of = load("load --profile hostile --seconds 0.3 --rounds 1 --people 2 --connections 16");
    for attack in ["idle_tcp", "idle_tls", "zero_window", "never_reads", "refused"] {
        let of = &of[attack];
        assert!(of["attacked"]["logins"].as_u64() > Some(0) && of["exit_code"] == 0, "{attack}: {of}");
    }
}
