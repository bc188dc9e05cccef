use super::*;

fn load(file: Option<&str>, environment: &[(&str, &str)], flags: &Overrides) -> Result<Config, ConfigError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trefoil.toml");
    if let Some(text) = file {
        std::fs::write(&path, text).unwrap();
    }
    let environment = environment.iter().map(|(name, value)| (name.into(), value.into()));
    Config::load(file.map(|_| path.as_path()), environment, flags)
}

#[test]
fn printed_configuration_reads_back_as_itself() {
    let text = Config::embedded().to_toml();
    assert_eq!(load(Some(&text), &[], &Overrides::default()).unwrap(), Config::embedded());
}

#[test]
fn later_layers_win() {
    let file = "[pipeline]\nworkers = 2\nqueue = 64\nbatch_delay_us = 7";
    let environment = [("TREFOIL_PIPELINE_WORKERS", "3"), ("TREFOIL_PIPELINE_QUEUE", "65")];
    let flags = Overrides { workers: Some(4), ..Overrides::default() };
    let config = load(Some(file), &environment, &flags).unwrap();
    let Pipeline { workers, queue, batch_delay_us, .. } = config.pipeline;
    assert_eq!((workers, queue, batch_delay_us), (4, 65, 7));
}

#[test]
fn variables_of_the_key_holder_are_checked_by_its_own_names_and_change_nothing_here() {
    let environment = [("TREFOIL_TIER", "portable"), ("TREFOIL_KEY_HOLDER_SERVER_LISTEN", "127.0.0.1:1")];
    assert_eq!(load(None, &environment, &Overrides::default()).unwrap(), Config::embedded());
    let refused = |name| load(None, &[(name, "x")], &Overrides::default()).unwrap_err().to_string();
    let said = refused("TREFOIL_KEY_HOLDER_SERVR_LISTEN");
    assert!(said.contains("did you mean TREFOIL_KEY_HOLDER_SERVER_LISTEN?"), "{said}");
    let said = refused("TREFOIL_SERVR_LISTEN");
    assert!(said.contains("did you mean TREFOIL_SERVER_LISTEN?"), "{said}");
    let said = refused("TREFOIL_API_KEY");
    assert!(said.contains("TREFOIL_API_KEY names no setting"), "{said}");
}

#[test]
fn the_key_holder_knows_the_sections_of_the_service() {
    let table: toml::Table = DEFAULTS.parse().unwrap();
    let mut known = settings::SERVICE_SECTIONS.map(str::to_owned);
    known.sort();
    assert!(table.keys().eq(known.iter()), "{:?}", table.keys().collect::<Vec<_>>());
}

#[test]
fn the_issuer_is_what_is_configured_then_what_the_directory_has_then_the_address() {
    let named = |variables: &[(&str, &str)], kept| {
        load(None, variables, &Overrides::default()).unwrap().issuer(kept).map_err(|cause| cause.to_string())
    };
    let url = ("TREFOIL_SERVER_PUBLIC_URL", "https://auth.example");
    let everywhere = ("TREFOIL_SERVER_LISTEN", "0.0.0.0:8443");
    assert_eq!(named(&[url, ("TREFOIL_SERVER_ISSUER", "shop")], Some("kept")).unwrap(), "shop");
    assert_eq!(named(&[url, everywhere], Some("kept")).unwrap(), "https://auth.example");
    assert_eq!(named(&[everywhere], Some("kept")).unwrap(), "kept");
    assert_eq!(named(&[], None).unwrap(), "https://127.0.0.1:8443");
    assert_eq!(named(&[("TREFOIL_SERVER_LISTEN", "127.0.0.1:0")], None).unwrap(), "https://127.0.0.1");
    assert_eq!(named(&[("TREFOIL_SERVER_LISTEN", "[::1]:0")], None).unwrap(), "https://[::1]");
    for listen in ["0.0.0.0:8443", "[::]:8443", "0.0.0.0:0"] {
        let said = named(&[("TREFOIL_SERVER_LISTEN", listen)], None).unwrap_err();
        assert!(said.contains(listen) && said.contains("--public-url https://auth.example"), "{said}");
    }
    for url in
        ["http://auth.example", "auth.example", "https://", "https://a/b", "https://a:0", "https://u@a"]
    {
        let refused = load(None, &[("TREFOIL_SERVER_PUBLIC_URL", url)], &Overrides::default()).unwrap_err();
        let said = refused.to_string();
        assert!(
            said.starts_with("server.public_url: ") && said.contains("set by TREFOIL_SERVER_PUBLIC_URL"),
            "{said}"
        );
    }
}

/// Claim V94.
#[test]
fn a_standby_and_a_node_of_a_fleet_need_a_database_and_key_holders_that_others_reach() {
    let store = Some("postgres://trefoil@db.example/trefoil".to_owned());
    let key_holder = vec![format!("tls://127.0.0.1:7443#{}", "1".repeat(64))];
    let load = |(standby, fleet), store: &Option<String>, key_holder: &[String]| {
        let (store, key_holder) = (store.clone(), key_holder.to_vec());
        let flags = Overrides { standby, fleet, store, key_holder, ..Overrides::default() };
        load(None, &[], &flags).map_err(|cause| cause.to_string())
    };
    for kind in [(true, false), (false, true)] {
        let loaded = load(kind, &store, &key_holder).unwrap().store;
        assert_eq!((loaded.standby, loaded.fleet), kind);
        assert!(load(kind, &None, &key_holder).unwrap_err().contains("give store.url"));
        assert!(load(kind, &store, &[]).unwrap_err().contains("give keyholder.url"));
    }
    assert!(load((true, true), &store, &key_holder).unwrap_err().contains("leave out one"));
}

#[test]
fn key_holders_are_none_one_or_three() {
    let url = |digit: &str| format!("tls://127.0.0.1:7443#{}", digit.repeat(64));
    let load = |urls: &[String]| {
        load(None, &[], &Overrides { key_holder: urls.to_vec(), ..Overrides::default() })
            .and_then(|config| config.key_holder.place())
    };
    let three = [url("1"), url("2"), url("3")];
    assert_eq!(load(&[]).unwrap(), Place::Here);
    let mut elsewhere = Config::embedded();
    elsewhere.key_holder.accept_older_vault = true;
    assert_eq!(elsewhere.key_holder.place().unwrap(), Place::Here);
    elsewhere.key_holder.url = url("1");
    let cause = elsewhere.key_holder.place().unwrap_err().to_string();
    assert!(
        cause.contains("--accept-older-vault") && cause.contains("start the key-holder itself"),
        "{cause}"
    );
    assert_eq!(load(&three[..1]).unwrap(), Place::One(three[0].parse().unwrap()));
    assert!(matches!(load(&three).unwrap(), Place::Three(places) if places[2] == three[2].parse().unwrap()));
    let refused = |urls: &[String], why: &str| {
        let cause = load(urls).unwrap_err().to_string();
        assert!(cause.contains(why), "{cause}");
    };
    refused(&three[..2], "2 key-holders: give none, one, or three");
    refused(&[url("1"), url("2"), url("1")], "same fingerprint");
    refused(&[url("1"), url("2"), "127.0.0.1:1".to_owned()], "tls://HOST:PORT#FINGERPRINT");
}
