//! What the program `coder` needs beside what embedders do, and what the benches, fuzz targets and tests of this repository
//! look at.
//!
//! This module is no promise: anything in it can change or go in any version. Each submodule is named after the module of the
//! facade that has what is promised of the same part.

pub use toolfence_protocol::{clip, fence, invisible, texts};

#[cfg(feature = "policy")]
pub use toolfence_policy::settings;
#[cfg(feature = "tools")]
pub use toolfence_sandbox::{environment, process};
#[cfg(feature = "tools")]
pub use toolfence_trial as trial;

/// How a message of results is read back.
pub mod format {
    pub use toolfence_protocol::format::{envelope, read_back};
}

/// The bare reader of JSON, and how deep it goes.
pub mod json {
    pub use toolfence_protocol::json::{Lexer, MOST_NESTING};
}

/// The hooks that git knows.
#[cfg(feature = "policy")]
pub mod policy {
    pub use toolfence_rules::GIT_HOOKS;
}

/// What the helper of the sandbox is asked for.
#[cfg(feature = "tools")]
pub mod sandbox {
    pub use toolfence_sandbox::isolation::Request;
}

/// One built-in tool by its name.
pub mod tool {
    pub use toolfence_toolset::builtin;
}

/// The name under which the checks of a project give their results.
#[cfg(feature = "tools")]
pub mod tools {
    pub use toolfence_tools::PROJECT_CHECK;
}

/// What the command runner and undo ask of a workspace, and the digest by which a content is known again.
#[cfg(feature = "tools")]
pub mod workspace {
    pub use toolfence_workspace::{Access, Digest, Recorder, quoted};
}
