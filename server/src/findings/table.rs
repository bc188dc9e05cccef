//! Every finding that is no good news: its name, its severity, what it finds, and what to do.

use trefoil_api::{Finding, Level};

/// For each finding: name, severity, what it finds, what to do unless the finding itself knows better.
macro_rules! faults {
    ($($fault:ident: $code:literal, $level:ident, $finds:literal, $cure:literal;)*) => {
        /// What can be wrong with a service.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $(#[doc = $finds] $fault,)*
        }

        impl Fault {
            /// Each.
            pub const ALL: &'static [Fault] = &[$(Fault::$fault),*];

            /// What its finding says wherever it is.
            pub fn row(self) -> (&'static str, Level, &'static str, &'static str) {
                match self {
                    $(Fault::$fault => ($code, Level::$level, $finds, $cure),)*
                }
            }
        }
    };
}

impl Fault {
    /// The finding at this place.
    pub fn at(self, place: impl ToString, what: impl Into<String>) -> Finding {
        let (code, level, _, cure) = self.row();
        Finding {
            level,
            code: code.to_owned(),
            place: place.to_string(),
            what: what.into(),
            remedy: cure.to_owned(),
        }
    }

    /// Its stable name.
    pub fn code(self) -> &'static str {
        self.row().0
    }
}

faults! {
    Configuration: "configuration", Broken, "a setting that cannot be used",
        "correct it, then look again";
    DirectoryMissing: "directory-missing", Broken, "no installation in the data directory",
        "name its directory with --data-dir, or make one with `trefoil serve`";
    DirectoryOwner: "directory-owner", Broken, "the directory is another user's than the command's",
        "run it as the service's user";
    FileExposed: "file-exposed", Broken, "a file or directory that others may read",
        "take the rights away with chmod";
    FileOwner: "file-owner", Broken, "a file of another user",
        "give it to the service's user";
    FileKind: "file-kind", Broken, "a link or directory in place of a file, or a file in place of a directory",
        "put the file there";
    FileLost: "file-lost", Broken, "a file of the installation that is missing or empty",
        "restore the whole directory from one backup";
    FileForeign: "file-foreign", Broken, "a file that was edited or is another installation's",
        "restore the whole directory from one backup";
    FileUnreadable: "file-unreadable", Broken, "a file that cannot be read",
        "";
    RecordDamaged: "record-damaged", Broken, "the record of the files that belong together does not read",
        "restore the whole directory from one backup";
    RestoreUnfinished: "restore-unfinished", Broken, "a restore that was interrupted",
        "remove the directory and restore again";
    NodeUnfinished: "node-unfinished", Broken, "a node's new directory that was not finished",
        "repeat the command that makes it";
    CertificateExpired: "certificate-expired", Broken, "the certificate has expired",
        "renew it";
    CertificateExpires: "certificate-expires", Warning, "the certificate expires within `tls.warn_days`",
        "renew it";
    CertificateNotYet: "certificate-not-yet", Broken, "the certificate is not valid yet",
        "set the clock of this machine, or use a certificate that is valid";
    CertificateName: "certificate-name", Warning, "the certificate is for other names than `server.public_url`",
        "use a certificate for that name (tls.names for a self-signed one), or correct server.public_url";
    CertificateKey: "certificate-key", Broken, "the key is another certificate's, or cannot be used",
        "set tls.private_key to the key that the certificate was made for";
    CertificateUnreadable: "certificate-unreadable", Broken, "the certificate cannot be read",
        "put the PEM chain there, or correct tls.certificate";
    CertificateNotRenewed: "certificate-not-renewed", Warning, "renewed certificate files that could not be used",
        "correct the file; it is read again when it changes. Until then new connections get the certificate before";
    ClientCaExpired: "client-ca-expired", Broken, "an authority of callers' certificates has expired",
        "add the authority's next certificate to the file, and give callers certificates that it signed";
    ClientCaExpires: "client-ca-expires", Warning, "an authority of callers' certificates expires within `tls.warn_days`",
        "add the authority's next certificate to the file, and give callers certificates that it signed";
    ClientCaUnreadable: "client-ca-unreadable", Broken, "the authorities of callers' certificates cannot be read",
        "put the PEM certificates of the authorities there, or empty tls.client_ca to demand none";
    KeysExpired: "keys-expired", Broken, "the signing keys have expired",
        "`trefoil keys rotate`, give relying parties the next trust root, and start the service again";
    KeysExpire: "keys-expire", Warning, "the signing keys expire within 30 days",
        "`trefoil keys rotate`, give relying parties the next trust root, and start the service again";
    KeysNone: "keys-none", Broken, "no key set is active",
        "`trefoil keys show`";
    KeysAwaitRestart: "keys-await-restart", Warning, "rotated keys wait for a restart; broken once the old ones have retired",
        "give relying parties the next trust root, then restart this node; seals by the old keys are refused from that time on";
    KeysShared: "keys-shared", Warning, "another node of the fleet signs with the same keys",
        "give it a directory of its own with `trefoil keys add-node`, or change keys only while every node with these keys is stopped";
    Issuer: "issuer", Broken, "the trust root is of another issuer than configured",
        "set server.issuer to that of the trust root";
    TrustRoot: "trust-root", Broken, "the trust root does not read",
        "restore the whole directory from one backup, or start a new one";
    TrustRootBehind: "trust-root-behind", Warning, "another node has a newer version of the trust root",
        "copy the later versions from its trust-roots into this node's";
    TrustRootSplit: "trust-root-split", Broken, "another node has another trust root of the same version",
        "see FLEET.md, \"A split trust root\"";
    PassphraseMissing: "passphrase-missing", Broken, "the file with the passphrase of the signing keys is missing",
        "put the passphrase of the signing keys there, or correct keys.passphrase_file";
    ClockBehind: "clock-behind", Broken, "the clock is more than 2 s behind what was sealed, or before the signing keys begin",
        "set the clock of this machine (NTP); if it is right, and was ahead when that seal was made, see OPERATING.md, \"A clock that was wrong\"";
    ClockAhead: "clock-ahead", Warning, "the clock is 400 days after the newest seal, or ahead of the fleet's database",
        "set the clocks of this machine and of the database (NTP)";
    ClockStepped: "clock-stepped", Warning, "the clock of a running service was set by more than 3 s, for an hour",
        "find out who sets it: a time service should slew it (chrony, systemd-timesyncd), and a machine that slept or was moved is set once";
    ClockDisputed: "clock-disputed", Warning, "almost all logins are too old or too new by the clock of a running service",
        "set the clock of this machine (NTP)";
    DatabaseUnnamed: "database-unnamed", Broken, "the node keeps its store in PostgreSQL, and no database is named",
        "give --config, or --store and --key-holder, as `trefoil serve` gets them";
    DatabaseMissing: "database-missing", Broken, "the database, its tables or its key are not there",
        "start the service once, if it never ran; else restore the whole directory, or the database, from the newest backup";
    DatabaseAway: "database-away", Broken, "the database cannot be reached",
        "start the database, and look at its log, the network between, the password, and the certificate";
    DatabaseDamaged: "database-damaged", Broken, "the database does not read",
        "keep a copy, check the disk, then restore the whole directory from the newest backup";
    DatabaseRights: "database-rights", Warning, "the database's role has more rights than it needs; broken if it has fewer",
        "run `trefoil store migrate --serve-as` as the owner, see FLEET.md, \"Two roles\"";
    SchemaOther: "schema-other", Broken, "the database is of another version of the program",
        "use the program that wrote it";
    SealDamaged: "seal-damaged", Broken, "the newest seal does not read",
        "keep a copy, check the disk, then restore the whole directory from the newest backup";
    StartRefused: "start-refused", Broken, "what a start refuses, where no service runs: also a port that is taken, signing keys that do not open (if their passphrase is there), a file or database that is older than another or that somebody else wrote to",
        "as it says: `trefoil serve` refuses to start with these words";
    StartUnfinished: "start-unfinished", Warning, "a first start that was interrupted",
        "`trefoil serve` finishes it";
    KeyHolderCredential: "key-holder-credential", Broken, "the service has no credential for its key-holder",
        "`trefoil key-holder fingerprint --gateway DIR` makes one and prints what the key-holder has to list";
    KeyHolderAway: "key-holder-away", Broken, "the key-holder cannot be reached; of three, a warning for one",
        "start the key-holder, or correct keyholder.url; its fingerprint and the list of its clients have to fit";
    KeyHolderOrder: "key-holder-order", Broken, "three key-holders are listed in another order than their seats",
        "list them in the order of their seats";
    VaultOlder: "vault-older", Broken, "the vault is older than the newest seal shows",
        "restore the whole directory from the newest backup";
    MalformedJobs: "malformed-jobs", Warning, "jobs that an honest gateway does not send",
        "find out which gateway sent them (the key-holder's job log), then `trefoil admin reset-malformed TENANT`";
    TenantFrozen: "tenant-frozen", Broken, "malformed jobs froze a tenant",
        "find out which gateway sent them (the key-holder's job log), then `trefoil admin reset-malformed TENANT`";
    BudgetSpent: "budget-spent", Warning, "templates whose attempt budget is spent for good",
        "find out who tried, then delete these subjects' templates and enrol them again";
    BudgetTrips: "budget-trips", Warning, "subjects that are locked out for seconds, or until midnight UTC",
        "nothing, unless their number grows: then somebody is trying faces";
    BudgetsTrip: "budgets-trip", Warning, "60 attempts in ten minutes on subjects without a budget: somebody may be trying faces",
        "see with `trefoil admin usage TENANT` whose logins fail, and have that caller stopped";
    RefusalsMany: "refusals-many", Warning, "more logins of a tenant are refused than the model of its policy explains",
        "see that the application sends what the model gives; else see with `trefoil admin usage TENANT` who tries faces";
    DiskLow: "disk-low", Broken, "less free space than `disk.low_water_mib`: logins are refused",
        "make room; the service recovers within seconds";
    DiskLowSoon: "disk-low-soon", Warning, "less free space than twice `disk.low_water_mib`",
        "make room";
    DiskReserve: "disk-reserve", Warning, "no reserve for erasures",
        "make room; a running service then makes the file anew";
    DiskUnknown: "disk-unknown", Broken, "the free space cannot be read",
        "";
    NodeSilent: "node-silent", Broken, "a node of the fleet has asked the database nothing for 15 s",
        "look at its log and at `/readyz` of its admin listener, and end the process if it gives no answer";
    NodeVersion: "node-version", Warning, "a node of the fleet runs another version",
        "restart the nodes one by one with the same program";
    NodeTrustRootBehind: "node-trust-root-behind", Warning, "a node of the fleet has an older version of the trust root than this directory",
        "copy the later versions from this directory's trust-roots into that node's";
    NodeTrustRootSplit: "node-trust-root-split", Broken, "a node of the fleet has another trust root of the same version than this directory",
        "see FLEET.md, \"A split trust root\"";
    ServiceNotReady: "service-not-ready", Broken, "the service takes no requests",
        "see its log";
    ServiceUnreachable: "service-unreachable", Warning, "another process has the service's port",
        "find out which process listens here, and correct server.admin_listen or stop it";
    ServiceSilent: "service-silent", Warning, "the running service does not say what it finds",
        "ask again, and see its log";
    AdminTokenRefused: "admin-token-refused", Warning, "the running service does not accept the admin token, so what it finds is not known",
        "give the file of an operator's token, of which a viewer's will do: --admin-token-file FILE";
    AdminTokenUnreadable: "admin-token-unreadable", Warning, "the admin token cannot be read, so what the running service finds is not known",
        "give the file of an operator's token, of which a viewer's will do: --admin-token-file FILE";
    NoncesFullSoon: "nonces-full-soon", Warning, "four fifths of the nonces that are remembered in two minutes are taken",
        "raise pipeline.nonces, which costs memory, and start the service again";
    QueueFullSoon: "queue-full-soon", Warning, "half of the logins that may wait for a batch wait",
        "more logins come than the cores match: add cores or another service";
    RequestsRefused: "requests-refused", Warning, "requests are refused for a reason that callers cannot cure, for a minute or longer, or 20 of them; told until an hour has passed without",
        "as the finding says of each code";
    LogLinesLost: "log-lines-lost", Warning, "lines of the log that could not be written",
        "make room for the log, or read it faster; then start the service again";
}
