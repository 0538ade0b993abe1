//! The HTTP API on real sockets. Every JSON answer is checked against the description of the API, and every event
//! against the schema of the pipe.

mod access;
mod changes;
mod hostile;
mod program;
mod replies;
mod requests;
mod sessions;
mod support;
mod turns;
