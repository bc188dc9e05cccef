//! The bytes of a subject, of a session, of a seal and of an entry in the audit trail, and the writes that make them.
//!
//! A real PostgreSQL server with `fsync` on, started for the run, and a service in a process of its own. Enrolments, sessions, logins and
//! changes by an operator go over HTTPS, as callers send them. Before and after each phase the server is asked what it counted. The same enrolments then go to a service
//! with SQLite files. A vault is filled without a service, because only many subjects show what one of them costs a key-holder's memory.
//!
//! Figures for more subjects than were stored are computed, and stand apart in the record.

mod caller;
pub(crate) mod counts;
mod phases;
mod projection;
mod vault;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trefoil_testing::postgres::{self, Server};

use crate::Failure;
use crate::Report;
use crate::apart::{Service, runtime};
use crate::distribution::rounded;
use crate::flood::world::Reached;
use caller::Caller;
use counts::Database;
use phases::{AFTER_START, PAUSE, Phases, TOGETHER};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Subjects that are enrolled while the database counts.
    pub subjects: usize,
    /// People who open a session while the database counts.
    pub sessions: usize,
    /// Logins for the first time after a start, and then again.
    pub cold: usize,
    /// Length of the phase of concurrent logins.
    pub load: Duration,
    /// Subjects in the vault.
    pub vault_subjects: usize,
}

/// Logins and enrolments one after another, of which a short run makes fewer.
const ALONE: usize = 100;

impl Size {
    fn alone(&self) -> usize {
        ALONE.min(self.subjects)
    }
}

/// Subjects before the database counts, so that each table has its first pages.
const BEFORE: usize = 32;
/// Settings of the server that differ from those of tests. Durable, because a commit's time is part of an enrolment's.
const SETTINGS: [&str; 6] = [
    "fsync = on",
    "autovacuum = off",
    "shared_buffers = 128MB",
    "max_wal_size = 4GB",
    "shared_preload_libraries = 'pg_stat_statements'",
    "pg_stat_statements.max = 10000",
];

/// Measures all of it.
///
/// # Errors
/// When PostgreSQL is missing, or a step fails. A decision that is wrong is in the report.
pub fn size(parameters: &Size) -> Result<Report, Failure> {
    if postgres::find().is_none() {
        return Err(Failure::usage("no initdb: install PostgreSQL, such as apt-get install postgresql"));
    }
    let folder = tempfile::tempdir().map_err(Failure::in_step("temporary directory"))?;
    let mut problems = Vec::new();
    // First, while this process has little memory of its own that it could use again.
    let vault = vault::measured(folder.path(), parameters.vault_subjects)?;
    let postgresql = in_postgres(parameters, &folder.path().join("one"), &mut problems)?;
    let sqlite = in_sqlite(parameters, &folder.path().join("two"))?;
    let mut result = json!({
        "subjects": parameters.subjects, "load_s": parameters.load.as_secs_f64(), "settings": SETTINGS,
        "postgresql": postgresql, "sqlite": sqlite, "vault": vault,
    });
    result["computed"] = projection::computed(&result);
    let summary = summary(&result);
    let problem = (!problems.is_empty()).then(|| problems.join("; "));
    Ok(Report { summary, result, problem })
}

fn in_postgres(parameters: &Size, data: &Path, problems: &mut Vec<String>) -> Result<Value, Failure> {
    let server = Server::start(&SETTINGS).ok_or_else(|| Failure::fault("PostgreSQL did not start"))?;
    let url = server.database();
    let database = Database::of(&server, &url)?;
    let runtime = runtime(2, 0)?;
    let (service, reached, start_empty_s) = started(data, Some(&url))?;
    let mut phases = Phases { database: &database, reached, runtime, parameters: *parameters };
    let mut caller = phases.tenant()?;
    phases.runtime.block_on(caller.enrol(BEFORE, 1))?;
    let enrolment_alone = phases.enrolments(&mut caller, parameters.alone(), 1)?;
    let enrolment = phases.enrolments(&mut caller, parameters.subjects, TOGETHER)?;
    let session = phases.sessions()?;
    let idle = phases.idle()?;
    let login_alone = phases.logins_alone(&mut caller, problems)?;
    let login = phases.logins_together(&mut caller, problems)?;
    let change = phases.changes()?;
    let connections = database.connections();
    service.stop()?;
    let (service, reached, start_s) = started(data, Some(&url))?;
    phases.reached = reached;
    caller = caller.moved(&phases.reached)?;
    let first_login = phases.cold_and_warm(&mut caller, &service, problems)?;
    let dump = database.dump()?;
    let rotation = phases.rotation(&caller)?;
    let rows = database.compacted(|| service.stop())?;
    Ok(json!({
        "version": database.version(), "connections": connections, "start_empty_s": start_empty_s, "start_s": start_s,
        "enrolment": enrolment, "enrolment_alone": enrolment_alone, "session": session, "idle": idle, "login_alone": login_alone, "login": login,
        "change": change, "first_login": first_login, "dump": dump, "rotation": rotation, "bytes_per_row": rows,
    }))
}

fn in_sqlite(parameters: &Size, data: &Path) -> Result<Value, Failure> {
    let runtime = runtime(1, 0)?;
    let (service, reached, start_empty_s) = started(data, None)?;
    let mut caller = Caller::new(&reached, &runtime)?;
    runtime.block_on(caller.enrol(BEFORE, 1))?;
    service.stop()?;
    let before = files(data)?;

    let (service, reached, _) = started(data, None)?;
    let mut caller = caller.moved(&reached)?;
    std::thread::sleep(AFTER_START);
    let first = runtime.block_on(caller.log_in(0))?.seal;
    for _ in 1..parameters.alone() {
        std::thread::sleep(PAUSE);
        runtime.block_on(caller.log_in(0))?;
    }
    let next = runtime.block_on(caller.log_in(0))?.seal + 1;
    service.stop()?;
    let logged_in = files(data)?;

    let (service, reached, _) = started(data, None)?;
    let mut caller = caller.moved(&reached)?;
    runtime.block_on(caller.enrol(parameters.subjects, TOGETHER))?;
    std::thread::sleep(AFTER_START);
    let last = runtime.block_on(caller.log_in(0))?.seal;
    service.stop()?;
    let after = files(data)?;
    let (service, _, start_s) = started(data, None)?;
    service.stop()?;

    let subjects = parameters.subjects as f64;
    let seal = (logged_in[0] - before[0]) / (next - first) as f64;
    let enrolled = after[0] - logged_in[0] - seal * (last + 1 - next) as f64;
    Ok(json!({
        "bytes_per_seal": rounded(seal), "store_bytes_per_subject": rounded(enrolled / subjects),
        "vault_bytes_per_subject": rounded((after[1] - logged_in[1]) / subjects),
        "start_empty_s": start_empty_s, "start_s": start_s,
    }))
}

/// Bytes of the two files of a service that has stopped, which are then complete.
fn files(data: &Path) -> Result<[f64; 2], Failure> {
    let length = |name: &str| {
        let file = std::fs::metadata(data.join(name)).map_err(Failure::in_step(format!("look at {name}")))?;
        Ok::<_, Failure>(file.len() as f64)
    };
    Ok([length("store.sqlite")?, length("vault.sqlite")?])
}

/// A service that is ready, and the seconds that this took.
fn started(data: &Path, store: Option<&str>) -> Result<(Service, Reached, f64), Failure> {
    let began = Instant::now();
    let (service, reached) = Service::start_with_store(data, store)?;
    Ok((service, reached, rounded(began.elapsed().as_secs_f64())))
}

fn summary(result: &Value) -> String {
    let at = |pointer: &str| result.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
    format!(
        "a subject: {:.0} bytes in PostgreSQL, {:.0} in SQLite, {:.0} in the vault, {:.0} of a key-holder's memory\n\
         an enrolment: {:.1} transactions, {:.1} statements, {:.0} bytes of WAL\n\
         a session: {:.1} statements, {:.0} bytes of WAL; a login: {:.3} statements, {:.0} bytes of WAL with {:.1} logins a seal\n\
         a first login after a start: p50 {:.2} ms, then {:.2} ms; {:.0} bytes of memory for each template\n\
         rotation {:.0} templates/s, dump {:.1} MB/s\n",
        at("/computed/postgresql_bytes_per_subject"),
        at("/sqlite/store_bytes_per_subject"),
        at("/vault/bytes_per_subject"),
        at("/vault/memory_bytes_per_subject"),
        at("/postgresql/enrolment/transactions"),
        at("/postgresql/enrolment/statements"),
        at("/postgresql/enrolment/wal_bytes"),
        at("/postgresql/session/statements"),
        at("/postgresql/session/wal_bytes"),
        at("/postgresql/login/statements"),
        at("/postgresql/login/wal_bytes"),
        at("/postgresql/login/logins_per_seal"),
        at("/postgresql/first_login/cold_p50_ms"),
        at("/postgresql/first_login/warm_p50_ms"),
        at("/postgresql/first_login/memory_bytes_per_template"),
        at("/postgresql/rotation/templates_per_s"),
        at("/postgresql/dump/mb_per_s"),
    )
}
