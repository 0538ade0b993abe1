//! The agent with its backends and transcripts, the pipe, the proxy, and the HTTP API.

mod agent;
mod compact;
mod http;
mod live;
mod pipe;
mod probe;
mod proxy;
mod serve;
mod tools;
mod transcript;
