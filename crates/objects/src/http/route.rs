//! The way to a server: straight, or through the proxy that the environment names.
//!
//! `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` are read as other programs do. What is
//! encrypted goes through a tunnel that the proxy opens; plain requests are made of the proxy.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

type Unknown = Box<dyn Error + Send + Sync>;
type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens connections to servers.
#[derive(Clone)]
pub(super) struct Route {
    proxies: Arc<Matcher>,
    straight: HttpConnector,
    /// To a proxy, which may be one that encrypts.
    to_proxy: HttpsConnector<HttpConnector>,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Addresses of proxies may hold a password.
        f.debug_struct("Route").finish_non_exhaustive()
    }
}

impl Route {
    /// The way that the variables of the environment describe.
    pub(super) fn of_environment(tls: ClientConfig, connect: Duration) -> Self {
        Self::new(Matcher::from_env(), tls, connect)
    }

    fn new(proxies: Matcher, tls: ClientConfig, connect: Duration) -> Self {
        let mut straight = HttpConnector::new();
        straight.enforce_http(false);
        straight.set_nodelay(true);
        straight.set_connect_timeout(Some(connect));
        let to_proxy = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(straight.clone());
        Self { proxies: Arc::new(proxies), straight, to_proxy }
    }

    /// Credentials that a proxy of plain requests wants to see in each of them.
    pub(super) fn plain_proxy_credentials(&self, server: &Uri) -> Option<HeaderValue> {
        if server.scheme_str() != Some("http") {
            return None;
        }
        self.proxies.intercept(server)?.basic_auth().cloned()
    }
}

impl Service<Uri> for Route {
    type Response = OpenConnection;
    type Error = Unknown;
    type Future = Pin<Box<dyn Future<Output = Result<OpenConnection, Unknown>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Unknown>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let Some(proxy) = self.proxies.intercept(&server) else {
            let opened = self.straight.call(server);
            return Box::pin(async move {
                Ok(OpenConnection {
                    stream: MaybeHttpsStream::Http(opened.await?),
                    is_proxy: false,
                })
            });
        };
        let mut to_proxy = self.to_proxy.clone();
        Box::pin(async move {
            if !matches!(proxy.uri().scheme_str(), Some("http" | "https")) {
                return Err("only proxies at http:// and https:// addresses are used".into());
            }
            if server.scheme_str() == Some("http") {
                let stream = to_proxy.call(proxy.uri().clone()).await?;
                return Ok(OpenConnection { stream, is_proxy: true });
            }
            let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
            if let Some(credentials) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(credentials.clone());
            }
            Ok(OpenConnection { stream: tunnel.call(server).await?, is_proxy: false })
        })
    }
}

/// An open connection, and whether requests on it are made of a proxy.
pub(super) struct OpenConnection {
    stream: Stream,
    is_proxy: bool,
}

impl Connection for OpenConnection {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.is_proxy)
    }
}

impl Read for OpenConnection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

impl Write for OpenConnection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write as _};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    use hyper_util::client::legacy::Client;
    use hyper_util::rt::TokioExecutor;
    use object_store::client::HttpRequestBody;

    use super::*;

    /// A proxy that answers one request with nothing, and says what it was asked.
    fn proxy() -> (String, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://me:secret@{}", listener.local_addr().unwrap());
        let seen = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head = lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
            stream.write_all(b"HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n").unwrap();
            head
        });
        (address, seen)
    }

    /// Head of the request that a proxy sees when this is asked for.
    fn seen(url: &str) -> Vec<String> {
        let (address, seen) = proxy();
        let proxies = Matcher::builder().all(address).no("elsewhere.test").build();
        let route = Route::new(proxies, crate::http::tls(None).unwrap(), Duration::from_secs(5));
        let uri: Uri = url.parse().unwrap();
        assert!(route.proxies.intercept(&"http://elsewhere.test/".parse().unwrap()).is_none());
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(crate::http::tls(None).unwrap())
            .https_or_http()
            .enable_http1()
            .wrap_connector(route.clone());
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let mut request = http::Request::new(HttpRequestBody::empty());
        *request.uri_mut() = uri.clone();
        if let Some(credentials) = route.plain_proxy_credentials(&uri) {
            request.headers_mut().insert("proxy-authorization", credentials);
        }
        let answer = crate::runtime::wait(client.request(request)).unwrap();
        // A tunnel is refused; a plain request has an answer.
        assert_eq!(answer.is_ok(), url.starts_with("http:"));
        seen.join().unwrap()
    }

    #[test]
    fn what_is_encrypted_goes_through_a_tunnel_and_the_rest_is_asked_of_the_proxy() {
        let credentials = "proxy-authorization: Basic bWU6c2VjcmV0";
        let has = |head: &[String]| head.iter().any(|it| it.eq_ignore_ascii_case(credentials));
        let plain = seen("http://far.test/a/b?c=d");
        assert!(plain[0] == "GET http://far.test/a/b?c=d HTTP/1.1" && has(&plain), "{plain:?}");
        let tunnel = seen("https://far.test/a");
        assert!(tunnel[0] == "CONNECT far.test:443 HTTP/1.1" && has(&tunnel), "{tunnel:?}");
    }
}
