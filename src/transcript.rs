//! What was said and done in a session, as JSON lines: written while an agent works, and read again to go on with it.
//!
//! An [`Agent`](crate::agent::Agent) that has a [`Transcript`] writes every message, call, decision and result to its file, without
//! secrets. A record is one line and one `write`, so that a process that is killed loses at most the line it was writing. The file
//! is locked while it is open for writing. `coder export --schema` prints the JSON Schema of a line.
//!
//! ```
//! use std::sync::Arc;
//! use toolfence::agent::{Agent, Nobody};
//! use toolfence::backend::Replay;
//! use toolfence::policy::{NoFacts, Policy};
//! use toolfence::session::{Session, SessionOptions};
//! use toolfence::toolbox::Toolbox;
//! use toolfence::transcript::Transcript;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let agent = |options, transcript| {
//!     let session = Session::new(options, Arc::default(), Policy::default(), Arc::new(NoFacts));
//!     Agent::new(session, Toolbox::new(), Arc::new(Replay::new(["Hello!"]))).transcript(transcript)
//! };
//! let transcript = Transcript::create(folder.path(), folder.path())?;
//! let path = transcript.path().to_owned();
//! agent(SessionOptions::default(), transcript).run("Hi.", &mut Nobody).await?;
//!
//! // Another process goes on with it.
//! let transcript = Transcript::resume(&path)?;
//! let mut options = SessionOptions::default();
//! options.history = transcript.history();
//! assert_eq!(options.history[0].replies[0].text, "Hello!");
//! agent(options, transcript).run("And now?", &mut Nobody).await?;
//! # Ok(())
//! # }
//! ```

pub use toolfence_agent::transcript::Transcript;
