//! The pipeline: batches of up to 32 authentications through prove, match, digest and sign.
//!
//! Sans-IO: no async runtime, no HTTP, no files, and no clock of its own ([`Clock`] is passed in), so the
//! benchmark drives the very code the server drives, and batching is tested with virtual time. Threads and system calls are those of
//! `driver` alone: the host's topology, which is read once at start, the workers, and the few threads that seal and dispatch.
//!
//! * [`Pipeline::run`] is the walk of one batch; start reading there.
//! * [`Batcher`] decides when requests become a batch: a pure state machine.
//! * [`Pool`] holds the pinned workers, each owning its state.
//! * [`Sealer`] signs Merkle roots over decided digests.
//! * [`Service`] connects them.

mod batcher;
mod clock;
mod door;
mod driver;
mod matching;
mod request;
mod run;
mod sealer;
mod service;
mod sessions;
mod steps;
mod tenant;
mod vaults;
mod verdict;

pub use batcher::{Batcher, Delay};
pub use clock::Clock;
pub use door::{Door, Open};
pub use driver::{Pool, PoolError, affinity};
pub use request::{
    Backing, Batch, Bound, BoundLane, InSession, LaneRequest, Probe, Record, Refusal, StageTimes,
};
pub use sealer::{
    Cadence, ChainHead, Floor, LogTurn, Origin, Outlet, Release, Sealed, SealedTree, Sealer, Sequence,
    SharedLog,
};
pub use service::{COMPUTING_PER_WORKER, Config, Intake, Service, StartError, SubmitError, UNSEALED_MAX};
pub use steps::{Pipeline, Worker};
pub use tenant::{Calibrated, LIVE_ROOTS_MAX, Policy, Registry, Served, Tenant, Tenants};
pub use trefoil_types::{Account, Handle, SessionId, TenantId};
pub use vaults::SeenVaults;
pub use verdict::{Stale, VERIFIER_VERSION, Verdict, audience_id};
