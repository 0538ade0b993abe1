//! A conversation as a page for people: Markdown, or HTML that needs nothing else.
//!
//! Whatever was said is content here and nothing more. In Markdown it stands in quotes and in fences that are longer than any run
//! of backticks in it, so that no parser of calls finds one; for HTML see [`html`]. Control characters and those that turn the
//! direction of a text are written out.

mod highlight;
mod html;
mod rendered;

use crate::transcript::{Kind, Record, RecordedCall, RecordedResult, Role, Stored};
use std::fmt::Write as _;
use std::sync::Arc;
use toolfence_protocol::invisible::{self, Invisible};
use toolfence_protocol::parse::{Event, Options, Parser, Reasoning};
use toolfence_protocol::{Catalog, Dialects, FinishReason, Language, Text, text};

pub use html::html;

/// How much of a result a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Results {
    /// All that was kept.
    Full,
    /// Its first lines.
    #[default]
    Head,
    /// Nothing but whether it went well.
    None,
}

/// Lines of a result whose beginning is shown.
const HEAD_LINES: usize = 12;

/// What a page shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown {
    /// What the model thought.
    pub thoughts: bool,
    /// What tools gave back.
    pub results: Results,
    /// The language of headings.
    pub language: Language,
}

/// Writes out what steers a terminal or a browser's text: control characters and marks of direction. Line endings become `\n`.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        let steers = c.is_control() && !matches!(c, '\n' | '\t')
            || invisible::kind(c).is_some_and(|kind| {
                matches!(kind, Invisible::Direction | Invisible::Annotation | Invisible::Separator | Invisible::Tag)
            });
        if steers {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// The Markdown of a reply as HTML without anything active, for a page that has one heading above it.
///
/// It has no `dir="auto"`: Chromium needs quadratic time for an element of many nodes that has it, and a page draws a reply many times.
/// The page's style says `unicode-bidi: plaintext` instead.
pub fn reply_html(text: &str) -> String {
    // Quotes of a text are escaped, so this is always the attribute.
    rendered::rendered(&visible(text), 1).replace(" dir=\"auto\"", "")
}

/// A text in one line without anything that is markup, as for a name in a heading.
fn plain(text: &str) -> String {
    let keeps = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | ':' | ',' | '(' | ')');
    visible(text).chars().take(200).map(|c| if keeps(c) { c } else { '\'' }).collect()
}

/// The first lines of a result, or all, and how many are left out.
fn part(output: &str, results: Results) -> (String, usize) {
    let all: Vec<&str> = output.lines().collect();
    let most = match results {
        Results::Full => all.len(),
        Results::Head => HEAD_LINES,
        Results::None => 0,
    };
    (all.iter().take(most).copied().collect::<Vec<_>>().join("\n"), all.len().saturating_sub(most))
}

/// What a call was given, an argument a line.
fn arguments(call: &RecordedCall) -> String {
    let mut out = String::new();
    for (name, value) in &call.args {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let between = if text.contains('\n') { "\n" } else { " " };
        let _ = writeln!(out, "{name}:{between}{text}");
    }
    out.trim_end().to_owned()
}

fn outcome(call: &RecordedCall, result: &RecordedResult) -> Text {
    let status = match (&result.error, result.success) {
        (Some(error), _) => text!("failed: {code}", code = plain(&error.code)),
        (None, true) => text!("succeeded"),
        (None, false) => text!("failed: {code}", code = String::new()),
    };
    let decision = call.decision.as_ref().map(|decision| {
        let rule = decision.rule.as_deref().map_or_else(|| plain(&decision.verdict), plain);
        match decision.by.as_str() {
            "person" => text!("decided by a person, asked because of {rule}", rule),
            "nobody" => text!("denied because there was no user to ask about {rule}", rule),
            _ => text!("decided by the rule {rule}", rule),
        }
    });
    match decision {
        Some(decision) => {
            text!("{status} ({milliseconds} ms), {decision}", status, milliseconds = result.execution_time_ms, decision)
        }
        None => text!("{status}", status),
    }
}

fn name_of(record: &Record) -> Option<Text> {
    Some(match (record.role, record.kind) {
        (Role::User, _) => text!("You"),
        (Role::Assistant, _) => match &record.model {
            Some(model) => text!("Model ({name})", name = plain(model)),
            None => text!("Model"),
        },
        (Role::Tool, _) => plain(record.tool_call.as_ref().map_or("", |call| call.name.as_str())).into(),
        (Role::Note, Some(Kind::Told)) => text!("Sent to the model"),
        (Role::Note, Some(Kind::End)) => text!("The turn ended without an answer"),
        (Role::Note, Some(Kind::History)) => text!("From here on the model was sent less of the conversation"),
        (Role::Note, Some(Kind::TakenBack)) => text!("The last turn was taken back"),
        (Role::Note, Some(Kind::Cleared)) => text!("The conversation was put aside here"),
        _ => return None,
    })
}

/// The conversation as Markdown in which nothing is a call, whichever of these tools it is read with.
pub fn markdown(stored: &Stored, records: &[&Record], shown: Shown, catalog: &Arc<Catalog>) -> String {
    /// Rounds in which calls are taken apart; each takes apart all that there are.
    const ROUNDS: usize = 8;
    let mut page = written(stored, records, shown);
    for _ in 0..ROUNDS {
        let mut calls = calls(&page, catalog);
        if calls.is_empty() {
            return page;
        }
        calls.sort_unstable();
        calls.dedup();
        // A backslash in front of a mark of Markdown is not shown, and what stands behind it is no token of a dialect any more.
        calls.iter().rev().for_each(|at| page.insert(*at, '\\'));
    }
    page.replace('<', "&lt;").replace('[', "&#91;").replace('`', "'")
}

/// Where calls begin for any reader: one can stand in a quote behind what closes a thought.
fn calls(page: &str, catalog: &Arc<Catalog>) -> Vec<usize> {
    let mut found = Vec::new();
    for reasoning in [Reasoning::Unknown, Reasoning::Known, Reasoning::Opened] {
        let mut options = Options::default();
        options.dialects = Dialects::ALL;
        options.catalog = Some(catalog.clone());
        options.reasoning = reasoning;
        let mut parser = Parser::new(options);
        parser.push(page);
        parser.finish(FinishReason::Stop);
        while let Some(event) = parser.poll() {
            if let Event::Call { span, .. } = event {
                found.push(span.start);
            }
        }
    }
    found
}

fn written(stored: &Stored, records: &[&Record], shown: Shown) -> String {
    let words = |text: Text| text.render(shown.language);
    let mut out = format!("# {}\n\n", words(text!("Conversation {session}", session = plain(&stored.head.id))));
    let _ = writeln!(out, "- {}", words(text!("Project: {root}", root = plain(&stored.head.root))));
    let _ = writeln!(out, "- {}", words(text!("Began: {time}", time = plain(&stored.began))));
    for record in records {
        let Some(name) = name_of(record) else { continue };
        let level = if record.role == Role::Tool { "###" } else { "##" };
        let _ = write!(out, "\n{level} {}. {}\n", plain(&record.id), words(name));
        if let Some(thoughts) = record.thoughts.as_ref().filter(|_| shown.thoughts) {
            let _ = write!(out, "\n{}\n\n{}", words(text!("Thoughts")), quoted(thoughts));
        }
        if !record.content.trim().is_empty() {
            let _ = write!(out, "\n{}", quoted(record.content.trim_matches('\n')));
        }
        for image in &record.images {
            let said = text!(
                "Image: {name} ({kind}, {kib} KiB)",
                name = plain(image.name()),
                kind = image.media_type(),
                kib = image.bytes().div_ceil(1024) as u64
            );
            let _ = write!(out, "\n{}\n", words(said));
        }
        let (Some(call), Some(result)) = (&record.tool_call, &record.tool_result) else { continue };
        let given = arguments(call);
        if !given.is_empty() {
            let _ = write!(out, "\n{}", fenced(&given));
        }
        let _ = write!(out, "\n{}\n", words(outcome(call, result)));
        let (text, left_out) = part(told(result), shown.results);
        if !text.trim().is_empty() {
            let _ = write!(out, "\n{}", fenced(&text));
        }
        if left_out > 0 && shown.results != Results::None {
            let _ = write!(out, "\n{}\n", words(text!("({count} {count|line|lines} left out)", count = left_out)));
        }
    }
    out
}

/// What the model read of a result: its output, or else why it failed.
fn told(result: &RecordedResult) -> &str {
    match &result.error {
        Some(error) if result.output.trim().is_empty() => &error.message,
        _ => &result.output,
    }
}

/// A text as a quote of Markdown.
fn quoted(text: &str) -> String {
    let text = visible(text);
    text.lines().map(|line| if line.is_empty() { ">\n".to_owned() } else { format!("> {line}\n") }).collect()
}

/// A text in a fence that it cannot end.
fn fenced(text: &str) -> String {
    let text = visible(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n")
}
