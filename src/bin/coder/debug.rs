//! `--debug`: what happens inside, as JSON lines on stderr.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// Turns it on. The events of our own crates only: those of the HTTP client would show keys.
pub(crate) fn start() {
    let filter = EnvFilter::new("off,toolfence=debug,coder=debug");
    let subscriber = tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr).finish();
    // Another subscriber can only be one of an earlier call; then it does the same.
    let _ = subscriber.try_init();
}
