//! A pool between this process and PostgreSQL that gives one connection to several sessions in turn, as PgBouncer does with
//! `pool_mode = transaction`. A lock or a setting of a session would then be anybody's, so it is refused before there is any.

use crate::address::Address;
use crate::link::{CONNECT_MAX, Link};
use std::time::Duration;
use trefoil_storage::store::StoreError;

/// Refuses it: two sessions that are open have one process of the server.
pub(crate) fn refuse(address: &Address, link: &Link, patience: Duration) -> Result<(), StoreError> {
    let other = Link::open(address, patience, CONNECT_MAX)?;
    for _ in 0..3 {
        let [one, another] = [link, &other].map(|link| link.told("SELECT pg_backend_pid()"));
        if one? == another? {
            return Err(StoreError::Unusable(format!(
                "{address}: a pool shares one connection among sessions, as PgBouncer does with pool_mode = transaction; give the address of \
                 PostgreSQL itself, or set pool_mode = session for this database"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::tests::open;
    use std::process::Stdio;
    use std::time::{Duration, Instant};
    use trefoil_storage::store::StoreError;
    use trefoil_testing::postgres::Server;

    /// A running PgBouncer, which ends with this.
    struct Pool(std::process::Child);

    impl Drop for Pool {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Claim V174: A start refuses a pool that shares a connection to PostgreSQL among sessions.
    #[test]
    fn a_pool_that_shares_connections_is_refused_and_one_for_sessions_serves() {
        let Some(server) = Server::shared() else { return };
        let direct = server.database();
        let name = direct.split(['/', '?']).nth(3).unwrap().to_owned();
        for (mode, serves) in [("transaction", false), ("statement", false), ("session", true)] {
            let port = trefoil_testing::postgres::free_port();
            let place = server.folder().join(format!("{mode}.ini"));
            let settings = format!(
                "[databases]\n{name} = host={} port={} user=trefoil\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
                 unix_socket_dir =\nauth_type = any\npool_mode = {mode}\n",
                server.folder().display(),
                server.port()
            );
            std::fs::write(&place, settings).unwrap();
            server.give_away(&place);
            let mut program = server.command_of("pgbouncer");
            let pool = program.arg(&place).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let _pool = Pool(pool.expect("install PgBouncer, such as apt-get install pgbouncer"));
            let begun = Instant::now();
            while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
                assert!(begun.elapsed() < Duration::from_secs(30), "PgBouncer does not start");
                std::thread::yield_now();
            }
            let url = format!("postgres://trefoil@127.0.0.1:{port}/{name}?sslmode=disable");
            let opened = open(&url);
            match &opened {
                Ok(_) => assert!(serves, "{mode}"),
                Err(StoreError::Unusable(why)) => {
                    assert!(
                        !serves && why.contains("pool_mode = session") && why.contains(&name),
                        "{mode}: {why}"
                    );
                }
                Err(other) => panic!("{mode}: {other}"),
            }
        }
        // The lock of the last one was released with its session.
        assert!(open(&direct).is_ok());
    }
}
