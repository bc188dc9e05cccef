//! A program without traces. The types are empty and the calls do nothing, so that nothing of them is left in the program.

use crate::capture::Shape;
use crate::config::{ConfigError, Trace};
use crate::problem::Code;
use axum::http::HeaderMap;
use trefoil_pipeline::Clock;
use trefoil_service::seal_log::Answer;
use trefoil_types::TenantId;

pub(crate) struct Traces(());

pub(crate) struct Traced(());

#[derive(Default)]
pub(crate) struct Writer(());

#[derive(Default)]
pub(crate) struct Noted(());

impl Traces {
    /// The configuration names no collector: its check refuses one.
    pub(crate) fn start(_: &Trace) -> Result<(Traces, Writer), ConfigError> {
        Ok((Traces(()), Writer(())))
    }

    pub(crate) fn begin(&self, _: [u8; 16], _: &HeaderMap) -> Traced {
        Traced(())
    }

    pub(crate) fn end<'a>(&self, _: Traced, _: impl FnOnce() -> Shape<'a>, _: Option<Code>, _: Noted) {}

    pub(crate) fn counts(&self) -> Option<[u64; 3]> {
        None
    }
}

impl Writer {
    pub(crate) async fn end(self) {}
}

pub(crate) async fn noting<T>(_: &Traced, work: impl Future<Output = T>) -> (T, Noted) {
    (work.await, Noted(()))
}

pub(crate) fn is_of_tenant(_: TenantId) {}

pub(crate) fn submits(_: &dyn Clock) -> Option<u64> {
    None
}

pub(crate) fn answered(_: &dyn Clock, _: Option<u64>, _: &Answer) {}
