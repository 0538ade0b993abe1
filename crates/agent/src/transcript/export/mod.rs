//! Renders a conversation as a page for people: Markdown, or HTML without other files.
//!
//! Texts of the conversation are only content here. In Markdown they are in quotes and in fences that are longer than
//! any run of backticks inside, so that no parser of calls finds one; for HTML see the module `html`. Control characters and
//! marks of text direction are escaped.

mod highlight;
mod html;
mod rendered;

use crate::transcript::{Kind, Record, RecordedCall, RecordedResult, Role, StoredSession};
use std::fmt::Write as _;
use std::sync::Arc;
use toolfence_protocol::invisible::{self, Invisible};
use toolfence_protocol::parse::{Event, Options, Parser, Reasoning};
use toolfence_protocol::{Catalog, Dialects, FinishReason, Language, Text, text};

pub use html::html;

/// How much of a result a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Results {
    /// The whole stored result.
    Full,
    /// The first lines of the stored result.
    #[default]
    Head,
    /// Nothing of the output, only whether the call succeeded.
    None,
}

/// The lines of a result that [`Results::Head`] shows.
const HEAD_LINES: usize = 12;

/// The parts of a conversation that a page shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parts {
    /// Whether to show the reasoning of the model.
    pub thoughts: bool,
    /// How much to show of the results of tools.
    pub results: Results,
    /// The language of headings.
    pub language: Language,
}

/// Escapes the characters that control a terminal, or the layout of a text in a browser: control characters and marks
/// of direction. Line endings become `\n`.
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

/// Renders the Markdown of a reply as HTML without active content, for a page that has one heading above it.
///
/// The HTML has no `dir="auto"`, because Chromium needs quadratic time for an element with it that has many nodes, and
/// a page renders a streamed reply many times. The page's style uses `unicode-bidi: plaintext` instead.
pub fn reply_html(text: &str) -> String {
    // Quotes in a text are escaped, so this is always the attribute.
    rendered::rendered(&visible(text), 1).replace(" dir=\"auto\"", "")
}

/// Returns a text in one line without any markup, for example for a name in a heading.
fn plain(text: &str) -> String {
    let keeps = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | ':' | ',' | '(' | ')');
    visible(text).chars().take(200).map(|c| if keeps(c) { c } else { '\'' }).collect()
}

/// Returns the first lines of a result, or all of it, and the number of lines left out.
fn part(output: &str, results: Results) -> (String, usize) {
    let all: Vec<&str> = output.lines().collect();
    let most = match results {
        Results::Full => all.len(),
        Results::Head => HEAD_LINES,
        Results::None => 0,
    };
    (all.iter().take(most).copied().collect::<Vec<_>>().join("\n"), all.len().saturating_sub(most))
}

/// Renders the arguments of a call, one per line.
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

/// Renders the conversation as Markdown that contains no call in any dialect, even for a reader with other tools.
pub fn markdown(stored: &StoredSession, records: &[&Record], shown: Parts, catalog: &Arc<Catalog>) -> String {
    /// The maximum number of rounds of escaping calls; each round escapes all calls that it finds.
    const ROUNDS: usize = 8;
    let mut page = render(stored, records, shown);
    for _ in 0..ROUNDS {
        let mut calls = calls(&page, catalog);
        if calls.is_empty() {
            return page;
        }
        calls.sort_unstable();
        calls.dedup();
        // From the back, so that the offsets of earlier calls stay valid. Markdown does not show a backslash before its
        // marks, and the text after the backslash is no longer a token of a dialect.
        calls.iter().rev().for_each(|at| page.insert(*at, '\\'));
    }
    // If escaping does not converge, no character that begins a call remains.
    page.replace('<', "&lt;").replace('[', "&#91;").replace('`', "'")
}

/// Returns the offsets of calls for any reader. A call may be in a quote after the closing tag of reasoning.
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

fn render(stored: &StoredSession, records: &[&Record], shown: Parts) -> String {
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
            let images = text!(
                "Image: {name} ({kind}, {kib} KiB)",
                name = plain(image.name()),
                kind = image.media_type(),
                kib = image.bytes().div_ceil(1024) as u64
            );
            let _ = write!(out, "\n{}\n", words(images));
        }
        let (Some(call), Some(result)) = (&record.tool_call, &record.tool_result) else { continue };
        let args = arguments(call);
        if !args.is_empty() {
            let _ = write!(out, "\n{}", fenced(&args));
        }
        let _ = write!(out, "\n{}\n", words(outcome(call, result)));
        let (text, left_out) = part(text_for_model(result), shown.results);
        if !text.trim().is_empty() {
            let _ = write!(out, "\n{}", fenced(&text));
        }
        if left_out > 0 && shown.results != Results::None {
            let _ = write!(out, "\n{}\n", words(text!("({count} {count|line|lines} left out)", count = left_out)));
        }
    }
    out
}

/// Returns the text that the model received for a result: its output, or else why it failed.
fn text_for_model(result: &RecordedResult) -> &str {
    match &result.error {
        Some(error) if result.output.trim().is_empty() => &error.message,
        _ => &result.output,
    }
}

/// Quotes a text in Markdown.
fn quoted(text: &str) -> String {
    let text = visible(text);
    text.lines().map(|line| if line.is_empty() { ">\n".to_owned() } else { format!("> {line}\n") }).collect()
}

/// Renders a text in a fence that it cannot close.
fn fenced(text: &str) -> String {
    let text = visible(text);
    // A fence ends at a run of backticks that is at least as long as its own.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n")
}
