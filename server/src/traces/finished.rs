//! An answered request that is traced, and its spans.

use super::noted::Noted;
use super::sampler::Context;
use super::steps::{Login, STEPS, Step};
use crate::capture::Shape;
use crate::problem::Code;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The methods that the service answers. A caller may write anything in the place of one.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "HEAD"];
/// What semantic conventions call any other one.
const OTHER_METHOD: &str = "_OTHER";
/// The route of a path that has none.
const NO_ROUTE: &str = "-";

/// See the module.
pub(super) struct Finished {
    context: Context,
    method: &'static str,
    /// The pattern, not the path: a path names a subject.
    route: String,
    status: u16,
    code: Option<Code>,
    /// On the service's clock.
    ended_ns: u64,
    took_ns: u64,
    /// The same moment as `ended_ns`.
    ended_at: SystemTime,
    noted: Noted,
}

impl Finished {
    /// A request that ended at this time.
    pub(super) fn new(
        context: Context,
        shape: &Shape<'_>,
        code: Option<Code>,
        noted: Noted,
        ended_at: SystemTime,
    ) -> Finished {
        let method = METHODS.into_iter().find(|known| *known == shape.method).unwrap_or(OTHER_METHOD);
        Finished {
            context,
            method,
            route: shape.route.to_owned(),
            status: shape.status,
            code,
            ended_ns: shape.began_ns.saturating_add(shape.took_ns),
            took_ns: shape.took_ns,
            ended_at,
            noted,
        }
    }

    /// How many spans it has.
    pub(super) fn spans(&self) -> u64 {
        1 + (STEPS * self.noted.batches.len()) as u64
    }

    /// Its spans: the request, then the steps of its logins.
    pub(super) fn into_spans(self, scope: &InstrumentationScope) -> impl Iterator<Item = SpanData> {
        let request = self.request(scope);
        let step = |login: Login| login.steps().map(|step| self.step(&login, step, scope));
        let steps: Vec<SpanData> = self.noted.batches.iter().copied().flat_map(step).collect();
        std::iter::once(request).chain(steps)
    }

    fn request(&self, scope: &InstrumentationScope) -> SpanData {
        let Context { span, parent, .. } = self.context;
        let times = [self.at(self.ended_ns.saturating_sub(self.took_ns)), self.ended_at];
        SpanData {
            span_kind: SpanKind::Server,
            parent_span_is_remote: parent.is_some(),
            status: if self.status < 500 { Status::Unset } else { Status::error("") },
            attributes: self.attributes(),
            ..self.span([span, parent.unwrap_or_default()], self.name(), times, scope)
        }
    }

    fn step(&self, login: &Login, step: Step, scope: &InstrumentationScope) -> SpanData {
        let Step { name, from_ns, until_ns } = step;
        let ids = [rand::random(), self.context.span];
        let lanes = || KeyValue::new("trefoil.batch.lanes", i64::from(login.timeline.lanes));
        SpanData {
            attributes: (name == "match").then(lanes).into_iter().collect(),
            ..self.span(ids, name.into(), [self.at(from_ns), self.at(until_ns)], scope)
        }
    }

    /// A span of this trace with its identifier and that of its parent.
    fn span(
        &self,
        [id, parent]: [[u8; 8]; 2],
        name: Cow<'static, str>,
        [start_time, end_time]: [SystemTime; 2],
        scope: &InstrumentationScope,
    ) -> SpanData {
        let (trace, id) = (TraceId::from_bytes(self.context.trace), SpanId::from_bytes(id));
        SpanData {
            span_context: SpanContext::new(trace, id, TraceFlags::SAMPLED, false, TraceState::NONE),
            parent_span_id: SpanId::from_bytes(parent),
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name,
            start_time,
            end_time,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: scope.clone(),
        }
    }

    fn name(&self) -> Cow<'static, str> {
        let method = if self.method == OTHER_METHOD { "HTTP" } else { self.method };
        match self.route.as_str() {
            NO_ROUTE => method.into(),
            route => format!("{method} {route}").into(),
        }
    }

    fn attributes(&self) -> Vec<KeyValue> {
        let mut attributes = vec![
            KeyValue::new("http.request.method", self.method),
            KeyValue::new("http.response.status_code", i64::from(self.status)),
            KeyValue::new("trefoil.request_id", hex::encode(self.context.request)),
        ];
        if self.route != NO_ROUTE {
            attributes.push(KeyValue::new("http.route", self.route.clone()));
        }
        if let Some(code) = self.code {
            attributes.push(KeyValue::new("trefoil.problem", code.name()));
        }
        if self.status >= 500 {
            attributes.push(KeyValue::new("error.type", self.code.map_or("500", Code::name)));
        }
        if let Some(tenant) = self.noted.tenant {
            attributes.push(KeyValue::new("trefoil.tenant", tenant.to_string()));
        }
        if self.noted.logins > 0 {
            attributes.push(KeyValue::new("trefoil.logins", i64::from(self.noted.logins)));
        }
        attributes
    }

    /// The wall time of a moment on the service's clock.
    fn at(&self, ns: u64) -> SystemTime {
        let before = Duration::from_nanos(self.ended_ns.saturating_sub(ns));
        self.ended_at.checked_sub(before).unwrap_or(UNIX_EPOCH)
    }
}
