//! Bodies of answers that may take long, but not be silent for long.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use object_store::client::{HttpError, HttpErrorKind};
use tokio::time::{Instant, Sleep};

use crate::traffic;

/// A body on its way: an error where nothing of it comes for a while.
pub(super) struct Patient {
    body: Incoming,
    silence: Duration,
    /// Ends a silence; begins anew with every piece that comes.
    end: Pin<Box<Sleep>>,
}

impl Patient {
    pub(super) fn new(body: Incoming, silence: Duration) -> Self {
        Self { body, silence, end: Box::pin(tokio::time::sleep(silence)) }
    }
}

impl Body for Patient {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.end.as_mut().reset(Instant::now() + this.silence);
            if let Some(Ok(frame)) = &frame {
                traffic::received(frame.data_ref().map_or(0, Bytes::len));
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(connection_error)));
        }
        let late = || io::Error::from(io::ErrorKind::TimedOut);
        this.end
            .as_mut()
            .poll(context)
            .map(|()| Some(Err(HttpError::new(HttpErrorKind::Timeout, late()))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The error of a connection, of the kind by which `object_store` decides whether to try again.
pub(super) fn connection_error(error: impl Error + Send + Sync + 'static) -> HttpError {
    let kind = causes(&error).filter_map(kind).last().unwrap_or(HttpErrorKind::Unknown);
    HttpError::new(kind, error)
}

/// Whether a server was not believed: no authority that this system trusts vouches for its
/// certificate.
pub(crate) fn is_untrusted(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|it| matches!(it.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))))
}

/// An error and those that lie in it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // Its source is that of the error within, which would be passed over.
        let within = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        within.map(|error| error as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

/// Kind of one error of those that lie in each other. The innermost one knows most.
fn kind(error: &(dyn Error + 'static)) -> Option<HttpErrorKind> {
    if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
        return error.is_connect().then_some(HttpErrorKind::Connect);
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        let broke_off =
            error.is_closed() || error.is_incomplete_message() || error.is_body_write_aborted();
        let timed_out = error.is_timeout().then_some(HttpErrorKind::Timeout);
        return timed_out.or_else(|| broke_off.then_some(HttpErrorKind::Request));
    }
    if error.is::<rustls::Error>() {
        return Some(HttpErrorKind::Unknown);
    }
    match error.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::TimedOut => Some(HttpErrorKind::Timeout),
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Some(HttpErrorKind::Interrupted),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError;

    use super::*;

    #[test]
    fn a_certificate_that_nobody_vouches_for_is_told_from_a_server_that_is_away() {
        let untrusted = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let error = io::Error::other(io::Error::other(untrusted));
        assert!(is_untrusted(&error));
        assert_eq!(connection_error(error).kind(), HttpErrorKind::Unknown);
        let cut = io::Error::other(io::Error::from(io::ErrorKind::ConnectionReset));
        assert!(!is_untrusted(&cut));
        assert_eq!(connection_error(cut).kind(), HttpErrorKind::Interrupted);
    }
}
