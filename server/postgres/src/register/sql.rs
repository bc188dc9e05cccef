//! The statements of the register.

use trefoil_storage::store::SessionId;

/// Rows that one sweep of a table deletes: well below what fits into the shortest patience.
pub(super) const SWEEP_MAX: u64 = 2_000;

/// Kinds of rows in the answer to a batch, in the order in which they come.
pub(super) const NOW: i32 = 0;
pub(super) const SINCE: i32 = 1;
pub(super) const NONCE: i32 = 2;
pub(super) const MOVED: i32 = 3;

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
                   pg_relation_filenode('register_nonces'), pg_relation_filenode('register_positions'))"
    };
}

/// The row of the register, unless it forgot.
macro_rules! row {
    () => {
        concat!("register WHERE id = 0 AND name = ", name!())
    };
}

/// The part of a batch that is about nonces. Without a row nothing is inserted, nor is one that is dated more than $3 ahead, which is refused.
macro_rules! nonces {
    () => {
        concat!(
            "WITH row AS MATERIALIZED (SELECT ",
            now!(),
            " AS now, greatest(since, swept) AS since FROM ",
            row!(),
            "),
             nonces AS (
                 INSERT INTO register_nonces (half, at)
                 SELECT half, at FROM row, unnest($1::bytea[], $2::bigint[]) AS new (half, at) WHERE at <= now + $3::bigint ORDER BY half
                 ON CONFLICT DO NOTHING RETURNING half
             )"
        )
    };
}

/// The part of the answer that is about them.
macro_rules! answer {
    () => {
        "SELECT 0, NULL::bytea, now FROM row UNION ALL SELECT 1, NULL, since FROM row UNION ALL SELECT 2, half, NULL FROM nonces"
    };
}

/// Each batch of a call is one transaction, and the lock lets one node at a time make the tables.
pub(crate) const TABLES: &str = "
    SELECT pg_advisory_xact_lock(hashtext('trefoil register'));
    CREATE UNLOGGED TABLE IF NOT EXISTS register (id bigint PRIMARY KEY, since bigint NOT NULL, name text NOT NULL, swept bigint NOT NULL);
    CREATE UNLOGGED TABLE IF NOT EXISTS register_nonces (half bytea PRIMARY KEY, at bigint NOT NULL);
    CREATE INDEX IF NOT EXISTS register_nonces_by_age ON register_nonces (at);
    CREATE UNLOGGED TABLE IF NOT EXISTS register_positions (
        session bytea PRIMARY KEY, position bigint NOT NULL, value bytea NOT NULL, until bigint NOT NULL
    );
    CREATE INDEX IF NOT EXISTS register_positions_by_end ON register_positions (until)";

pub(super) const ARE_THERE: &str = "SELECT count(to_regclass(name)) FROM (VALUES ('register'), ('register_nonces'), ('register_positions')) AS needed (name)";

pub(super) const FORGET: &str = "TRUNCATE register, register_nonces, register_positions";

/// Until when nonces may be forgotten, and the time; no row if the register forgot.
pub(super) const REMEMBERS: &str = concat!("SELECT greatest(since, swept), ", now!(), " FROM ", row!());

/// Batches go on: they read the row without this lock.
pub(super) const LOCK: &str = "BEGIN; LOCK TABLE register IN EXCLUSIVE MODE";

/// Old positions go too, because they may be those of an older copy. The name is that of the new files.
///
/// Before the first tenant there was no login, so nothing is forgotten, and the register remembers everything since 0. The row of a tenant is never
/// deleted, so its table has bytes from the first one on. They are asked for and not the rows, which another role might not see: no table means that
/// there may have been tenants. Otherwise the register remembers what comes `late_s` from now on, or from the time that the log has `reached`,
/// which is later if the database's clock was set back.
pub(super) fn begin_anew(late_s: u64, reached: u64) -> String {
    let (now, name) = (now!(), name!());
    format!(
        "TRUNCATE register_nonces, register_positions; DELETE FROM register;
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

/// A batch without reveals: $1 has the nonces, $2 the dates of their requests.
pub(super) const NONCES: &str = concat!(nonces!(), answer!());

/// A batch: $1 has the nonces, $2 the dates of their requests, $4, $5 and $6 the sessions, positions and values that are revealed. A position only rises, and only that of a
/// session that is there. The last rows are the positions before.
pub(super) const SPEND: &str = concat!(
    nonces!(),
    ", moved AS (
         INSERT INTO register_positions (session, position, value, until)
         SELECT DISTINCT ON (session) session, new.position, new.value, old.until
         FROM row, unnest($4::bytea[], $5::bigint[], $6::bytea[]) AS new (session, position, value)
         JOIN register_positions AS old USING (session) ORDER BY session, new.position DESC
         ON CONFLICT (session) DO UPDATE SET position = EXCLUDED.position, value = EXCLUDED.value
         WHERE register_positions.position < EXCLUDED.position RETURNING session, position
     ) ",
    answer!(),
    " UNION ALL SELECT 3, session, position FROM moved
      UNION ALL SELECT 4, session, position FROM register_positions WHERE session = ANY ($4)"
);

/// Answers with a row if the register has remembered since `known_at`.
pub(super) fn open(session: SessionId, known_at: u64, until: u64) -> String {
    let session = hex::encode(session);
    format!(
        "WITH row AS MATERIALIZED (SELECT since FROM {} AND since < {known_at}), opened AS (
             INSERT INTO register_positions SELECT decode('{session}', 'hex'), 0, ''::bytea, {until} FROM row
             ON CONFLICT (session) DO UPDATE SET until = greatest(register_positions.until, EXCLUDED.until)
         ) SELECT since FROM row",
        row!()
    )
}

/// The last position and value of a session.
pub(super) fn last(session: SessionId) -> String {
    let session = hex::encode(session);
    format!(
        "SELECT position, encode(value, 'hex') FROM register_positions WHERE session = decode('{session}', 'hex') AND EXISTS (SELECT 1 FROM {})",
        row!()
    )
}

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

/// Statements that delete nonces from before `swept` and the positions of sessions that are over. Nodes that sweep at one time take different rows.
pub(super) fn sweep(swept: u64) -> [String; 2] {
    let now = now!();
    // In the order of the index by time, so that it is used: the planner cannot know that few rows are old.
    let of = |table: &str, key: &str, is_old: &str, time: &str| {
        format!(
            "DELETE FROM {table} WHERE {key} IN (
                 SELECT {key} FROM {table} WHERE {is_old} ORDER BY {time} LIMIT {SWEEP_MAX}
                 FOR UPDATE SKIP LOCKED)"
        )
    };
    let nonces = format!("at < {swept} AND at < (SELECT swept FROM {})", row!());
    let positions = format!("until < (SELECT {now})");
    [of("register_nonces", "half", &nonces, "at"), of("register_positions", "session", &positions, "until")]
}
