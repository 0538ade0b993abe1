//! The driver of a session, its backends and its transcript; the pipe, the proxy and the HTTP API.

#[cfg(feature = "agent")]
mod agent;
#[cfg(all(feature = "backend-http", feature = "tools"))]
mod compact;
#[cfg(feature = "backend-http")]
mod http;
#[cfg(feature = "backend-http")]
mod live;
#[cfg(feature = "pipe")]
mod pipe;
#[cfg(feature = "agent")]
mod probe;
#[cfg(feature = "proxy")]
mod proxy;
#[cfg(feature = "cli")]
mod serve;
#[cfg(feature = "agent")]
mod transcript;
