//! Tests the parser with its case files, and laws that hold for every one of them.
//!
//! A case is `%%% title | options`, the reply, a line `%%%`, and the emitted events, one per line. In a reply `␍` is a
//! carriage return, `␉` a tab, `␀` a NUL, and `␄` at the very end omits the last newline.

use serde_json::Value;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use toolfence_kit::{CaseFiles, Comparison, Pieces, Random, Reply};
use toolfence_protocol::parse::{self, Event, Ignored, Options, Parser, Reasoning, Span};
use toolfence_protocol::{Dialect, Dialects, FinishReason, Repair};

/// Returns every case of the folder.
pub(crate) fn cases() -> Vec<Reply> {
    CaseFiles::of("parse").replies()
}

pub(crate) fn options(words: &str) -> (Options, FinishReason) {
    let mut options = Options::default();
    // With known reasoning, every call is emitted at its own place in the reply.
    options.reasoning = Reasoning::Known;
    options.catalog = Some(toolfence_policy::toolset::catalog());
    let mut finish = FinishReason::Stop;
    for word in words.split_whitespace() {
        match word {
            "strict" => options.strict = true,
            "bare" => options.bare = true,
            "known" => options.reasoning = Reasoning::Known,
            "unknown" => options.reasoning = Reasoning::Unknown,
            "opened" => options.reasoning = Reasoning::Opened,
            "none" => options.dialects = Dialects::NONE,
            "dialects" => options.dialects = Dialects::ALL,
            "opt_in" => {
                options.dialects = options.dialects.with(Dialect::ShellBlock).with(Dialect::SearchReplace);
            }
            word if word.starts_with("profile=") => {
                let named = |dialect: &&Dialect| word["profile=".len()..] == *dialect.name();
                options.dialect = Some(*Dialect::ALL.iter().find(named).expect("a dialect"));
            }
            "settled" => options.settled_only = true,
            "no_catalog" => options.catalog = None,
            "length" => finish = FinishReason::Length,
            "cut" => finish = FinishReason::Cut,
            "small" => options.limits.block = 200,
            other => panic!("no option {other}"),
        }
    }
    (options, finish)
}

/// Returns the joined events of a reply that arrives in pieces of about `chunk` bytes.
pub(crate) fn events(reply: &str, words: &str, chunk: usize, progress: bool) -> Vec<Event<'static>> {
    events_by(reply, words, || (chunk, usize::MAX), progress)
}

/// Parses a text in pieces of the given lengths, and polls after each as often as given.
fn events_by(
    reply: &str,
    words: &str,
    mut step: impl FnMut() -> (usize, usize),
    progress: bool,
) -> Vec<Event<'static>> {
    let (options, finish) = options(words);
    let mut parser = Parser::new(options);
    let mut events: Vec<Event<'static>> = Vec::new();
    let mut take = |parser: &mut Parser, most: usize| {
        for _ in 0..most {
            let Some(event) = parser.poll() else { break };
            if !progress && matches!(event, Event::Started { .. } | Event::Progress { .. }) {
                continue;
            }
            join(&mut events, event);
        }
    };
    let polls = Cell::new(0);
    let length = || {
        let (length, often) = step();
        polls.set(often);
        length
    };
    for piece in Pieces::by(reply, length) {
        parser.push(piece);
        take(&mut parser, polls.get());
    }
    parser.finish(finish);
    take(&mut parser, usize::MAX);
    events
}

fn join(events: &mut Vec<Event<'static>>, event: Event<'_>) {
    let apart = match events.last_mut() {
        Some(last) => last.absorb(event),
        None => Some(event),
    };
    events.extend(apart.map(Event::into_owned));
}

fn describe(event: &Event<'_>) -> String {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    match event {
        Event::Text { text, .. } => format!("text {}", quoted(text)),
        Event::Reasoning { unopened: true, .. } => "unopened".to_owned(),
        Event::Reasoning { text, closed, .. } => format!("reasoning {closed:?} {}", quoted(text)),
        Event::Call { call, index, .. } => {
            let repairs: Vec<&str> = call.repairs.iter().map(|repair| repair.name()).collect();
            let dialect = call.dialect.map_or(String::new(), |dialect| format!("{dialect}: "));
            let mut line =
                format!("call {dialect}{} {} {}", call.id, call.name, sorted(&Value::Object(call.args.clone())));
            if *index > 0 {
                line += &format!(" #{index}");
            }
            if !repairs.is_empty() {
                line += &format!(" [{}]", repairs.join(" "));
            }
            if let Some(reason) = &call.reason {
                line += &format!(" reason={reason}");
            }
            line
        }
        Event::Malformed { error, .. } => format!("malformed {}:{} {}", error.line, error.column, error.message),
        Event::Incomplete { body, .. } => format!("incomplete {}", quoted(body)),
        Event::Ignored { why, id, name, .. } => {
            let which = id.iter().chain(name).map(|word| format!(" {word}")).collect::<String>();
            format!("ignored {}{which}", serde_json::to_value(why).unwrap().as_str().unwrap())
        }
        Event::ForgedResult { body, .. } => format!("forged {}", quoted(body)),
        Event::Started { id, name } => format!("started {id} {name}"),
        Event::Progress { id, arg, text } => format!("progress {id} {arg} {}", quoted(text)),
        other => format!("{other:?}"),
    }
}

/// Returns JSON with sorted keys. Whether a map keeps its order depends on the features of other crates in the build.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            let members: Vec<String> = members
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), sorted(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

#[test]
fn every_case_gives_its_events() {
    let cases = cases();
    assert!(cases.len() > 50, "the case files are there");
    let mut comparison = Comparison::new();
    for case in &cases {
        let progress = case.events.lines().any(|line| line.starts_with("started"));
        let got: Vec<String> =
            events(&case.reply, &case.options, usize::MAX / 2, progress).iter().map(describe).collect();
        comparison.expect_lines(&case.events, &case.title, &got);
    }
    comparison.finish();
}

/// Every case gives the same events at every chunking, alone and inside lists and quotes.
#[test]
fn chunking_does_not_change_the_events() {
    for case in cases() {
        for reply in variants(&case.reply) {
            let whole = events(&reply, &case.options, usize::MAX / 2, true);
            for chunk in [1, 2, 3, 5, 7, 11, 17] {
                assert_eq!(events(&reply, &case.options, chunk, true), whole, "{} by {chunk}: {reply:?}", case.title);
            }
        }
    }
}

/// While it is unknown whether the template opens reasoning, calls are held back until that is known or the reply ends.
/// If no closing tag appears, everything else is the same.
#[test]
fn calls_are_held_back_while_they_may_be_reasoning() {
    let is_call = |event: &Event<'_>| matches!(event, Event::Call { .. });
    let (mut held, mut thought) = (0, 0);
    let is_known = |case: &&Reply| case.options.split_whitespace().any(|word| ["known", "opened"].contains(&word));
    for case in cases().iter().filter(|case| case.options != "unknown" && !is_known(case)) {
        for reply in variants(&case.reply) {
            let unknown = format!("{} unknown", case.options);
            let whole = events(&reply, &unknown, usize::MAX / 2, true);
            for chunk in [1, 3, 8] {
                assert_eq!(events(&reply, &unknown, chunk, true), whole, "{} by {chunk}: {reply:?}", case.title);
            }
            let shown = |event: &Event<'_>| matches!(event, Event::Reasoning { unopened: true, .. });
            if let Some(at) = whole.iter().position(shown) {
                thought += 1;
                assert!(!whole[..at].iter().any(is_call), "{}: {reply:?}", case.title);
                continue;
            }
            let seen = |event: &Event<'_>| matches!(event, Event::Reasoning { .. }) || is_call(event);
            let first = whole.iter().position(seen).unwrap_or(whole.len());
            let (calls, others): (Vec<_>, Vec<_>) = whole.iter().cloned().partition(is_call);
            let known = events(&reply, &case.options, usize::MAX / 2, true);
            let (same, rest): (Vec<_>, Vec<_>) = known.into_iter().partition(is_call);
            assert_eq!((calls, others), (same, rest), "{}: {reply:?}", case.title);
            if case.options.contains("bare") || !whole.iter().any(is_call) {
                continue;
            }
            held += 1;
            let next = whole[first..].iter().find(|event| !is_call(event));
            assert!(matches!(next, None | Some(Event::Reasoning { .. })), "{}: {next:?} in {reply:?}", case.title);
        }
    }
    assert!(held > 500 && thought > 10, "{held} replies with calls, {thought} with thoughts");
}

/// A caller that polls only some events between two pieces, or none, gets the same events, because pending events keep
/// all their data.
#[test]
fn rare_polling_does_not_change_the_events() {
    let mut random = Random::new(5);
    for case in cases() {
        let short = variants(&case.reply).into_iter().map(|reply| (reply, 1));
        let long = case.reply.repeat(1 + 5000 / case.reply.len().max(1)); // more than the room that every reply has
        for (reply, times) in short.chain([(long, 5)]) {
            let whole = events(&reply, &case.options, usize::MAX / 2, true);
            for _ in 0..times {
                let longest = reply.len().min(3000) + 1;
                let step = || {
                    let length = [random.below(9), random.below(90), random.below(longest)];
                    (*random.pick(&length), *random.pick(&[0, 1, 2, usize::MAX]))
                };
                assert_eq!(events_by(&reply, &case.options, step, true), whole, "{}: {reply:?}", case.title);
            }
        }
    }
}

/// The parser splits a whole reply into pieces of 64 KB. A case across the end of a piece is read like one at any other
/// place.
#[test]
fn a_long_reply_is_read_as_a_short_one() {
    let mut random = Random::new(7);
    for case in cases() {
        for _ in 0..2 {
            let before = (64 << 10) - random.below(case.reply.len() + 3);
            let reply = format!("{}{}\n\n{}", "x".repeat(before % 3), "\u{20ac}".repeat(before / 3), case.reply);
            let (options, finish) = options(&case.options);
            let mut joined: Vec<Event<'static>> = Vec::new();
            parse::for_each(&reply, options, finish, |event| join(&mut joined, event));
            assert_eq!(joined, events(&reply, &case.options, usize::MAX / 2, true), "{}, {before}", case.title);
        }
    }
}

/// Long strings with every kind of content arrive in pieces of any length, and equal those of serde_json.
#[test]
fn long_strings_are_the_same_in_any_pieces() {
    let parts = ["words without anything ", "\\n", "\\\"", "\\\\", "\u{20ac}", "\\t", "x", "\\u00e9", "\\ud83d\\ude00"];
    let rare = ["\n", "\\d", "\u{1}", "\", \"more\": \"", "\\u00e9"];
    let mut random = Random::new(3);
    let (mut valid, mut all) = (0, 0);
    for _ in 0..120 {
        let seldom = random.below(2) * 600;
        let parts = &parts[..parts.len() - 2 * random.below(2)]; // mostly the short escapes are all there is
        let mut text = |most: usize| -> String {
            let length = 1 + random.below(most);
            let part = |_| {
                if seldom > 0 && random.below(seldom) == 0 { *random.pick(&rare) } else { *random.pick(parts) }
            };
            (0..length).map(part).collect()
        };
        let object = format!(
            "{{\"name\": \"edit\", \"args\": {{\"a\": \"{}\", \"b\": [\"{}\", \"{}\"]}}}}",
            text(1500),
            text(4000),
            text(300)
        );
        let reply = format!("so\n```tool\n{object}\n```\nthen\n");
        let whole = events(&reply, "", usize::MAX / 2, true);
        for _ in 0..4 {
            let chunk = [1 + random.below(20), 200 + random.below(200), 300 + random.below(9000)][random.below(3)];
            assert_eq!(events(&reply, "", chunk, true), whole, "by {chunk}: {reply}");
            let step = || (1 + [random.below(20), random.below(3000)][random.below(2)], usize::MAX);
            assert_eq!(events_by(&reply, "", step, true), whole, "{reply}");
        }
        all += 1;
        if toolfence_protocol::json::strict(&object).is_err() {
            continue;
        }
        let meant: Value = serde_json::from_str(&object).unwrap();
        let args = whole.iter().find_map(|event| match event {
            Event::Call { call, .. } => Some(Value::Object(call.args.clone())),
            _ => None,
        });
        assert_eq!(args.as_ref(), Some(&meant["args"]), "{object}");
        valid += 1;
    }
    assert!(valid > 40 && valid < all, "{valid} of {all}");
}

/// Returns variants of the reply: unchanged, with other line endings, in a list, in a quote, repeated, and cut at
/// several places.
fn variants(reply: &str) -> Vec<String> {
    let crlf = reply.replace('\n', "\r\n");
    let cr = reply.replace('\n', "\r");
    let list = format!("- {}", reply.replace('\n', "\n  "));
    let quote = format!("> {}", reply.replace('\n', "\n> "));
    let twice = format!("{reply}\n{reply}");
    let mut all = vec![reply.to_owned(), crlf, cr, list, quote, twice];
    all.extend(reply.char_indices().step_by(7).map(|(at, _)| reply[..at].to_owned()));
    all
}

/// The spans of all events cover the whole reply, in order and without a gap.
#[test]
fn spans_cover_the_reply() {
    for case in cases() {
        for reply in variants(&case.reply) {
            let mut at = 0;
            let mut last: Option<Span> = None;
            let mut events = events(&reply, &case.options, 5, false);
            if case.options.contains("unknown") {
                // Calls that were held back are delivered after the text that follows them.
                events.sort_by_key(|event| span(event).map(|span| span.start));
            }
            for event in events {
                let span = match &event {
                    Event::Ignored { why, span, .. } if *why != Ignored::Reasoning => {
                        assert!(span.end <= at, "{}: an ignored block is shown before its event", case.title);
                        continue;
                    }
                    Event::Call { call, span, .. } if call.repairs.contains(&Repair::WrongWord) => {
                        assert!(span.end <= at, "{}: a call that counts only without others was shown", case.title);
                        continue;
                    }
                    Event::Text { span, text } => {
                        assert_eq!(&reply[span.start..span.end], text);
                        *span
                    }
                    other => span(other).unwrap_or_else(|| panic!("{other:?}")),
                };
                if last == Some(span) {
                    continue; // several calls of one block
                }
                assert_eq!(span.start, at, "{}: {event:?} in {reply:?}", case.title);
                at = span.end;
                last = Some(span);
            }
            assert_eq!(at, reply.len(), "{}: {reply:?}", case.title);
        }
    }
}

fn span(event: &Event<'_>) -> Option<Span> {
    match event {
        Event::Text { span, .. }
        | Event::Reasoning { span, .. }
        | Event::Call { span, .. }
        | Event::Malformed { span, .. }
        | Event::Incomplete { span, .. }
        | Event::Ignored { span, .. }
        | Event::ForgedResult { span, .. } => Some(*span),
        _ => None,
    }
}

/// Quoting a whole reply, in a block quote or in a fence longer than any in it, never leaves a call.
#[test]
fn a_quoted_reply_contains_no_call() {
    for case in cases().iter().filter(|case| case.options.is_empty() && !case.reply.contains("think")) {
        let quote = format!("> {}", case.reply.trim_end_matches(['\n', '\r']).replace(['\n', '\r'], "\n> "));
        let fence = "`".repeat(toolfence_protocol::fence::safe_length(&case.reply));
        let fenced = format!("{fence}markdown\n{}\n{fence}\n", case.reply);
        for reply in [quote, fenced] {
            let parsed = toolfence_protocol::parse::parse(&reply);
            assert!(parsed.calls.is_empty(), "{}: {reply:?}", case.title);
            assert_eq!(parsed.text, reply, "{}", case.title);
        }
    }
}

/// Returns tokens of dialects, and tags of reasoning, that occur in the cases.
fn tokens(cases: &[Reply]) -> Vec<String> {
    const MOST: usize = 40;
    let ends = [('<', '>'), ('[', ']')];
    let mut tokens = BTreeSet::new();
    for case in cases {
        for (at, c) in case.reply.char_indices() {
            let Some((_, end)) = ends.iter().find(|(begin, _)| *begin == c) else { continue };
            let inside = case.reply[at + 1..].split(*end).next().unwrap_or_default();
            let named = !inside.is_empty() && inside.len() < MOST && !inside.contains([' ', '\n', '\r', '"', '{', c]);
            if named && at + inside.len() + 2 <= case.reply.len() {
                tokens.insert(case.reply[at..at + inside.len() + 2].to_owned());
            }
        }
    }
    tokens.into_iter().collect()
}

/// Returns a text as a whole, quoted in several ways outside of any other container.
fn quotes(text: &str) -> Vec<String> {
    let with = |first: &str, others: &str| {
        format!("{first}{}\n", text.trim_end_matches(['\n', '\r']).replace(['\n', '\r'], &format!("\n{others}")))
    };
    let mut all = vec![
        with("> ", "> "),
        with(">", ">"),
        with("   > ", ">"),
        with("> > ", "> > "),
        with("> - ", ">   "),
        with("- > ", "  > "),
        with("1. - > ", "     > "),
        with("Text.\n\n    ", "    "),
        with("- item\n\n      ", "      "),
    ];
    let (backticks, tildes) = ("`".repeat(toolfence_protocol::fence::safe_length(text)), text.replace("~~~", "~ ~ ~"));
    all.push(format!("{backticks}markdown\n{text}\n{backticks}\n"));
    all.push(format!("~~~\n{tildes}\n~~~\n"));
    all.push(format!("- {backticks}\n  {}\n  {backticks}\n", text.replace(['\n', '\r'], "\n  ")));
    all.push(format!("<!--\n{}\n-->\n", text.replace("--", "- -")));
    all.push(format!("<pre>\n{}\n</pre>\n", text.replace("</", "<")));
    all
}

/// No dialect reads a call or a host marker in a quoted reply, whatever the quotation is. Tokens of another dialect or
/// tags of reasoning, inside or before the quote, do not change that.
#[test]
fn quoted_text_never_runs_in_any_dialect() {
    let all = cases();
    let tokens = tokens(&all);
    assert!(tokens.len() > 100, "{tokens:?}");
    let mut random = Random::new(11);
    let mut looked_at = 0;
    let acts = |event: &Event<'_>| match event {
        // A call in a fence with the wrong word is a guess, and does not occur in a text quoted in prose.
        Event::Call { call, .. } => !call.repairs.contains(&Repair::WrongWord),
        Event::Malformed { .. } | Event::Incomplete { .. } | Event::ForgedResult { .. } => true,
        Event::Ignored { why, .. } => *why == Ignored::WrongForm,
        _ => false,
    };
    let mut check = |reply: &str, words: &str, title: &str| {
        looked_at += 1;
        let events = events(reply, words, usize::MAX / 2, false);
        let acting = events.iter().find(|event| acts(event));
        assert!(acting.is_none(), "{title} | {words}: {} in {reply:?}", describe(acting.unwrap()));
    };
    for case in &all {
        if case.options.contains("bare") {
            continue;
        }
        // If the template opened the reasoning, its first closing tag ends it even in a quote. A call after the tag on
        // the same line is still quoted.
        let quoted = format!("> {}\n", case.reply.trim_end_matches(['\n', '\r']).replace(['\n', '\r'], "\n> "));
        for opened in [quoted.clone(), format!("> a {quoted}")] {
            check(&opened, "dialects opened", &case.title);
        }
        check(&format!("<think>\n{quoted}"), "dialects", &case.title);
        // SEARCH/REPLACE blocks that have no fence of their own are normally written inside a fence, so there they are
        // not quoted.
        let bare_blocks = case.reply.contains("\n<<<<<<< SEARCH") && !case.reply.contains("```");
        for words in ["dialects", "dialects unknown", "dialects opt_in"] {
            if bare_blocks && words == "dialects opt_in" {
                continue;
            }
            for quoted in quotes(&case.reply) {
                check(&quoted, words, &case.title);
            }
            for _ in 0..6 {
                let token = random.pick(&tokens);
                let glue = *random.pick(&["", " ", "\n", "\n\n", " text ", "x"]);
                for quoted in quotes(&format!("{token}{glue}{}", case.reply)) {
                    check(&quoted, words, &case.title);
                }
            }
        }
    }
    assert!(looked_at > 10_000, "{looked_at} quotes");
}

#[test]
fn a_reset_parser_starts_from_the_beginning() {
    let mut parser = Parser::new(Options::default());
    parser.push("```tool\n{\"name\": \"x\"");
    while parser.poll().is_some() {}
    parser.reset();
    parser.push("text");
    parser.finish(FinishReason::Stop);
    assert!(matches!(parser.poll(), Some(Event::Text { text, .. }) if text == "text"));
    assert_eq!(parser.poll(), None);
}

#[test]
fn prose_is_emitted_without_delay() {
    let mut parser = Parser::new(Options::default());
    let mut shown = String::new();
    for (chunk, wanted) in
        [("He", "He"), ("llo\n", "Hello\n"), ("- ", "Hello\n- "), ("it", "Hello\n- it"), ("em\n``", "Hello\n- item\n")]
    {
        parser.push(chunk);
        while let Some(Event::Text { text, .. }) = parser.poll() {
            shown += &text;
        }
        assert_eq!(shown, wanted);
    }
}

/// The parser reaches the end of every hostile shape. `.ci/steps` checks by counting that the cost is linear.
#[test]
fn hostile_replies_are_parsed_to_the_end() {
    let shapes: [(&str, String); 16] = [
        ("nested quotes", "> ".repeat(50_000) + "x\n"),
        ("nested items", "- ".repeat(50_000) + "x\n" + &"\n".repeat(50_000)),
        ("stars", "* ".repeat(50_000) + "a\n"),
        ("blanks", " ".repeat(200_000)),
        ("backticks", "`".repeat(200_000)),
        ("unclosed string", format!("```tool\n{{\"name\": \"{}", "a\n".repeat(100_000))),
        ("candidates", format!("```tool\n{{\"name\": \"{}", "\n```\n".repeat(50_000))),
        ("blocks", "```tool\n{\"a\": \"\n```\n".repeat(10_000)),
        ("nesting", format!("```tool\n{}\n```\n", "[".repeat(100_000))),
        ("quotes in json", format!("```tool\n{}\n```\n", "\"".repeat(100_000))),
        ("definitions", "[a]: b\n".repeat(20_000) + "===\n"),
        ("tags", "<think".repeat(30_000)),
        ("shell quotes", format!("```bash\n{}\n```\n", "$((\"$(`<<a ".repeat(20_000))),
        ("shell candidates", format!("```bash\n'{}", "\n```\n".repeat(50_000))),
        ("paths before fences", "a\n```\n".repeat(50_000)),
        ("marks", "a\n```\n<<<<<<< SEARCH\n```\n".repeat(10_000)),
    ];
    for (name, reply) in shapes {
        for words in ["", "opt_in"] {
            let started = std::time::Instant::now();
            let _ = events(&reply, words, 64, true);
            assert!(started.elapsed().as_secs() < 20, "{name}: {:?}", started.elapsed());
        }
    }
}
