//! TLS of the store: its certificate is of 127.0.0.1, by an authority that no system believes; and
//! of the host at which Google gives tokens to users, whose name no variable changes.
//!
//! Both were made once, by `openssl ca`, and hold from 2020 to 2120. The authority has no key any
//! more, so it vouches for no other server.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Certificate of the authority, as it stands in files that name such.
pub const AUTHORITY: &str = include_str!("certificates/authority.pem");

const CERTIFICATE: &[u8] = include_bytes!("certificates/server.pem");
const KEY: &[u8] = include_bytes!("certificates/server.key");

/// Settings of a server that shows this certificate.
pub(super) fn settings() -> io::Result<Arc<ServerConfig>> {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_slice(KEY).map_err(io::Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|begun| begun.with_no_client_auth().with_single_cert(vec![certificate], key));
    settings.map(Arc::new).map_err(io::Error::other)
}

/// A connection that is encrypted from its first byte on.
pub(super) fn accept<S: Read + Write>(
    connection: S,
    settings: Arc<ServerConfig>,
) -> io::Result<StreamOwned<ServerConnection, S>> {
    let server = ServerConnection::new(settings).map_err(io::Error::other)?;
    Ok(StreamOwned::new(server, connection))
}
