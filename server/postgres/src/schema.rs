//! The tables and their version.

use crate::link::Link;
use crate::node::{Hold, Node, START, Stored, stored};
use crate::scope::Scope;
use crate::table::{MAC, Sum};
use trefoil_storage::store::fleet::Change;
use trefoil_storage::store::{INDEXES, StoreError, TABLES};
use trefoil_storage::table::{Dialect, Of, Record as _, Table};

/// The version of the tables, and of no others that a database may have. The row of the table node has it under its code.
pub(crate) const VERSION: u64 = 1;
/// What no record says.
const SCHEMA: &str = include_str!("schema.sql");

/// The statements that make the tables. Those of a tenant show its rows alone to the role that serves, see [`crate::scope`].
fn schema() -> String {
    let dialect = Dialect { types: ["bigint", "bytea"], more: Some(MAC), end: |_| "" };
    let of_tenants = TABLES.iter().filter_map(|table| {
        let its = if table.name == "tenants" { "id" } else { "tenant" };
        (table.columns[0].name == its).then(|| {
            format!(
                "ALTER TABLE {0} ENABLE ROW LEVEL SECURITY; CREATE POLICY of_tenant ON {0} USING (is_served({its}));",
                table.name
            )
        })
    });
    let of_tenants: String = of_tenants.collect();
    [&Table::made(&TABLES, &dialect), &Table::made(&[Change::TABLE], &dialect), INDEXES, SCHEMA, &of_tenants]
        .concat()
}

/// Why this program may not use tables of this version, if so.
pub(crate) fn refused(version: u64) -> Option<String> {
    (version != VERSION).then(|| {
        format!("its tables have version {version}, and this program knows {VERSION}: use the program that made them")
    })
}

/// Whether there are tables.
pub(crate) fn are_there(link: &Link) -> Result<bool, StoreError> {
    Ok(link.told("SELECT to_regclass('node')")?.is_some_and(|row| row != [None]))
}

impl Hold {
    /// The transactions after which the row of the installation vouched for the rows that were there; `None` if there are no tables yet. The sum over
    /// all rows takes long in a large database, so it is made in a snapshot, beside which other nodes write.
    pub(crate) fn verified(&self, link: &Link) -> Result<Option<u64>, StoreError> {
        link.batch(&format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {}", Scope::All.local()))?;
        link.be_patient(START)?;
        let stored = if are_there(link)? { stored(link, "", "")? } else { None };
        if let Some(stored) = &stored {
            self.vouched(link, stored)?;
        }
        link.batch("COMMIT")?;
        Ok(stored.map(|stored| stored.node.generation))
    }

    /// The row of the installation and the sum that it vouches for. In a transaction. `verified`: the result of [`Hold::verified`]; each node verifies
    /// what it reads after that.
    pub(crate) fn tables(
        &self,
        link: &Link,
        reached: u64,
        verified: Option<u64>,
    ) -> Result<(Node, Sum), StoreError> {
        if !are_there(link)? {
            return self.make_tables(link, reached);
        }
        let stored = self.stored(link)?;
        let sum = match verified {
            Some(verified) if stored.node.generation < verified => {
                return Err(self.older(stored.node.generation, verified));
            }
            Some(_) => stored.open(&self.mac).map_err(|_| unvouched())?.1,
            None => self.vouched(link, &stored)?,
        };
        Ok((stored.node, sum))
    }

    fn make_tables(&self, link: &Link, reached: u64) -> Result<(Node, Sum), StoreError> {
        if reached > 0 {
            return Err(self.unusable(
                "it is empty and was not before: restore it with PostgreSQL's tools, then start once with --store-restored",
            ));
        }
        link.batch(&schema())?;
        link.batch(&format!("INSERT INTO node VALUES (0, {VERSION}, 0, 0, 0, 0, '', '')"))?;
        Ok((Node::default(), Sum::default()))
    }

    /// The sum over the rows, for which the row of the installation vouches. Refuses tables of another version.
    fn vouched(&self, link: &Link, stored: &Stored) -> Result<Sum, StoreError> {
        if let Some(why) = refused(stored.version) {
            return Err(self.unusable(&why));
        }
        let sum = self.sum_of_rows(link)?;
        match stored.open(&self.mac) {
            Ok((_, shown)) if shown == sum => Ok(sum),
            _ => Err(unvouched()),
        }
    }

    /// The sum over the rows of every summed table.
    fn sum_of_rows(&self, link: &Link) -> Result<Sum, StoreError> {
        let rows = self.rows(link);
        rows.sum.set(Sum::default());
        TABLES.iter().filter(|table| table.of == Of::Registry).try_for_each(|table| rows.add_all(table))?;
        Ok(rows.sum.get())
    }
}

fn unvouched() -> StoreError {
    StoreError::Forged(
        "the row of the table node does not vouch for the tenants, policies, API keys, operators and roots that are there: one of them \
         was removed, added or put back"
            .to_owned(),
    )
}
