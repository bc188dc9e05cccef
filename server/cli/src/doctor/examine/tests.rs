use super::*;
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use trefoil_api::Level;
use trefoil_client::Admin;
use trefoil_pipeline::Clock as _;
use trefoil_server::config::Precompute;
use trefoil_server::server::Server;
use trefoil_service::login::clock::SystemClock;

/// The installation of a service that ran once and made one tenant.
fn template() -> &'static Path {
    static TEMPLATE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = TEMPLATE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let server = Server::start(config, Arc::new(SystemClock::default())).await.unwrap();
            let certificate = fs::read(server.certificate_path()).unwrap();
            let url = format!("https://{}", server.admin_address());
            let admin = Admin::new(&url, &certificate, server.admin_token()).unwrap();
            let policy = r#"{"embedder": "facenet-128", "threshold": {"fmr_class": 3}, "audiences": ["a"]}"#;
            let policy = serde_json::from_str(policy).unwrap();
            let tenant = trefoil_api::CreateTenant { name: "shop".to_owned(), policy };
            admin.create_tenant(&tenant).await.unwrap().without_verification();
            assert!(server.shutdown().await);
        });
        folder
    });
    folder.path()
}

fn config(directory: &Path) -> Config {
    let mut config = Config::embedded();
    config.server.data_dir = directory.join("data");
    config.server.listen = "127.0.0.1:0".parse().unwrap();
    config.server.admin_listen = "127.0.0.1:0".parse().unwrap();
    config.keys.precompute = Precompute::Brief;
    config.proofs.cache_capacity = 1000;
    config.disk.low_water_mib = 1;
    config.disk.reserve_mib = 1;
    config
}

/// A copy of the installation, which a case may damage.
struct Case {
    folder: tempfile::TempDir,
    config: Config,
    now: u64,
}

impl Case {
    fn new() -> Case {
        let folder = tempfile::tempdir().unwrap();
        copy(&template().join("data"), &folder.path().join("data"));
        let config = config(folder.path());
        Case { folder, config, now: SystemClock::default().unix_s() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.config.server.data_dir.join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn sql(&self, file: &str, statements: &str) {
        Connection::open(self.path(file)).unwrap().execute_batch(statements).unwrap();
    }

    /// A subject of the one tenant with these values of its attempt record.
    fn subject(&self, values: &str) {
        let insert = format!(
            "INSERT INTO subjects SELECT tenant, randomblob(32), 0, 0, model, 0, NULL, randomblob(8), {values}, 0 FROM tenants"
        );
        self.sql("vault.sqlite", &insert);
    }

    /// The certificate of these names and days from now, in files that the configuration names.
    fn certificate(&mut self, name: &str, days: [i64; 2]) {
        let mut made = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        let day = |day: i64| {
            let date = rcgen::date_time_ymd(1970, 1, 1);
            date + std::time::Duration::from_secs(self.now.saturating_add_signed(day * 86_400))
        };
        (made.not_before, made.not_after) = (day(days[0]), day(days[1]));
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = made.self_signed(&key).unwrap().pem();
        let [certificate, private_key] = ["own.pem", "own-key.pem"].map(|name| self.folder.path().join(name));
        fs::write(&certificate, pem).unwrap();
        fs::write(&private_key, key.serialize_pem()).unwrap();
        fs::set_permissions(&private_key, fs::Permissions::from_mode(0o600)).unwrap();
        (self.config.tls.certificate, self.config.tls.private_key) = (certificate, private_key);
    }

    /// A seal from test vectors as the newest one.
    fn seal(&self) -> SealTime {
        let vectors = include_str!("../../../../../crypto/attest/testdata/contradictions.json");
        let vectors: serde_json::Value = serde_json::from_str(vectors).unwrap();
        let bytes = hex::decode(vectors["seals"][0].as_str().unwrap()).unwrap();
        let connection = Connection::open(self.path("store.sqlite")).unwrap();
        let mut seal = trefoil_attest::Seal::decode(&bytes).unwrap();
        seal.header.vaults = vec![Some(VaultState { generation: 1, ..VaultState::default() })];
        connection.execute("INSERT INTO seals (number, bytes) VALUES (7, ?)", [seal.encode()]).unwrap();
        SealTime(seal.header.time)
    }

    fn found(&self) -> Vec<Finding> {
        examine(&self.config, None, self.now)
    }
}

struct SealTime(u64);

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// The damage, the code of the finding, its level, and words of its place and of its remedy.
type Mistake = (fn(&mut Case), Level, &'static str, &'static str, &'static str);

const W: Level = Level::Warning;
const B: Level = Level::Broken;

const MISTAKES: &[Mistake] = &[
    (|case| fs::remove_dir_all(case.path("")).unwrap(), B, "directory-missing", "/data", "--data-dir"),
    (|case| case.mode("admin.token", 0o644), B, "file-exposed", "admin.token", "chmod go="),
    (|case| case.mode("store.sqlite", 0o640), B, "file-exposed", "store.sqlite", "chmod go="),
    (|case| case.mode("", 0o755), B, "file-exposed", "/data", "chmod go="),
    (
        |case| {
            fs::rename(case.path("master.key"), case.folder.path().join("elsewhere")).unwrap();
            symlink(case.folder.path().join("elsewhere"), case.path("master.key")).unwrap();
        },
        B,
        "file-kind",
        "master.key",
        "put the file itself there",
    ),
    (|case| fs::remove_file(case.path("pepper.key")).unwrap(), B, "file-lost", "pepper.key", "one backup"),
    (|case| case.write("store.sqlite", ""), B, "file-lost", "store.sqlite", "one backup"),
    (|case| case.write("pepper.key", [0; 32]), B, "file-foreign", "pepper.key", "one backup"),
    (|case| case.write("installation.toml", "id = 7"), B, "record-damaged", "installation.toml", "backup"),
    (|case| case.write("restore.unfinished", ""), B, "restore-unfinished", "/data", "restore again"),
    (|case| case.write("trust-root.json", "{}"), B, "trust-root", "trust-root.json", "backup"),
    (
        |case| case.config.server.issuer = "other".to_owned(),
        B,
        "issuer",
        "trust-root.json",
        "set server.issuer to https://127.0.0.1",
    ),
    (|case| case.now += 400 * 86_400, B, "keys-expired", "trust-root.json", "trefoil keys rotate"),
    (|case| case.now += 380 * 86_400, W, "keys-expire", "trust-root.json", "trefoil keys rotate"),
    (|case| case.now -= 86_400, B, "clock-behind", "trust-root.json", "set the clock"),
    (
        |case| case.config.keys.passphrase_file = "/nowhere/words".into(),
        B,
        "passphrase-missing",
        "/nowhere/words",
        "keys.passphrase_file",
    ),
    (
        |case| {
            case.config.keys.passphrase_file = case.folder.path().join("words");
            fs::write(&case.config.keys.passphrase_file, "words").unwrap();
            fs::set_permissions(&case.config.keys.passphrase_file, fs::Permissions::from_mode(0o604))
                .unwrap();
        },
        B,
        "file-exposed",
        "words",
        "chmod go=",
    ),
    (|case| case.write("tls-certificate.pem", "x"), B, "certificate-unreadable", "tls-certificate", "PEM"),
    (|case| case.certificate("127.0.0.1", [-9, -1]), B, "certificate-expired", "own.pem", "renew it"),
    (|case| case.certificate("127.0.0.1", [1, 99]), B, "certificate-not-yet", "own.pem", "clock"),
    (|case| case.certificate("127.0.0.1", [-1, 9]), W, "certificate-expires", "own.pem", "renew it"),
    (|case| case.certificate("a.example", [-1, 99]), W, "certificate-name", "own.pem", "public_url"),
    (
        |case| {
            case.certificate("auth.example", [-1, 99]);
            case.config.server.public_url = "https://other.example:8443".to_owned();
        },
        W,
        "certificate-name",
        "own.pem",
        "for that name",
    ),
    (
        |case| {
            case.certificate("127.0.0.1", [-1, 99]);
            let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
            fs::write(&case.config.tls.private_key, other).unwrap();
        },
        B,
        "certificate-key",
        "own-key.pem",
        "tls.private_key",
    ),
    (
        |case| {
            case.certificate("127.0.0.1", [-1, 99]);
            fs::set_permissions(&case.config.tls.private_key, fs::Permissions::from_mode(0o644)).unwrap();
        },
        B,
        "file-exposed",
        "own-key.pem",
        "chmod go=",
    ),
    (
        |case| {
            case.config.tls.client_ca = case.folder.path().join("callers.pem");
            fs::write(&case.config.tls.client_ca, "x").unwrap();
        },
        B,
        "client-ca-unreadable",
        "callers.pem",
        "tls.client_ca",
    ),
    (
        |case| {
            case.certificate("callers", [-9, 9]);
            case.config.tls.client_ca = std::mem::take(&mut case.config.tls.certificate);
            case.config.tls.private_key = PathBuf::new();
        },
        W,
        "client-ca-expires",
        "own.pem",
        "next certificate",
    ),
    (
        |case| fs::remove_file(case.path("vault.sqlite")).unwrap(),
        B,
        "database-missing",
        "vault.sqlite",
        "backup",
    ),
    (
        |case| case.sql("vault.sqlite", "PRAGMA user_version = 9"),
        B,
        "schema-other",
        "vault.sqlite",
        "program",
    ),
    (|case| case.write("store.sqlite", [7; 9000]), B, "database-damaged", "store.sqlite", "newest backup"),
    (
        |case| case.sql("store.sqlite", "INSERT INTO seals (number, bytes) VALUES (7, x'00')"),
        B,
        "seal-damaged",
        "store.sqlite",
        "newest backup",
    ),
    (|case| case.now = case.seal().0 - 3600, B, "clock-behind", "store.sqlite", "NTP"),
    (|case| case.now = case.seal().0 + 401 * 86_400, W, "clock-ahead", "store.sqlite", "check the clock"),
    (
        |case| case.sql("vault.sqlite", "UPDATE tenants SET malformed = 2, forgiven = 1"),
        W,
        "malformed-jobs",
        "vault.sqlite",
        "reset-malformed",
    ),
    (
        |case| case.sql("vault.sqlite", "UPDATE tenants SET malformed = 3"),
        B,
        "tenant-frozen",
        "vault.sqlite",
        "reset-malformed",
    ),
    (|case| case.subject("0, 0, 0, 0, 0, 100, 0"), W, "budget-spent", "vault.sqlite", "enrol them again"),
    (|case| case.subject("0, 0, 0, 0, 0, 0, 2000"), W, "budget-spent", "vault.sqlite", "enrol them again"),
    (
        |case| case.subject(&format!("5, {}, 0, 0, 0, 0, 0", case.now + 9)),
        W,
        "budget-trips",
        "vault.sqlite",
        "trying faces",
    ),
    (
        |case| case.subject(&format!("0, 0, {}, 20, 0, 0, 0", case.now / 86_400)),
        W,
        "budget-trips",
        "vault.sqlite",
        "trying faces",
    ),
    (
        |case| {
            case.seal();
            case.sql("vault.sqlite", "UPDATE authentic SET generation = 0, restored = 0");
        },
        B,
        "vault-older",
        "vault.sqlite",
        "newest backup",
    ),
    (
        |case| case.config.key_holder.url = format!("tls://127.0.0.1:9#{}", "1".repeat(64)),
        B,
        "key-holder-credential",
        "/data",
        "key-holder fingerprint",
    ),
    (
        |case| {
            // Port 9 of this machine: nothing listens there.
            case.config.key_holder.url = format!("tls://127.0.0.1:9#{}", "1".repeat(64));
            let directory = data_dir::DataDir::open(&case.config.server.data_dir).unwrap();
            Identity::open(&directory, GATEWAY_IDENTITY).unwrap();
        },
        B,
        "key-holder-away",
        "127.0.0.1:9",
        "start the key-holder",
    ),
    (|case| case.config.disk.low_water_mib = 1 << 40, B, "disk-low", "/data", "make room"),
    (|case| case.config.disk.low_water_mib = (free(case) / 3) * 2, W, "disk-low-soon", "/data", "make room"),
    (
        |case| fs::remove_file(case.path("disk.reserve")).unwrap(),
        W,
        "disk-reserve",
        "disk.reserve",
        "make room",
    ),
    (
        |case| {
            // It accepts connections while the process lives, and sends nothing.
            let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            case.config.server.admin_listen = other.local_addr().unwrap();
            std::thread::spawn(move || other.incoming().for_each(drop));
        },
        W,
        "service-unreachable",
        "127.0.0.1:",
        "server.admin_listen",
    ),
];

fn free(case: &Case) -> u64 {
    let found = rustix::fs::statvfs(&case.config.server.data_dir).unwrap();
    found.f_bavail.saturating_mul(found.f_frsize) >> 20
}

/// Claim I25: `trefoil doctor` changes nothing.
#[test]
fn an_installation_that_is_well_is_found_well_and_left_as_it_was() {
    let case = Case::new();
    let listing = || {
        let entries = fs::read_dir(case.path("")).unwrap().map(|entry| entry.unwrap());
        let mut all: Vec<_> = entries
            .map(|entry| {
                (
                    entry.file_name(),
                    entry.metadata().unwrap().len(),
                    entry.metadata().unwrap().modified().unwrap(),
                )
            })
            .collect();
        all.sort();
        all
    };
    let before = listing();
    let found = case.found();
    assert!(found.iter().all(|finding| finding.level == Level::Ok), "{found:#?}");
    let codes: Vec<&str> = found.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["files", "store", "key-holder", "certificate", "keys", "disk", "service"]);
    assert_eq!(listing(), before);
}

#[test]
fn each_thing_that_is_wrong_is_named_with_its_place_and_what_to_do() {
    for (spoil, level, code, place, remedy) in MISTAKES {
        let mut case = Case::new();
        spoil(&mut case);
        let found = case.found();
        let fits = |finding: &&Finding| finding.code == *code && finding.place.contains(place);
        let Some(finding) = found.iter().find(fits) else { panic!("{code}: {found:#?}") };
        assert_eq!(finding.level, *level, "{finding:#?}");
        assert!(finding.remedy.contains(remedy) && !finding.what.is_empty(), "{finding:#?}");
    }
}

#[test]
fn a_certificate_is_warned_of_as_many_days_before_its_end_as_the_settings_say() {
    let mut case = Case::new();
    case.certificate("127.0.0.1", [-1, 9]);
    for (days, code) in [(0, "certificate"), (8, "certificate"), (10, "certificate-expires")] {
        case.config.tls.warn_days = days;
        assert!(case.found().iter().any(|finding| finding.code == code), "{days}: {:#?}", case.found());
    }
}

#[test]
fn a_file_of_another_user_is_named_with_both_users() {
    let path = "/data/store.sqlite".to_owned();
    let found = file(&data_dir::DataDirError::Owner { path, owner: 7, user: 8 });
    assert_eq!((found.code.as_str(), found.place.as_str()), ("file-owner", "/data/store.sqlite"));
    assert!(found.what.contains("user 7") && found.remedy.contains("chown 8"), "{found:#?}");
}

#[test]
fn a_directory_of_another_user_is_one_finding_that_names_the_user_to_run_it_as() {
    let case = Case::new();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&case.config.server.data_dir, Some(12_345), None).unwrap();
        let found = case.found();
        let [one] = &found[..] else { panic!("{found:#?}") };
        assert!(one.what.contains("user 12345") && one.remedy.contains("sudo -u '#12345' trefoil doctor"));
    }
}
