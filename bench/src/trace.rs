//! Recorded requests to a cache.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;
use sha2::{Digest as _, Sha256};

use crate::Failure;

/// Keys in the order in which they were requested.
pub(crate) struct Trace {
    pub(crate) requests: Vec<u64>,
    /// SHA-256 of the decompressed file, which names the trace regardless of its file name.
    pub(crate) sha256: [u8; 32],
}

impl Trace {
    /// Synthetic requests.
    pub(crate) fn synthetic(requests: Vec<u64>) -> Trace {
        let mut digest = Sha256::new();
        requests.iter().for_each(|request| digest.update(request.to_le_bytes()));
        Trace { requests, sha256: digest.finalize().into() }
    }

    /// Reads a zstd frame of little-endian u64 keys.
    ///
    /// # Errors
    /// When the file cannot be read, is not such a frame, holds no request or too many.
    pub(crate) fn read(path: &Path) -> Result<Trace, Failure> {
        let refuse = |why: String| Failure::usage(format!("{}: {why}", path.display()));
        let file = File::open(path).map_err(|error| refuse(error.to_string()))?;
        let mut decoder = StreamingDecoder::new_with_max_window_size(BufReader::new(file), WINDOW_MAX_BYTES)
            .map_err(|error| refuse(format!("not a zstd file of u64 keys: {error}")))?;
        let mut digest = Sha256::new();
        let mut requests = Vec::new();
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        loop {
            block.clear();
            let read = decoder.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut block);
            read.map_err(|error| refuse(error.to_string()))?;
            if block.is_empty() {
                break;
            }
            digest.update(&block);
            let (keys, rest) = block.as_chunks::<8>();
            if !rest.is_empty() {
                return Err(refuse("the last key is cut off".to_owned()));
            }
            requests.extend(keys.iter().map(|key| u64::from_le_bytes(*key)));
            if requests.len() > REQUESTS_MAX {
                return Err(refuse(format!("more than {REQUESTS_MAX} requests")));
            }
        }
        if requests.is_empty() {
            return Err(refuse("no requests".to_owned()));
        }
        Ok(Trace { requests, sha256: digest.finalize().into() })
    }
}

/// As written by `zstd --long=27`.
const WINDOW_MAX_BYTES: u64 = 1 << 27;
/// A gibibyte of keys: more than ten times the longest trace we know, and no more than a small machine can hold.
const REQUESTS_MAX: usize = 1 << 27;
/// Decompressed at a time; a multiple of a key.
const BLOCK_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;

    use super::*;

    fn committed(name: &str) -> Trace {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/traces");
        Trace::read(&folder.join(name)).expect("trace")
    }

    #[test]
    fn committed_traces_are_what_their_readme_says() {
        let readme = include_str!("../data/traces/README.md");
        for (name, requests, keys) in
            [("orm_busy.u64.zst", 5_000_000, 76_349), ("web12.u64.zst", 95_607, 13_756)]
        {
            let trace = committed(name);
            assert_eq!(trace.requests.len(), requests);
            assert_eq!(trace.requests.iter().collect::<HashSet<_>>().len(), keys);
            assert!(readme.contains(&hex::encode(trace.sha256)), "{name}");
        }
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("x.u64.zst");
        let refusal = || Trace::read(&path).err().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(refusal().contains("x.u64.zst"), "no file");
        fs::write(&path, b"not zstd").expect("file");
        assert!(refusal().contains("not a zstd file"));
        // A frame with one raw block of nine bytes: magic, single segment of nine bytes, last block.
        let frame = [&[0x28, 0xB5, 0x2F, 0xFD, 0x20, 9, 9 << 3 | 1, 0, 0][..], &[7; 9]].concat();
        fs::write(&path, &frame).expect("file");
        assert!(refusal().contains("cut off"));
        let frame = [0x28, 0xB5, 0x2F, 0xFD, 0x20, 0, 1, 0, 0];
        fs::write(&path, frame).expect("file");
        assert!(refusal().contains("no requests"));
        let whole = [&[0x28, 0xB5, 0x2F, 0xFD, 0x20, 16, 16 << 3 | 1, 0, 0][..], &[7; 16]].concat();
        fs::write(&path, &whole).expect("file");
        assert_eq!(Trace::read(&path).expect("trace").requests, [0x0707_0707_0707_0707; 2]);
        fs::write(&path, &whole[..20]).expect("file");
        assert!(!refusal().is_empty(), "the frame ends early");
    }
}
