//! Which requests are traced, decided when they begin.

use super::traceparent::Traceparent;
use axum::http::HeaderMap;

/// A request's place in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Context {
    /// The request's own identifier, which is in its answer and in the log.
    pub(super) request: [u8; 16],
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    /// The caller's span.
    pub(super) parent: Option<[u8; 8]>,
}

/// A request's place in its trace, if it is traced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Traced(pub(super) Option<Context>);

/// See the module.
pub(super) struct Sampler {
    /// 0 for none.
    pub(super) one_in: u64,
    pub(super) follows_callers: bool,
}

impl Sampler {
    /// Whether a request is traced. Without a caller's trace it begins one, whose identifier is that of the request.
    pub(super) fn sample(&self, request: [u8; 16], headers: &HeaderMap) -> Traced {
        let caller = Traceparent::of(headers);
        let is_sampled = match caller {
            Some(caller) if self.follows_callers => caller.is_sampled,
            _ => self.draws(request),
        };
        Traced(is_sampled.then(|| Context {
            request,
            trace: caller.map_or(request, |caller| caller.trace),
            span: rand::random(),
            parent: caller.map(|caller| caller.span),
        }))
    }

    fn draws(&self, request: [u8; 16]) -> bool {
        let [low @ .., _, _, _, _, _, _, _, _] = request;
        u64::from_le_bytes(low).checked_rem(self.one_in) == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_so_many_is_drawn_and_a_caller_decides_where_it_may() {
        let (none, mut recorded, mut unrecorded) = (HeaderMap::new(), HeaderMap::new(), HeaderMap::new());
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
        recorded.insert("traceparent", format!("{parent}-01").parse().unwrap());
        unrecorded.insert("traceparent", format!("{parent}-00").parse().unwrap());
        let of_10_000 = |one_in, follows_callers, headers: &HeaderMap| {
            let sampler = Sampler { one_in, follows_callers };
            (0..10_000).filter(|_| sampler.sample(rand::random(), headers).0.is_some()).count()
        };
        assert!((50..200).contains(&of_10_000(100, true, &none)));
        assert!((50..200).contains(&of_10_000(100, false, &recorded)));
        assert_eq!([of_10_000(1, true, &none), of_10_000(0, true, &none)], [10_000, 0]);
        assert_eq!([of_10_000(0, true, &recorded), of_10_000(1, true, &unrecorded)], [10_000, 0]);
        let sampler = Sampler { one_in: 1, follows_callers: false };
        let context = sampler.sample([7; 16], &unrecorded).0.unwrap();
        assert_eq!(hex::encode(context.trace), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.parent.map(hex::encode).as_deref(), Some("00f067aa0ba902b7"));
        let context = sampler.sample([7; 16], &none).0.unwrap();
        assert_eq!((context.trace, context.parent), ([7; 16], None));
    }
}
