//! How the programs use a service manager's sockets, and the messages that they send it. The test is the manager.

use crate::http::tls;
use crate::world::*;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, ExitStatus};

const PROGRAM: &str = env!("CARGO_BIN_EXE_trefoil");
/// Longer than the slowest machine takes to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program under the manager; killed when dropped.
pub(crate) struct Unit {
    child: Child,
    told: UnixDatagram,
}

impl Unit {
    /// Starts it with these sockets under these names, and a watchdog.
    pub(crate) fn start(folder: &Path, sockets: Vec<OwnedFd>, names: &str, arguments: &[&str]) -> Unit {
        Unit::start_with(folder, sockets, names, arguments, &[])
    }

    /// As [`Unit::start`], with these variables.
    pub(crate) fn start_with(
        folder: &Path,
        sockets: Vec<OwnedFd>,
        names: &str,
        arguments: &[&str],
        variables: &[(&str, &Path)],
    ) -> Unit {
        let _ = std::fs::remove_file(folder.join("notify"));
        let told = UnixDatagram::bind(folder.join("notify")).unwrap();
        told.set_read_timeout(Some(PATIENCE)).unwrap();
        // A shell, because descriptor 3 and the process's own number are known only after the fork.
        let second = if sockets.len() == 2 { "4<&1" } else { "" };
        let script = format!(
            "exec 3<&0 {second} </dev/null >/dev/null; export LISTEN_PID=$$ WATCHDOG_PID=$$; exec \"$0\" \"$@\""
        );
        let count = sockets.len().to_string();
        let mut sockets = sockets.into_iter().map(Stdio::from);
        let [first, second] = std::array::from_fn(|_| sockets.next().unwrap_or_else(Stdio::null));
        let child = Command::new("sh")
            .args(["-c", &script, PROGRAM])
            .args(arguments)
            .env("LISTEN_FDS", count)
            .env("LISTEN_FDNAMES", names)
            .env("NOTIFY_SOCKET", folder.join("notify"))
            .env("WATCHDOG_USEC", "200000")
            .env("TREFOIL_PROOFS_CACHE_CAPACITY", "1000")
            .env("TREFOIL_KEYS_PRECOMPUTE", "brief")
            .envs(variables.iter().copied())
            .stdin(first)
            .stdout(second)
            .stderr(File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        Unit { child, told }
    }

    /// Waits for a message with this line.
    pub(crate) fn says(&self, line: &str) -> String {
        let mut bytes = [0; 4096];
        loop {
            let length = self.told.recv(&mut bytes).unwrap_or_else(|cause| panic!("{line}: {cause}"));
            let message = String::from_utf8(bytes[..length].to_vec()).unwrap();
            if message.lines().any(|said| said == line) {
                return message;
            }
        }
    }

    pub(crate) fn terminate(mut self) -> ExitStatus {
        let done = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
        self.says("STOPPING=1");
        self.child.wait().unwrap()
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A service on these sockets, in the order of their names; its answers are asked for by the caller.
fn service(folder: &Path, sockets: [OwnedFd; 2], names: &str) -> (Unit, PathBuf) {
    let data = folder.join("data");
    // Addresses that nobody could listen on.
    let elsewhere = ["--listen", "192.0.2.1:1", "--admin-listen", "192.0.2.1:2"];
    let place = ["serve", "--init", "--data-dir", data.to_str().unwrap()];
    (Unit::start(folder, sockets.into(), names, &[&place[..], &elsewhere].concat()), data)
}

pub(crate) fn socket() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

pub(crate) fn copy(socket: &TcpListener) -> OwnedFd {
    socket.try_clone().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_takes_the_sockets_of_systemd_and_tells_it_how_it_stands() {
    for (names, swapped) in [("admin:public", true), ("trefoil.socket:trefoil.socket", false)] {
        let folder = tempfile::tempdir().unwrap();
        let (public, admin) = (socket(), socket());
        let in_order = if swapped { [copy(&admin), copy(&public)] } else { [copy(&public), copy(&admin)] };
        // A caller that connects early waits for the service instead of being refused.
        let early = tokio::net::TcpStream::connect(public.local_addr().unwrap()).await.unwrap();
        let (unit, data) = service(folder.path(), in_order, names);
        let message = unit.says("READY=1");
        assert!(message.contains("STATUS=serves 0 tenants"), "{message}");
        for _ in 0..3 {
            unit.says("WATCHDOG=1");
        }
        let tls = tls(&data.join("tls-certificate.pem"));
        let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::clone(&tls));
        connector.connect("localhost".try_into().unwrap(), early).await.unwrap();
        let token = std::fs::read_to_string(data.join("admin.token")).unwrap();
        let at = |socket: &TcpListener| Endpoint {
            address: socket.local_addr().unwrap(),
            tls: std::sync::Arc::clone(&tls),
            bearer: Some(token.trim().to_owned()),
        };
        at(&public).get("/v1/fhe/parameters").await.is(200);
        at(&admin).get("/readyz").await.is(200);
        assert_eq!(at(&admin).get("/v1/fhe/parameters").await.status, 404, "the sockets are not exchanged");
        assert_eq!(unit.terminate().code(), Some(0));
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        let started = log.lines().find(|line| line.contains("started")).unwrap();
        assert!(started.contains(&format!("public={}", public.local_addr().unwrap())), "{started}");
        assert!(log.contains("server.admin_listen") && log.contains("192.0.2.1:2"), "{log}");
        // The service does not remove the manager's socket.
        tokio::net::TcpStream::connect(public.local_addr().unwrap()).await.unwrap();
    }
}

#[test]
fn a_socket_that_is_of_no_use_is_named_and_nothing_starts() {
    let udp = || OwnedFd::from(UdpSocket::bind("127.0.0.1:0").unwrap());
    for (admin, names, expected) in [
        (udp(), "public:admin", ["the socket admin", "ListenStream="]),
        (copy(&socket()), "public:metrics", ["a socket metrics", "FileDescriptorName= with public or admin"]),
        (copy(&socket()), "public:public", ["public twice", "once each"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (mut unit, data) = service(folder.path(), [copy(&socket()), admin], names);
        assert_eq!(unit.child.wait().unwrap().code(), Some(2));
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        assert!(expected.iter().all(|part| log.contains(part)), "{names}: {log}");
        assert!(!data.exists());
    }
}

#[test]
fn a_key_holder_takes_its_socket_and_tells_systemd_how_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, gateway) = (folder.path().join("keys"), folder.path().join("gateway"));
    let socket = TcpListener::bind(listen()).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    KeyHolder::init(&keys, &gateway, &address);
    let place = ["--data-dir", keys.to_str().unwrap(), "--listen"];
    // It could not listen here.
    let serve = [&["key-holder"], &place[..], &["192.0.2.1:1"]].concat();
    let mut surplus =
        Unit::start(folder.path(), vec![copy(&socket), copy(&socket)], "key-holder:other", &serve);
    assert_eq!(surplus.child.wait().unwrap().code(), Some(2));
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("2 sockets") && log.contains("FileDescriptorName= with key-holder"), "{log}");

    let unit = Unit::start(folder.path(), vec![copy(&socket)], "key-holder", &serve);
    unit.says("READY=1");
    unit.says("WATCHDOG=1");
    unit.says("WATCHDOG=1");
    let status = trefoil(&[&["key-holder", "status"], &place[..], &[&address]].concat());
    let text = status.out();
    assert!(status.status.success() && text.contains("0 tenants"), "{text}");
    assert_eq!(unit.terminate().code(), Some(0));
}
