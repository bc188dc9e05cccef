//! What the database server counts.

use trefoil_testing::postgres::Server;

use super::spent::COUNTS;
use crate::Failure;

/// The service's database.
pub(super) struct Database<'a> {
    server: &'a Server,
    name: String,
}

impl<'a> Database<'a> {
    /// The one that an address of `server` names.
    pub(super) fn of(server: &'a Server, url: &str) -> Result<Database<'a>, Failure> {
        let name = url.split(['/', '?']).nth(3).unwrap_or_default().to_owned();
        server.sql("postgres", "CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
        Ok(Database { server, name })
    }

    /// The number of the newest seal.
    pub(super) fn newest_seal(&self) -> f64 {
        self.server.sql(&self.name, "SELECT max(number) FROM seals").parse().unwrap_or(f64::NAN)
    }

    /// In the order of [`COUNTS`]. Statistics of `pg_stat_database` come late; these are there at once.
    pub(super) fn counts(&self) -> [f64; COUNTS.len()] {
        let totals = format!(
            "SELECT coalesce(sum(calls) FILTER (WHERE query = 'COMMIT'), 0), coalesce(sum(calls), 0), coalesce(sum(rows), 0),
                 pg_current_wal_insert_lsn() - '0/0'
             FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = '{}'",
            self.name
        );
        let totals = self.server.sql("postgres", &totals);
        let mut fields = totals.split('|').map(|field| field.parse().unwrap_or(f64::NAN));
        std::array::from_fn(|_| fields.next().unwrap_or(f64::NAN))
    }
}
