//! Tests that the parser reads everything that the grammar allows, with random replies and their expected calls.

mod gbnf;

use gbnf::{Grammar, Step};
use serde_json::{Value, json};
use toolfence_kit::Random;
use toolfence_protocol::grammar::{self, GrammarOptions, Start};
use toolfence_protocol::parse::{Event, Options, Parser};
use toolfence_protocol::{Catalog, FinishReason, Param, ParamKind, ToolCall, ToolSpec};

const REPLIES: u64 = 1_500;

fn builtins() -> Catalog {
    toolfence_policy::toolset::builtins().iter().cloned().collect()
}

/// Returns one tool with every kind of argument, and names that try to break out.
fn strange() -> Catalog {
    let param = |name: &'static str, kind| Param::new(name, kind, "");
    let text = || ParamKind::Text { content: true };
    let inner = vec![param("flag", ParamKind::Flag), param("deep", text()).required(), param("any", ParamKind::Any)];
    let fields = vec![param("any", ParamKind::Any), param("rows", ParamKind::Objects(inner)), param("body", text())];
    let own = ToolSpec::new("own \"tool\"\n```", "Everything at once.")
        .param(param("optional first", ParamKind::Patch))
        .param(param("n", ParamKind::Integer { least: -1234, most: 57 }).required())
        .param(param("big", ParamKind::Integer { least: i64::MIN, most: i64::MAX }))
        .param(param("huge", ParamKind::Integer { least: i64::MAX - 3, most: i64::MAX }))
        .param(
            param("choice", ParamKind::Choice(vec!["<<EOF".into(), "\"".into(), "```".into(), "\\u003c".into()]))
                .required(),
        )
        .param(param("<<EOF", ParamKind::Texts))
        .param(param("fields", ParamKind::Objects(fields)).required())
        .param(param("none", ParamKind::Choice(Vec::new())))
        .param(param("any", ParamKind::Any));
    let never = ToolSpec::new("never", "").param(param("none", ParamKind::Choice(Vec::new())).required());
    [own, never, ToolSpec::new("own--tool----", "No arguments.")].into_iter().collect()
}

fn small(start: Start) -> GrammarOptions {
    let mut options = GrammarOptions::default();
    (options.start, options.most_calls) = (start, 3);
    (options.longest_text, options.longest_content, options.most_lines, options.most_items) = (12, Some(20), 6, 3);
    options
}

fn read(reply: &str, bare: bool, catalog: &Catalog) -> Vec<Event<'static>> {
    let mut options = Options::default();
    (options.strict, options.bare, options.catalog) = (true, bare, Some(catalog.clone().into()));
    let mut parser = Parser::new(options);
    parser.push(reply);
    parser.finish(FinishReason::Stop);
    let events = std::iter::from_fn(|| parser.poll().map(Event::into_owned));
    let mut events: Vec<_> =
        events.filter(|event| !matches!(event, Event::Started { .. } | Event::Progress { .. })).collect();
    // Calls may be held back to the end of the reply, so the events are sorted by position.
    events.sort_by_key(|event| match event {
        Event::Text { span, .. } | Event::Call { span, .. } => span.start,
        _ => 0,
    });
    events
}

/// Returns the object between `start` and `end`, with its tags replaced by the bodies in the steps.
fn object(reply: &str, steps: &[Step], start: usize, end: usize) -> Value {
    let of = |rule: &'static str| {
        steps.iter().filter(move |step| step.rule == rule && step.start >= start && step.end <= end)
    };
    let line_end = reply[start..end].find('\n').map_or(end, |at| start + at);
    let (mut text, mut at) = (String::new(), start);
    for (tag, body) in of("tag").zip(of("body")) {
        let body = reply[body.start..body.end].strip_suffix("EOF\n").unwrap();
        text.push_str(&reply[at..tag.start]);
        text.push_str(&Value::from(body).to_string());
        at = tag.end;
    }
    assert_eq!(of("tag").count(), of("body").count());
    serde_json::from_str(&(text + &reply[at..line_end])).unwrap_or_else(|error| panic!("{error}: {reply}"))
}

/// Removes the last newline of a body except in contents and patches.
fn without_last_newline(mut wanted: Value) -> Value {
    if let Some(Value::String(command)) = wanted.pointer_mut("/args/command")
        && command.ends_with('\n')
    {
        command.pop();
    }
    wanted
}

/// Returns the calls recorded in the steps.
fn expected_calls(reply: &str, steps: &[Step], bare: bool) -> Vec<Value> {
    if bare {
        return vec![object(reply, steps, 0, reply.len())];
    }
    let blocks = steps.iter().filter(|step| step.rule == "block");
    blocks
        .map(|block| {
            let start = block.start + "```tool\n".len();
            let has_body = steps.iter().any(|s| s.rule == "body" && s.start > start && s.end <= block.end);
            let wanted = object(reply, steps, start, block.end);
            if has_body { without_last_newline(wanted) } else { wanted }
        })
        .collect()
}

fn as_written(call: &ToolCall) -> Value {
    let mut value = json!({"name": call.name, "args": call.args});
    if let Some(reason) = &call.reason {
        value["reason"] = reason.as_str().into();
    }
    value
}

/// Reads one generated reply and compares its calls; returns their number.
fn check(reply: &str, steps: &[Step], bare: bool, catalog: &Catalog) -> Result<usize, String> {
    let (mut calls, mut at) = (Vec::new(), 0);
    for event in read(reply, bare, catalog) {
        match event {
            Event::Call { mut call, span, .. } => {
                calls.push(as_written(&call));
                // The grammar allows any text as a path. A path of only white space is read, and the catalog refuses
                // it.
                let resolved = catalog.resolve(&mut call).map(drop).map_err(|failure| failure.message.to_string());
                resolved.or_else(|why| if why.starts_with("The path is blank") { Ok(()) } else { Err(why) })?;
                at = span.end;
            }
            Event::Text { text, span } if span.start == at && text == reply[span.start..span.end] => at = span.end,
            Event::Malformed { error, .. } => return Err(error.message.to_string()),
            other => return Err(format!("{other:?}")),
        }
    }
    let expected = expected_calls(reply, steps, bare);
    if calls == expected { Ok(calls.len()) } else { Err(format!("{calls:?} instead of {expected:?}")) }
}

fn walk_and_check(catalog: &Catalog, options: &GrammarOptions, replies: u64) -> usize {
    let text = grammar::gbnf(catalog, options);
    let grammar = Grammar::read(&text);
    assert!(!grammar.is_left_recursive());
    let bare = options.start == Start::Bare;
    let calls = (0..replies).map(|seed| {
        let (reply, steps) = grammar.walk(&mut Random::new(seed));
        check(&reply, &steps, bare, catalog).unwrap_or_else(|error| panic!("{error}\n{reply}"))
    });
    calls.sum()
}

#[test]
fn every_reply_of_the_grammar_reads_strictly_and_exactly() {
    for start in [Start::Reply, Start::Trigger, Start::Bare] {
        let calls = walk_and_check(&builtins(), &small(start), REPLIES);
        println!("{start:?}: {REPLIES} replies, {calls} calls, all strict, exact and of their schema");
        assert!(calls as u64 >= REPLIES);
    }
}

#[test]
fn a_grammar_for_any_single_tool_allows_only_valid_calls() {
    for spec in toolfence_policy::toolset::builtins() {
        let catalog: Catalog = [spec.clone()].into_iter().collect();
        let mut options = small(Start::Reply);
        (options.least_calls, options.most_calls) = (1, 1);
        assert_eq!(walk_and_check(&catalog, &options, 300), 300, "{}", spec.name);
    }
}

#[test]
fn replies_with_default_bounds_are_read() {
    for start in [Start::Reply, Start::Trigger, Start::Bare] {
        let mut options = GrammarOptions::default();
        options.start = start;
        assert!(walk_and_check(&builtins(), &options, 20) > 0);
    }
}

#[test]
fn replies_without_bounds_are_read() {
    for start in [Start::Reply, Start::Bare] {
        let mut options = small(start);
        (options.least_calls, options.endless) = (1, true);
        assert!(walk_and_check(&builtins(), &options, 300) >= 300);
        let text = grammar::gbnf(&builtins(), &options);
        // These rules have no limit: strings in the protocol's own spelling, numbers, and lists whose elements have
        // bodies.
        assert!(text.contains("char*") && text.contains("next-text*"), "{text}");
    }
}

/// In an argument that takes any JSON, the model chooses the keys, so a key may be repeated. Nothing else may be wrong
/// with the replies.
#[test]
fn tools_with_hostile_names_do_not_break_the_grammar() {
    for (start, endless) in [(Start::Reply, false), (Start::Bare, false), (Start::Reply, true)] {
        let mut options = small(start);
        (options.least_calls, options.endless) = (1, endless);
        let grammar = Grammar::read(&grammar::gbnf(&strange(), &options));
        let (mut good, mut twice) = (0, 0);
        for seed in 0..REPLIES {
            let (reply, steps) = grammar.walk(&mut Random::new(seed));
            match check(&reply, &steps, start == Start::Bare, &strange()) {
                Ok(_) => good += 1,
                Err(error) if error.contains("twice") || error.contains("duplicate") => twice += 1,
                Err(error) => panic!("{error}\n{reply}"),
            }
        }
        // Without bounds, objects are deeper, and so a repeated key is more frequent.
        assert!(good > if endless { twice } else { 9 * twice }, "{good} good, {twice} with a key twice");
    }
}

/// Every restriction of the grammar is necessary: without one, the parser reads a reply in another way.
#[test]
fn a_looser_grammar_is_detected() {
    let text = grammar::gbnf(&builtins(), &small(Start::Reply));
    let line = "mark{0,3} text?";
    let starts = [
        "```tool",
        "```",
        "~~~~",
        "<!--",
        "<?",
        "<div>",
        "</x-y >",
        "<think>",
        "[THINK]",
        "[/THINK]",
        "◁think▷",
        "\u{feff}<script ",
    ];
    let starts = starts.map(|start| (line, format!("mark{{0,3}} (text | \"{start}\")?")));
    let others = [
        ("body-rest | \"<\"{1,8})", "body-rest | \"<\"{0,8})"),
        ("\"EO\" [^F<", "\"EO\" [^Q<"),
        ("[-~]? [ \\t]{0,8} [", "[-~]? [ \\t]{0,8} \"EOF\"? ["),
        ("[dD] [0-7]", "[dD] [0-9]"),
        ("\"000\" [1-9a-fA-F]", "\"000\" [0-9a-fA-F]"),
        ("char ::= [^\"\\\\\\x00-\\x1F", "char ::= [^\"\\\\\\x00-\\x08"),
        ("chars ::= \"<\" |", "chars ::= \"<\" | \"<<EOT\" |"),
        ("\"6\" (\"0\" (\"0\"))", "\"6\" (\"0\" (\"1\"))"),
        ("\"<<EOF\\\"\"", "\"<<EOT\\\"\""),
    ];
    for (strict, loose) in starts.into_iter().chain(others.map(|(strict, loose)| (strict, loose.to_owned()))) {
        let grammar = Grammar::read(&text.replace(strict, &loose));
        assert!(text.contains(strict), "{strict}\n{text}");
        let fails = (0..4 * REPLIES).any(|seed| {
            let (reply, steps) = grammar.walk(&mut Random::new(seed));
            check(&reply, &steps, false, &builtins()).is_err()
        });
        assert!(fails, "the looser grammar passes: {loose}");
    }
}

#[test]
fn a_catalog_without_tools_allows_prose_alone() {
    for (start, calls) in [(Start::Reply, 0), (Start::Trigger, 0)] {
        assert_eq!(walk_and_check(&Catalog::new(), &small(start), 50), calls);
    }
    assert_eq!(grammar::json_schema(&Catalog::new(), &small(Start::Bare)), json!(false));
}
