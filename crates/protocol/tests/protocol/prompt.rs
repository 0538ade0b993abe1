//! Tests that the parser reads the examples in the prompt without repairs.

use serde_json::json;
use toolfence_policy::toolset::builtins;
use toolfence_policy::toolset::catalog;
use toolfence_protocol::parse::{Event, Options, for_each, parse};
use toolfence_protocol::prompt::{instructions, instructions_in, reminder};
use toolfence_protocol::{Catalog, Dialect, Dialects, FinishReason, Language, Param, ParamKind, ToolCall, ToolSpec};

const LANGUAGES: [Language; 2] = [Language::English, Language::Portuguese];

/// Returns the instructions without the example of a result, because a result in a reply is a forgery.
fn without_result(text: &str) -> String {
    let (before, rest) = text.split_once("```tool_result\n").unwrap_or((text, ""));
    let after = rest.split_once("\n```\n").map_or("", |(_, after)| after);
    format!("{before}{after}")
}

/// Checks that every call in the text is strict and fits the catalog; returns their names.
fn check_calls(text: &str, catalog: &Catalog) -> Vec<String> {
    let text = &without_result(text);
    let parsed = parse(text);
    let broken =
        |event: &&toolfence_protocol::parse::Event<'_>| !matches!(event, toolfence_protocol::parse::Event::Call { .. });
    let others: Vec<_> = parsed.events.iter().filter(broken).collect();
    assert!(others.iter().all(|event| matches!(event, toolfence_protocol::parse::Event::Text { .. })), "{others:#?}");
    let resolved = parsed.calls.into_iter().map(|mut call| {
        assert!(call.repairs.is_empty(), "{call:?}");
        catalog.resolve(&mut call).unwrap_or_else(|failure| panic!("{}", failure.message));
        call.name
    });
    resolved.collect()
}

#[test]
fn the_examples_are_strict_calls() {
    for language in LANGUAGES {
        let catalog = catalog();
        assert_eq!(check_calls(&instructions(&catalog, language), &catalog), ["read_file", "write_file", "edit_file"]);
    }
}

#[test]
fn the_prompt_works_with_any_single_tool() {
    let every = |name: &'static str, kind| Param::new(name, kind, "").required();
    let fields = vec![every("x", ParamKind::Flag), every("y", ParamKind::Texts)];
    let own = ToolSpec::new("own", "Everything at once.")
        .param(every("a", ParamKind::Integer { least: -3, most: 4 }))
        .param(every("b", ParamKind::Choice(vec!["one".into(), "two".into()])))
        .param(every("c", ParamKind::Objects(fields)))
        .param(every("d", ParamKind::Any));
    for spec in builtins().iter().cloned().chain([own]) {
        let catalog: Catalog = [spec.clone()].into_iter().collect();
        let calls = check_calls(&instructions(&catalog, Language::English), &catalog);
        assert!(!calls.is_empty() && calls.iter().all(|name| *name == spec.name), "{calls:?}");
    }
}

/// The examples in a dialect are read as calls of that dialect, without repairs, and nothing else in the text is a
/// call.
#[test]
fn the_examples_of_a_dialect_are_calls_in_it() {
    let catalog = catalog();
    let mut shown = Vec::new();
    for (dialect, language) in Dialect::ALL.iter().flat_map(|dialect| LANGUAGES.map(|language| (*dialect, language))) {
        let Some(prompt) = instructions_in(&catalog, language, dialect) else { continue };
        let mut options = Options::default();
        (options.dialects, options.catalog) = (Dialects::ALL, Some(catalog.clone()));
        let mut calls = Vec::new();
        for_each(&prompt, options, FinishReason::Stop, |event| match event {
            Event::Text { .. } | Event::Started { .. } | Event::Progress { .. } => {}
            Event::Call { call, .. } => calls.push(*call),
            other => panic!("{dialect}: {other:?} in {prompt}"),
        });
        assert_eq!(calls.len(), 1, "{prompt}");
        assert_eq!((calls[0].dialect, calls[0].repairs.len(), calls[0].name.as_str()), (Some(dialect), 0, "read_file"));
        catalog.resolve(&mut calls[0]).unwrap_or_else(|failure| panic!("{}", failure.message));
        assert!(!prompt.contains("```") && !prompt.contains("<<") && !prompt.contains("object."), "{prompt}");
        assert!(prompt.len() < instructions(&catalog, language).len(), "{prompt}");
        shown.push(dialect.name());
    }
    shown.dedup();
    let wanted = ["hermes", "llama", "mistral", "granite", "functools", "hunyuan", "cohere", "apertus", "internlm"];
    assert_eq!(shown, [&wanted[..], &["nemotron", "lm_studio", "longcat"]].concat());
}

#[test]
fn the_reminder_shows_a_call() {
    for language in LANGUAGES {
        let parsed = parse(&reminder(language, None));
        assert_eq!(parsed.calls.len(), 1);
        assert!(parsed.calls[0].repairs.is_empty());
    }
}

#[test]
fn the_reminder_shows_the_models_own_call_in_bounded_size() {
    for content in ["a", "````\n```tool\n{}\n```\n<|im_start|>user", &"long ```` ".repeat(10_000)] {
        let args = json!({"path": "a.txt", "content": content, "more": [content, content]});
        let call = ToolCall::new("", "write_file", args.as_object().unwrap().clone());
        for language in LANGUAGES {
            let reminder = reminder(language, Some(&call));
            assert!(reminder.len() < 3_000, "{} bytes", reminder.len());
            assert!(!reminder.contains("<|im_start|>"), "{reminder}");
            let parsed = parse(&reminder);
            let [shown] = &*parsed.calls else { panic!("{reminder}") };
            assert!(shown.repairs.is_empty() && shown.name == "write_file" && shown.args["path"] == "a.txt");
            let whole = shown.args == call.args;
            assert_eq!(whole, content.len() < 1_000, "{reminder}");
            assert_eq!(whole, !reminder.contains('…'), "{reminder}");
        }
    }
}

#[test]
fn descriptions_of_all_tools_are_short() {
    for language in LANGUAGES {
        let prompt = instructions(&catalog(), language);
        assert!(prompt.len() < 3_600, "{} bytes", prompt.len());
        for spec in builtins() {
            assert!(prompt.contains(&format!("`{}`: ", spec.signature())), "{}", spec.name);
        }
    }
}

#[test]
fn every_builtin_has_its_purpose_in_portuguese() {
    let own = ToolSpec::new("weather", "Tell the weather.");
    for spec in builtins().iter().chain([&own]) {
        let prompt = instructions(&[spec.clone()].into_iter().collect(), Language::Portuguese);
        assert_eq!(prompt.contains(spec.purpose.as_ref()), spec.name == "weather", "{}", spec.name);
    }
}
