//! All integration tests in one binary, so that they link once.

#[cfg(feature = "agent")]
mod agent;
mod arguments;
#[cfg(feature = "cli")]
mod bodies;
mod coder;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod command;
#[cfg(all(feature = "backend-http", feature = "tools"))]
mod compact;
#[cfg(feature = "policy")]
mod config;
mod conformance;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod conversation;
mod damage;
#[cfg(feature = "cli")]
mod debug;
mod documents;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod features;
mod format;
mod grammar;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod hostile;
#[cfg(feature = "backend-http")]
mod http;
mod json;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod limits;
#[cfg(feature = "backend-http")]
mod live;
#[cfg(feature = "cli")]
mod local;
mod manifests;
#[cfg(feature = "cli")]
mod manual;
#[cfg(feature = "tools")]
mod marks;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod mcp;
mod oracle;
mod parse;
#[cfg(feature = "patch")]
mod patch;
#[cfg(feature = "cli")]
mod personas;
#[cfg(feature = "pipe")]
mod pipe;
#[cfg(feature = "policy")]
mod policy;
#[cfg(feature = "agent")]
mod probe;
mod prompt;
mod provisional;
#[cfg(feature = "proxy")]
mod proxy;
mod redact;
#[cfg(feature = "cli")]
mod results;
mod safety;
#[cfg(all(feature = "tools", target_os = "linux"))]
mod sandbox;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod screens;
#[cfg(feature = "cli")]
mod serve;
#[cfg(feature = "session")]
mod session;
#[cfg(feature = "cli")]
mod signals;
mod small;
mod spec;
#[cfg(feature = "session")]
mod support;
mod surface;
#[cfg(feature = "cli")]
mod terminal;
mod texts;
mod tokens;
#[cfg(feature = "tools")]
mod tools;
#[cfg(feature = "agent")]
mod transcript;
#[cfg(feature = "tools")]
mod undo;
#[cfg(feature = "tools")]
mod validate;
