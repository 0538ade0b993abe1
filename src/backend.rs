//! Who answers: the trait of a backend, recorded replies, programs, and servers that speak the HTTP of OpenAI's interface.

#[cfg(feature = "backend-http")]
pub use toolfence_agent::backend::http::{Http, HttpOptions};
pub use toolfence_agent::backend::{Backend, Chunk, Command, CommandOptions, Replay, Request, Sink, Usage};
