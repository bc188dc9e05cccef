//! A collector of traces in this process. It takes OTLP over HTTP, keeps the bytes, and reads them by the numbers of the protocol's fields.

use prost::Message;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};

const TAKEN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";

/// See the module.
pub(crate) struct Collector {
    address: SocketAddr,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Collector {
    pub(crate) async fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let bodies = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let taken = Arc::clone(&bodies);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, Arc::clone(&taken)));
            }
        });
        Collector { address, bodies }
    }

    /// What a service is configured with.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that was sent so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bodies.lock().unwrap().concat()
    }

    /// The spans so far, in the order in which they were sent.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let spans = self.exports().into_iter().flat_map(|sent| sent.scopes).flat_map(|scope| scope.spans);
        spans.collect()
    }

    /// What each export says about its service.
    pub(crate) fn services(&self) -> Vec<BTreeMap<String, String>> {
        let services = self.exports().into_iter().map(|sent| sent.resource.unwrap_or_default());
        services.map(|resource| read(&resource.attributes)).collect()
    }

    fn exports(&self) -> Vec<OfResource> {
        let bodies = self.bodies.lock().unwrap();
        bodies.iter().flat_map(|body| Export::decode(&body[..]).unwrap().resources).collect()
    }
}

/// Takes the requests of a connection.
async fn take(stream: TcpStream, bodies: Arc<Mutex<Vec<Vec<u8>>>>) {
    let mut stream = BufStream::new(stream);
    while let Some(length) = head(&mut stream).await {
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        bodies.lock().unwrap().push(body);
        stream.write_all(TAKEN).await.unwrap();
        stream.flush().await.unwrap();
    }
}

/// The length of the body of the next request, unless the connection ends.
async fn head(stream: &mut BufStream<TcpStream>) -> Option<usize> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim() {
            "" => break,
            line => lines.push(line.to_lowercase()),
        }
    }
    assert_eq!(lines[0], "post /v1/traces http/1.1");
    assert!(lines.iter().any(|line| line == "content-type: application/x-protobuf"), "{lines:?}");
    lines.iter().find_map(|line| line.strip_prefix("content-length: "))?.parse().ok()
}

fn read(attributes: &[Attribute]) -> BTreeMap<String, String> {
    let text = |attribute: &Attribute| match attribute.value.as_ref()?.value.as_ref()? {
        Value::Text(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
    };
    let read = |attribute: &Attribute| {
        (attribute.key.clone(), text(attribute).unwrap_or_else(|| panic!("{attribute:?}")))
    };
    attributes.iter().map(read).collect()
}

impl Span {
    pub(crate) fn attributes(&self) -> BTreeMap<String, String> {
        read(&self.attributes)
    }
}

/// `ExportTraceServiceRequest`
#[derive(Clone, PartialEq, Message)]
struct Export {
    #[prost(message, repeated, tag = "1")]
    resources: Vec<OfResource>,
}

/// `ResourceSpans`
#[derive(Clone, PartialEq, Message)]
struct OfResource {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scopes: Vec<OfScope>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<Attribute>,
}

/// `ScopeSpans`
#[derive(Clone, PartialEq, Message)]
struct OfScope {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Span {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) trace: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) parent: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(crate) name: String,
    /// 1 for a step in a process, 2 for a request that a server answered.
    #[prost(int32, tag = "6")]
    pub(crate) kind: i32,
    /// Unix time, nanoseconds.
    #[prost(fixed64, tag = "7")]
    pub(crate) start: u64,
    #[prost(fixed64, tag = "8")]
    pub(crate) end: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<Attribute>,
    #[prost(message, optional, tag = "15")]
    pub(crate) status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Status {
    /// 0 for none, 2 for an error.
    #[prost(int32, tag = "3")]
    pub(crate) code: i32,
}

/// `KeyValue`
#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 3")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Number(i64),
}
