//! Exec sessions: `coder exec` handles one reply, and a host process keeps the state for the next one.
//!
//! The host is another process of this program. It holds the lock of the session and one agent, listens at a socket,
//! and handles one reply at a time. The client, which has the terminal, sends the reply, asks the user the host's
//! questions, and prints the host's reports.

mod client;
mod host;
mod lines;
mod place;
mod worker;

pub(crate) use client::{Session, run_alone};
pub(crate) use host::run as run_host;
pub(crate) use lines::{Reply, Report};

use crate::args::Options;
use crate::config::Layers;
use crate::failure::Failure;
use crate::rules::with_persona;
use place::SessionFiles;
use std::os::unix::fs::MetadataExt;
use toolfence_protocol::text;
use toolfence_workspace::Digest;

/// The environment variables that affect a session, in addition to those that begin with `TOOLFENCE_`.
const VARIABLES: &[&str] = &[
    "HOME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "USER",
    "LANG",
    "LC_ALL",
    "LC_MESSAGES",
    "VIRTUAL_ENV",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOROOT",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
];

/// Reads the settings, and sets the language and the colours. Returns the location of the session, and a fingerprint of
/// everything that affects its behaviour: a host with another fingerprint would not apply the rules that the user sees
/// in the settings.
fn open(options: &Options, session: &str) -> Result<(SessionFiles, String), Failure> {
    let layers = Layers::read(options)?;
    // A command can access the project. With a socket there, it could answer the questions of its own session.
    if layers.places.has_state_in_root() {
        return Err(Failure::wrong_use(text!(
            "The state folder is in the project, where a command could reach the exec session: set XDG_STATE_HOME to a \
             folder outside of the project, or use --no-session."
        )));
    }
    let place = SessionFiles::new(layers.places.state.as_deref(), layers.places.root(), session)?;
    let (layers, persona) = with_persona(layers)?;
    layers.merged().settle_looks();
    let root = layers.places.root().to_owned();
    // These options apply to a single reply, and do not change what the session does.
    let options = Options { root, debug: false, color: None, ..options.clone() };
    let mut variables: Vec<_> = std::env::vars_os().collect();
    variables.retain(|(name, _)| {
        VARIABLES.iter().any(|known| name == known) || name.as_encoded_bytes().starts_with(b"TOOLFENCE_")
    });
    // The order of the environment must not change the fingerprint.
    variables.sort();
    let mut text = format!("{options:?} {persona:?} {:?} {variables:?}", layers.sources());
    // After an update of the program, the old version must not continue the session.
    if let Ok(program) = std::env::current_exe().and_then(|path| path.metadata()) {
        text.push_str(&format!(" {} {} {}", program.ino(), program.mtime(), program.len()));
    }
    Ok((place, Digest::compute(text.as_bytes()).to_string()))
}
