//! The answer to a caller that speaks HTTP without TLS: one answer that says so.

use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// RFC 9112 section 9.6: the request must be read before the close, or the answer may be lost. For this time and this many bytes at most.
const LINGER: Duration = Duration::from_secs(1);
const READ_MAX: usize = 16 * 1024;

const TEXT: &str = "this port speaks HTTPS: call https:// instead of http://\n";

/// Whether the first byte is one of a method, once it arrives. That of a TLS client is 0x16 (RFC 8446 section 5.1). It stays unread.
pub(super) async fn is_spoken(stream: &TcpStream) -> bool {
    let mut first = [0];
    matches!(stream.peek(&mut first).await, Ok(1)) && first[0].is_ascii_uppercase()
}

/// Answers, and reads on for a moment.
pub(super) async fn refuse(mut stream: TcpStream) {
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{TEXT}",
        TEXT.len()
    );
    let told = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        let (mut rest, mut read) = ([0; 1024], 0);
        while read < READ_MAX {
            match stream.read(&mut rest).await? {
                0 => break,
                more => read += more,
            }
        }
        Ok::<_, std::io::Error>(())
    };
    // A caller that is gone or does not read needs no answer.
    let _ = tokio::time::timeout(LINGER, told).await;
}
