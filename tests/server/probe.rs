//! The probe of backends, against models that do as they are told behind bridges that each damage texts in one known way.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use toolfence_agent::agent::{Agent, Nobody};
use toolfence_agent::backend::Adapted;
use toolfence_agent::backend::{Backend, Chunk, Replay, Sink};
use toolfence_agent::probe::{self, Facts, Mangling, Options, Probed, Style, Subject, Verdict};
use toolfence_policy::toolbox::{BoxFuture, Toolbox};
use toolfence_policy::{AskMode, NoFacts};
use toolfence_protocol::grammar::Form;
use toolfence_protocol::{Args, Dialect, Error, ErrorKind, FinishReason, Language, Message, Role, ToolCall};
use toolfence_session::{Session, SessionOptions, StopReason};

/// What a bridge does to a reply. It is told the question too, and the number of the request.
type Bridge = Arc<dyn Fn(&str, &str, usize) -> String + Send + Sync>;

/// How a backend treats a system message.
#[derive(Clone, Copy, PartialEq)]
enum System {
    Read,
    Lost,
    Refused,
}

/// A model that does as it is told, behind a bridge.
#[derive(Clone)]
struct Stub {
    bridge: Bridge,
    system: System,
    /// The grammar that is obeyed, and members that came with the request.
    obeys: Option<Form>,
    members: Option<Map<String, Value>>,
    /// Bytes of a message beyond which it is refused, and beyond which it is cut.
    refuses: usize,
    cuts: usize,
    native: bool,
    thinks: &'static str,
    /// What is thought in a field of its own, and whether also where the answer is held to a grammar.
    field: Option<(&'static str, bool)>,
    call: &'static str,
    pieces: usize,
    asked: Arc<AtomicUsize>,
}

const BLOCK: &str = "```tool\n{\"name\": \"list_files\", \"args\": {\"path\": \"src\"}}\n```";
const HERMES: &str = "<tool_call>\n{\"name\": \"list_files\", \"arguments\": {\"path\": \"src\"}}\n</tool_call>";

impl Stub {
    fn clean() -> Stub {
        Stub {
            bridge: Arc::new(|reply, _, _| reply.to_owned()),
            system: System::Read,
            obeys: None,
            members: None,
            refuses: usize::MAX,
            cuts: usize::MAX,
            native: false,
            thinks: "",
            field: None,
            call: BLOCK,
            pieces: 12,
            asked: Arc::default(),
        }
    }

    fn behind(bridge: impl Fn(&str) -> String + Send + Sync + 'static) -> Stub {
        Stub { bridge: Arc::new(move |reply, _, _| bridge(reply)), ..Stub::clean() }
    }

    fn answer(&self, messages: &[Message]) -> String {
        let system = messages.iter().find(|message| message.role == Role::System && self.system == System::Read);
        let mut user = messages.last().unwrap().content.as_str();
        if user.len() > self.cuts {
            user = &user[..self.cuts];
        }
        if let Some(members) = &self.members {
            let grammar = match self.obeys {
                Some(Form::Structured) => members.get("structured_outputs").and_then(|outputs| outputs.get("grammar")),
                Some(form) => members.get(form.name()),
                None => None,
            };
            if grammar.is_some() {
                return "heron-1234-stop".to_owned();
            }
        }
        let told = format!("{}\n{user}", system.map_or("", |system| &system.content));
        if let Some(at) = user.find("\nBEGIN-7319\n") {
            let end = user.rfind("END-7319").unwrap() + "END-7319".len();
            return user[at + 1..end].to_owned();
        }
        if user.contains("MAGPIE") {
            let words: Vec<&str> = ["MAGPIE", "WALNUT"].into_iter().filter(|word| user.contains(word)).collect();
            return words.join(" ");
        }
        if user.contains("What is the code word?") {
            let known = told.contains("The code word is HERON-42.");
            return if known { "HERON-42" } else { "There is no code word that I know of." }.to_owned();
        }
        match user {
            _ if user.contains("List the files") => self.call.to_owned(),
            _ if user.contains("Count from 1") => (1..=40).map(|number| format!("{number}\n")).collect(),
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
            let number = self.asked.fetch_add(1, Ordering::SeqCst);
            let user = &messages.last().unwrap().content;
            if self.system == System::Refused && messages[0].role == Role::System {
                return Err(Error::with_kind(ErrorKind::Rejected, "There is no role system."));
            }
            if user.len() > self.refuses {
                return Err(Error::with_kind(ErrorKind::TooLong { tokens: None, window: None }, "It is too long."));
            }
            if let Some((thought, beside)) = self.field
                && (beside || self.members.is_none())
            {
                let _: ControlFlow<()> = sink.chunk(Chunk::Reasoning(thought));
            }
            let reply = format!("{}{}", self.thinks, self.answer(messages));
            let reply = (self.bridge)(&reply, user, number);
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

async fn probed(stub: &Stub) -> Probed {
    let probed = probe::backend(stub, &Options::default(), &mut |_| {}).await;
    assert!(probed.requests <= Options::default().most_requests(), "{} requests", probed.requests);
    probed
}

/// Each line by itself.
fn lines(reply: &str, change: impl Fn(&str) -> String) -> String {
    reply.split('\n').map(change).collect::<Vec<_>>().join("\n")
}

/// Without what stands between these two.
fn without(reply: &str, open: char, close: char) -> String {
    let (mut out, mut rest) = (String::new(), reply);
    while let Some(at) = rest.find(open) {
        out.push_str(&rest[..at]);
        match rest[at..].find(close) {
            Some(end) => rest = &rest[at + end + close.len_utf8()..],
            None => {
                out.push_str(&rest[at..]);
                rest = "";
            }
        }
    }
    out + rest
}

fn curly(reply: &str) -> String {
    let mut open = false;
    let turned = reply.chars().map(|c| match c {
        '"' => {
            open = !open;
            if open { '“' } else { '”' }
        }
        '\'' => '’',
        c => c,
    });
    turned.collect()
}

fn unescaped(reply: &str) -> String {
    let (mut out, mut letters) = (String::new(), reply.chars().peekable());
    while let Some(c) = letters.next() {
        if c != '\\' || !letters.peek().is_some_and(char::is_ascii_punctuation) {
            out.push(c);
        }
    }
    out
}

fn wrapped(line: &str) -> String {
    let (mut out, mut width) = (String::new(), 0);
    for word in line.split(' ') {
        if width + word.len() > 80 {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
        }
        out.push_str(word);
        width += word.len() + 1;
    }
    if line.len() > 80 { out } else { line.to_owned() }
}

/// A backend that has this and nothing else.
fn stub(mangling: Mangling) -> Stub {
    match mangling {
        Mangling::BackslashesLost => Stub::behind(unescaped),
        Mangling::BackslashesAdded => Stub::behind(|reply| reply.replace('_', "\\_").replace('*', "\\*")),
        Mangling::FencesLost => Stub::behind(|reply| reply.replace("```tool\n", "").replace("```\n", "")),
        Mangling::FencesChanged => Stub::behind(|reply| reply.replace("```", "~~~")),
        Mangling::InfoWordLost => Stub::behind(|reply| reply.replace("```tool", "```")),
        Mangling::QuotesChanged => Stub::behind(curly),
        Mangling::DashesChanged => Stub::behind(|reply| reply.replace("--", "—").replace("...", "…")),
        Mangling::BlankLinesLost => Stub::behind(|reply| reply.replace("\n\n\n", "\n\n")),
        Mangling::BlankLinesAdded => Stub::behind(|reply| reply.replace('\n', "\n\n")),
        Mangling::LinesJoined => Stub::behind(|reply| reply.replace('\n', " ")),
        Mangling::LinesWrapped => Stub::behind(|reply| lines(reply, wrapped)),
        Mangling::TabsLost => Stub::behind(|reply| reply.replace('\t', "    ")),
        Mangling::BlanksCollapsed => Stub::behind(|reply| {
            let reply = reply.replace("    ", " ").replace("   ", " ");
            reply.replace("  ", " ")
        }),
        Mangling::IndentationLost => Stub::behind(|reply| lines(reply, |line| line.trim_start().to_owned())),
        Mangling::TrailingBlanksLost => Stub::behind(|reply| lines(reply, |line| line.trim_end().to_owned())),
        Mangling::UnicodeComposed => Stub::behind(|reply| reply.replace("e\u{301}", "é")),
        Mangling::NonAsciiLost => Stub::behind(|reply| reply.replace(|c: char| !c.is_ascii(), "?")),
        Mangling::EntitiesEncoded => Stub::behind(|reply| {
            reply.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
        }),
        Mangling::EntitiesDecoded => {
            Stub::behind(|reply| reply.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        }
        Mangling::TagsLost => Stub::behind(|reply| without(reply, '<', '>')),
        Mangling::MarkdownRendered => Stub::behind(|reply| reply.replace("**", "").replace("__", "").replace('*', "")),
        Mangling::LinksChanged => Stub::behind(|reply| {
            reply.replace("https://example.com/a_b?x=1&y=2", "[https://example.com/a_b?x=1&y=2](https://example.com)")
        }),
        Mangling::PrefixAdded => {
            Stub { bridge: Arc::new(|reply, _, number| format!("Botty (12:{number:02}): {reply}")), ..Stub::clean() }
        }
        Mangling::SuffixAdded => Stub::behind(|reply| format!("{reply}\n\nWas this helpful?")),
        Mangling::CitationsAdded => Stub {
            bridge: Arc::new(|reply, _, number| format!("{reply}\n\nSources: [{number}] https://example.com/{number}")),
            ..Stub::clean()
        },
        Mangling::NativeCalls => Stub { native: true, ..Stub::clean() },
        Mangling::QuestionRepeated => {
            Stub { bridge: Arc::new(|reply, question, _| format!("> {question}\n\n{reply}")), ..Stub::clean() }
        }
        Mangling::ControlSequences => Stub::behind(|reply| lines(reply, |line| format!("\u{1b}[32m{line}\u{1b}[0m"))),
        Mangling::LongMessagesCut => Stub { cuts: 10_000, ..Stub::clean() },
        Mangling::LongMessagesRefused => Stub { refuses: 20_000, ..Stub::clean() },
    }
}

#[tokio::test]
async fn each_damage_is_named_and_no_other() {
    println!("{:<22} {:<9} named", "damage", "requests");
    let mut wrong = Vec::new();
    for &mangling in Mangling::ALL {
        let probed = probed(&stub(mangling)).await;
        let names: Vec<&str> = probed.facts.manglings.iter().map(|mangling| mangling.name()).collect();
        println!("{:<22} {:<9} {}", mangling.name(), probed.requests, names.join(", "));
        if names != [mangling.name()] {
            wrong.push(format!("{}: {names:?}", mangling.name()));
        }
    }
    assert!(Mangling::ALL.len() >= 20 && wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn nothing_is_named_where_nothing_happens() {
    let mut steps = Vec::new();
    let probed = probe::backend(&Stub::clean(), &Options::default(), &mut |step| steps.push(step.number)).await;
    assert_eq!(steps, (1..=probed.requests).collect::<Vec<_>>());
    let trouble: Vec<_> = probed.findings.iter().filter(|finding| finding.verdict == Verdict::Bad).collect();
    assert!(trouble.is_empty(), "{trouble:?}");
    let facts = Facts { reasoning: Some(Style::None), system: Some(true), grammar: Some(None), ..Facts::default() };
    assert_eq!(probed.facts, facts);
    // In the other language too: the model of this test knows no Portuguese, but repeats.
    let options = Options { language: Language::Portuguese, ..Options::default() };
    let probed = probe::backend(&Stub::clean(), &options, &mut |_| {}).await;
    assert!(probed.facts.manglings.is_empty(), "{:?}", probed.facts);
}

/// Models that do not repeat a text, or not the same way twice.
#[tokio::test]
async fn what_a_model_does_by_itself_is_no_damage() {
    let refuses = Stub::behind(|reply| {
        if reply.contains("BEGIN-7319") { "I cannot repeat that text.".to_owned() } else { reply.to_owned() }
    });
    let noise = Stub::behind(|reply| reply.chars().rev().collect());
    let silent =
        Stub { bridge: Arc::new(|_, _, number| if number == 0 { "1 2 3" } else { "" }.to_owned()), ..Stub::clean() };
    let summary = Stub::behind(|reply| match reply.contains("BEGIN-7319") {
        true => "The text has eight lines: alpha: stop, bravo: stop, india first, oscar is the last line".to_owned(),
        false => reply.to_owned(),
    });
    for (name, stub) in [("refuses", refuses), ("noise", noise), ("silent", silent), ("summary", summary)] {
        let probed = probed(&stub).await;
        assert_eq!(probed.facts.manglings, [], "{name}");
        let text = probed.findings.iter().find(|finding| finding.subject == Subject::Text).unwrap();
        assert_eq!(text.verdict, Verdict::Unknown, "{name}: {text:?}");
    }
    // One slip is another the next time.
    let slips = Stub {
        bridge: Arc::new(|reply, _, number| match number % 2 {
            0 => reply.replace('\\', "").replace('\t', "  "),
            _ => curly(reply).replace("  \n", "\n").replace("   \n", "\n"),
        }),
        ..Stub::clean()
    };
    assert_eq!(probed(&slips).await.facts.manglings, []);
}

/// A page of HTML does several things at a time.
#[tokio::test]
async fn several_damages_are_all_named() {
    let page = Stub::behind(|reply| {
        let reply = curly(&reply.replace("```tool\n", "").replace("```\n", "").replace('\t', " "));
        lines(&reply, |line| line.trim().split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
    });
    let mut want = vec![
        Mangling::FencesLost,
        Mangling::QuotesChanged,
        Mangling::TabsLost,
        Mangling::BlanksCollapsed,
        Mangling::IndentationLost,
        Mangling::TrailingBlanksLost,
    ];
    want.sort_unstable();
    assert_eq!(probed(&page).await.facts.manglings, want);
}

#[tokio::test]
async fn what_else_is_told_of_a_backend() {
    let facts = |stub: Stub| async move { probed(&stub).await.facts };
    for (system, want) in [(System::Lost, false), (System::Refused, false), (System::Read, true)] {
        assert_eq!(facts(Stub { system, ..Stub::clean() }).await.system, Some(want));
    }
    for (thinks, want) in [
        ("", Style::None),
        ("<think>\nLet me see.\n</think>\n\n", Style::Tags),
        ("Let me see.\n</think>\n\n", Style::Opened),
    ] {
        let facts = facts(Stub { thinks, ..Stub::clean() }).await;
        assert_eq!((facts.reasoning, facts.manglings), (Some(want), Vec::new()), "{thinks}");
    }
    assert_eq!(facts(Stub { call: HERMES, ..Stub::clean() }).await.dialect, Some(Dialect::Hermes));
    assert_eq!(facts(Stub::clean()).await.dialect, None);
    for &form in Form::ALL {
        assert_eq!(facts(Stub { obeys: Some(form), ..Stub::clean() }).await.grammar, Some(Some(form)));
    }
    for beside in [false, true] {
        let stub = Stub { field: Some(("Hm.", beside)), obeys: Some(Form::Structured), ..Stub::clean() };
        let facts = facts(stub).await;
        assert_eq!((facts.reasoning, facts.reasons_beside_grammar), (Some(Style::Field), beside));
    }
    let limits = |stub| async move {
        let facts = facts(stub).await;
        facts.message_limit
    };
    assert_eq!(limits(Stub { cuts: 10_000, ..Stub::clean() }).await, Some(4_000));
    assert_eq!(limits(Stub { refuses: 20_000, ..Stub::clean() }).await, Some(16_000));
    // A stream of one piece is told; it is no damage.
    let whole = probed(&Stub { pieces: 1, ..Stub::clean() }).await;
    let stream = whole.findings.iter().find(|finding| finding.subject == Subject::Stream).unwrap();
    assert_eq!((stream.verdict, whole.facts.manglings.len()), (Verdict::Neutral, 0));
}

/// A backend that never answers, and one that fails.
#[tokio::test]
async fn a_probe_comes_to_its_end() {
    struct Silent;
    impl Backend for Silent {
        fn stream<'a>(&'a self, _: &'a [Message], _: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
            Box::pin(std::future::pending())
        }
    }
    struct Endless;
    impl Backend for Endless {
        fn stream<'a>(
            &'a self,
            _: &'a [Message],
            sink: &'a mut dyn Sink,
        ) -> BoxFuture<'a, Result<FinishReason, Error>> {
            Box::pin(async move {
                while sink.chunk(Chunk::Text("and so on ")).is_continue() {}
                Ok(FinishReason::Cut)
            })
        }
    }
    let mut options = Options { question: std::time::Duration::from_millis(20), ..Options::default() };
    let silent = probe::backend(&Silent, &options, &mut |_| {}).await;
    assert_eq!((silent.requests, silent.findings[0].verdict), (1, Verdict::Bad));
    let endless = probe::backend(&Endless, &Options::default(), &mut |_| {}).await;
    assert_eq!(endless.facts.manglings, [], "{:?}", endless.findings);
    options.whole = std::time::Duration::ZERO;
    assert_eq!(probe::backend(&Stub::clean(), &options, &mut |_| {}).await.requests, 0);
    let refused = Stub { refuses: 0, ..Stub::clean() };
    let refused = probe::backend(&refused, &Options::default(), &mut |_| {}).await;
    assert!(refused.findings[0].said.to_string().contains("It is too long."), "{:?}", refused.findings);
}

/// A backend that plays a recording, and writes down whether it was held to a grammar.
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

/// The rest of a call is no whole reply, so no grammar of whole replies holds for it; the reply after it is one again.
#[tokio::test]
async fn the_rest_of_a_call_is_held_to_no_grammar() {
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

#[test]
fn every_damage_has_a_name_of_its_own() {
    let mut names = BTreeMap::new();
    for &mangling in Mangling::ALL {
        assert_eq!(Mangling::from_name(mangling.name()), Some(mangling));
        assert_eq!(names.insert(mangling.name(), mangling), None);
    }
    for &style in Style::ALL {
        assert_eq!(Style::from_name(style.name()), Some(style));
    }
}

/// The program against a server of this process: what a probe finds counts in the runs after it.
mod program {
    use super::*;
    use serde_json::json;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use toolfence_kit::{Project, Ran};

    /// A home, a project, and a server that says what the stub says.
    struct Place {
        project: Project,
        url: String,
        /// The bodies of all requests.
        asked: Arc<Mutex<Vec<Value>>>,
    }

    impl Place {
        fn new(stub: Stub) -> Place {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/v1", listener.local_addr().unwrap());
            let asked = Arc::new(Mutex::new(Vec::new()));
            let seen = asked.clone();
            std::thread::spawn(move || listener.incoming().for_each(|stream| answer(stream.unwrap(), &stub, &seen)));
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

    fn answer(mut stream: TcpStream, stub: &Stub, seen: &Mutex<Vec<Value>>) {
        let (mut request, mut buffer) = (Vec::new(), [0; 65536]);
        let body = loop {
            let got = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..got]);
            let text = String::from_utf8_lossy(&request).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if got == 0 || length.is_none_or(|length: usize| body.len() >= length) {
                break body.to_owned();
            }
        };
        // What is no conversation is not known here: the list of models, say.
        let Ok(body) = serde_json::from_str::<Value>(&body) else {
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
        let members = ["grammar", "structured_outputs", "guided_grammar"];
        let held = members.iter().any(|member| body.get(member).is_some());
        let members = held.then(|| body.as_object().unwrap().clone());
        let stub = Stub { members, ..stub.clone() };
        let reply = (stub.bridge)(&stub.answer(&messages), &messages.last().unwrap().content, 0);
        seen.lock().unwrap().push(body);
        let event = |delta: Value, end: Option<&str>| {
            format!("data: {}\n\n", json!({"choices": [{"index": 0, "finish_reason": end, "delta": delta}]}))
        };
        let events = event(json!({"content": reply}), None) + &event(json!({}), Some("stop")) + "data: [DONE]\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let _ = stream.write_all(format!("{head}{events}").as_bytes()); // a client that has enough goes away
    }

    #[test]
    fn what_the_doctor_finds_counts_from_then_on() {
        let stub = Stub {
            system: System::Lost,
            obeys: Some(Form::Structured),
            ..Stub::behind(|reply| reply.replace("```tool", "```").replace('\t', "  "))
        };
        let place = Place::new(stub);
        let before = place.coder(&["-p", "Say hello."]);
        assert!(
            place.last().get("structured_outputs").is_none() && !before.err.contains("unreliable"),
            "{}",
            before.err
        );

        let ran = place.coder(&["doctor", "--backend"]);
        println!("{}{}", ran.err, ran.out);
        assert_eq!(ran.status, 1, "{}", ran.said());
        assert!(ran.err.contains("this takes at most "), "{}", ran.err);
        for said in [
            "A system message does not reach the model.",
            "TROUBLE  The word behind the backticks that open a block is lost.",
            "TROUBLE  Tabs become blanks.",
            "The server holds the model to a grammar: `structured_outputs`.",
        ] {
            assert!(ran.out.contains(said), "{said}: {}", ran.out);
        }
        let told: Value = serde_json::from_str(&place.coder(&["doctor", "--backend", "http", "--json"]).out).unwrap();
        let named: Vec<&str> =
            told["findings"].as_array().unwrap().iter().filter_map(|finding| finding["mangling"].as_str()).collect();
        assert_eq!((named, &told["kept"]), (vec!["info_word_lost", "tabs_lost"], &json!(true)));

        let known = place.coder(&["config", "profile"]);
        println!("{}", known.out);
        for fact in
            ["grammar", "structured_outputs", "system", "lost", "mangling", "info_word_lost", "the backend was asked"]
        {
            assert!(known.out.contains(fact), "{fact}: {}", known.out);
        }
        let ran = place.coder(&["-p", "Say hello."]);
        assert!(ran.err.contains("makes calls unreliable: The word behind the backticks"), "{}", ran.err);
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
        let ran = place.coder(&["-p", "Say hello."]);
        assert!(place.last().get("structured_outputs").is_none() && !ran.err.contains("unreliable"), "{}", ran.err);
        assert_eq!(place.last()["messages"][0]["role"], "system");
    }

    #[test]
    fn only_the_doctor_takes_the_option_without_a_value() {
        let place = Place::new(Stub::clean());
        let ran = place.coder(&["-p", "Say hello.", "--backend"]);
        assert_eq!(ran.status, 2, "{}", ran.said());
        assert!(ran.err.contains("--backend"), "{}", ran.err);
        let ran = place.coder(&["doctor", "--backend", "--lang", "pt"]);
        assert_eq!(ran.status, 0, "{}", ran.said());
        assert!(ran.out.contains("Os textos voltam como eram") && !ran.out.contains("Texts"), "{}", ran.out);
    }
}
