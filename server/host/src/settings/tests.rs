use super::*;
use serde::Serialize;
use std::os::unix::ffi::OsStringExt as _;

const PROGRAM: Program = Program {
    defaults: "[server]\nlisten = \"127.0.0.1:1\"\nthreads = 4\nprotect = true\nnames = [\"a\"]\n[log]\nformat = \"text\"\n",
    prefix: FAMILY,
    list: "trefoil serve --print-defaults",
};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    server: Server,
    log: Log,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    #[serde(deserialize_with = "listen_address_of")]
    listen: SocketAddr,
    threads: u32,
    protect: bool,
    names: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    format: String,
}

fn read(variables: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    let mut layers = Layers::new(PROGRAM);
    layers.environment(variables.iter().map(|(name, value)| (name.into(), value.into())))?;
    Ok(layers.read().unwrap())
}

#[track_caller]
fn refused(name: &str, value: &str) -> String {
    read(&[(name, value)]).unwrap_err().to_string()
}

#[test]
fn a_variable_sets_a_value_of_every_kind() {
    let set = read(&[
        ("TREFOIL_SERVER_LISTEN", "[::1]:2"),
        ("TREFOIL_SERVER_THREADS", "5"),
        ("TREFOIL_SERVER_PROTECT", "false"),
        ("TREFOIL_SERVER_NAMES", "b, c"),
        ("TREFOIL_LOG_FORMAT", "json"),
    ]);
    let server = Server {
        listen: "[::1]:2".parse().unwrap(),
        threads: 5,
        protect: false,
        names: vec!["b".to_owned(), "c".to_owned()],
    };
    assert_eq!(set.unwrap(), Settings { server, log: Log { format: "json".to_owned() } });
    assert!(read(&[("TREFOIL_SERVER_NAMES", "")]).unwrap().server.names.is_empty());
}

#[test]
fn what_begins_as_ours_and_names_no_setting_is_refused_with_the_nearest_name() {
    for (name, meant) in [
        ("TREFOIL_SERVR_LISTEN", "TREFOIL_SERVER_LISTEN"),
        ("TREFOIL_SERVER_LISTN", "TREFOIL_SERVER_LISTEN"),
        ("TREFOIL_SERVER_LISTENS", "TREFOIL_SERVER_LISTEN"),
        ("TREFOIL_LISTEN", "TREFOIL_SERVER_LISTEN"),
        ("TREFOIL_LOGFORMAT", "TREFOIL_LOG_FORMAT"),
        ("TREFOIL_LOG_FROMAT", "TREFOIL_LOG_FORMAT"),
        ("TREFOIL_BACKUP_PASSPHRAS", "TREFOIL_BACKUP_PASSPHRASE"),
        ("TREFOIL_TEIR", "TREFOIL_TIER"),
    ] {
        let said = refused(name, "x");
        assert!(said.starts_with(&format!("environment variable {name} names no setting; ")), "{said}");
        assert!(said.contains(&format!("did you mean {meant}?")), "{said}");
        assert!(said.contains("`trefoil serve --print-defaults` shows"), "{said}");
    }
    let said = refused("TREFOIL_SOMETHING_OF_MY_OWN", "x");
    assert!(!said.contains("did you mean") && said.contains("unset it"), "{said}");
}

#[test]
fn values_of_another_kind_are_refused_with_the_variable() {
    for (name, value, why) in [
        ("TREFOIL_SERVER_THREADS", "four", "`four` is not a whole number"),
        ("TREFOIL_SERVER_THREADS", "5s", "`5s` is not a whole number"),
        ("TREFOIL_SERVER_PROTECT", "yes", "`yes` is neither true nor false"),
        ("TREFOIL_SERVER_LISTEN", "localhost:1", "not an IP address with a port"),
        ("TREFOIL_SERVER_THREADS", "-1", "threads"),
    ] {
        let said = refused(name, value);
        assert!(said.contains(name) && said.contains(why), "{said}");
    }
    let mut layers = Layers::<Settings>::new(PROGRAM);
    let bytes = OsString::from_vec(vec![0xff]);
    let said = layers.environment([("TREFOIL_LOG_FORMAT".into(), bytes)].into_iter()).unwrap_err();
    assert!(said.to_string().contains("TREFOIL_LOG_FORMAT: the value is not UTF-8"), "{said}");
}

#[test]
fn variables_that_are_no_settings_pass() {
    let names = ["PATH", "TREFOIL_TIER", "TREFOIL_BACKUP_PASSPHRASE", "TREFOIL_TEST_SCALE", "trefoil_log"];
    assert!(read(&names.map(|name| (name, "x"))).is_ok());
}

/// Claim I23: An unknown setting is refused.
#[test]
fn a_mistyped_section_or_key_of_a_file_names_what_exists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trefoil.toml");
    for (text, said) in [
        ("[servr]\nthreads = 1", "unknown section or key `servr`; did you mean [server]?"),
        ("[server]\nthread = 1", "unknown key `thread` in [server]; did you mean `server.threads`?"),
        ("threads = 1", "unknown section or key `threads`"),
        ("[server]\nthreads = \"1\"", "`server.threads` is string, expected integer"),
        ("[server", "this is not TOML"),
    ] {
        std::fs::write(&path, text).unwrap();
        let cause = Layers::<Settings>::new(PROGRAM).file(&path).unwrap_err().to_string();
        assert!(cause.contains(said) && cause.contains(path.to_str().unwrap()), "{cause}");
    }
}

#[test]
fn a_value_out_of_range_tells_where_it_was_set() {
    let cause = || ConfigError::Range { key: "server.threads", cause: "9 is not between 1 and 8".to_owned() };
    let mut layers = Layers::<Settings>::new(PROGRAM);
    assert_eq!(layers.located(cause()), cause(), "a default");
    layers.environment([("TREFOIL_SERVER_THREADS".into(), "9".into())].into_iter()).unwrap();
    let said = |layers: &Layers<Settings>| layers.located(cause()).to_string();
    assert_eq!(said(&layers), "server.threads: 9 is not between 1 and 8 (set by TREFOIL_SERVER_THREADS)");
    layers.flag("server.threads", "--threads");
    assert_eq!(said(&layers), "server.threads: 9 is not between 1 and 8 (set by --threads)");
}
