//! The statements of the register.

/// Rows that one sweep of a table deletes: well below what fits into the shortest patience.
pub(super) const SWEEP_MAX: u64 = 2_000;

/// Kinds of rows in the answer to a batch, in the order in which they come.
pub(super) const NOW: i32 = 0;
pub(super) const SINCE: i32 = 1;

/// The database's clock, Unix seconds.
macro_rules! now {
    () => {
        "floor(extract(epoch FROM clock_timestamp()))::bigint"
    };
}

pub(crate) const CLOCK: &str = concat!("SELECT ", now!());

/// Names this start of this server, and the files of the tables. Another server, a copy that was put back and a table that was emptied have
/// another name.
macro_rules! name {
    () => {
        "concat_ws(' ', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, pg_relation_filenode('register'),
                   pg_relation_filenode('register_nonces'))"
    };
}

/// The row of the register, unless it forgot.
macro_rules! row {
    () => {
        concat!("register WHERE id = 0 AND name = ", name!())
    };
}

/// Each batch of a call is one transaction, and the lock lets one node at a time make the tables.
pub(crate) const TABLES: &str = "
    SELECT pg_advisory_xact_lock(hashtext('trefoil register'));
    CREATE UNLOGGED TABLE IF NOT EXISTS register (id bigint PRIMARY KEY, since bigint NOT NULL, name text NOT NULL, swept bigint NOT NULL);
    CREATE UNLOGGED TABLE IF NOT EXISTS register_nonces (half bytea PRIMARY KEY, at bigint NOT NULL);
    CREATE INDEX IF NOT EXISTS register_nonces_by_age ON register_nonces (at)";

pub(super) const ARE_THERE: &str =
    "SELECT count(to_regclass(name)) FROM (VALUES ('register'), ('register_nonces')) AS needed (name)";

pub(super) const FORGET: &str = "TRUNCATE register, register_nonces";

/// Until when nonces may be forgotten, and the time; no row if the register forgot.
pub(super) const REMEMBERS: &str = concat!("SELECT greatest(since, swept), ", now!(), " FROM ", row!());

/// Batches go on: they read the row without this lock.
pub(super) const LOCK: &str = "BEGIN; LOCK TABLE register IN EXCLUSIVE MODE";

/// Old nonces go too, because they may be those of an older copy. The name is that of the new files.
///
/// Before the first tenant there was no login, so nothing is forgotten, and the register remembers everything since 0. The row of a tenant is never
/// deleted, so its table has bytes from the first one on. They are asked for and not the rows, which another role might not see: no table means that
/// there may have been tenants. Otherwise the register remembers what comes `late_s` from now on, or from the time that the log has `reached`,
/// which is later if the database's clock was set back.
pub(super) fn begin_anew(late_s: u64, reached: u64) -> String {
    let (now, name) = (now!(), name!());
    format!(
        "TRUNCATE register_nonces; DELETE FROM register;
         INSERT INTO register VALUES (
             0, CASE coalesce(pg_relation_size(to_regclass('tenants')), 1) WHEN 0 THEN 0 ELSE greatest({now}, {reached}) + {late_s} END, {name}, 0);
         COMMIT"
    )
}

/// The newest seal, and what the clock said that an operator accepted after it; no row without tables, or a seal.
pub(super) const HAS_SEALS: &str =
    "SELECT 1 WHERE to_regclass('seals') IS NOT NULL AND to_regclass('accepted_clocks') IS NOT NULL";
pub(super) const REACHED: &str =
    "SELECT encode(bytes, 'hex'), (SELECT at FROM accepted_clocks WHERE first_seal > number ORDER BY id DESC LIMIT 1)
     FROM seals ORDER BY number DESC LIMIT 1";

/// A batch: $1 has the nonces, $2 the dates of their requests. Without a row nothing is inserted, nor is one that is dated more than $3 ahead,
/// which is refused.
pub(super) const SPEND: &str = concat!(
    "WITH row AS MATERIALIZED (SELECT ",
    now!(),
    " AS now, greatest(since, swept) AS since FROM ",
    row!(),
    "),
     nonces AS (
         INSERT INTO register_nonces (half, at)
         SELECT half, at FROM row, unnest($1::bytea[], $2::bigint[]) AS new (half, at) WHERE at <= now + $3::bigint ORDER BY half
         ON CONFLICT DO NOTHING RETURNING half
     )
     SELECT 0, NULL::bytea, now FROM row UNION ALL SELECT 1, NULL, since FROM row UNION ALL SELECT 2, half, NULL FROM nonces"
);

/// Raises the time up to which nonces may be forgotten, and returns it. No request is accepted that is older than the newest one by `keep_s`, nor
/// by the clock; neither of the two alone raises it. If the clock was set back, it is the time that the log has `reached`.
pub(super) fn raise(keep_s: u64, early_s: u64, reached: u64) -> String {
    let (now, row) = (now!(), row!());
    let (_, of_row) = row.split_once(' ').expect("the table comes first");
    format!(
        "UPDATE register SET swept = greatest(
             swept, least({now}, (SELECT coalesce(max(at), 0) FROM register_nonces)) - {keep_s},
             CASE WHEN {reached} > {now} + {early_s} THEN {reached} ELSE 0 END)
         {of_row} RETURNING swept"
    )
}

/// Deletes nonces from before `swept`. Nodes that sweep at one time take different rows.
pub(super) fn sweep(swept: u64) -> String {
    // In the order of the index by time, so that it is used: the planner cannot know that few rows are old.
    format!(
        "DELETE FROM register_nonces WHERE half IN (
             SELECT half FROM register_nonces WHERE at < {swept} AND at < (SELECT swept FROM {}) ORDER BY at LIMIT {SWEEP_MAX}
             FOR UPDATE SKIP LOCKED)",
        row!()
    )
}
