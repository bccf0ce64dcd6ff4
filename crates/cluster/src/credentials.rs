//! Proof between machines of several computers: a key that all of them have, by TLS 1.3.
//!
//! A file of credentials is copied to all machines of a cluster. It holds an Ed25519 key, with
//! which each side of a connection signs its handshake; the other side takes no key but its own
//! (raw public keys, RFC 7250, so there is no certificate that ends some day). Who has not the file
//! sends nothing to a machine and receives nothing from it; who has it is a machine. A proof for
//! one side of a handshake is none for the other side, and none for another connection: both are
//! TLS's.
//!
//! **Invariant:** no byte of a peer is looked at beyond TLS before it has proved that it has the
//! key. Checked in `Same::check`. Tested by `only_who_has_the_key_is_heard`.

use std::fmt::{self, Write as _};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, ring as provider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};

use welter_progress::FailureKind;

use crate::error::ClusterError;

/// First word of a file of credentials, with its version.
const TITLE: &str = "welter-cluster-key-1";

/// Trust between machines, and therefore where they may be.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Of processes of this computer, which have the user for a warrant.
    #[default]
    Loopback,
    /// Of machines that prove that they have a key.
    Key(Credentials),
    /// Of all who reach a port, because the user says that the network is trusted.
    Network,
}

impl Trust {
    /// Looks whether an address may be listened at, connected to or received from.
    ///
    /// # Errors
    /// When it is not on this computer, and nothing is proved.
    pub(crate) fn check(&self, address: SocketAddr) -> Result<(), ClusterError> {
        match self {
            Self::Loopback if !address.ip().is_loopback() => Err(ClusterError::Address(address)),
            _ => Ok(()),
        }
    }
}

/// A key that the machines of a cluster share, ready for connections.
#[derive(Clone)]
pub struct Credentials {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

impl Credentials {
    /// Writes a file with a new key, which only its owner may read.
    ///
    /// # Errors
    /// When there is a file already, or it cannot be written.
    pub fn create(path: &Path) -> Result<(), ClusterError> {
        let wrong =
            |kind, what: String| ClusterError::Credentials { path: path.to_owned(), kind, what };
        let text = Self::fresh().ok_or_else(|| {
            wrong(FailureKind::Storage, "the system has no random numbers".to_owned())
        })?;
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(|error| {
                let what = match error.kind() {
                    ErrorKind::AlreadyExists => "it is there already, and left as it is".to_owned(),
                    _ => format!("cannot write: {error}"),
                };
                wrong(FailureKind::Output, what)
            })
    }

    /// The text of a new key, as a file has it; none where the system has no random numbers.
    pub fn fresh() -> Option<String> {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).ok()?;
        let mut text = format!("{TITLE} ");
        for byte in key.as_ref() {
            // A string takes everything.
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
        Some(text)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or holds no key.
    pub fn read(path: &Path) -> Result<Self, ClusterError> {
        let wrong =
            |kind, what: String| ClusterError::Credentials { path: path.to_owned(), kind, what };
        let text = std::fs::read_to_string(path).map_err(|error| {
            let kind = match error.kind() {
                ErrorKind::NotFound => FailureKind::Missing,
                ErrorKind::InvalidData => FailureKind::Input,
                _ => FailureKind::Storage,
            };
            wrong(kind, format!("cannot read: {error}"))
        })?;
        let none = || {
            let what = "expected the key of a cluster, as `welter cluster init` writes it";
            wrong(FailureKind::Input, what.to_owned())
        };
        Self::of(&text).ok_or_else(none)
    }

    /// The key of such a text; none where it is another text.
    pub fn of(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (title, hex) = (words.next()?, words.next()?);
        if title != TITLE || words.next().is_some() || hex.len() % 2 == 1 {
            return None;
        }
        let digits = hex.bytes().map(|digit| char::from(digit).to_digit(16));
        let digits = digits.collect::<Option<Vec<u32>>>()?;
        let bytes = digits.chunks_exact(2).map(|pair| (16 * pair[0] + pair[1]) as u8);
        let key: Vec<u8> = bytes.collect();
        Self::with(&PrivatePkcs8KeyDer::from(key)).ok()
    }

    fn with(key: &PrivatePkcs8KeyDer<'_>) -> Result<Self, Error> {
        let provider = Arc::new(provider::default_provider());
        let key = provider::sign::any_eddsa_type(key)?;
        let public = key.public_key().ok_or(Error::General("no public key".to_owned()))?;
        let public = CertificateDer::from(public.as_ref().to_vec());
        let same = Arc::new(Same { public: public.clone(), provider: provider.clone() });
        let certified = Arc::new(CertifiedKey::new(vec![public], key));
        let mut client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(same.clone())
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
                certified.clone(),
            )));
        // Each connection is proved anew.
        client.resumption = Resumption::disabled();
        client.enable_sni = false;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(same)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
        server.send_tls13_tickets = 0;
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// Takes no key but its own.
#[derive(Debug)]
struct Same {
    public: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl Same {
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        if shown == &self.public {
            return Ok(());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn is_signed(
        &self,
        message: &[u8],
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let public = SubjectPublicKeyInfoDer::from(self.public.as_ref());
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &public, signed, known)
    }
}

/// A signature of a version that is not spoken.
fn too_old() -> Error {
    Error::General("TLS 1.3 alone is spoken".to_owned())
}

impl ServerCertVerifier for Same {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(shown).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.is_signed(message, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Same {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(shown).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.is_signed(message, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_written_once_for_its_owner_and_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        Credentials::create(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(Credentials::read(&path).is_ok());
        assert!(matches!(Credentials::create(&path), Err(ClusterError::Credentials { .. })));
        let good = std::fs::read_to_string(&path).unwrap();
        assert!(Credentials::of(&good).is_some());
        for wrong in ["", TITLE, "welter-cluster-key-1 abc", "welter-cluster-key-1 zz", "k 00"] {
            assert!(Credentials::of(wrong).is_none(), "{wrong}");
        }
        // The first byte says that a sequence follows.
        let broken = good.replacen(&format!("{TITLE} 30"), &format!("{TITLE} 31"), 1);
        assert!(broken != good && Credentials::of(&broken).is_none());
        assert!(Credentials::of(&good[..good.len() - 9]).is_none());
    }
}
