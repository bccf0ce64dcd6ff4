//! Ports of this machine, each connection of which has a thread. These end with the process.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use rustls::ServerConfig;

use super::encryption;

/// A connection, encrypted or not.
pub(super) trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

/// Begins to listen at an address, and serves each connection; all of them are encrypted where
/// there are settings for it.
pub(super) fn listen(
    address: Ipv4Addr,
    tls: Option<Arc<ServerConfig>>,
    serve: impl Fn(&mut dyn Stream) -> io::Result<()> + Clone + Send + 'static,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((address, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let (serve, tls) = (serve.clone(), tls.clone());
            // A client that goes away ends its thread.
            thread::spawn(move || {
                connection.set_nodelay(true)?;
                match tls {
                    None => {
                        let mut connection = connection;
                        serve(&mut connection)
                    }
                    Some(tls) => serve(&mut encryption::accept(connection, tls)?),
                }
            });
        }
    });
    Ok(address)
}
