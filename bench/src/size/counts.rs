//! What the database server counts.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use trefoil_testing::postgres::{self, Server};

use crate::Failure;
use crate::distribution::rounded;

/// The service's database.
pub(crate) struct Database<'a> {
    server: &'a Server,
    name: String,
}

/// The counts at one moment. Statistics of `pg_stat_database` come late; these are there at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    transactions: f64,
    statements: f64,
    /// That statements returned or changed.
    rows: f64,
    /// Of the whole server, from the position in the write-ahead log.
    wal_bytes: f64,
    /// Images of whole pages, which are in the log once per page and checkpoint.
    wal_page_images: f64,
    /// Bytes of each table: rows, long values kept apart, indexes.
    tables: BTreeMap<String, [f64; 3]>,
}

impl<'a> Database<'a> {
    /// The one that an address of `server` names.
    pub(crate) fn of(server: &'a Server, url: &str) -> Result<Database<'a>, Failure> {
        let name = url.split(['/', '?']).nth(3).unwrap_or_default().to_owned();
        server.sql("postgres", "CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
        Ok(Database { server, name })
    }

    pub(crate) fn version(&self) -> String {
        self.server.sql("postgres", "SHOW server_version")
    }

    /// Sessions of the service.
    pub(crate) fn connections(&self) -> u64 {
        let count = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{}'", self.name);
        self.server.sql("postgres", &count).parse().unwrap_or(0)
    }

    /// The number of the newest seal.
    pub(crate) fn newest_seal(&self) -> f64 {
        self.server.sql(&self.name, "SELECT max(number) FROM seals").parse().unwrap_or(f64::NAN)
    }

    /// The counts after a phase, to be compared with those before.
    pub(crate) fn counts(&self) -> Counts {
        let totals = format!(
            "SELECT coalesce(sum(calls) FILTER (WHERE query = 'COMMIT'), 0), coalesce(sum(calls), 0), coalesce(sum(wal_fpi), 0),
                 coalesce(sum(rows), 0),
                 pg_current_wal_insert_lsn() - '0/0'
             FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = '{}'",
            self.name
        );
        let totals = numbers(&self.server.sql("postgres", &totals));
        let sizes = "SELECT relname, pg_relation_size(oid), pg_table_size(oid) - pg_relation_size(oid), pg_indexes_size(oid)
                     FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname";
        let tables = self.server.sql(&self.name, sizes);
        let table = |line: &str| {
            let (name, rest) = line.split_once('|')?;
            let [heap, apart, indexes] = numbers(rest).try_into().ok()?;
            Some((name.to_owned(), [heap, apart, indexes]))
        };
        let at = |index: usize| totals.get(index).copied().unwrap_or(f64::NAN);
        Counts {
            transactions: at(0),
            statements: at(1),
            wal_page_images: at(2),
            rows: at(3),
            wal_bytes: at(4),
            tables: tables.lines().filter_map(table).collect(),
        }
    }

    /// A dump by PostgreSQL's own program, uncompressed, into nothing.
    pub(crate) fn dump(&self) -> Result<Value, Failure> {
        let programs = postgres::find().ok_or_else(|| Failure::usage("no PostgreSQL"))?;
        let began = Instant::now();
        let mut command = Command::new(programs.join("pg_dump"));
        command.args(["-Fc", "--compress=0", "-U", "trefoil", "-p", &self.server.port().to_string(), "-h"]);
        command.arg(self.server.folder()).arg(&self.name).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(Failure::in_step("pg_dump"))?;
        let mut output = child.stdout.take().ok_or_else(|| Failure::fault("pg_dump has no output"))?;
        let bytes = std::io::copy(&mut output, &mut std::io::sink()).map_err(Failure::in_step("pg_dump"))?;
        let status = child.wait().map_err(Failure::in_step("pg_dump"))?;
        if !status.success() {
            return Err(Failure::fault(format!("pg_dump: {status}")));
        }
        let seconds = began.elapsed().as_secs_f64();
        Ok(
            json!({ "bytes": bytes, "seconds": rounded(seconds), "mb_per_s": rounded(bytes as f64 / 1e6 / seconds) }),
        )
    }

    /// Bytes of a row of each table that has a hundred rows or more, indexes included, once the tables are rewritten. The service has stopped by
    /// then, because rewriting locks it out.
    pub(crate) fn compacted(&self, stop: impl FnOnce() -> Result<(), Failure>) -> Result<Value, Failure> {
        stop()?;
        self.server.sql(&self.name, "VACUUM FULL");
        let mut rows = serde_json::Map::new();
        for (table, sizes) in self.counts().tables {
            let count = self.server.sql(&self.name, &format!("SELECT count(*) FROM {table}"));
            let count: f64 = count.parse().map_err(Failure::in_step("count rows"))?;
            if count >= 100.0 {
                let bytes = sizes.iter().sum::<f64>() / count;
                rows.insert(table, json!({ "rows": count, "bytes": rounded(bytes) }));
            }
        }
        Ok(rows.into())
    }
}

impl Counts {
    /// What has grown since `before`, for each of `times`.
    pub(crate) fn since(&self, before: &Counts, times: f64) -> Value {
        let each = |now: f64, then: f64| rounded((now - then) / times);
        let none = [0.0; 3];
        let mut tables = serde_json::Map::new();
        let mut bytes = 0.0;
        for (name, now) in &self.tables {
            let then = before.tables.get(name).unwrap_or(&none);
            let [heap, apart, indexes] = [0, 1, 2].map(|at| each(now[at], then[at]));
            if heap + apart + indexes > 0.0 {
                bytes += heap + apart + indexes;
                tables.insert(name.clone(), json!({ "heap": heap, "apart": apart, "indexes": indexes }));
            }
        }
        json!({
            "transactions": each(self.transactions, before.transactions),
            "statements": each(self.statements, before.statements),
            "rows": each(self.rows, before.rows),
            "wal_bytes": each(self.wal_bytes, before.wal_bytes),
            "wal_page_images": each(self.wal_page_images, before.wal_page_images),
            "bytes": rounded(bytes), "tables": tables,
        })
    }
}

fn numbers(line: &str) -> Vec<f64> {
    line.split('|').map(|field| field.parse().unwrap_or(f64::NAN)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_of_what_grew_and_for_each() {
        let counts = |statements, heap| Counts {
            statements,
            tables: BTreeMap::from([
                ("seals".to_owned(), [heap, 2.0 * heap, 16.0]),
                ("node".to_owned(), [8.0, 0.0, 0.0]),
            ]),
            ..Counts::default()
        };
        let grown = counts(30.0, 100.0).since(&counts(10.0, 20.0), 10.0);
        assert_eq!((&grown["statements"], &grown["bytes"]), (&json!(2.0), &json!(24.0)));
        assert_eq!(grown["tables"], json!({ "seals": { "heap": 8.0, "apart": 16.0, "indexes": 0.0 } }));
    }
}
