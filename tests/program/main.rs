//! Tests of the program `coder`, of the manifests and of the documents.

#[cfg(target_os = "linux")]
mod clip;
mod coder;
#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod commit;
#[cfg(target_os = "linux")]
mod compat;
mod config;
#[cfg(target_os = "linux")]
mod conversation;
mod debug;
mod documents;
#[cfg(target_os = "linux")]
mod exec;
#[cfg(target_os = "linux")]
mod features;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod limits;
mod local;
mod manifests;
mod manual;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod not_kept;
mod personas;
mod results;
#[cfg(target_os = "linux")]
mod schemas;
#[cfg(target_os = "linux")]
mod screens;
mod signals;
mod support;
mod surface;
mod terminal;
