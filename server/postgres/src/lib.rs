//! The store of a node whose data is in PostgreSQL.
//!
//! | part | what |
//! |---|---|
//! | [`address`] | where the database is, the password, TLS |
//! | [`servers`], [`link`] | which server is the primary; one connection, with a deadline for each answer |
//! | [`node`] | the lock of the one process or of the fleet, the count of transactions |
//! | [`schema`] | the tables and their version |
//! | [`roles`] | what the role that serves may do |
//! | [`scope`] | whose rows a transaction sees |
//! | [`inspect`] | looks at a database that another process may use |
//! | [`fleet`] | what a node hears of the others, and its turns in the log |
//! | [`threads`] | the threads that own the connections |
//! | [`register`] | what the nodes of a fleet have used once |
//! | [`table`] | rows with a keyed code |
//!
//! Of a SQLite file the process knows that nobody else has written to it. Here it knows that each row it reads is one that it wrote under that
//! key, and that the count of transactions never falls below the one it remembers. An administrator of the database can still remove a row, or
//! put an earlier version of one back; LIMITS.md says what follows.
//!
//! ```no_run
//! use trefoil_postgres::{Address, Opening, PasswordFiles, Postgres};
//! use trefoil_storage::{Supervisor, store::Log as _};
//! let files = PasswordFiles { own: Some("database.password".into()), libpq: None };
//! let address = Address::read("postgres://trefoil@db.example/trefoil", &files)?;
//! let patience = std::time::Duration::from_secs(1);
//! let store = Postgres::open(&Supervisor::default(), &address, &[7; 32], patience, Opening::default())?;
//! assert_eq!(store.last_seal()?, None);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod address;
mod connections;
mod fleet;
mod inspect;
mod link;
mod node;
mod pool;
mod register;
mod roles;
mod schema;
mod scope;
mod servers;
mod table;
#[cfg(test)]
mod tests;
mod threads;
mod tls;

pub use address::{Address, PasswordFiles, without_password};
pub use connections::{CONNECTIONS_BESIDE, CONNECTIONS_OF_A_NODE, LINKS_OF_HANDLERS};
use fleet::Parts;
pub use fleet::Signs;
pub use inspect::Inspected;
pub use node::Opening;
pub use register::{Bounds as RegisterBounds, PostgresRegister};
pub use roles::{Rights, migrate};
use std::sync::Arc;
use std::time::Duration;
use threads::Threads;
use trefoil_storage::Supervisor;
use trefoil_storage::database::Count;
use trefoil_storage::store::fleet::Fleet;
use trefoil_storage::store::{Call, Read, StoreError, Tables, Write};

/// See the module.
pub struct Postgres(Threads, Option<Parts>);

impl Postgres {
    /// Takes the database for this process, and makes its tables if there are none. `secret` authenticates its rows. No statement takes longer than
    /// `patience`, except those over all rows of a tenant.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another process has it, [`StoreError::Unreachable`], [`StoreError::Forged`], and
    /// [`StoreError::Unusable`], which says what to do.
    pub fn open(
        supervisor: &Supervisor,
        address: &Address,
        secret: &[u8; 32],
        patience: Duration,
        opening: Opening,
    ) -> Result<Postgres, StoreError> {
        let name = opening.fleet.clone().filter(|_| !opening.is_still);
        let (threads, begun) = Threads::start(supervisor, address, secret, patience, opening)?;
        let start = |name: String| Parts::start(supervisor, address, secret, patience, begun, &name);
        let fleet = name.map(start).transpose()?;
        Ok(Postgres(threads, fleet))
    }

    fn parts(&self) -> Result<&Parts, StoreError> {
        self.1.as_ref().ok_or_else(|| StoreError::Fault("this node is in no fleet".to_owned()))
    }
}

impl Tables for Postgres {
    fn unready(&self) -> Option<String> {
        self.0.unready().or_else(|| self.1.as_ref().and_then(Parts::stale))
    }

    fn fleet(&self) -> Option<&dyn Fleet> {
        self.1.is_some().then_some(self)
    }

    fn count(&self) -> Count {
        Arc::clone(&self.0.count)
    }

    fn follow(&self, vault: Count) -> u64 {
        let (beside, seen) = &self.0.beside;
        // A second one would be another vault.
        let _ = beside.set(vault);
        *seen
    }

    fn write(&self, call: Call, operation: Write) -> Result<(), StoreError> {
        self.0.write(call, |rows| operation(rows))
    }

    fn read(&self, call: Call, operation: Read) -> Result<(), StoreError> {
        self.0.read(call, move |rows| operation(rows))
    }
}
