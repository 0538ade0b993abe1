//! Tests the events before a block is complete: provisional events, events that are held back, and the effect of
//! limits.

use crate::parse::{cases, events};
use std::collections::HashMap;
use toolfence_kit::{Pieces, Random};
use toolfence_protocol::parse::{Event, Options, Parser, Reasoning};
use toolfence_protocol::{Dialect, FinishReason};

/// The state of a provisional id.
#[derive(Debug, PartialEq)]
enum Outcome {
    Open,
    Called,
    Withdrawn,
}

/// Every started id ends in one call, or a malformed or incomplete block with the same id withdraws it. Progress is
/// emitted only in between. At most one id is open at a time, and no two calls of a reply share an id.
#[test]
fn every_started_call_ends_or_is_withdrawn() {
    let mut started = 0;
    for case in cases() {
        for cut in case.reply.char_indices().map(|(at, _)| at).chain([case.reply.len()]) {
            let (reply, title) = (&case.reply[..cut], &case.title);
            let mut outcomes_by_id: HashMap<String, Outcome> = HashMap::new();
            let mut ids = Vec::new();
            for event in events(reply, &case.options, 7, true) {
                match event {
                    Event::Started { id, .. } => {
                        started += 1;
                        let open = outcomes_by_id.values().filter(|outcome| **outcome == Outcome::Open).count();
                        // While calls are held back, the end of the previous call may not be emitted yet.
                        let held = case.options.contains("unknown");
                        assert!(held || open == 0, "{title}: another block is open: {reply:?}");
                        assert_eq!(
                            outcomes_by_id.insert(id.to_string(), Outcome::Open),
                            None,
                            "{title}: started twice"
                        );
                    }
                    Event::Progress { id, .. } => {
                        assert_eq!(
                            outcomes_by_id.get(id.as_ref()),
                            Some(&Outcome::Open),
                            "{title}: progress of {id}: {reply:?}"
                        );
                    }
                    Event::Call { call, .. } => {
                        outcomes_by_id.entry(call.id.clone()).and_modify(|outcome| *outcome = Outcome::Called);
                        ids.push(call.id);
                    }
                    Event::Malformed { id, .. }
                    | Event::Incomplete { id, .. }
                    | Event::Ignored { id: Some(id), .. } => {
                        outcomes_by_id.entry(id.into_owned()).and_modify(|outcome| *outcome = Outcome::Withdrawn);
                    }
                    _ => {}
                }
            }
            assert!(
                outcomes_by_id.values().all(|outcome| *outcome != Outcome::Open),
                "{title}: {outcomes_by_id:?} in {reply:?}"
            );
            let count = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), count, "{title}: two calls share an id: {reply:?}");
        }
    }
    assert!(started > 100, "the cases start calls");
}

/// The provisional events of a call agree with the complete call in its name and in the beginning of each text. The
/// objects have keys of every kind, in any order and number, so that events must often be withdrawn. Some objects are
/// damaged, and then the repair may read a bracket as text after a call was announced.
#[test]
fn provisional_events_agree_with_the_call() {
    let members = [
        r#""name": "bash""#,
        r#""name": "job""#,
        r#""name": "nobody""#,
        r#""tool": "bash""#,
        r#""tool": "job""#,
        r#""function": "write_file""#,
        r#""action": "write""#,
        r#""action": "bash""#,
        r#""id": "j""#,
        r#""reason": "why""#,
        r#""command": "ls""#,
        r#""content": "<<EOF""#,
        r#""path": "a/b""#,
        r#""input": "text""#,
        r#""input": {"id": "k"}"#,
        r#""input": "{\"id\": \"k\"}""#,
        r#""args": {"command": "pwd", "content": "<<EOF"}"#,
        r#""args": ["x"]"#,
        r#""params": {"path": "c", "edits": [{"replacement": "d"}]}"#,
        r#""arguments": """#,
        r#""edits": [{"replacement": "one"}, {"replacement": "two"}]"#,
        r#""tool_call": {"name": "bash", "args": {"command": "in"}}"#,
        r#""function": {"name": "read\\_file", "arguments": {"path": "in"}}"#,
        r#""function": {"path": "in", "to": {"x": "y"}}"#,
        r#""tool_calls": [{"name": "bash", "command": "in"}, {"tool": "job"}]"#,
        r#""bash": {"command": "key"}"#,
        r#""write_file": {"path": "key", "content": "<<EOF"}"#,
        r#""type": "function""#,
    ];
    let damages = ["\"", " \"b\"", " \"b", " b\" ", "}", "]", ", "];
    let mut dice = Random::new(0x0ddb_a115);
    let (mut called, mut withdrawn) = (0, 0);
    for round in 0..60_000 {
        let mut keys: Vec<&str> = Vec::new();
        for _ in 0..=dice.below(4) {
            let member = *dice.pick(&members);
            if !keys.iter().any(|known| known.split(':').next() == member.split(':').next()) {
                keys.push(member);
            }
        }
        let object = format!("{{{}}}", keys.join(", "));
        let mut object = if dice.once_in(8) { format!("[{object}]") } else { object };
        let damaged = dice.once_in(2);
        for _ in 0..if damaged { 1 + dice.below(2) } else { 0 } {
            let at = dice.below(object.len() + 1);
            let damage = *dice.pick(&damages);
            object.insert_str(at, damage);
        }
        let bodies = "one\nEOF\n".repeat(object.matches("<<EOF").count());
        let reply = format!("```tool\n{object}\n{bodies}```\n");
        let mut announced: HashMap<String, (String, HashMap<String, String>)> = HashMap::new();
        let words = if round % 2 == 0 { "" } else { "no_catalog" };
        for event in events(&reply, words, 1 + dice.below(40), true) {
            match event {
                Event::Started { id, name } => {
                    announced.insert(id.into_owned(), (name.into_owned(), HashMap::new()));
                }
                Event::Progress { id, arg, text } => {
                    let texts = &mut announced.get_mut(id.as_ref()).expect("it was started").1;
                    texts.entry(arg.into_owned()).or_default().push_str(&text);
                }
                Event::Call { call, .. } => {
                    let Some((name, texts)) = announced.remove(&call.id) else { continue };
                    called += 1;
                    assert_eq!(name, call.name, "{reply}");
                    let args = serde_json::Value::Object(call.args);
                    for (arg, text) in texts {
                        let meant = args.pointer(&format!("/{arg}")).and_then(serde_json::Value::as_str);
                        // Only for some arguments does a body keep its last newline.
                        let agrees = meant.is_some_and(|meant| text == meant || text.strip_suffix('\n') == Some(meant));
                        let agrees = agrees || damaged && meant.is_some_and(|meant| meant.starts_with(&text));
                        assert!(agrees, "{arg} is {meant:?} and was announced as {text:?}: {reply}");
                    }
                }
                Event::Malformed { id, .. } | Event::Incomplete { id, .. } => {
                    withdrawn += usize::from(announced.remove(id.as_ref()).is_some());
                }
                _ => {}
            }
        }
        assert!(announced.is_empty(), "started and forgotten: {reply}");
    }
    assert!(called > 1000 && withdrawn > 1000, "{called} called, {withdrawn} withdrawn");
}

/// Cuts the reply of every case at every place. A started call has its announced name, and the progress of an argument
/// is the beginning of its text. The first call of each section in a dialect must be announced, even if only its name
/// is known.
#[test]
fn provisional_events_of_the_cases_agree_with_their_calls() {
    // Calls of these dialects are announced only when they are complete: such a call counts only if nothing follows it,
    // or its name is a key of its JSON.
    let unannounced = [Dialect::Sarashina, Dialect::BareJson, Dialect::Apertus];
    // The same is true for these forms of other dialects.
    let forms = ["another tag", "Command R", "the recipient in the head"];
    let is_whole = |dialect: Dialect, reply: &str| dialect == Dialect::Pythonic && !reply.contains("<|python_start|>");
    let mut seen: HashMap<Dialect, usize> = HashMap::new();
    for case in cases() {
        for cut in case.reply.char_indices().map(|(at, _)| at).chain([case.reply.len()]) {
            let (reply, title) = (&case.reply[..cut], &case.title);
            let mut announced: HashMap<String, (String, Vec<(String, String)>)> = HashMap::new();
            for event in events(reply, &case.options, 5, true) {
                match event {
                    Event::Started { id, name } => drop(announced.insert(id.into(), (name.into(), Vec::new()))),
                    Event::Progress { id, arg, text } => {
                        let texts = &mut announced.get_mut(id.as_ref()).expect("it was started").1;
                        texts.push((arg.into(), text.into()));
                    }
                    Event::Call { call, index, .. } => {
                        let began = announced.remove(&call.id);
                        // If the JSON was repaired, it may be invalid from its first key on, so the call need not be
                        // announced.
                        if let Some(dialect) = call.dialect.filter(|_| index == 0 && call.repairs.is_empty()) {
                            let whole = unannounced.contains(&dialect)
                                || is_whole(dialect, reply)
                                || forms.iter().any(|form| title.contains(form));
                            assert!(began.is_some() || whole, "{title}: {reply:?}");
                            assert!(began.iter().all(|(_, texts)| texts.is_empty()), "{title}: {reply:?}");
                            *seen.entry(dialect).or_default() += usize::from(began.is_some());
                        }
                        let Some((name, texts)) = began else { continue };
                        assert_eq!(name, call.name, "{title}: {reply:?}");
                        let args = serde_json::Value::Object(call.args);
                        for (arg, text) in texts {
                            let meant = args.pointer(&format!("/{arg}")).and_then(serde_json::Value::as_str);
                            let begins = meant.is_some_and(|meant| meant.starts_with(text.trim_end_matches('\n')));
                            assert!(begins, "{title}: {arg} is {meant:?} and was announced as {text:?}: {reply:?}");
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    for dialect in Dialect::ALL.iter().filter(|dialect| !unannounced.contains(dialect)) {
        assert!(
            seen.get(dialect).is_some_and(|announced| *announced > 0),
            "{dialect}: no call was announced: {seen:?}"
        );
    }
}

/// Parts of calls in dialects, and of texts around them.
const PARTS: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "<function=bash>",
    "<function=write_file>",
    "</function>",
    "<parameter=command>",
    "<parameter=content>",
    "</parameter>",
    "<function_calls>",
    "</function_calls>",
    "<invoke name=\"bash\">",
    "<parameter name=\"command\">",
    "<parameter name=\"command\" string=\"false\">",
    "</invoke>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "write_file",
    "<arg_key>path</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]x1",
    "bash{",
    "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls -l\"}}",
    "{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\", \"content\": \"x",
    "[{\"bash\": {\"command\": \"ls\"}}]",
    "{\"command\": \"pwd\"}",
    "\"}}",
    "}]",
    ", ",
    "<|tools_prefix|>",
    "<|tools_suffix|>",
    "<|python_start|>[",
    "<|python_end|>",
    "<|tool_call_start|>",
    "write_file(path=\"a\", content=",
    "bash(command=",
    "\"\"\"",
    "r'",
    "'",
    "\\",
    "\\x41",
    "\")",
    ")",
    "<start_function_call>call:bash{command:<escape>",
    "<escape>",
    "}<end_function_call>",
    "<|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|channel|>commentary to=functions.bash<|message|>",
    "<|channel|>analysis<|message|>",
    "<|call|>",
    "<|end|>",
    "<<EOF\n",
    "EOF",
    "text",
    " and ",
    "\n",
    "\n",
    "\r\n",
    "```tool\n",
    "```\n",
    "<",
    "</para",
    "> ",
    "- ",
];

/// Calls in dialects, each with a place for an arbitrary text.
const CALLS: &[&str] = &[
    "<tool_call>\n<function=bash>\n<parameter=command>\n@\n</parameter>\n</function>\n</tool_call>\n",
    "<tool_call>write_file\n<arg_key>content</arg_key>\n<arg_value>@</arg_value>\n</tool_call>\n",
    "<invoke name=\"bash\"><parameter name=\"command\">@</parameter></invoke>\n",
    "<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"@\"}}</tool_call>\n",
    "[TOOL_CALLS]bash[ARGS]{\"command\": \"@\"}\n",
    "<start_function_call>call:bash{command:<escape>@<escape>}<end_function_call>\n",
    "<|tools_prefix|>[{\"bash\": {\"command\": \"@\"}}]<|tools_suffix|>\n",
    "<function_calls>\nbash(command=\"@\")\n</function_calls>\n",
    "<|python_start|>[write_file(path='a', content=\"\"\"@\"\"\"), bash(command='@')]<|python_end|>\n",
    "<|tool_call_start|>[bash(command=r'@' \"@\")]<|tool_call_end|>\n",
    "<|open|>tools<|sep|><|open|>call tool=\"bash\"<|sep|><|open|>json type=\"object\"<|sep|>{\"command\": \"@\"}\
     <|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>\n",
    "<|open|>tools<|sep|><|open|>call tool=\"bash\"<|sep|><|open|>argument key=\"command\" type=\"string\"<|sep|>@\
     <|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>\n",
];

/// Calls in dialects are built from random parts and are mostly invalid. Their events do not depend on the pieces of
/// the reply, and agree with the call or are withdrawn.
#[test]
fn provisional_events_of_dialects_agree_with_their_calls() {
    let mut dice = Random::new(0xd1a1_ec75);
    let (mut called, mut withdrawn) = (0, 0);
    for _ in 0..6_000 {
        let mut some = || (0..dice.below(6)).map(|_| *dice.pick(PARTS)).collect::<String>();
        let (before, inside, after) = (some(), some(), some());
        let reply = if dice.once_in(2) {
            format!("{before}\n{}{after}", dice.pick(CALLS).replace('@', &inside))
        } else {
            format!("{before}{inside}{after}")
        };
        let words = *dice.pick(&[
            "dialects",
            "dialects length",
            "dialects no_catalog",
            "dialects profile=glm",
            "dialects small",
        ]);
        let emitted = events(&reply, words, usize::MAX / 2, true);
        for chunk in [1, 2 + dice.below(9)] {
            assert_eq!(events(&reply, words, chunk, true), emitted, "by {chunk}, {words}: {reply:?}");
        }
        let settled = events(&reply, &format!("{words} settled"), 3, true);
        assert_eq!(settled, events(&reply, words, 3, false), "{words}: {reply:?}");
        let mut open: HashMap<String, (String, HashMap<String, String>)> = HashMap::new();
        for event in emitted {
            match event {
                Event::Started { id, name } => {
                    assert!(open.is_empty(), "{words}: another one is open: {reply:?}");
                    open.insert(id.into_owned(), (name.into_owned(), HashMap::new()));
                }
                Event::Progress { id, arg, text } => {
                    let texts = &mut open.get_mut(id.as_ref()).expect("it was started").1;
                    texts.entry(arg.into_owned()).or_default().push_str(&text);
                }
                Event::Call { call, .. } => {
                    let Some((name, texts)) = open.remove(&call.id) else { continue };
                    called += usize::from(call.dialect.is_some());
                    assert_eq!(name, call.name, "{words}: {reply:?}");
                    let args = serde_json::Value::Object(call.args);
                    for (arg, text) in texts {
                        let meant = args.pointer(&format!("/{arg}")).and_then(serde_json::Value::as_str);
                        let begins = meant.is_some_and(|meant| meant.starts_with(text.trim_end_matches('\n')));
                        assert!(begins, "{words}: {arg} is {meant:?} and was announced as {text:?}: {reply:?}");
                    }
                }
                Event::Malformed { id, .. } | Event::Incomplete { id, .. } => {
                    withdrawn += usize::from(open.remove(id.as_ref()).is_some());
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "{words}: started and forgotten: {reply:?}");
    }
    assert!(called > 500 && withdrawn > 200, "{called} called, {withdrawn} withdrawn");
}

/// Callers that switch provisional events off get the same other events.
#[test]
fn without_a_preview_the_rest_is_the_same() {
    for case in cases() {
        let settled = format!("{} settled", case.options);
        for chunk in [1, 7, usize::MAX] {
            let emitted = events(&case.reply, &settled, chunk, true);
            assert_eq!(
                emitted,
                events(&case.reply, &case.options, chunk, false),
                "{}, in pieces of {chunk}",
                case.title
            );
        }
    }
}

/// Long prose in one piece is emitted in order, and at once.
#[test]
fn long_prose_is_emitted_in_order() {
    for end in ["", "word", "word\n"] {
        let mut parser = Parser::new(Options::default());
        parser.push("It begi");
        assert_eq!(poll_all(&mut parser).len(), 1);
        let long = format!("ns.\n{}{end}", "More and more.\n".repeat(20_000));
        parser.push(&long);
        let emitted = poll_all(&mut parser);
        let texts: String = emitted.into_iter().filter_map(text_of).collect();
        assert!(texts == long, "{} of {} bytes, {end:?}", texts.len(), long.len());
    }
}

/// The parser returns long texts without copying them, which must not change the events.
#[test]
fn long_texts_give_the_same_events_for_any_chunking() {
    for (length, escape) in [900, 1100, 5000, 90_000].into_iter().flat_map(|length| [(length, ""), (length, "\\n\\\"")])
    {
        let long = format!("{}{escape}", "an \u{e9} and ".repeat(8)).repeat(length / 80);
        let args =
            format!("{{\"content\": \"{long}\", \"edits\": [{{\"replacement\": \"{long}\"}}], \"path\": \"{long}\"}}");
        let block = format!("```tool\n{{\"name\": \"write_file\", \"args\": {args}}}\n```\n");
        let replies = [block.clone(), block.replace('\n', "\r\n"), format!("- {}", block.replace('\n', "\n  "))];
        for reply in replies.map(|reply| format!("{reply}\nbetween\n\n{reply}{}", block.replace(": {", ": ["))) {
            let emitted = events(&reply, "", usize::MAX, true);
            assert_eq!(outcomes(&emitted), (2, 1), "{}", reply.len());
            assert_eq!(emitted, events(&reply, "", 1009, true), "{}", reply.len());
        }
    }
}

fn poll_all(parser: &mut Parser) -> Vec<Event<'static>> {
    std::iter::from_fn(|| parser.poll().map(Event::into_owned)).collect()
}

/// After a doubtful closing fence the parser holds back all events until it can decide whether the block has ended.
#[test]
fn text_after_an_undecided_block_is_held_back() {
    let mut parser = Parser::new(Options::default());
    parser.push("```tool\n{\"name\": \"write_file\", \"args\": {\"content\": \"one\n");
    let emitted = poll_all(&mut parser);
    assert!(
        matches!(&emitted[..], [Event::Started { .. }, Event::Progress { text, .. }, ..] if text.starts_with("one")),
        "{emitted:?}"
    );
    for chunk in ["```\n", "Then prose.\n", "More.\n\n"] {
        parser.push(chunk);
        assert_eq!(poll_all(&mut parser), [], "after {chunk:?}");
    }
    parser.push("\"x\n");
    let emitted = poll_all(&mut parser);
    assert!(matches!(&emitted[0], Event::Malformed { id, .. } if id.as_ref() == "call_1"), "{emitted:?}");
    parser.push("Shown ");
    let shown: String = emitted.into_iter().chain(poll_all(&mut parser)).filter_map(text_of).collect();
    assert_eq!(shown, "\nThen prose.\nMore.\n\n\"x\nShown ");
}

fn text_of(event: Event<'_>) -> Option<String> {
    match event {
        Event::Text { text, .. } => Some(text.into_owned()),
        _ => None,
    }
}

/// A closing fence counts only when its line has ended. A CR at the end of a chunk may be the first half of a CRLF.
#[test]
fn a_closing_fence_waits_for_its_line_ending() {
    for (ending, more) in [("\n", ""), ("\r\n", ""), ("\r", "x")] {
        let mut options = Options::default();
        options.reasoning = Reasoning::Known; // or the call would wait for the end of the reply
        let mut parser = Parser::new(options);
        parser.push("```tool\n{\"name\": \"a\", \"args\": {}}\n```");
        let is_call = |event: &Event<'_>| matches!(event, Event::Call { .. });
        assert!(!poll_all(&mut parser).iter().any(is_call), "the line may continue");
        parser.push(&ending[..1]);
        assert_eq!(poll_all(&mut parser).iter().any(is_call), ending == "\n", "{ending:?}");
        parser.push(&ending[1..]);
        parser.push(more);
        let later = poll_all(&mut parser).iter().any(is_call);
        assert_eq!(later, ending != "\n", "{ending:?}");
    }
}

fn after(mut options: Options, set: impl Fn(&mut Options), reply: &str) -> Vec<Event<'static>> {
    set(&mut options);
    let mut parser = Parser::new(options);
    parser.push(reply);
    parser.finish(FinishReason::Stop);
    poll_all(&mut parser)
}

fn outcomes(events: &[Event<'_>]) -> (usize, usize) {
    let calls = events.iter().filter(|event| matches!(event, Event::Call { .. })).count();
    (calls, events.iter().filter(|event| matches!(event, Event::Malformed { .. })).count())
}

/// A reply that exceeds a limit gives an event. The limits are those for calls, in separate blocks or in one, for
/// nesting, and for the bytes of a block.
#[test]
fn exceeding_a_limit_emits_an_event() {
    let call = "{\"name\": \"a\", \"args\": {}}\n";
    let blocks = format!("```tool\n{call}```\n").repeat(66);
    assert_eq!(outcomes(&after(Options::default(), |_| {}, &blocks)), (64, 2));
    let one_block = format!("```tool\n{}```\n", call.repeat(65));
    assert_eq!(outcomes(&after(Options::default(), |_| {}, &one_block)), (0, 1));

    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": {open}{close}}}}}\n```\n")
    };
    assert_eq!(outcomes(&after(Options::default(), |_| {}, &nested(125))), (1, 0));
    assert_eq!(outcomes(&after(Options::default(), |_| {}, &nested(127))), (0, 1));
    assert_eq!(outcomes(&after(Options::default(), |options| options.limits.nesting = 9, &nested(8))), (0, 1));

    let large = format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"{}\"}}}}\n```\n", "x".repeat(1000));
    assert_eq!(outcomes(&after(Options::default(), |options| options.limits.block = 1000, &large)), (0, 1));
    assert_eq!(outcomes(&after(Options::default(), |options| options.limits.block = 2000, &large)), (1, 0));
}

/// Returns the joined events of a reply in pieces of about `chunk` bytes, polled after each; a reply in a single piece
/// is polled when it is finished. Lines and blocks have at most `most` bytes.
fn read(text: &str, bare: bool, most: usize, chunk: usize, reason: FinishReason) -> Vec<Event<'static>> {
    let mut options = Options::default();
    options.catalog = Some(toolfence_policy::toolset::catalog());
    options.bare = bare;
    options.limits.block = most;
    let mut parser = Parser::new(options);
    let mut events: Vec<Event<'static>> = Vec::new();
    let mut take = |parser: &mut Parser| {
        while let Some(event) = parser.poll() {
            let apart = match events.last_mut() {
                Some(last) => last.absorb(event),
                None => Some(event),
            };
            events.extend(apart.map(Event::into_owned));
        }
    };
    for piece in Pieces::every(text, chunk) {
        parser.push(piece);
        if chunk <= text.len() {
            take(&mut parser);
        }
    }
    parser.finish(reason);
    take(&mut parser);
    events
}

/// A line that exceeds the limit is cut at the same place for any chunking, and its rest does not count as a new line.
/// If the limit is less than one character, one character passes.
#[test]
fn long_lines_are_cut_alike_for_any_chunking() {
    let call = "{\"name\": \"bash\", \"args\": {\"command\": \"ls\"}}";
    let long = "x".repeat(60);
    let lines = format!("```tool {long}{call}\n```\n\n- ```tool {call}\n  {call}\n  ```\n```tool\n{call}{call}\n```\n");
    let wide = format!("\u{65e5}\u{672c}\n```tool\n{}\n```\n\u{1f600}\n", call.replace("ls", "\u{e9}\u{1f600}"));
    let texts = [(&*lines, false), (&*wide, false), (call, true), (&*format!("{call} x\n"), true), (&*wide, true)];
    for (text, bare) in texts {
        for (most, reason) in
            (0..=text.len()).flat_map(|most| [FinishReason::Stop, FinishReason::Cut].map(|reason| (most, reason)))
        {
            let whole = read(text, bare, most, usize::MAX, reason);
            for chunk in [1, 7, 40, text.len()] {
                assert_eq!(
                    read(text, bare, most, chunk, reason),
                    whole,
                    "at most {most}, in pieces of {chunk}: {text}"
                );
            }
        }
    }
}
