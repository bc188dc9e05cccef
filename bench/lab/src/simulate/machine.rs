//! Machines: the transfer time of a cache line from core to core, and the cost of waiting.

/// The properties of a machine that the model uses. Times in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub name: &'static str,
    /// Where the transfer times come from.
    pub source: &'static str,
    pub sockets: usize,
    pub cores_per_socket: usize,
    /// Cores that share a last-level cache; transfers among them are the cheapest.
    pub cores_per_cluster: usize,
    pub transfer: Transfer,
    pub core: Core,
    pub waiting: Waiting,
}

/// A line that another core wrote last, until this core may write it. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Transfer {
    pub in_cluster: f64,
    pub in_socket: f64,
    pub across_sockets: f64,
}

/// How cores ask for lines, and what they do until they have them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Core {
    /// The share of a transfer that passes until the line is taken away from its owner.
    pub request: f64,
    /// How long a core keeps a line that it has waited for at least. Nanoseconds.
    pub hold: f64,
    /// What a look-up whose shard comes from another core costs more than the transfer: work that is hidden when the line is
    /// there. Nanoseconds.
    pub claim_more: f64,
}

/// Waiting for a lock of the standard library. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Waiting {
    /// One `spin_loop` and a look at the lock.
    pub poll: f64,
    /// The system call that puts a thread to sleep, or wakes one, for the caller.
    pub call: f64,
    /// From the waking call's return until the woken thread runs.
    pub wake: f64,
}

/// Polls before a writer of the standard library's lock goes to sleep (library/std/src/sys/sync/rwlock/futex.rs,
/// `spin_until`).
pub(super) const POLLS_MAX: f64 = 100.0;

/// Shards of a map on so many processors, by DashMap's own rule: four for each, rounded up to a power of two.
pub(super) fn shards(processors: usize) -> usize {
    (4 * processors).next_power_of_two()
}

impl Machine {
    pub(super) fn cores(&self) -> usize {
        self.sockets * self.cores_per_socket
    }

    /// Workers are dealt out to the sockets in turn, as a scheduler that balances load would put them.
    fn place(&self, worker: usize) -> (usize, usize) {
        (worker % self.sockets, worker / self.sockets / self.cores_per_cluster)
    }

    /// From worker `from`'s core to worker `to`'s.
    pub(super) fn transfer_ns(&self, from: usize, to: usize) -> f64 {
        let (from, to) = (self.place(from), self.place(to));
        if from.0 != to.0 {
            self.transfer.across_sockets
        } else if from.1 != to.1 {
            self.transfer.in_socket
        } else {
            self.transfer.in_cluster
        }
    }
}

/// The machines of published ladders and tables. An access costs `software` times the published latency on the host, because
/// a program sees more than the bare transfer; the model applies the same factor there. The work of a core alone is taken from
/// the host.
pub(super) fn targets(software: f64, core: Core, waiting: Waiting) -> [Machine; 2] {
    let transfer = |in_cluster: f64, in_socket: f64, across: f64| Transfer {
        in_cluster: software * in_cluster,
        in_socket: software * in_socket,
        across_sockets: software * across,
    };
    [
        Machine {
            name: "graviton4_2x96",
            // "30-60 ns" within a socket without steps, hence their middle; 138.6 ns on average across sockets.
            source: "https://chipsandcheese.com/2024/07/22/arms-neoverse-v2-in-awss-graviton-4/",
            sockets: 2,
            cores_per_socket: 96,
            cores_per_cluster: 96,
            transfer: transfer(45.0, 45.0, 138.6),
            core,
            waiting,
        },
        Machine {
            name: "epyc_7r13_2x48",
            // 23 ns in a group of 8 cores, 107 ns between groups, 197 ns between sockets.
            source: "https://github.com/nviennot/core-to-core-latency (AMD EPYC 7R13, c6a.metal)",
            sockets: 2,
            cores_per_socket: 48,
            cores_per_cluster: 8,
            transfer: transfer(23.0, 107.0, 197.0),
            core,
            waiting,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_nearer_than_strangers() {
        let waiting = Waiting { poll: 10.0, call: 1_000.0, wake: 5_000.0 };
        let core = Core { request: 0.5, hold: 0.0, claim_more: 0.0 };
        let [graviton, epyc] = targets(1.0, core, waiting);
        assert_eq!((graviton.cores(), epyc.cores()), (192, 96));
        // Workers 0 and 2 share socket 0; 16 cores further is another cluster of the EPYC.
        assert_eq!(epyc.transfer_ns(0, 2), 23.0);
        assert_eq!(epyc.transfer_ns(0, 16), 107.0);
        assert_eq!(epyc.transfer_ns(0, 1), 197.0);
        assert_eq!(graviton.transfer_ns(0, 190), 45.0);
        assert_eq!(graviton.transfer_ns(0, 191), 138.6);
        assert_eq!(targets(2.0, core, waiting)[0].transfer.in_cluster, 90.0);
    }
}
