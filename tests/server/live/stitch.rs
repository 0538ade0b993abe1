//! Replies that a real server cuts in the middle of a block at the token limit.

use super::{Server, options};
use std::sync::{Arc, Mutex};
use toolfence_agent::agent::{Agent, Host};
use toolfence_agent::backend::http::{Http, HttpOptions};
use toolfence_agent::backend::{Backend, Sink};
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError, Toolbox};
use toolfence_policy::{AskMode, NoFacts, Pending};
use toolfence_protocol::{Effect, Error, FinishReason, Message, Output, Param, ParamKind, ToolSpec};
use toolfence_session::{Answer, Session, SessionOptions, StopReason};

/// A tool that records the words of its calls.
struct Keep(ToolSpec, Arc<Mutex<Vec<String>>>);

impl Tool for Keep {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        self.1.lock().unwrap().push(permit.text("word").unwrap_or_default().to_owned());
        Box::pin(async { Ok(Output::text("kept")) })
    }
}

/// A host that approves all calls and records the rules that asked.
#[derive(Default)]
struct Agreeing(Vec<String>);

impl Host for Agreeing {
    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        self.0.push(pending.decision().rule.clone());
        Box::pin(async { Answer::Yes })
    }
}

/// Returns the next text of the model, given the last message, and the token limit.
type Says = Box<dyn Fn(&str) -> (String, Option<u32>) + Send + Sync>;

/// A model with scripted replies: each request has a grammar that allows only one text.
struct ScriptedModel {
    options: HttpOptions,
    says: Mutex<std::vec::IntoIter<Says>>,
    finished: Arc<Mutex<Vec<FinishReason>>>,
}

impl Backend for ScriptedModel {
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        let says = self.says.lock().unwrap().next().expect("no more calls of the model than replies");
        let (text, most) = says(&messages.last().unwrap().content);
        let mut options = self.options.clone();
        let literal = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        options.body.insert("grammar".into(), format!("root ::= \"{literal}\"").into());
        options.max_tokens = most;
        Box::pin(async move {
            let finish = Http::new(options)?.stream(messages, sink).await?;
            self.finished.lock().unwrap().push(finish);
            Ok(finish)
        })
    }
}

/// Runs a turn with these replies. Returns the words of the calls that ran, the rules that asked, and the finish
/// reasons.
async fn turn(server: &Server, says: Vec<Says>) -> (Vec<String>, Vec<String>, Vec<FinishReason>) {
    let kept = Arc::default();
    let spec =
        ToolSpec::new("keep", "Keeps a word.").param(Param::new("word", ParamKind::Text { content: true }, "it"));
    let toolbox = Toolbox::new().with(Keep(spec.effect(|_| Effect::Write), Arc::clone(&kept)));
    let finished = Arc::default();
    let backend = ScriptedModel {
        options: options(&server.url, None),
        says: Mutex::new(says.into_iter()),
        finished: Arc::clone(&finished),
    };
    let policy = toolfence_kit::policy(AskMode::Risky);
    let session = Session::new(SessionOptions::default(), Arc::new(toolbox.catalog()), policy, Arc::new(NoFacts));
    let mut host = Agreeing::default();
    let mut agent = Agent::new(session, toolbox, Arc::new(backend));
    assert_eq!(agent.run("keep it", &mut host).await.unwrap(), StopReason::Answered);
    let (kept, finished) = (kept.lock().unwrap().clone(), finished.lock().unwrap().clone());
    (kept, host.0, finished)
}

const WORD: &str = "A first line of a text that is long.\nA second line that breaks off.\nAnd a \"third\" \\ one.\n";

fn block() -> String {
    format!("Now.\n\n```tool\n{{\"name\": \"keep\", \"args\": {{\"word\": \"<<EOF\"}}}}\n{WORD}EOF\n```\n")
}

/// Returns the text that the model must repeat.
fn repeated(received: &str) -> String {
    let (_, after) =
        received.split_once("finish the block:\n\n").unwrap_or_else(|| panic!("it is asked to continue: {received}"));
    let (fence, after) = after.split_once('\n').unwrap();
    after.split_once(&format!("\n{fence}")).unwrap().0.to_owned()
}

#[tokio::test]
async fn a_truncated_block_is_joined_or_requested_again() {
    let Some(server) = Server::start(&[]) else { return };
    // This model has one token for each byte.
    let cut = u32::try_from(block().find("breaks off").unwrap()).unwrap();
    let first = || -> Says { Box::new(move |_| (block(), Some(cut))) };
    let last = || -> Says { Box::new(|_| ("Done.".to_owned(), None)) };

    let goes_on: Says = Box::new(|received| {
        let again = repeated(received);
        let (_, after) =
            block().split_once(&again).map(|(before, after)| (before.to_owned(), after.to_owned())).unwrap();
        (again + &after, None)
    });
    let (kept, rules, finished) = turn(&server, vec![first(), goes_on, last()]).await;
    assert_eq!(finished, [FinishReason::Length, FinishReason::Stop, FinishReason::Stop]);
    assert_eq!((kept, rules), (vec![WORD.to_owned()], vec!["stitched".to_owned()]));

    let wrong: Says =
        Box::new(|received| (repeated(received).replace("line", "lime") + " that is wrong.\nEOF\n```\n", None));
    let whole: Says = Box::new(|received| {
        assert!(received.contains("the block that broke off was not run"), "{received}");
        (block(), None)
    });
    let (kept, rules, finished) = turn(&server, vec![first(), wrong, whole, last()]).await;
    assert_eq!((finished[0], finished.len()), (FinishReason::Length, 4));
    assert_eq!((kept, rules), (vec![WORD.to_owned()], vec!["write".to_owned()]), "only the whole one runs");
}
