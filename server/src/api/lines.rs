//! A body that is read line by line while it arrives.

use crate::problem::{Code, Problem};
use axum::body::{Body, Bytes};
use http_body_util::BodyExt as _;
use std::time::Duration;

/// How much of the rest of a body is discarded, and for how long, so that its sender sees why the stream ended.
const DISCARDED_BYTES_MAX: usize = 1 << 20;
const DISCARDED_TIME_MAX: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Lines {
    body: Body,
    bytes_max: usize,
    /// The received part of the next line.
    begun: Vec<u8>,
    /// Received bytes after that, which were not searched yet.
    rest: Bytes,
}

impl Lines {
    /// Lines of at most `bytes_max`.
    pub(super) fn new(body: Body, bytes_max: usize) -> Lines {
        Lines { body, bytes_max, begun: Vec::new(), rest: Bytes::new() }
    }

    /// The next line without its end, or `None` at the end of the body. Cancel-safe: it may be dropped and called again.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        loop {
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            let more = self.rest.split_to(end.unwrap_or(self.rest.len()));
            if self.begun.len() + more.len() > self.bytes_max {
                let detail =
                    format!("the line has more than the {} bytes that a line may have", self.bytes_max);
                return Err(Problem::new(Code::BodyTooLarge, detail));
            }
            self.begun.extend_from_slice(&more);
            if end.is_some() {
                let _ = self.rest.split_to(1);
                return Ok(Some(std::mem::take(&mut self.begun)));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                Some(Err(_)) => return Err(Problem::new(Code::MalformedRequest, "the body broke off")),
                None if self.begun.is_empty() => return Ok(None),
                None => return Ok(Some(std::mem::take(&mut self.begun))),
            }
        }
    }

    /// Keeps reading for a moment, so that the sender is not cut off before it has read its last answer.
    pub(super) async fn discard(mut self) {
        let all = async {
            let mut bytes = self.rest.len();
            while bytes <= DISCARDED_BYTES_MAX
                && let Some(Ok(frame)) = self.body.frame().await
            {
                bytes += frame.data_ref().map_or(0, Bytes::len);
            }
        };
        let _ = tokio::time::timeout(DISCARDED_TIME_MAX, all).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use proptest::prelude::*;
    use std::io;

    async fn read(pieces: Vec<Vec<u8>>, bytes_max: usize) -> (Vec<Vec<u8>>, Option<Code>) {
        let pieces = pieces.into_iter().map(|piece| Ok::<_, io::Error>(Bytes::from(piece)));
        let mut lines = Lines::new(Body::from_stream(stream::iter(pieces)), bytes_max);
        let mut read = Vec::new();
        loop {
            match lines.next().await {
                Ok(Some(line)) => read.push(line),
                Ok(None) => return (read, None),
                Err(problem) => return (read, Some(problem.code())),
            }
        }
    }

    proptest! {
        /// For any bytes in any pieces, the result is the lines of the text up to the first one that is too long.
        #[test]
        fn lines_are_those_of_the_text_however_it_is_cut(
            pieces in prop::collection::vec(prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..9), 0..9),
            bytes_max in 1..12_usize,
        ) {
            let text = pieces.concat();
            let mut expected: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            // The text after the last newline is a line only if it is not empty.
            if expected.last().is_some_and(Vec::is_empty) {
                expected.pop();
            }
            let short = expected.iter().take_while(|line| line.len() <= bytes_max).count();
            let code = (short < expected.len()).then_some(Code::BodyTooLarge);
            expected.truncate(short);
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            prop_assert_eq!(runtime.block_on(read(pieces, bytes_max)), (expected, code));
        }
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_a_problem_after_its_lines() {
        let pieces = [Ok(Bytes::from_static(b"a\nb")), Err(io::Error::other("reset"))];
        let mut lines = Lines::new(Body::from_stream(stream::iter(pieces)), 8);
        assert_eq!(lines.next().await.unwrap().unwrap(), b"a");
        assert_eq!(lines.next().await.unwrap_err().code(), Code::MalformedRequest);
    }
}
