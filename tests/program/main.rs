//! The program `coder`, and what manifests and documents promise of it.

mod coder;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod command;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod commit;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod compat;
#[cfg(feature = "policy")]
mod config;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod conversation;
#[cfg(feature = "cli")]
mod debug;
mod documents;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod features;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod hostile;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod limits;
#[cfg(feature = "cli")]
mod local;
mod manifests;
#[cfg(feature = "cli")]
mod manual;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod mcp;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod not_kept;
#[cfg(feature = "cli")]
mod personas;
#[cfg(feature = "cli")]
mod results;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod schemas;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod screens;
#[cfg(feature = "cli")]
mod signals;
#[cfg(feature = "cli")]
mod support;
mod surface;
#[cfg(feature = "cli")]
mod terminal;
mod texts;
