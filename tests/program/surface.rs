//! What a stranger expects of every public type, held by the compiler.

use std::fmt::Debug;
use toolfence::*;

fn usual<T: Send + Sync + Debug>() {}

#[test]
fn the_protocol_can_be_sent_shared_and_shown() {
    usual::<parse::Parser>();
    usual::<parse::Event<'_>>();
    usual::<parse::Parsed>();
    usual::<parts::json::Reading>();
    usual::<toolfence::program::json::Lexer>();
    usual::<format::Format>();
    usual::<grammar::GrammarOptions>();
    usual::<(Catalog, ToolSpec, ToolCall, ToolResult, ToolFailure, Output, Error, Message)>();
}

#[cfg(feature = "policy")]
#[test]
fn the_judge_and_the_loop_can_be_sent_shared_and_shown() {
    usual::<(policy::Policy, policy::Cleared, policy::Pending, policy::Verdict)>();
    usual::<(toolbox::Toolbox, toolbox::ToolError, toolbox::Permit<'_>)>();
}

#[cfg(feature = "session")]
#[test]
fn the_session_can_be_sent_shared_and_shown() {
    usual::<(session::Session, session::Action, session::Input<'_>, session::Answer)>();
}

#[cfg(feature = "agent")]
#[test]
fn the_redactor_can_be_sent_shared_and_shown() {
    usual::<redact::Redactor>();
}

#[cfg(feature = "tools")]
#[test]
fn the_tools_can_be_sent_shared_and_shown() {
    usual::<(
        workspace::Workspace,
        parts::files::Stop,
        toolfence_tools::Jobs,
        tools::CommandRunner,
        toolfence_tools::Views,
    )>();
    usual::<(
        undo::History,
        undo::Outcome,
        parts::validate::Diagnostic,
        tools::Checks,
        toolfence::program::tools::Standing,
    )>();
    usual::<(
        toolfence::program::sandbox::Enclosure,
        sandbox::Report,
        toolfence::program::process::Background,
        toolfence::program::trial::Trial,
    )>();
}

#[cfg(feature = "cli")]
#[test]
fn the_agent_and_the_servers_can_be_sent_shared_and_shown() {
    usual::<(agent::Agent, agent::Canceller, pipe::Pipe, proxy::Proxy, proxy::ProxyOptions)>();
    usual::<(toolfence::program::http::Api, toolfence::program::http::ApiOptions)>();
    usual::<(backend::Http, backend::Replay, backend::Command, backend::Request<'_>)>();
}

/// Nothing that is kept secret is in what a type shows of itself.
#[cfg(feature = "cli")]
#[test]
fn no_key_and_nothing_that_was_said_is_shown() {
    let mut options = proxy::ProxyOptions::new("http://127.0.0.1:1/v1");
    (options.key, options.upstream_key) = (Some("sesame".into()), Some("sesame".into()));
    assert!(!format!("{options:?} {:?}", proxy::Proxy::new(options.clone()).unwrap()).contains("sesame"));
    let options = toolfence::program::http::ApiOptions::new("sesame");
    assert!(!format!("{options:?}").contains("sesame"));
    let options = session::SessionOptions::default();
    let facts = std::sync::Arc::new(policy::NoFacts);
    let mut session = session::Session::new(options, std::sync::Arc::default(), policy::Policy::default(), facts);
    session.handle(session::Input::User("my sesame"));
    assert!(!format!("{session:?}").contains("sesame"));
}
