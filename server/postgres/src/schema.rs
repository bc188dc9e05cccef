//! The tables: their version, and the steps from one to the next.

use crate::link::Link;
use crate::node::{Hold, Node};
use crate::table::Sum;
use trefoil_storage::store::StoreError;
use trefoil_storage::store::{ApiKey, IssuerKey, Operator, OperatorToken, PolicyVersion, Root, Tenant};

/// The version of the tables.
pub(crate) const VERSION: u64 = 2;
const SCHEMA: &str = include_str!("schema.sql");
/// Steps from each version to the next, beginning with that from version 1.
const STEPS: &[&str] = &[include_str!("schema_2.sql")];

impl Hold {
    /// The row of the installation and the sum that it vouches for, with tables of this version. In a transaction.
    pub(crate) fn tables(&self, link: &Link, migrate: bool, reached: u64) -> Result<(Node, Sum), StoreError> {
        let is_there = link.told("SELECT to_regclass('node')")?.is_some_and(|row| row != [None]);
        if !is_there {
            if reached > 0 {
                return Err(self.unusable(
                    "it is empty and was not before: restore it with PostgreSQL's tools, then start once with --store-restored",
                ));
            }
            std::iter::once(&SCHEMA).chain(STEPS).try_for_each(|step| link.batch(step))?;
            link.batch("INSERT INTO node (id, version, term, generation, mac) VALUES (0, 0, 0, 0, '')")?;
            return Ok((Node { version: VERSION, ..Node::default() }, Sum::default()));
        }
        let stored = self.stored(link)?;
        let (node, code) = (stored.node, &stored.code);
        let from = usize::try_from(node.version).unwrap_or(usize::MAX);
        if node.version > VERSION || from == 0 {
            return Err(self.unusable(&format!(
                "its tables have version {}, and this program knows {VERSION}: use the program that wrote them, or a later one",
                node.version
            )));
        }
        if node.version < VERSION && !migrate {
            return Err(self.unusable(&format!(
                "its tables have version {}, and this program writes {VERSION}: back it up with pg_dump, then start once with --migrate",
                node.version
            )));
        }
        let before = self.sum_of_rows(link)?;
        let is_shown = node.version == 1 || stored.open(&self.mac).is_ok_and(|(_, shown)| shown == before);
        if *code != self.code(&node, before) || !is_shown {
            return Err(StoreError::Forged(
                "the row of the table node does not vouch for the tenants, policies, API keys, operators and roots that are there: one of them \
                 was removed, added or put back"
                    .to_owned(),
            ));
        }
        STEPS[from - 1..].iter().try_for_each(|step| link.batch(step))?;
        Ok((node, if STEPS.len() >= from { self.sum_of_rows(link)? } else { before }))
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
