//! HTTP/2 by hand: frames that no library sends, and every frame that the service sends.

use crate::http::Endpoint;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Kinds of frames.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
/// What every peer takes.
const FRAME_BYTES_MAX: usize = 1 << 14;
/// Flags: the end of a stream, or an acknowledgement; the end of headers.
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
/// The setting SETTINGS_INITIAL_WINDOW_SIZE.
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The client's end of a connection.
pub(crate) struct Connection(TlsStream<TcpStream>);

impl Connection {
    /// With this setting.
    pub(crate) async fn open(endpoint: &Endpoint, setting: Option<(u16, u32)>) -> Connection {
        let mut stream = endpoint.http2().connect().await;
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let setting = setting.map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat());
        stream.write_all(&frame(SETTINGS, 0, 0, &setting.unwrap_or_default())).await.unwrap();
        Connection(stream)
    }

    pub(crate) async fn send(&mut self, frame: &[u8]) {
        self.0.write_all(frame).await.unwrap();
    }

    /// The head of a request.
    pub(crate) async fn request(
        &mut self,
        stream: u32,
        end: u8,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) {
        let pseudo =
            [(":method", method), (":path", path), (":scheme", "https"), (":authority", "localhost")];
        let block: Vec<u8> =
            pseudo.iter().chain(headers).flat_map(|(name, value)| literal(name, value)).collect();
        let mut pieces = block.chunks(FRAME_BYTES_MAX).peekable();
        let (mut kind, mut flags) = (HEADERS, end);
        while let Some(piece) = pieces.next() {
            flags |= if pieces.peek().is_none() { END_HEADERS } else { 0 };
            self.send(&frame(kind, flags, stream, piece)).await;
            (kind, flags) = (CONTINUATION, 0);
        }
    }

    /// The next frame, after sending any acknowledgement that is due; nothing once the service has closed.
    pub(crate) async fn receive(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, flags, id @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload).await.ok()?;
        if (kind == PING || kind == SETTINGS) && flags & ACK == 0 {
            let echoed = if kind == PING { &payload[..] } else { &[] };
            // A service that is closing may not read it.
            let _ = self.0.write_all(&frame(kind, ACK, 0, echoed)).await;
        }
        Some(Frame { kind, flags, stream: u32::from_be_bytes(id), payload })
    }

    /// Sends these frames until the service closes, and reads nothing.
    pub(crate) async fn flood(&mut self, frames: &[u8]) {
        while self.0.write_all(frames).await.is_ok() {}
    }

    /// The frames up to the answer to a ping.
    pub(crate) async fn ping(&mut self) -> Vec<Frame> {
        self.send(&frame(PING, 0, 0, b"trefoil?")).await;
        let mut frames = Vec::new();
        while let Some(frame) = self.receive().await {
            if frame.kind == PING && frame.flags & ACK != 0 {
                break;
            }
            frames.push(frame);
        }
        frames
    }

    /// The frames of a stream up to its end or its reset.
    pub(crate) async fn answer(&mut self, stream: u32) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.receive().await {
            if frame.stream == stream {
                let ends = frame.kind == RST_STREAM || frame.flags & END_STREAM != 0;
                frames.push(frame);
                if ends {
                    break;
                }
            }
        }
        frames
    }
}

/// A header in HPACK, not indexed, not compressed.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        let mut length = text.len();
        if length < 127 {
            bytes.push(length as u8);
        } else {
            bytes.push(127);
            length -= 127;
            while length >= 128 {
                bytes.push(128 | (length % 128) as u8);
                length /= 128;
            }
            bytes.push(length as u8);
        }
        bytes.extend(text.as_bytes());
    }
    bytes
}
