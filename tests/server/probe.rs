//! Tests the probe of backends: every answer to its five questions, and backends that misbehave.

use serde_json::{Map, Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use toolfence_agent::agent::{Agent, Nobody};
use toolfence_agent::backend::http::{Http, HttpOptions};
use toolfence_agent::backend::{Adapted, Backend, Chunk, Replay, Sink};
use toolfence_agent::probe::{
    self, Answers, GrammarAnswer, MOST_REQUESTS, Options, ProtocolAnswer, ReasoningAnswer, StreamAnswer, TextAnswer,
    Verdict,
};
use toolfence_policy::toolbox::{BoxFuture, Toolbox};
use toolfence_policy::{AskMode, NoFacts};
use toolfence_protocol::grammar::Form;
use toolfence_protocol::{Args, Dialect, Error, ErrorKind, FinishReason, Language, Message, Role, ToolCall};
use toolfence_session::{Session, SessionOptions, StopReason};

/// Changes a reply as a bridge would. The second argument is the number of the request.
type Bridge = Arc<dyn Fn(&str, usize) -> String + Send + Sync>;

/// How a backend treats a system message.
#[derive(Clone, Copy, PartialEq)]
enum System {
    Read,
    Lost,
    Refused,
}

/// A model that does what the probe asks, and a bridge in front of it.
#[derive(Clone)]
struct Stub {
    bridge: Bridge,
    system: System,
    /// The form of grammar that the server obeys.
    obeys: Option<Form>,
    /// Whether the server refuses every grammar except the small one.
    refuses_tools: bool,
    /// Additional members of the request.
    members: Option<Map<String, Value>>,
    thinks: &'static str,
    /// The reasoning text in a separate field, and whether the server sends it under a grammar too.
    field: Option<(&'static str, bool)>,
    call: &'static str,
    native: bool,
    pieces: usize,
    /// The number of requests so far.
    asked: Arc<Mutex<usize>>,
}

const BLOCK: &str = "```tool\n{\"name\": \"list_files\", \"args\": {\"path\": \"src\"}}\n```";
const HERMES: &str = "<tool_call>\n{\"name\": \"list_files\", \"arguments\": {\"path\": \"src\"}}\n</tool_call>";

impl Stub {
    fn clean() -> Stub {
        Stub {
            bridge: Arc::new(|reply, _| reply.to_owned()),
            system: System::Read,
            obeys: None,
            refuses_tools: false,
            members: None,
            thinks: "",
            field: None,
            call: BLOCK,
            native: false,
            pieces: 12,
            asked: Arc::default(),
        }
    }

    fn with_bridge(bridge: impl Fn(&str) -> String + Send + Sync + 'static) -> Stub {
        Stub { bridge: Arc::new(move |reply, _| bridge(reply)), ..Stub::clean() }
    }

    /// The grammar of a request, if the server obeys its form.
    fn grammar(&self) -> Option<&str> {
        let members = self.members.as_ref()?;
        let grammar = match self.obeys? {
            Form::Structured => members.get("structured_outputs")?.get("grammar")?,
            form => members.get(form.name())?,
        };
        grammar.as_str()
    }

    fn answer(&self, messages: &[Message]) -> String {
        let has_system = messages[0].role == Role::System && self.system == System::Read;
        let user = messages.last().unwrap().content.as_str();
        if self.grammar().is_some() {
            return "heron-1234-stop".to_owned();
        }
        if let Some(at) = user.find("\nBEGIN-7319\n") {
            let end = user.rfind("END-7319").unwrap() + "END-7319".len();
            return user[at + 1..end].to_owned();
        }
        match user {
            _ if user.contains("List the files") && (has_system || user.contains("```tool")) => self.call.to_owned(),
            _ if user.contains("Count from 1") => (1..=40).map(|number| format!("{number}\n")).collect(),
            _ if user.contains("17 sheep") => "9".to_owned(),
            _ => "Hello.".to_owned(),
        }
    }
}

impl Backend for Stub {
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(async move {
            let number = {
                let mut asked = self.asked.lock().unwrap();
                *asked += 1;
                *asked
            };
            if self.system == System::Refused && messages[0].role == Role::System {
                return Err(Error::with_kind(ErrorKind::Rejected, "There is no role system."));
            }
            if self.refuses_tools && self.grammar().is_some_and(|grammar| !grammar.contains("heron-")) {
                return Err(Error::with_kind(ErrorKind::Rejected, "The grammar is too large."));
            }
            if let Some((thought, with_grammar)) = self.field
                && (with_grammar || self.members.is_none())
            {
                let _: ControlFlow<()> = sink.chunk(Chunk::Reasoning(thought));
            }
            let reply = (self.bridge)(&format!("{}{}", self.thinks, self.answer(messages)), number);
            let letters: Vec<char> = reply.chars().collect();
            for piece in letters.chunks(letters.len().div_ceil(self.pieces).max(1)) {
                if sink.chunk(Chunk::Text(&piece.iter().collect::<String>())).is_break() {
                    return Ok(FinishReason::Cut);
                }
            }
            if self.native {
                let _: ControlFlow<()> = sink.chunk(Chunk::Call(ToolCall::new("1", "web_search", Args::new())));
            }
            Ok(FinishReason::Stop)
        })
    }

    fn with_members(&self, members: &Map<String, Value>) -> Option<Arc<dyn Backend>> {
        Some(Arc::new(Stub { members: Some(members.clone()), ..self.clone() }))
    }
}

async fn answers_of(backend: &dyn Backend) -> Answers {
    let options = Options { grammar: Some("root ::= \"tools\"".to_owned()), ..Options::default() };
    let mut requests = 0;
    let answers = probe::ask_backend(backend, &options, &mut |step| {
        assert_eq!(step.number, requests + 1);
        requests = step.number;
    })
    .await;
    assert!(requests <= MOST_REQUESTS, "{requests} requests");
    answers
}

#[tokio::test]
async fn a_good_backend_passes_the_probe() {
    let answers = answers_of(&Stub { obeys: Some(Form::Grammar), ..Stub::clean() }).await;
    let want = Answers {
        stream: StreamAnswer::Streams { pieces: 12 },
        protocol: ProtocolAnswer::Follows { system_message: true },
        reasoning: ReasoningAnswer::None,
        text: TextAnswer::Unchanged,
        grammar: GrammarAnswer::Obeys { form: Form::Grammar, reasons: false },
    };
    assert_eq!(answers, want);
    assert!(answers.findings().iter().all(|finding| finding.verdict == Verdict::Good), "{:?}", answers.findings());
    assert_eq!(
        serde_json::to_value(&answers).unwrap(),
        json!({
            "stream": {"answer": "streams", "pieces": 12},
            "protocol": {"answer": "follows", "system_message": true},
            "reasoning": {"answer": "none"},
            "text": {"answer": "unchanged"},
            "grammar": {"answer": "obeys", "form": "grammar", "reasons": false},
        })
    );
    // The model of this test reads no Portuguese, but it repeats the text.
    let options = Options { language: Language::Portuguese, ..Options::default() };
    let answers = probe::ask_backend(&Stub::clean(), &options, &mut |_| {}).await;
    assert_eq!(answers.text, TextAnswer::Unchanged);
}

#[tokio::test]
async fn pieces_show_whether_a_backend_streams() {
    for (pieces, want) in [(12, StreamAnswer::Streams { pieces: 12 }), (1, StreamAnswer::AtOnce)] {
        assert_eq!(answers_of(&Stub { pieces, ..Stub::clean() }).await.stream, want);
    }
    assert_eq!(
        answers_of(&Stub { pieces: 1, ..Stub::with_bridge(|_| "No.".to_owned()) }).await.stream,
        StreamAnswer::TooShort
    );
}

#[tokio::test]
async fn the_form_of_a_call_shows_whether_the_model_follows_the_protocol() {
    let protocol = |stub: Stub| async move { answers_of(&stub).await.protocol };
    for (system, system_message) in [(System::Read, true), (System::Lost, false), (System::Refused, false)] {
        let answer = protocol(Stub { system, ..Stub::clean() }).await;
        assert_eq!(answer, ProtocolAnswer::Follows { system_message });
    }
    let dialect = ProtocolAnswer::Dialect { dialect: Dialect::Hermes, system_message: true };
    assert_eq!(protocol(Stub { call: HERMES, ..Stub::clean() }).await, dialect);
    assert_eq!(protocol(Stub { native: true, ..Stub::clean() }).await, ProtocolAnswer::Native);
    let broken = "```tool\n{\"name\": \"list_files\", \"args\": {\n```";
    assert!(
        matches!(protocol(Stub { call: broken, ..Stub::clean() }).await, ProtocolAnswer::Unreadable { reply } if reply == broken)
    );
    let refusal = "I have no tools.";
    let answer = protocol(Stub { call: refusal, ..Stub::clean() }).await;
    assert!(matches!(&answer, ProtocolAnswer::NoCall { reply } if reply == refusal), "{answer:?}");
    // One call in a dialect is a slip, so the model still follows the protocol.
    let slip = Stub {
        bridge: Arc::new(|reply, number| if number == 2 { HERMES.to_owned() } else { reply.to_owned() }),
        ..Stub::clean()
    };
    assert_eq!(protocol(slip).await, ProtocolAnswer::Follows { system_message: true });
    // A long reply is not quoted in full.
    let long = answers_of(&Stub::with_bridge(|_| "é".repeat(5_000))).await.protocol;
    assert!(matches!(&long, ProtocolAnswer::NoCall { reply } if reply.chars().count() == 200), "{long:?}");
}

#[tokio::test]
async fn replies_show_how_the_model_marks_reasoning() {
    for (thinks, want) in [
        ("", ReasoningAnswer::None),
        ("<think>\nLet me see.\n</think>\n\n", ReasoningAnswer::Tags),
        ("Let me see.\n</think>\n\n", ReasoningAnswer::Opened),
    ] {
        let answers = answers_of(&Stub { thinks, ..Stub::clean() }).await;
        assert_eq!((answers.reasoning, answers.text), (want, TextAnswer::Unchanged), "{thinks}");
    }
    let field = Stub { field: Some(("Hm.", true)), ..Stub::clean() };
    assert_eq!(answers_of(&field).await.reasoning, ReasoningAnswer::Field);
    // One reply with a closing tag but no opening tag is enough.
    let once = Stub {
        bridge: Arc::new(
            |reply, number| if number == 2 { format!("Hm.\n</think>\n{reply}") } else { reply.to_owned() },
        ),
        ..Stub::clean()
    };
    assert_eq!(answers_of(&once).await.reasoning, ReasoningAnswer::Opened);
}

#[tokio::test]
async fn the_first_difference_of_a_text_is_reported() {
    let text = |stub: Stub| async move { answers_of(&stub).await.text };
    let tabs = text(Stub::with_bridge(|reply| reply.replace('\t', "    "))).await;
    let TextAnswer::Changed { line: 6, column: 12, sent, received } = &tabs else { panic!("{tabs:?}") };
    assert!(sent.starts_with("\ttwo  three") && received.starts_with("    two  three"), "{tabs:?}");
    let fences = text(Stub::with_bridge(|reply| reply.replace("```tool", "```"))).await;
    assert!(matches!(fences, TextAnswer::Changed { line: 12, column: 4, .. }), "{fences:?}");
    let around = Stub::with_bridge(|reply| format!("Botty: {reply}\n\nSources: [1]"));
    assert_eq!(text(around).await, TextAnswer::Unchanged);
    let carriage_returns = Stub::with_bridge(|reply| reply.replace('\n', "\r\n"));
    assert_eq!(text(carriage_returns).await, TextAnswer::Unchanged);
}

#[tokio::test]
async fn a_slip_of_the_model_is_not_a_change_of_the_text() {
    let refuses = Stub::with_bridge(|reply| match reply.contains("BEGIN-7319") {
        true => "I cannot repeat that text.".to_owned(),
        false => reply.to_owned(),
    });
    let noise = Stub::with_bridge(|reply| reply.chars().rev().collect());
    let differs = Stub {
        bridge: Arc::new(
            |reply, number| if number % 2 == 0 { reply.replace('\\', "") } else { reply.replace('\t', " ") },
        ),
        ..Stub::clean()
    };
    for (name, stub) in [("refuses", refuses), ("noise", noise), ("differs", differs)] {
        let answers = answers_of(&stub).await;
        assert_eq!(answers.text, TextAnswer::NotRepeated, "{name}");
        assert_eq!(answers.findings()[3].verdict, Verdict::Unknown);
    }
    // The third request is the first request of the question about text. If only this one is wrong, the model slipped.
    let once = Stub {
        bridge: Arc::new(|reply, number| if number == 3 { reply.replace('\t', " ") } else { reply.to_owned() }),
        ..Stub::clean()
    };
    assert_eq!(answers_of(&once).await.text, TextAnswer::Unchanged);
}

#[tokio::test]
async fn the_reply_to_a_grammar_shows_whether_the_server_obeys_it() {
    let grammar = |stub: Stub| async move { answers_of(&stub).await.grammar };
    for &form in Form::ALL {
        let answer = grammar(Stub { obeys: Some(form), ..Stub::clean() }).await;
        assert_eq!(answer, GrammarAnswer::Obeys { form, reasons: false });
    }
    assert_eq!(grammar(Stub::clean()).await, GrammarAnswer::Ignores);
    let refuses = Stub { obeys: Some(Form::Guided), refuses_tools: true, ..Stub::clean() };
    let answer = grammar(refuses).await;
    assert!(
        matches!(&answer, GrammarAnswer::FailsOnTools { form: Form::Guided, why } if why.to_string().contains("too large")),
        "{answer:?}"
    );
    for reasons in [false, true] {
        let stub = Stub { field: Some(("Hm.", reasons)), obeys: Some(Form::Structured), ..Stub::clean() };
        let answers = answers_of(&stub).await;
        assert_eq!(answers.grammar, GrammarAnswer::Obeys { form: Form::Structured, reasons });
        let advice = answers.findings()[4].advice.clone().unwrap().to_string();
        assert_eq!(advice.contains("is sent"), reasons, "{advice}");
    }
    let recording = Replay::new(["Hello."; 20]);
    assert_eq!(answers_of(&recording).await.grammar, GrammarAnswer::CannotBeSent);
}

/// A backend that never answers.
struct Silent;

impl Backend for Silent {
    fn stream<'a>(&'a self, _: &'a [Message], _: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn without_an_answer_to_the_first_question_the_probe_stops() {
    let options = Options { request: Duration::from_millis(20), ..Options::default() };
    let mut requests = 0;
    let answers = probe::ask_backend(&Silent, &options, &mut |_| requests += 1).await;
    assert_eq!(requests, 1);
    assert!(matches!(&answers.stream, StreamAnswer::NoAnswer { why } if why.to_string().contains("longer than")));
    let TextAnswer::NoAnswer { why } = &answers.text else { panic!("{answers:?}") };
    assert!(why.to_string().contains("not asked"), "{why}");
    let verdicts = answers.findings().map(|finding| finding.verdict);
    assert_eq!(verdicts[..4], [Verdict::Bad, Verdict::Unknown, Verdict::Unknown, Verdict::Unknown]);
    let empty = answers_of(&Stub::with_bridge(|_| String::new())).await;
    assert!(matches!(&empty.stream, StreamAnswer::NoAnswer { why } if why.to_string().contains("empty")), "{empty:?}");
    let late = Options { whole: Duration::ZERO, ..Options::default() };
    let answers = probe::ask_backend(&Stub::clean(), &late, &mut |_| panic!("there is no time")).await;
    assert!(matches!(answers.stream, StreamAnswer::NoAnswer { .. }), "{answers:?}");
}

#[tokio::test]
async fn a_failed_question_does_not_affect_the_other_answers() {
    /// Fails from its second reply on.
    struct Failing(Stub);
    impl Backend for Failing {
        fn stream<'a>(
            &'a self,
            messages: &'a [Message],
            sink: &'a mut dyn Sink,
        ) -> BoxFuture<'a, Result<FinishReason, Error>> {
            if *self.0.asked.lock().unwrap() == 1 {
                return Box::pin(async { Err(Error::with_kind(ErrorKind::Unreachable, "It is gone.")) });
            }
            self.0.stream(messages, sink)
        }
    }
    let answers = answers_of(&Failing(Stub::clean())).await;
    assert!(matches!(answers.stream, StreamAnswer::Streams { .. }));
    let verdicts = answers.findings().map(|finding| finding.verdict);
    assert_eq!(verdicts[1..4], [Verdict::Unknown; 3], "{answers:?}");
    assert!(matches!(&answers.text, TextAnswer::NoAnswer { why } if why.to_string().contains("It is gone.")));
}

/// Starts a server that answers each request with the output of `script`, and returns its address.
fn server(script: impl Fn(&str, &mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let body = body_of(&mut stream);
            script(&body, &mut stream);
        }
    });
    url
}

/// The body of a request.
fn body_of(stream: &mut TcpStream) -> String {
    let (mut request, mut buffer) = (Vec::new(), [0; 65536]);
    loop {
        let got = stream.read(&mut buffer).unwrap();
        request.extend_from_slice(&buffer[..got]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if got == 0 || length.is_none_or(|length: usize| body.len() >= length) {
            return body.to_owned();
        }
    }
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn delta(text: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
}

async fn answers_over_http(url: &str) -> Answers {
    let mut of_server = HttpOptions::new("m");
    (of_server.base_url, of_server.retries) = (Some(url.to_owned()), 0);
    let http = Http::new(of_server).unwrap();
    let options = Options { request: Duration::from_secs(20), ..Options::default() };
    probe::ask_backend(&http, &options, &mut |_| {}).await
}

#[tokio::test]
async fn endless_replies_are_cut() {
    // The client closes the connection when it has read enough.
    let url = server(|_, stream| {
        let _ = stream.write_all(STREAM.as_bytes());
        while stream.write_all(delta("and so on ").repeat(100).as_bytes()).is_ok() {}
    });
    let answers = answers_over_http(&url).await;
    assert!(matches!(answers.stream, StreamAnswer::Streams { pieces } if pieces < 10_000), "{answers:?}");
    assert!(matches!(answers.protocol, ProtocolAnswer::NoCall { .. }));
    assert_eq!((answers.text, answers.grammar), (TextAnswer::NotRepeated, GrammarAnswer::Ignores));
}

#[tokio::test]
async fn huge_replies_are_bounded() {
    let piece = delta(&"x".repeat(4 << 20));
    let url = server(move |_, stream| {
        let _ = stream.write_all(STREAM.as_bytes());
        while stream.write_all(piece.as_bytes()).is_ok() {}
    });
    let answers = answers_over_http(&url).await;
    assert!(serde_json::to_string(&answers).unwrap().len() < 4_000);
    assert_ne!(answers.text, TextAnswer::Unchanged);
    // One event without an end.
    let url = server(|_, stream| {
        let _ = stream.write_all(format!("{STREAM}data: ").as_bytes());
        while stream.write_all(&[b'x'; 65536]).is_ok() {}
    });
    let answers = answers_over_http(&url).await;
    assert!(matches!(answers.stream, StreamAnswer::NoAnswer { .. }), "{answers:?}");
    assert!(serde_json::to_string(&answers).unwrap().len() < 4_000);
}

#[tokio::test]
async fn invalid_utf_8_is_no_answer_or_a_change() {
    let url = server(|_, stream| {
        let _ = stream.write_all(STREAM.as_bytes());
        let _ = stream.write_all(
            b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff\xfe\xc3(\"}}]}\n\ndata: [DONE]\n\n",
        );
    });
    let answers = answers_over_http(&url).await;
    assert!(!matches!(answers.stream, StreamAnswer::Streams { .. }), "{answers:?}");
    assert!(!matches!(answers.protocol, ProtocolAnswer::Follows { .. }) && answers.text != TextAnswer::Unchanged);
}

#[tokio::test]
async fn a_server_that_closes_or_refuses_has_no_answers() {
    let closes = server(|_, _| {});
    let refuses = server(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    });
    for url in [closes, refuses] {
        let answers = answers_over_http(&url).await;
        assert!(matches!(answers.stream, StreamAnswer::NoAnswer { .. }), "{answers:?}");
        assert!(matches!(answers.text, TextAnswer::NoAnswer { .. }), "{answers:?}");
    }
}

/// A backend that replays a recording and records whether each request had a grammar.
#[derive(Clone)]
struct Recorded {
    replies: Arc<Replay>,
    held: bool,
    seen: Arc<Mutex<Vec<bool>>>,
}

impl Backend for Recorded {
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        self.seen.lock().unwrap().push(self.held);
        self.replies.stream(messages, sink)
    }

    fn with_members(&self, _: &Map<String, Value>) -> Option<Arc<dyn Backend>> {
        Some(Arc::new(Recorded { held: true, ..self.clone() }))
    }
}

/// The rest of a call is not a whole reply, so it is requested without the grammar of whole replies.
#[tokio::test]
async fn the_continuation_of_a_call_is_requested_without_a_grammar() {
    let body = "A first line of a text that is long.\nA second line that breaks off.";
    let block = format!("```tool\n{{\"name\": \"change\", \"args\": {{\"word\": \"<<EOF\"}}}}\n{body}\nEOF\n```\n");
    let (first, rest) = block.split_at(block.find("breaks").unwrap());
    let again = &first[first.find("A first").unwrap()..];
    let recording = format!("%%% reply finish=length\n{first}\n%%% reply\n{again}{rest}\n%%% reply\nDone.\n");
    let replies = Arc::new(Replay::parse(&recording).unwrap());
    let backend = Recorded { replies, held: false, seen: Arc::default() };
    let seen = backend.seen.clone();
    let adapted = Adapted::new(Arc::new(backend)).member("grammar", "root ::= \"\"".into());
    let toolbox = Toolbox::new();
    let policy = toolfence_kit::policy(AskMode::Risky);
    let session = Session::new(SessionOptions::default(), Arc::new(toolbox.catalog()), policy, Arc::new(NoFacts));
    let stopped = Agent::new(session, toolbox, Arc::new(adapted)).run("question", &mut Nobody).await.unwrap();
    assert_eq!((stopped, seen.lock().unwrap().clone()), (StopReason::Answered, vec![true, false, true]));
}

/// Runs the program with a server in this process, and checks that later runs use the answers.
mod program {
    use super::*;
    use toolfence_kit::{Project, Ran};

    /// A home, a project, and a server that replies as the stub does.
    struct Place {
        project: Project,
        url: String,
        /// The bodies of all requests.
        asked: Arc<Mutex<Vec<Value>>>,
    }

    impl Place {
        fn new(stub: Stub) -> Place {
            let asked = Arc::new(Mutex::new(Vec::new()));
            let seen = asked.clone();
            let url = server(move |body, stream| answer(body, stream, &stub, &seen));
            Place { project: Project::new(), url, asked }
        }

        fn coder(&self, args: &[&str]) -> Ran {
            self.project.run(env!("CARGO_BIN_EXE_coder"), &[&["--base-url", &self.url], args].concat(), "")
        }

        /// The body of the last request.
        fn last(&self) -> Value {
            self.asked.lock().unwrap().last().unwrap().clone()
        }
    }

    fn answer(body: &str, stream: &mut TcpStream, stub: &Stub, seen: &Mutex<Vec<Value>>) {
        // A request for the list of models has no body.
        let Ok(body) = serde_json::from_str::<Value>(body) else {
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            return;
        };
        let role = |name: &Value| if name == "system" { Role::System } else { Role::User };
        let messages: Vec<Message> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| Message::new(role(&message["role"]), message["content"].as_str().unwrap()))
            .collect();
        let stub = Stub { members: body.as_object().cloned(), ..stub.clone() };
        let reply = (stub.bridge)(&stub.answer(&messages), 0);
        seen.lock().unwrap().push(body);
        let end = json!({"choices": [{"index": 0, "finish_reason": "stop", "delta": {}}]});
        // A client that has read enough closes the connection.
        let _ = stream.write_all(format!("{STREAM}{}data: {end}\n\ndata: [DONE]\n\n", delta(&reply)).as_bytes());
    }

    #[test]
    fn later_runs_use_the_answers_of_the_doctor() {
        let stub = Stub {
            system: System::Lost,
            obeys: Some(Form::Structured),
            ..Stub::with_bridge(|reply| reply.replace('\t', "  "))
        };
        let place = Place::new(stub);
        place.coder(&["-p", "Say hello."]);
        assert!(place.last().get("structured_outputs").is_none());

        let ran = place.coder(&["doctor", "--backend"]);
        println!("{}{}", ran.err, ran.out);
        assert_eq!(ran.status, 1, "{}", ran.said());
        assert!(ran.err.contains("this takes at most 11 short requests"), "{}", ran.err);
        for said in [
            "note     Streaming: the whole reply arrived at once.",
            "note     Protocol: the model follows the instructions only if they are in the message of the user.",
            "good     Reasoning: no reply had any.",
            "BAD      Text: it first differs in line 6, column 12: \"\\ttwo",
            "good     Grammar: the server obeys `structured_outputs`.",
        ] {
            assert!(ran.out.contains(said), "{said}: {}", ran.out);
        }
        let report: Value = serde_json::from_str(&place.coder(&["doctor", "--backend", "http", "--json"]).out).unwrap();
        assert_eq!((&report["v"], &report["kept"], &report["requests"]), (&json!(1), &json!(true), &json!(10)));
        let answers = &report["answers"];
        assert_eq!(answers["protocol"], json!({"answer": "follows", "system_message": false}));
        assert_eq!(answers["text"]["line"], 6);
        assert_eq!(answers["grammar"], json!({"answer": "obeys", "form": "structured_outputs", "reasons": false}));

        let known = place.coder(&["config", "profile"]);
        for fact in ["grammar", "structured_outputs", "system", "lost", "the backend was asked"] {
            assert!(known.out.contains(fact), "{fact}: {}", known.out);
        }
        place.coder(&["-p", "Say hello."]);
        let last = place.last();
        let grammar = last["structured_outputs"]["grammar"].as_str().unwrap();
        assert!(grammar.contains("root ::=") && grammar.contains("list_files"), "{grammar}");
        assert_eq!((last["messages"].as_array().unwrap().len(), &last["messages"][0]["role"]), (1, &json!("user")));
        assert!(last["messages"][0]["content"].as_str().unwrap().contains("Say hello."), "{last}");

        place.coder(&["-p", "Say hello.", "--grammar", "off"]);
        assert!(place.last().get("structured_outputs").is_none());
        place.coder(&["-p", "Say hello.", "--grammar", "on", "--model", "other"]);
        assert!(place.last()["grammar"].as_str().is_some_and(|grammar| grammar.contains("list_files")));

        assert_eq!(place.coder(&["config", "profile", "--forget"]).status, 0);
        place.coder(&["-p", "Say hello."]);
        assert!(place.last().get("structured_outputs").is_none());
        assert_eq!(place.last()["messages"][0]["role"], "system");
    }

    #[test]
    fn only_the_doctor_takes_the_option_without_a_value() {
        let place = Place::new(Stub::clean());
        let ran = place.coder(&["-p", "Say hello.", "--backend"]);
        assert_eq!(ran.status, 2, "{}", ran.said());
        assert!(ran.err.contains("--backend"), "{}", ran.err);
        let ran = place.coder(&["doctor", "--backend", "--lang", "pt"]);
        assert!(ran.out.contains("Texto: volta sem alterações.") && !ran.out.contains("Text:"), "{}", ran.out);
    }
}
