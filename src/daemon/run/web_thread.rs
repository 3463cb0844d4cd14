//! The event loop of HTTP and WebSockets on a thread of its own, so that connections never keep the control loop waiting.
//!
//! Thread: its own (`web`).

use crate::daemon::Failure;
use std::time::Duration;
use tokio::runtime::{Builder, EnterGuard, Handle};
use tokio::sync::oneshot;

/// Time for connections at the end.
const GOODBYE: Duration = Duration::from_millis(500);

/// See the file's head. Dropping it ends the thread and every connection with it; nobody waits for that.
pub(super) struct WebThread {
    handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl WebThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives neither thread nor event loop.
    pub(super) fn start() -> Result<Self, Failure> {
        let refused = |error: std::io::Error| Failure::Usage(format!("the system gave no event loop: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(refused)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("web".into()).spawn(move || {
            // The sender has gone: that is the end as well.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_timeout(GOODBYE);
        });
        thread.map_err(refused)?;
        Ok(Self { handle, _stop: stop })
    }

    /// Servers started while the guard lives run on this thread.
    pub(super) fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }
}
