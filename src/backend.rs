//! Who answers: the trait of a backend, recorded replies, and servers that speak the HTTP of OpenAI's interface.

#[cfg(feature = "backend-http")]
pub use toolfence_agent::backend::http::{Http, HttpOptions};
pub use toolfence_agent::backend::{Backend, Chunk, Replay, Sink, Usage};
