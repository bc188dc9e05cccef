//! Threads that do one operation over and over from the same moment, and the time of an operation of a cache on them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use trefoil_cache::Key;

use crate::peers::{Handle, Peer};
use crate::processor::{allowed, pin, thread_cpu_ns};

/// What is timed.
#[derive(Clone, Copy)]
pub struct Load<'a> {
    /// Whether each request stores its key, or looks it up.
    pub put: bool,
    /// Keys in the order of their requests. Thread `t` goes round stream `t`, or `t` modulo their number.
    pub streams: &'a [Vec<Key>],
    /// Where in its stream a thread begins: other keys in every round.
    pub offset: usize,
    /// How many make requests.
    pub threads: usize,
    /// For how long.
    pub duration: Duration,
}

/// Sums over all threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Made by all threads.
    pub requests: u64,
    /// Requests that found their key.
    pub hits: u64,
    /// Hits with the value of another key.
    pub wrong: u64,
    /// Processor time that the threads used.
    pub cpu_ns: u64,
    /// Time on the wall from the first start to the last end.
    pub wall: Duration,
}

impl Tally {
    /// Processor time of a request, nanoseconds.
    pub fn ns_per_request(&self) -> f64 {
        self.cpu_ns as f64 / self.requests as f64
    }

    /// Requests a microsecond of wall time.
    pub fn million_per_s(&self) -> f64 {
        self.requests as f64 / self.wall.as_secs_f64() / 1e6
    }
}

/// Runs `load` on a cache or map.
pub fn time(peer: &dyn Peer, load: Load<'_>) -> Tally {
    peer.settle();
    race(load.threads, load.duration, |thread| {
        let stream = &load.streams[thread % load.streams.len()];
        let mut at = (load.offset + thread * STAGGER) % stream.len();
        let mut handle = peer.handle();
        move |tally| at = chunk(handle.as_mut(), load.put, stream, at, tally)
    })
}

/// Lets threads, each on a processor, repeat a step of its own until the time is over, all from the same moment; the sums over all of them.
pub fn race<S: FnMut(&mut Tally)>(
    threads: usize,
    duration: Duration,
    start: impl Fn(usize) -> S + Sync,
) -> Tally {
    let barrier = Barrier::new(threads);
    let (started, over) = (OnceLock::new(), AtomicBool::new(false));
    let cpus = allowed();
    let work = |thread: usize| {
        // The scheduler may leave two new threads on one core for as long as a round lasts, and then they do not meet.
        if let Some(&cpu) = cpus.get(thread % cpus.len().max(1)) {
            pin(cpu);
        }
        let (mut step, mut tally) = (start(thread), Tally::default());
        barrier.wait();
        let started = *started.get_or_init(Instant::now);
        let began = thread_cpu_ns();
        while !over.load(Ordering::Relaxed) {
            step(&mut tally);
            if started.elapsed() >= duration {
                over.store(true, Ordering::Relaxed);
            }
        }
        tally.cpu_ns = thread_cpu_ns() - began;
        tally.wall = started.elapsed();
        tally
    };
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().fold(Tally::default(), |sum, thread| {
            let one = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Tally {
                requests: sum.requests + one.requests,
                hits: sum.hits + one.hits,
                wrong: sum.wrong + one.wrong,
                cpu_ns: sum.cpu_ns + one.cpu_ns,
                wall: sum.wall.max(one.wall),
            }
        })
    })
}

/// Requests between two looks at the clock: its reading then costs a tenth of a nanosecond per request.
const CHUNK: usize = 256;
/// Requests between the starts of two threads on one stream: they do not walk it together.
const STAGGER: usize = 7_919;

/// At most [`CHUNK`] requests from `at` on, up to the end of the stream; where the next one begins.
///
/// Iterates over a slice: an index that wraps around was kept in memory, and the loop of one subject then took twice the time
/// among 50,000 keys, whatever that subject did, while its twin's did not.
fn chunk(handle: &mut dyn Handle, put: bool, stream: &[Key], at: usize, tally: &mut Tally) -> usize {
    let end = stream.len().min(at + CHUNK);
    handle.all(put, &stream[at..end], tally);
    if end == stream.len() { 0 } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{Moka, key};

    #[test]
    fn requests_hits_and_times_are_summed_over_threads() {
        let peer: &dyn Peer = &Moka::new(1_000);
        let present: Vec<Key> = (0..100).map(key).collect();
        peer.fill(&present);
        assert!(present.iter().all(|key| peer.holds(key)) && !peer.holds(&key(100)));
        let half: Vec<Key> = (50..150).map(key).collect();
        let streams = [half.clone(), half];
        let load =
            |put| Load { put, streams: &streams, offset: 3, threads: 2, duration: Duration::from_millis(2) };
        let tally = time(peer, load(false));
        // Half of either stream is held; a thread that got no processor in time made no request.
        assert!(0 < tally.hits && tally.hits < tally.requests && tally.wrong == 0);
        assert!(tally.ns_per_request() > 0.0 && tally.million_per_s() > 0.0);
        peer.warm(&streams[1]);
        assert_eq!(peer.warm(&streams[1]), streams[1].len());
        assert!(streams.iter().flatten().all(|key| peer.holds(key)));
        let more = [(200..300).map(key).collect::<Vec<Key>>()];
        let tally = time(peer, Load { streams: &more, threads: 1, ..load(true) });
        assert!(tally.requests >= 100 && (tally.hits, tally.wrong) == (0, 0));
        assert!(more[0].iter().all(|key| peer.holds(key)));
    }

    #[test]
    fn chunks_go_round_the_stream() {
        let peer: &dyn Peer = &Moka::new(1_000);
        let stream: Vec<Key> = (0..300).map(key).collect();
        peer.fill(&stream[3..]);
        let mut tally = Tally::default();
        let mut ends = [3; 4];
        for chunks in 1..ends.len() {
            let at = ends[chunks - 1];
            ends[chunks] = chunk(peer.handle().as_mut(), false, &stream, at, &mut tally);
        }
        assert_eq!(ends, [3, 259, 0, 256]);
        // The first three keys are not held, and were requested once.
        assert_eq!((tally.requests, tally.hits, tally.wrong), (297 + 256, 297 + 253, 0));
    }
}
