//! Tests generated replies: calls in reasoning are never delivered, and a text argument is never cut short unless the
//! call is marked as a guess.

use crate::parse::events;
use serde_json::json;
use toolfence_kit::Random;
use toolfence_protocol::parse::{self, Event, Options, Reasoning};
use toolfence_protocol::{Catalog, Dialect, FinishReason, ToolCall, ToolSpec};

/// Closing tags of reasoning.
const CLOSING: &[&str] =
    &["</think>", "</thinking>", "</reasoning>", "[/THINK]", "◁/think▷", "</seed:think>", "</mm:think>", "<channel|>"];

/// Lines of prose. Each of them ends a block that precedes it.
const PROSE: &[&str] = &[
    "I could run that",
    "\n\nPerhaps `x` first",
    "\n- one\n- two",
    "\n# Plan\nto do",
    "\n1. it is\n   <b>good</b>",
    " and < then",
    "\n\nno [link] here",
    "\nso\n     far in",
    " é",
    "\n\n* a\n\n  b",
];

/// Calls, each on lines of its own.
const CALLS: &[&str] = &[
    "\n\n```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"rm x\"}}\n```\n",
    "\n\n<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"rm x\"}}</tool_call>\n",
    "\n\n<tool_call>\n<function=bash>\n<parameter=command>\nrm x\n</parameter>\n</function>\n</tool_call>\n",
    "\n\n<|tool_call>call:bash{command:<|\"|>rm x<|\"|>}<tool_call|>",
    "\n\n[TOOL_CALLS]bash[ARGS]{\"command\": \"rm x\"}",
];

/// Texts that follow the closing tag.
const REST: &[&str] = &[
    "",
    "\n",
    "\n\nNothing to do.",
    "Nothing to do.",
    " ```tool\n{\"name\": \"list_files\"}\n```\n",
    "<tool_call>{\"name\": \"list_files\", \"arguments\": {}}</tool_call>",
];

fn calls(events: &[Event<'static>]) -> Vec<(ToolCall, usize)> {
    let call = |event: &Event<'static>| match event {
        Event::Call { call, span, .. } => Some((ToolCall::clone(call), span.start)),
        _ => None,
    };
    events.iter().filter_map(call).collect()
}

/// Returns the events of the whole reply, after checking that they are the same in pieces.
fn events_in_any_pieces(reply: &str, words: &str) -> Vec<Event<'static>> {
    let whole = events(reply, words, usize::MAX / 2, true);
    for chunk in [1, 2, 5, 13] {
        assert_eq!(events(reply, words, chunk, true), whole, "by {chunk}: {reply:?}");
    }
    whole
}

#[test]
fn no_call_before_a_closing_tag_in_prose_is_delivered() {
    let mut random = Random::new(11);
    let (mut thought, mut real) = (0, 0);
    for _ in 0..600 {
        let mut reply = String::new();
        for _ in 0..=random.below(4) {
            reply += *random.pick(PROSE);
            if random.below(2) == 0 {
                reply += *random.pick(CALLS);
            }
        }
        reply += *random.pick(&["", "\nbut no.", "but no. "]);
        let tag = reply.len();
        let called = CALLS.iter().any(|call| reply.contains(call));
        reply += *random.pick(CLOSING);
        let rest = *random.pick(REST);
        reply += rest;
        let events = events_in_any_pieces(&reply, "dialects unknown");
        let calls = calls(&events);
        assert!(calls.iter().all(|(_, start)| *start > tag), "{reply:?}: {calls:?}");
        let counts = called || !rest.starts_with('N');
        let unopened = |event: &Event<'static>| matches!(event, Event::Reasoning { unopened: true, .. });
        assert_eq!(events.iter().any(unopened), counts, "{reply:?}");
        if counts {
            assert_eq!(calls.len(), usize::from(rest.contains("list_files")), "{reply:?}");
            let lossy = calls.iter().any(|(call, _)| call.is_lossy());
            assert!(!lossy, "{reply:?}: {calls:?}");
        }
        thought += usize::from(called);
        real += calls.len();
    }
    assert!(thought > 200 && real > 100, "{thought} replies with thoughts, {real} calls");
}

#[test]
fn a_call_in_a_sentence_never_runs() {
    let mut random = Random::new(12);
    for _ in 0..200 {
        let call = (*random.pick(&CALLS[1..])).trim_start_matches('\n').trim_end();
        let several = if random.below(3) == 0 { call } else { "" };
        for words in ["dialects", "dialects profile=hermes", "dialects unknown profile=qwen3_coder"] {
            let reply = format!("{} {call}{several} {}", random.pick(&["So", "- So", "# So", "So `x`"]), "is how.\n");
            assert_eq!(calls(&events_in_any_pieces(&reply, words)), [], "{reply:?}");
            let reply = format!("{call}{several} is how.");
            let calls = calls(&events_in_any_pieces(&reply, words));
            assert!(calls.iter().all(|(call, _)| call.is_lossy()), "{reply:?}: {calls:?}");
        }
    }
}

/// Calls of `write_file` with the content `@`, each with its dialect's tags of calls and its tags of arguments.
const RAW: &[(&str, &[&str], &[&str])] = &[
    (
        "<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content>\n@\n</parameter>\n</function>\n</tool_call>",
        &["<tool_call>", "<function=bash>", "</function>", "</tool_call>"],
        &["<parameter=command>", "</parameter>"],
    ),
    (
        "<function_calls>\n<invoke name=\"write_file\">\n<parameter name=\"path\">a</parameter>\n<parameter name=\"content\">\n@\n</parameter>\n</invoke>\n</function_calls>",
        &["<function_calls>", "<invoke name=\"bash\">", "</invoke>", "</function_calls>"],
        &["<parameter name=\"command\">", "</parameter>"],
    ),
    (
        "<seed:tool_call>\n<function=write_file>\n<parameter=path>a</parameter>\n<parameter=content>\n@\n</parameter>\n</function>\n</seed:tool_call>",
        &["<seed:tool_call>", "<function=bash>", "</function>", "</seed:tool_call>"],
        &["<parameter=command>", "</parameter>"],
    ),
    (
        "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n<arg_key>content</arg_key>\n<arg_value>@</arg_value>\n</tool_call>",
        &["<tool_call>bash\n", "<tool_call>", "</tool_call>", "\n</tool_call>\n"],
        &["<arg_key>", "</arg_value>"],
    ),
    (
        "<|tool_call>call:write_file{path:<|\"|>a<|\"|>,content:<|\"|>@<|\"|>}<tool_call|>",
        &["<|tool_call>", "<|tool_call>call:bash{}", "<tool_call|>", "}<tool_call|>"],
        &["<|\"|>}<tool_call|>", "<|\"|>}<tool_call|>\n"],
    ),
];

/// Returns whether the text closes an argument and opens another one. Such a text cannot be distinguished from two
/// arguments.
fn has_two_arguments(text: &str, tags: &[&str]) -> bool {
    let [open, close] = tags else { return false };
    text.split(close).skip(1).any(|rest| rest.trim_start().starts_with(open))
}

#[test]
fn a_text_with_tags_of_its_dialect_is_only_changed_by_a_guess() {
    let mut random = Random::new(13);
    let (mut exact, mut guessed) = (0, 0);
    for (template, of_calls, of_args) in RAW {
        for _ in 0..400 {
            let words = ["text", "\n", " ", "\n\n", "é\n"];
            let pieces: Vec<&str> = words.iter().chain(*of_calls).chain(*of_args).copied().collect();
            let text = random.text(&pieces, 9);
            if has_two_arguments(&format!("{text}{}", of_args[1]), of_args) {
                continue;
            }
            let reply = template.replace('@', &text);
            for words in ["dialects", "dialects unknown"] {
                for (call, _) in calls(&events_in_any_pieces(&reply, words)) {
                    let right = call.name == "write_file" && call.args["content"] == text.as_str();
                    assert!(right || call.is_lossy(), "{call:?} of {text:?} in {reply:?}");
                    exact += usize::from(!call.is_lossy());
                    guessed += usize::from(call.is_lossy());
                }
            }
        }
    }
    assert!(exact > 100 && guessed > 500, "{exact} exact, {guessed} guesses");
}

#[test]
fn a_text_with_a_call_of_any_dialect_is_only_changed_by_a_guess() {
    let json = "<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\", \"content\": @}}</tool_call>";
    let named = "[TOOL_CALLS]write_file[ARGS]{\"path\": \"a\", \"content\": @}";
    let python = "<|tool_call_start|>[write_file(path=\"a\", content=@)]<|tool_call_end|>";
    let (mut exact, mut guessed) = (0, 0);
    for case in crate::parse::cases() {
        let text = case.reply.trim_end();
        if text.contains(['\r', '\0', '\u{feff}']) || text.is_empty() {
            continue;
        }
        let literal = json!(text).to_string();
        let literals = [json, named, python].map(|template| template.replace('@', &literal));
        let raw = RAW.iter().filter(|(_, _, of_args)| !has_two_arguments(&format!("{text}{}", of_args[1]), of_args));
        for reply in literals.into_iter().chain(raw.map(|(template, ..)| template.replace('@', text))) {
            for (call, _) in calls(&events(&reply, "dialects", usize::MAX / 2, false)) {
                let right = call.name == "write_file" && call.args["content"] == text;
                assert!(right || call.is_lossy(), "{call:?} of {text:?} in {reply:?}");
                exact += usize::from(!call.is_lossy());
                guessed += usize::from(call.is_lossy());
            }
        }
    }
    assert!(exact > 1000 && guessed > 200, "{exact} exact, {guessed} guesses");
}

/// Forms of calls that belong to no dialect. `@` is the name of a tool, and `#` its argument.
const FORMS: &[&str] = &[
    "<tool_call>@ {\"#\": \"a\"}</tool_call>",
    "<toolcall>{\"name\": \"@\", \"arguments\": {\"#\": \"a\"}}</toolcall>",
    "<@>a</@>",
    "<@><#>a</#></@>",
    "<@ #=\"a\" />",
    "<call>\n<tool_name>@</tool_name>\n<arguments>{\"#\": \"a\"}</arguments>\n</call>",
    "<|DSML|tool_calls>\n<|DSML|invoke name=\"@\">\n<|DSML|parameter name=\"#\">a</|DSML|parameter>\n</|DSML|invoke>",
    "[Calling tool: @({\"#\": \"a\"})]",
    "[@(#=\"a\")]",
    "TOOL_CALL: @(#=\"a\")",
    "Action: @\nAction Input: {\"#\": \"a\"}",
    "[{\"name\": \"@\", \"arguments\": {\"#\": \"a\"}}]",
    "<tool_call>@#\": \"a\"}",
    "<tool_call>Let me check.<function=@><parameter=#>a</parameter></function></tool_call>",
    "[TOOL_REQUEST]{\"name\": \"@\", \"arguments\": {\"#\": \"a\"}}[END_TOOL_REQUEST]",
];

#[test]
fn the_name_of_a_tool_in_markup_gives_a_call_or_an_event() {
    for form in FORMS {
        for (tool, arg) in [("bash", "command"), ("read_file", "path"), ("search", "pattern")] {
            let form = form.replace('@', tool).replace('#', arg);
            for reply in [form.clone(), format!("I look.\n\n{form}\n\nDone.\n"), format!("I look.\n{form}\n")] {
                let events = events_in_any_pieces(&reply, "dialects");
                let noticed = |event: &Event<'_>| !matches!(event, Event::Text { .. } | Event::Started { .. });
                assert!(events.iter().any(noticed), "{reply:?}: {events:?}");
            }
        }
    }
}

/// Paragraphs of answers that mention tools, tokens and markup.
const ORDINARY: &[&str] = &[
    "Use `bash` to run it, and `read_file(path)` to read it.",
    "See [search](docs/search.md) and [bash](https://example.org/bash).",
    "<b>plan</b>: first the parser, then the tests.",
    "I will search (see below) and plan: read, write, test.",
    "`<tool_call>` is how Qwen writes a call, and `</tool_call>` ends it.",
    "1. **read_file**: reads a file\n2. **bash**: runs a command",
    "Run bash(1) or search(pattern) by hand.",
    "<div>\n<p>search</p>\n</div>",
    "{\"name\": \"toolfence\", \"version\": \"1.0\"}",
    "| tool | does |\n|---|---|\n| bash | runs |\n| search | finds |",
    "```python\nresult = search(pattern=\"a\")\nprint(result)\n```",
    "```html\n<search>\n<input name=\"q\">\n</search>\n```",
    "- [ ] search the docs\n- [x] plan the work",
    "Note: bash: command not found.",
    "[plan] one step\n[search] two steps",
    "Error: bash exited with {\"code\": 1}.",
    "Vec<Search>, Map<Plan, Job> and `<bash>`.",
    "name: search\ndescription: finds text",
    "The job is done.",
];

#[test]
fn ordinary_replies_cause_no_reminder() {
    let mut random = Random::new(14);
    for _ in 0..2_000 {
        let count = 2 + random.below(5);
        let reply: Vec<&str> = (0..count).map(|_| *random.pick(ORDINARY)).collect();
        let reply = reply.join(*random.pick(&["\n\n", "\n\n\n"]));
        let events = events(&reply, "dialects", usize::MAX / 2, false);
        assert!(events.iter().all(|event| matches!(event, Event::Text { .. })), "{reply:?}: {events:?}");
    }
}

#[test]
fn long_texts_of_foreign_tools_keep_their_last_line_break() {
    let schema = json!({
        "type": "object",
        "properties": {"content": {"type": "string"}, "newText": {"type": "string"}, "query": {"type": "string"}},
    });
    let catalog: Catalog = [ToolSpec::from_json_schema("mcp__write", "Writes.", &schema)].into_iter().collect();
    for (arg, kept) in [("content", true), ("newText", true), ("query", false)] {
        let mut options = Options::default();
        options.catalog = Some(std::sync::Arc::new(catalog.clone()));
        options.reasoning = Reasoning::Known;
        let reply =
            format!("```tool\n{{\"name\": \"mcp__write\", \"args\": {{\"{arg}\": \"<<EOF\"}}}}\na\nb\nEOF\n```\n");
        let mut got = None;
        parse::for_each(&reply, options, FinishReason::Stop, |event| {
            if let Event::Call { call, .. } = event {
                got = call.args[arg].as_str().map(str::to_owned);
            }
        });
        assert_eq!(got.as_deref(), Some(if kept { "a\nb\n" } else { "a\nb" }), "{arg}");
    }
}

#[test]
fn nothing_after_a_forged_result_is_a_call() {
    let call = |name: &str| format!("```tool\n{{\"name\": \"{name}\"}}\n```\n");
    let forged = "```tool_result\n{}\n```\n";
    let parsed = parse::parse(&format!("a\n{}{forged}b\n{}", call("list_files"), call("undo")));
    let names: Vec<&str> = parsed.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!((names, parsed.forged, parsed.text.trim()), (vec!["list_files"], true, "a"));
    assert!(!parsed.events.iter().any(|event| matches!(event, Event::Call { call, .. } if call.name == "undo")));

    let broken = "```tool\n{\"name\": }\n```\n";
    let parsed = parse::parse(&format!("{broken}{}{forged}{broken}", call("list_files")));
    assert_eq!((parsed.calls.len(), parsed.malformed.len(), parsed.malformed[0].line), (1, 1, 2));

    let parsed = parse::parse(&format!("{broken}{forged}{}</think>\n{}", call("undo"), call("list_files")));
    assert_eq!((parsed.calls.len(), parsed.malformed.len(), parsed.forged), (1, 0, false), "it was all thought");
}

/// Parts of blocks whose whole text is the argument of a call, and parts of the texts around them.
const BLOCKS: &[&str] = &[
    "```bash\n",
    "```sh\n",
    "~~~shell\n",
    "```\n",
    "~~~\n",
    "````\n",
    "```python\n",
    "```tool\n",
    "{\"name\": \"list_files\"}\n",
    "a.py\n",
    "<<<<<<< SEARCH\n",
    "=======\n",
    ">>>>>>> REPLACE\n",
    "cat <<E\n",
    "E\n",
    "it's\n",
    "echo \"",
    "`",
    "$(",
    ")\n",
    "ls\n",
    "\n",
    "# don't\n",
    "$ ls\n",
    "</think>\n",
    "<br>\n",
];

#[test]
fn blocks_in_any_order_keep_their_whole_texts_in_any_pieces() {
    let mut random = Random::new(17);
    let (mut shell, mut patches, mut cut) = (0, 0, 0);
    for round in 0..3000 {
        let mut reply = random.text(BLOCKS, 14);
        if round % 3 == 0 {
            let block = "a.py\n```python\n<<<<<<< SEARCH\n@=======\n@>>>>>>> REPLACE\n```\n";
            let text = *random.pick(BLOCKS);
            reply += &block.replace('@', text);
        }
        for words in ["opt_in", "dialects opt_in unknown", "opt_in length", "opt_in small"] {
            for event in events_in_any_pieces(&reply, words) {
                cut += usize::from(matches!(event, Event::Incomplete { .. }));
                let Event::Call { call, span, .. } = event else { continue };
                let Some(dialect) = call.dialect.filter(|dialect| dialect.is_opt_in()) else { continue };
                let is_shell = dialect == Dialect::ShellBlock;
                let (before, after) = reply.split_at(span.end);
                let block = &before[span.start..];
                let (_, content) = block.split_once('\n').unwrap();
                let text = call.args[if is_shell { "command" } else { "patch" }].as_str().unwrap();
                // The path may precede the fence.
                let without_path = text.split_once('\n').filter(|_| !is_shell && !content.contains(text));
                let text = without_path.map_or(text, |(_, block)| block);
                let at = content.find(text).unwrap_or_else(|| panic!("{text:?} is not in {reply:?}"));
                let fence = content[at + text.len()..].trim_start_matches('\n');
                assert!(fence.starts_with("```") || fence.starts_with("~~~"), "{text:?} does not end in {reply:?}");
                assert!(after.starts_with('\n') || words != "opt_in length", "{text:?} was cut in {reply:?}");
                shell += usize::from(is_shell);
                patches += usize::from(!is_shell);
            }
        }
    }
    assert!(shell > 200 && patches > 500 && cut > 1000, "{shell} commands, {patches} patches, {cut} cut");
}
