//! What the threads do.

use super::{Acknowledge, Done, GROUP_MAX, PAUSE, PULSE, Read, Standing, Write};
use crate::address::Address;
use crate::link::{CONNECT_MAX, Link};
use crate::node::Hold;
use crate::table::{RowMac, Rows};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trefoil_storage::Supervisor;
use trefoil_storage::database::tell_damage;
use trefoil_storage::store::StoreError;

/// The thread that writes.
pub(super) struct Writer {
    pub(super) hold: Hold,
    /// None while the database is away.
    pub(super) link: Option<Link>,
    pub(super) standing: Arc<Standing>,
    pub(super) supervisor: Supervisor,
    pub(super) patience: Duration,
    pub(super) place: String,
}

impl Writer {
    pub(super) fn run(mut self, queue: &Receiver<Write>) {
        loop {
            match queue.recv_timeout(if self.link.is_some() { PULSE } else { PAUSE }) {
                Ok(write) => match self.link.take() {
                    Some(link) => self.group(link, write, queue),
                    // It was queued before the database went away; later ones are refused at the door.
                    None => refuse([write], &self.standing.check().err().unwrap_or(StoreError::Busy)),
                },
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Looks at an idle connection, or tries to get a new one.
    fn look(&mut self) {
        if self.supervisor.death().is_some() {
            // The process ends, and must not keep the lock from its successor.
            self.link = None;
            return;
        }
        let looked = match self.link.take() {
            Some(link) => link.batch("SELECT 1").and_then(|()| link.assure()).map(|()| link),
            None => self.hold.again(CONNECT_MAX),
        };
        match looked {
            Ok(link) => {
                self.link = Some(link);
                self.standing.rise();
            }
            Err(cause) => self.fall(&cause),
        }
    }

    fn fall(&self, cause: &StoreError) {
        self.standing.fall(cause);
        tell_damage(&self.supervisor, &self.place, &Err::<(), _>(cause.clone()));
    }

    /// One transaction of this write and those that wait.
    fn group(&mut self, link: Link, first: Write, queue: &Receiver<Write>) {
        let scope = first.scope;
        let writes: Vec<Write> = std::iter::once(first).chain(queue.try_iter().take(GROUP_MAX - 1)).collect();
        let begun = match link.check_timeline().and_then(|()| self.hold.begin(&link, scope)) {
            // Another node's transaction is long. The server gave up in time, so nothing is away, if this is the primary still.
            Err(cause @ StoreError::Unreachable(_)) if !link.is_lost() => {
                refuse(writes, &cause);
                return match link.batch("ROLLBACK").and_then(|()| link.assure()) {
                    Ok(()) => self.link = Some(link),
                    Err(cause) => self.fall(&cause),
                };
            }
            // It was lost or left behind while it was idle, and nothing had begun on it.
            Err(_) if link.is_closed() || link.is_over() => {
                self.hold.again(self.patience).and_then(|link| self.hold.begin(&link, scope).map(|()| link))
            }
            begun => begun.map(|()| link),
        };
        let link = match begun {
            Ok(link) => link,
            Err(cause) => {
                refuse(writes, &cause);
                return self.fall(&cause);
            }
        };
        let (told, committed) = self.transaction(&link, writes);
        let mut are_told = true;
        for acknowledge in told {
            are_told &= acknowledge(committed.clone().map(drop));
        }
        // What a caller did not learn of, this node hears of as of another one's change.
        if let (Ok(Some(registry)), true) = (&committed, are_told) {
            self.hold.know(*registry);
        }
        link.be_usual(self.patience);
        match (link.is_lost(), committed) {
            (false, _) => self.link = Some(link),
            (true, Err(cause)) => self.fall(&cause),
            (true, Ok(_)) => {
                self.fall(&StoreError::Unreachable(format!("{}: the connection was lost", self.place)))
            }
        }
    }

    /// Runs the writes in the transaction that has begun, and ends it. Returns its number if it changed the registry.
    fn transaction(
        &mut self,
        link: &Link,
        writes: Vec<Write>,
    ) -> (Vec<Acknowledge>, Result<Option<u64>, StoreError>) {
        let mut broken = match writes.iter().filter_map(|write| write.long).max() {
            Some(long) => link.be_patient(long).err(),
            None => None,
        };
        let is_alone = writes.len() == 1;
        let (mut told, mut is_changed) = (Vec::new(), false);
        let rows = self.hold.rows(link);
        for write in writes {
            let (sum, registry) = (rows.sum.get(), rows.changes_registry());
            let begun = match &broken {
                Some(cause) => Err(cause.clone()),
                None if Instant::now() >= write.until => Err(StoreError::Busy),
                None if is_alone => Ok(()),
                None => link.batch(&format!("SAVEPOINT one; {}", write.scope.local())),
            };
            let has_begun = begun.is_ok();
            let Done { acknowledge, is_ok } = (write.run)(begun.map(|()| &rows));
            told.push(acknowledge);
            is_changed |= is_ok;
            if !is_ok {
                rows.sum.set(sum);
                rows.telling.iter().for_each(|telling| telling.registry.set(registry));
            }
            if has_begun && !is_alone {
                let end = if is_ok { "RELEASE one" } else { "ROLLBACK TO one; RELEASE one" };
                broken = link.batch(end).err();
            }
        }
        let (sum, registry) = (rows.sum.get(), rows.changes_registry());
        let committed = match broken {
            Some(cause) => Err(cause),
            None if is_changed => self.hold.commit(link, sum, registry),
            None => link.batch("ROLLBACK").map(|()| None),
        };
        if committed.is_err() && !link.is_lost() {
            // If this fails too, the connection is lost, and with it the transaction.
            let _ = link.batch("ROLLBACK");
        }
        (told, committed)
    }
}

fn refuse(writes: impl IntoIterator<Item = Write>, cause: &StoreError) {
    for write in writes {
        let _ = ((write.run)(Err(cause.clone())).acknowledge)(Ok(()));
    }
}

/// A thread that reads.
pub(super) struct Reader {
    pub(super) address: Address,
    pub(super) mac: RowMac,
    pub(super) patience: Duration,
}

impl Reader {
    pub(super) fn run(&self, asked: &Receiver<Read>) {
        let mut kept: Option<Link> = None;
        for mut read in asked {
            loop {
                let held = kept.take().filter(|link| !link.is_lost());
                let is_new = held.is_none();
                let link =
                    match held.map_or_else(|| Link::open(&self.address, self.patience, CONNECT_MAX), Ok) {
                        Ok(link) => link,
                        Err(cause) => {
                            read(Err(cause), true);
                            break;
                        }
                    };
                let is_told = read(
                    Ok(&Rows { link: &link, mac: &self.mac, sum: Cell::default(), telling: None }),
                    is_new,
                );
                kept = Some(link);
                if is_told {
                    break;
                }
            }
        }
    }
}
