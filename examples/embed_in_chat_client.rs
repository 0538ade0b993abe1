//! A chat client that exists already gains tools: what is new are the thirty lines of `answer`.
//!
//! `cargo run --example embed_in_chat_client -- FOLDER` lets the model below, which is only a few replies, read a folder.

use std::sync::Arc;
use toolfence::agent::{Agent, Host};
use toolfence::backend::{Backend, Chunk, Sink};
use toolfence::parse::Event;
use toolfence::policy::{Pending, Policy};
use toolfence::sandbox::Settings;
use toolfence::session::{Answer, Session, SessionOptions, StopReason};
use toolfence::toolbox::BoxFuture;
use toolfence::tools::CommandRunner;
use toolfence::workspace::Workspace;
use toolfence::{FinishReason, Message, Result, Role, ToolResult, prompt, tools};

/// What is there already: messages in, the reply in pieces out.
struct MyChat;

impl MyChat {
    fn pieces(&self, messages: &[Message]) -> Vec<&'static str> {
        let replies = [
            vec!["I will look", " around.\n```to", "ol\n{\"name\": \"list_files\", \"args\"", ": {}}\n```\n"],
            vec!["Those are the files", " of your project."],
        ];
        let said = messages.iter().filter(|message| message.role == Role::Assistant).count();
        replies.get(said).cloned().unwrap_or_default()
    }
}

/// 1. Your client as a backend: give on each piece as it comes.
impl Backend for MyChat {
    fn stream<'a>(&'a self, messages: &'a [Message], sink: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason>> {
        Box::pin(async move {
            for piece in self.pieces(messages) {
                if sink.chunk(Chunk::Text(piece)).is_break() {
                    return Ok(FinishReason::Cut);
                }
            }
            Ok(FinishReason::Stop)
        })
    }
}

/// 2. Your window: what is shown, and who is asked.
struct MyWindow;

impl Host for MyWindow {
    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Text { text, .. } => print!("{text}"),
            Event::Call { call, .. } => println!("-> {} {}", call.name, serde_json::Value::from(call.args.clone())),
            _ => {}
        }
    }

    fn answered(&mut self, result: &ToolResult) {
        println!("<- {}: {} bytes", if result.success { "done" } else { "failed" }, result.output.len());
    }

    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        println!("? {}: {}", pending.call().name, pending.decision().reason);
        Box::pin(async { Answer::No("This example says no to every question.".into()) })
    }
}

/// 3. One question of the user, with as many rounds of calls and results as it takes.
async fn answer(question: &str, root: &str) -> Result<StopReason> {
    let policy = Policy::default();
    let workspace = Arc::new(Workspace::open(root, policy.paths().clone())?);
    let commands = Arc::new(CommandRunner::new(workspace, Settings::new()));
    let toolbox = tools::standard(commands.clone());
    let catalog = Arc::new(toolbox.catalog());
    let mut options = SessionOptions::default();
    options.system = prompt::instructions(&catalog, toolfence::Language::English);
    let session = Session::new(options, catalog, policy, commands);
    let mut agent = Agent::new(session, toolbox, Arc::new(MyChat)); // keep it: it has the conversation
    agent.run(question, &mut MyWindow).await
}

fn main() -> Result<()> {
    let root = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| toolfence::Error::because("start tokio", error))?;
    let ended = runtime.block_on(answer("What is in here?", &root))?;
    println!("\n[{ended:?}]");
    Ok(())
}
