//! The threads that requests run on, and how a plain thread waits for one.

use std::future::Future;
use std::io;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Threads: what they do is to wait, to decrypt and to copy.
const THREADS: usize = 2;

/// The runtime, which begins with the first call and lasts as long as the process.
fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let begin = || {
        Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("welter-objects")
            .enable_all()
            .build()
    };
    RUNTIME
        .get_or_init(begin)
        .as_ref()
        .map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

/// Waits for a request.
pub(crate) fn wait<T>(request: impl Future<Output = T>) -> io::Result<T> {
    Ok(runtime()?.block_on(request))
}

/// Begins a request that somebody waits for later.
pub(crate) fn begin<T: Send + 'static>(
    request: impl Future<Output = T> + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Ok(runtime()?.spawn(request))
}
