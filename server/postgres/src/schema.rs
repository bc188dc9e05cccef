//! The tables: their version, the steps from one to the next, and which programs may use them.
//!
//! A step that only adds lets programs of the version before go on: they and later ones use the tables at a time. The row of the table node says
//! the oldest program that may, under its code, and the version that the tables have.

use crate::link::Link;
use crate::node::{Hold, Node, START, Stored, held, stored};
use crate::scope::Scope;
use crate::table::Sum;
use trefoil_storage::store::StoreError;
use trefoil_storage::store::{ApiKey, IssuerKey, Operator, OperatorToken, PolicyVersion, Root, Tenant};

/// What a program knows of the tables.
pub(crate) struct Program {
    /// From each version to the next, beginning with that from version 1.
    pub(crate) steps: &'static [Step],
}

/// From one version to the next.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) sql: &'static str,
    /// The oldest program that may use the tables after it.
    pub(crate) oldest: u64,
}

/// This program.
pub(crate) const PROGRAM: &Program = &Program {
    steps: &[
        Step { sql: include_str!("schema_2.sql"), oldest: 2 },
        Step { sql: include_str!("schema_3.sql"), oldest: 2 },
    ],
};
const SCHEMA: &str = include_str!("schema.sql");

impl Program {
    /// The version that it gives to tables.
    pub(crate) const fn version(&self) -> u64 {
        self.steps.len() as u64 + 1
    }

    /// The steps after a version.
    fn after(&self, version: u64) -> &'static [Step] {
        let done = usize::try_from(version.saturating_sub(1)).unwrap_or(usize::MAX);
        self.steps.get(done..).unwrap_or_default()
    }

    /// Why it may not use tables whose oldest program is this one, if so.
    pub(crate) fn refused(&self, oldest: u64) -> Option<String> {
        (oldest > self.version()).then(|| {
            format!(
                "its tables are for programs of version {oldest} or later, and this one has {}: use the program that upgraded them, or a later one",
                self.version()
            )
        })
    }
}

/// Whether there are tables.
pub(crate) fn are_there(link: &Link) -> Result<bool, StoreError> {
    Ok(link.told("SELECT to_regclass('node')")?.is_some_and(|row| row != [None]))
}

/// The names of the other sessions that hold the lock.
fn others(link: &Link) -> Result<Option<String>, StoreError> {
    let told = link.told(&format!(
        "SELECT string_agg(split_part(a.application_name, ' ', 2), ', ') FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
         WHERE {} AND l.pid <> pg_backend_pid()",
        held()
    ))?;
    Ok(told.and_then(|row| row.into_iter().next().flatten()))
}

impl Hold {
    /// The transactions after which the row of the installation vouched for the rows that were there; `None` if there are no tables that this program
    /// takes as they are. The sum over all rows takes long in a large database, so it is made in a snapshot, beside which other nodes write.
    pub(crate) fn verified(&self, link: &Link) -> Result<Option<u64>, StoreError> {
        link.batch(&format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {}", Scope::All.local()))?;
        link.be_patient(START)?;
        let stored = if are_there(link)? { stored(link, "", "")? } else { None };
        let taken =
            |stored: &Stored| stored.node.version > 1 && self.program.after(stored.expanded).is_empty();
        let verified = stored.filter(taken);
        if let Some(stored) = &verified {
            self.vouched(link, stored)?;
        }
        link.batch("COMMIT")?;
        Ok(verified.map(|stored| stored.node.generation))
    }

    /// The row of the installation and the sum that it vouches for, with tables that this program may use. In a transaction. `verified`: the
    /// result of [`Hold::verified`]; each node verifies what it reads after that.
    pub(crate) fn tables(
        &self,
        link: &Link,
        (migrate, reached): (bool, u64),
        verified: Option<u64>,
    ) -> Result<(Node, Sum), StoreError> {
        if !are_there(link)? {
            return self.make_tables(link, reached);
        }
        let looked = stored(link, "", "")?.ok_or_else(|| self.missing())?;
        if migrate && looked.expanded < self.program.version() {
            // Before the row: a transaction that waits for the row has a lock of the table, for which the steps would wait.
            link.batch("LOCK TABLE node IN ACCESS EXCLUSIVE MODE")?;
        }
        let stored = self.stored(link)?;
        self.check_version(&stored, migrate)?;
        let sum = match verified {
            Some(verified) if stored.node.generation < verified => {
                return Err(self.older(stored.node.generation, verified));
            }
            Some(_) => stored.open(&self.mac).map_err(|_| unvouched())?.1,
            None => self.vouched(link, &stored)?,
        };
        match self.program.after(stored.expanded) {
            [] => Ok((stored.node, sum)),
            steps => self.upgrade(link, stored.node, steps),
        }
    }

    fn make_tables(&self, link: &Link, reached: u64) -> Result<(Node, Sum), StoreError> {
        if reached > 0 {
            return Err(self.unusable(
                "it is empty and was not before: restore it with PostgreSQL's tools, then start once with --store-restored",
            ));
        }
        link.batch(SCHEMA)?;
        link.batch("INSERT INTO node (id, version, term, generation, mac) VALUES (0, 0, 0, 0, '')")?;
        self.upgrade(link, Node { version: 1, ..Node::default() }, self.program.steps)
    }

    fn check_version(&self, stored: &Stored, migrate: bool) -> Result<(), StoreError> {
        let (oldest, expanded, own) = (stored.node.version, stored.expanded, self.program.version());
        let why = match self.program.refused(oldest) {
            None if oldest == 0 => {
                "its tables have version 0, which no program writes: restore it with PostgreSQL's tools"
                    .to_owned()
            }
            None if expanded < own && !migrate => format!(
                "its tables have version {expanded}, and this program writes {own}: back it up with pg_dump, then start once with --migrate"
            ),
            None => return Ok(()),
            Some(why) => why,
        };
        Err(self.unusable(&why))
    }

    /// The sum over the rows, for which the row of the installation vouches.
    fn vouched(&self, link: &Link, stored: &Stored) -> Result<Sum, StoreError> {
        let sum = self.sum_of_rows(link)?;
        let is_shown =
            stored.node.version == 1 || stored.open(&self.mac).is_ok_and(|(_, shown)| shown == sum);
        if stored.code != self.code(&stored.node, sum) || !is_shown {
            return Err(unvouched());
        }
        Ok(sum)
    }

    /// Takes these steps, beside other nodes if they may still use the tables afterwards.
    fn upgrade(&self, link: &Link, node: Node, steps: &[Step]) -> Result<(Node, Sum), StoreError> {
        let oldest = steps.iter().map(|step| step.oldest).fold(node.version, u64::max);
        if oldest > node.version
            && let Some(others) = others(link)?
        {
            return Err(self.unusable(&format!(
                "its tables cannot be upgraded while these nodes use them, whose program could not go on: {others}. Stop them, upgrade, and start \
                 them with this program"
            )));
        }
        steps.iter().try_for_each(|step| link.batch(step.sql))?;
        if self.program.version() > 2 {
            link.batch(&format!("UPDATE node SET expanded = {} WHERE id = 0", self.program.version()))?;
        }
        Ok((Node { version: oldest, ..node }, self.sum_of_rows(link)?))
    }

    /// The sum over the rows of every summed table.
    fn sum_of_rows(&self, link: &Link) -> Result<Sum, StoreError> {
        let rows = self.rows(link);
        let sum = rows.sum_of::<Tenant>(Sum::default())?;
        let sum = rows.sum_of::<PolicyVersion>(sum)?;
        let sum = rows.sum_of::<ApiKey>(sum)?;
        let sum = rows.sum_of::<Root>(sum)?;
        let sum = rows.sum_of::<IssuerKey>(sum)?;
        let sum = rows.sum_of::<Operator>(sum)?;
        rows.sum_of::<OperatorToken>(sum)
    }
}

fn unvouched() -> StoreError {
    StoreError::Forged(
        "the row of the table node does not vouch for the tenants, policies, API keys, operators and roots that are there: one of them \
         was removed, added or put back"
            .to_owned(),
    )
}
