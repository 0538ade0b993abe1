//! What the program `coder` needs beside what embedders do, and what the benches, fuzz targets and tests of this repository
//! look at.
//!
//! This module is no promise: anything in it can change or go in any version. Each submodule is named after the module of the
//! facade that has what is promised of the same part.

pub use toolfence_protocol::{clip, fence, invisible, text, texts};

#[cfg(feature = "session")]
pub use toolfence_session::persona;

#[cfg(feature = "tools")]
pub use toolfence_commands::trial;
#[cfg(feature = "policy")]
pub use toolfence_policy::settings;
#[cfg(feature = "tools")]
pub use toolfence_sandbox::{environment, process};

#[cfg(feature = "agent")]
pub use toolfence_agent::probe;

/// The results of a reply as several messages, and how a message of results is read back.
pub mod format {
    pub use toolfence_protocol::format::{envelope, read_back, results_in_parts};
}

/// The providers that are known by name, the servers on this machine, and a backend with what is known of it.
#[cfg(feature = "agent")]
pub mod backend {
    pub use toolfence_agent::backend::Adapted;
    #[cfg(feature = "backend-http")]
    pub use toolfence_agent::backend::http::{LocalModel, LocalServer, Preset, choose_model, local_servers, models};
}

/// The servers whose tools `coder` offers beside its own.
#[cfg(feature = "mcp")]
pub use toolfence_mcp as mcp;

/// What `coder serve` serves.
#[cfg(feature = "http")]
pub use toolfence_server::http;
#[cfg(feature = "pipe")]
pub use toolfence_server::told;

/// The table of limits.
pub mod limits {
    pub use toolfence_protocol::limits::{LIMITS, Limit};
}

/// The bare reader of JSON, and how deep it goes.
pub mod json {
    pub use toolfence_protocol::json::{Lexer, MOST_NESTING};
}

/// What else the policy asks of a host, and what a decision was made of.
#[cfg(feature = "policy")]
pub mod policy {
    pub use toolfence_policy::rules::{AGENTS_FILES, Blocked, Harmless};
    pub use toolfence_policy::{Met, Question, Seen};
}

/// The sandbox itself, and what its helper is asked for.
#[cfg(feature = "tools")]
pub mod sandbox {
    pub use toolfence_sandbox::isolation::{Enclosure, Request};
}

/// The built-in tools, all and each by its name, and those that only a persona adds.
#[cfg(feature = "policy")]
pub mod tool {
    pub use toolfence_policy::toolset::{builtin, builtins, edit_data, plan};
}

/// Which checkers are there on this machine, the name under which the checks of a project give their results, what a call would
/// change, and the tools with those that only a persona adds.
#[cfg(feature = "tools")]
pub mod tools {
    pub use toolfence_tools::{PROJECT_CHECK, Standing, complete, preview};
}

/// The records of transcripts, and where they are.
#[cfg(feature = "agent")]
pub mod transcript {
    #[cfg(feature = "cli")]
    pub use toolfence_agent::transcript::export;
    pub use toolfence_agent::transcript::{
        Fork, Head, HistoryImage, Kind, Record, RecordedAnswer, RecordedCall, RecordedDecision, RecordedError,
        RecordedResult, RecordedTimes, Role, SCHEMA, Store, Stored, Summary, Tokens, VERSION, lines, rfc3339,
    };
}

/// Why a name was not put back.
#[cfg(feature = "tools")]
pub mod undo {
    pub use toolfence_workspace::undo::Unrestored;
}

/// What the command runner and undo ask of a workspace, the digest by which a content is known again, outputs that were too
/// long for a result, and the changes of the next commit.
#[cfg(feature = "tools")]
pub mod workspace {
    pub use toolfence_workspace::{Access, CommittedFile, Digest, NextCommit, Recorder, Root, overflow_file, quoted};
}
