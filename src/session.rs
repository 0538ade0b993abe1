//! The agent loop as a machine: what the model says goes in, what is to be done comes out.
//!
//! This module does **not** call a model, run a tool, ask a person, read a clock, sleep or spawn. It knows no runtime
//! and no disk. A driver gives it [`Input`]s with [`handle`](Session::handle) and does the [`Action`]s that
//! [`poll`](Session::poll) gives; [`agent`](../agent/index.html) is such a driver on tokio, and any other will do.
//!
//! ```text
//!            User                    End                      all answered
//!   Idle ----------> Streaming ----------------> Working ----------------------+
//!    ^   CallModel   | Show*      calls or       | Run, Ask, Answered          |
//!    |               | StopModel  broken blocks  |                             |
//!    |  Stop         |                           | Stop (loop, format errors)  |
//!    +---------------+---------------------------+                             |
//!                    ^             CallModel                                   |
//!                    +---------------------------------------------------------+
//! ```
//!
//! # What a driver must keep to
//! - Poll until `None` after every input, inside the backend's stream too: otherwise nothing is shown while it streams.
//! - After [`Action::StopModel`] end the stream and give one [`Input::End`], as after every stream. Chunks that still come
//!   are ignored here.
//! - Every [`Action::Run`] wants one [`Input::Result`], in any order, and so does an [`Action::Check`]; every
//!   [`Action::Ask`] one of [`Input::Approved`], [`Input::Always`], [`Input::Denied`] and [`Input::Edited`].
//! - Send what [`messages`](Session::messages) gives: the history, or as much of it as fits the model's window. Where the backend
//!   refuses it as too long, [`too_long`](Session::too_long) compacts it and says whether the model is called again. A driver that
//!   knows neither sends the [`history`](Session::history), and sets no [`window`](SessionOptions::window).
//! - An input that does not fit the state is ignored. After [`Input::Cancel`] and [`Input::Failed`] nothing of what was
//!   on its way is given any more, the stream's end included.
//!
//! # What holds at any time
//! The history is the instructions, then user and assistant in turn: one assistant message a reply, the reply as it was
//! written (but for what a forgery spoiled), and one user message with all its results. What else has to be said to the
//! model stands in that message too.
//!
//! # One turn through all states
//! ```
//! use std::sync::Arc;
//! use toolfence::policy::{NoFacts, Policy};
//! use toolfence::session::{Action, Input, Session, SessionOptions, StopReason};
//! use toolfence::{Catalog, Effect, FinishReason, Output, Role, ToolResult, ToolSpec};
//!
//! let clock = ToolSpec::new("clock", "Tell the time.").effect(|_| Effect::Read);
//! let catalog: Catalog = [clock].into_iter().collect();
//! let mut session = Session::new(SessionOptions::default(), Arc::new(catalog), Policy::default(), Arc::new(NoFacts));
//!
//! // Idle: the user speaks, and the model is to be called.
//! session.handle(Input::User("What time is it?"));
//! assert!(matches!(session.poll(), Some(Action::CallModel)));
//! assert!(session.poll().is_none());
//!
//! // Streaming: the reply comes in pieces, and what is found in it is shown.
//! for chunk in ["```tool\n{\"name\":", " \"clock\"}\n```", "\n"] {
//!     session.handle(Input::Chunk(chunk));
//!     while let Some(action) = session.poll() {
//!         assert!(matches!(action, Action::Show(_)));
//!     }
//! }
//! session.handle(Input::End(FinishReason::Stop));
//! let mut runs = Vec::new();
//! while let Some(action) = session.poll() {
//!     if let Action::Run(cleared) = action {
//!         runs.push(cleared);
//!     }
//! }
//!
//! // Working: what runs gets its result, and the model is called again.
//! let call = runs[0].call();
//! session.handle(Input::Result(ToolResult::new(&call.id, &call.name, Output::text("noon"), 1)));
//! assert!(matches!(session.poll(), Some(Action::Answered(_))));
//! assert!(matches!(session.poll(), Some(Action::CallModel)));
//!
//! // Streaming again, and back to idle.
//! session.handle(Input::Chunk("It is noon."));
//! session.handle(Input::End(FinishReason::Stop));
//! let last = std::iter::from_fn(|| session.poll()).last();
//! assert!(matches!(last, Some(Action::Stop(StopReason::Answered))));
//! let roles: Vec<Role> = session.history().iter().map(|message| message.role).collect();
//! assert_eq!(roles, [Role::User, Role::Assistant, Role::User, Role::Assistant]);
//! ```

pub use toolfence_session::{
    Action, Answer, Compacted, Input, Note, Reply, Session, SessionOptions, StopReason, Turn, render,
};
