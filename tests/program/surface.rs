//! Checks the traits of every public type at compile time.

use std::fmt::Debug;

fn usual<T: Send + Sync + Debug>() {}

#[test]
fn the_protocol_can_be_sent_shared_and_shown() {
    usual::<toolfence_protocol::parse::Parser>();
    usual::<toolfence_protocol::parse::Event<'_>>();
    usual::<toolfence_protocol::parse::Parsed>();
    usual::<toolfence_protocol::json::Reading>();
    usual::<toolfence_protocol::json::Lexer>();
    usual::<toolfence_protocol::format::Format>();
    usual::<toolfence_protocol::grammar::GrammarOptions>();
    usual::<(
        toolfence_protocol::Catalog,
        toolfence_protocol::ToolSpec,
        toolfence_protocol::ToolCall,
        toolfence_protocol::ToolResult,
        toolfence_protocol::ToolFailure,
        toolfence_protocol::Output,
        toolfence_protocol::Error,
        toolfence_protocol::Message,
    )>();
}

#[test]
fn the_judge_and_the_loop_can_be_sent_shared_and_shown() {
    usual::<(
        toolfence_policy::Policy,
        toolfence_policy::ClearedCall,
        toolfence_policy::Pending,
        toolfence_policy::Verdict,
    )>();
    usual::<(
        toolfence_policy::toolbox::Toolbox,
        toolfence_policy::toolbox::ToolError,
        toolfence_policy::toolbox::Permit<'_>,
    )>();
}

#[test]
fn the_session_can_be_sent_shared_and_shown() {
    usual::<(
        toolfence_session::Session,
        toolfence_session::Action,
        toolfence_session::Input<'_>,
        toolfence_session::Answer,
    )>();
}

#[test]
fn the_redactor_can_be_sent_shared_and_shown() {
    usual::<toolfence_agent::redact::Redactor>();
}

#[test]
fn the_tools_can_be_sent_shared_and_shown() {
    usual::<(
        toolfence_workspace::Workspace,
        toolfence_workspace::Stop,
        toolfence_tools::Jobs,
        toolfence_tools::CommandRunner,
        toolfence_tools::Views,
    )>();
    usual::<(
        toolfence_workspace::undo::History,
        toolfence_workspace::undo::Outcome,
        toolfence_tools::validate::Diagnostic,
        toolfence_tools::Checks,
        toolfence_tools::Standing,
    )>();
    usual::<(
        toolfence_sandbox::isolation::Enclosure,
        toolfence_sandbox::isolation::Report,
        toolfence_sandbox::process::Background,
        toolfence_commands::trial::Trial,
    )>();
}

#[test]
fn the_agent_and_the_servers_can_be_sent_shared_and_shown() {
    usual::<(
        toolfence_agent::agent::Agent,
        toolfence_agent::agent::Canceller,
        toolfence_server::pipe::Pipe,
        toolfence_server::proxy::Proxy,
        toolfence_server::proxy::ProxyOptions,
    )>();
    usual::<(toolfence_server::http::Api, toolfence_server::http::ApiOptions)>();
    usual::<(
        toolfence_agent::backend::http::Http,
        toolfence_agent::backend::Replay,
        toolfence_agent::backend::Command,
        toolfence_agent::backend::Request<'_>,
    )>();
}

/// `Debug` output contains no keys and no message texts.
#[test]
fn debug_output_has_no_keys_and_no_messages() {
    let mut options = toolfence_server::proxy::ProxyOptions::new("http://127.0.0.1:1/v1");
    (options.key, options.upstream_key) = (Some("sesame".into()), Some("sesame".into()));
    assert!(
        !format!("{options:?} {:?}", toolfence_server::proxy::Proxy::new(options.clone()).unwrap()).contains("sesame")
    );
    let options = toolfence_server::http::ApiOptions::new("sesame");
    assert!(!format!("{options:?}").contains("sesame"));
    let options = toolfence_session::SessionOptions::default();
    let facts = std::sync::Arc::new(toolfence_policy::NoFacts);
    let mut session =
        toolfence_session::Session::new(options, std::sync::Arc::default(), toolfence_policy::Policy::default(), facts);
    session.handle(toolfence_session::Input::User("my sesame"));
    assert!(!format!("{session:?}").contains("sesame"));
}
