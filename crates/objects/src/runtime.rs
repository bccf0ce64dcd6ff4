//! The threads that requests run on, and how a plain thread waits for one.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Threads: what they do is to wait, to decrypt and to copy.
const THREADS: usize = 2;
/// Interval at which a thread that waits looks whether it should.
const LOOK: Duration = Duration::from_millis(50);

/// Says whether the answer that is waited for is not wanted any more.
pub(crate) type Stopped = dyn Fn() -> bool + Send + Sync;

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

/// Waits for a request as long as it is wanted; `None` if it is not any more.
pub(crate) fn wait_unless<T>(
    request: impl Future<Output = T>,
    stopped: &dyn Fn() -> bool,
) -> io::Result<Option<T>> {
    wait(async {
        let mut request = pin!(request);
        loop {
            match tokio::time::timeout(LOOK, request.as_mut()).await {
                Ok(done) => return Some(done),
                Err(_) if stopped() => return None,
                Err(_) => {}
            }
        }
    })
}

/// Begins a request that is waited for later.
pub(crate) fn begin<T: Send + 'static>(
    request: impl Future<Output = T> + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Ok(runtime()?.spawn(request))
}
