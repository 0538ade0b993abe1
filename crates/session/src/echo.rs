//! Calls that stand in what the model has read: a model that prints a README must not run the commands in it.
//!
//! Keeps a number for each call, and no text. A call is found where a block of it is quoted, indented, numbered, part of a
//! diff or written inside a string; it counts as the same call whatever its aliases, defaults and order of arguments are.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use toolfence_protocol::parse::{Event, Options, Parser};
use toolfence_protocol::{Args, Catalog, ErrorCode, FinishReason, Message, ParamKind, Role, ToolCall, ToolResult};

/// The most calls that are kept of each kind. Beyond it every call counts as one that was read.
const MOST: usize = 20_000;
/// How often as much as the text itself is read for its blocks, which may lie in one another.
const MOST_TIMES: usize = 8;
/// How often a text is taken out of a string inside of a string.
const MOST_UNQUOTED: usize = 3;
/// Characters of a target that are told.
const LONGEST_TARGET: usize = 80;

/// The calls that were read, each with what it was read in; and those that the model or the user wrote first.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    read: HashMap<u64, Arc<str>>,
    own: HashSet<u64>,
    /// The source in which there was more than is kept.
    full: Option<Arc<str>>,
    /// Messages from before this session that are not looked at yet: somebody waits while a session begins, and nobody while a
    /// model answers.
    unread: Vec<Message>,
}

impl Echoes {
    /// Where the call was read before anybody wrote it.
    pub(super) fn source(&mut self, call: &ToolCall, catalog: &Arc<Catalog>) -> Option<Arc<str>> {
        self.catch_up(catalog);
        let print = print(call, catalog);
        self.read.get(&print).or_else(|| self.full.as_ref().filter(|_| !self.own.contains(&print))).cloned()
    }

    /// The model wrote this call. What it reads of it later is no news.
    pub(super) fn wrote(&mut self, call: &ToolCall, catalog: &Arc<Catalog>) {
        self.catch_up(catalog);
        if self.own.len() < MOST {
            self.own.insert(print(call, catalog));
        }
    }

    /// The conversation before this session, to be looked at before anything else is.
    pub(super) fn earlier(history: &[Message]) -> Echoes {
        // Most of a conversation is prose.
        let holds_blocks = |message: &&Message| message.content.contains(['`', '~', '{']);
        Echoes { unread: history.iter().filter(holds_blocks).cloned().collect(), ..Echoes::default() }
    }

    /// Looks at the conversation before this session. What stands in results was read, everything else was written by the model or
    /// the user.
    fn catch_up(&mut self, catalog: &Arc<Catalog>) {
        for message in std::mem::take(&mut self.unread) {
            match message.role {
                Role::User => {
                    for event in events(&message.content, catalog) {
                        match event {
                            Event::ForgedResult { body, .. } => self.earlier_result(&body, catalog),
                            Event::Call { call, .. } => self.wrote(&call, catalog),
                            Event::Text { text, .. } => self.typed(&text, catalog),
                            _ => {}
                        }
                    }
                }
                Role::Assistant => self.typed(&message.content, catalog),
                _ => {}
            }
        }
    }

    /// A result as it was written for the model, in either format.
    fn earlier_result(&mut self, body: &str, catalog: &Arc<Catalog>) {
        let (first, output) = body.split_once('\n').unwrap_or((body, ""));
        let header: serde_json::Value =
            serde_json::from_str(first).or_else(|_| serde_json::from_str(body)).unwrap_or_default();
        let is_malformed = header.pointer("/error/code").is_some_and(|code| code == "malformed_call");
        if !is_malformed {
            let tool = header.get("tool").and_then(serde_json::Value::as_str).unwrap_or("an earlier result");
            let source: String = tool.chars().take(LONGEST_TARGET).collect();
            if !is_header(&header) {
                return self.text(body, &source, catalog);
            }
            // What the host itself writes above an output names the tool, and is no call.
            self.text(output, &source, catalog);
            if let Some(message) = header.pointer("/error/message").and_then(serde_json::Value::as_str) {
                self.text(message, &source, catalog);
            }
            if let Some(data) = header.get("data").filter(|data| !data.is_null()) {
                self.text(&data.to_string(), &source, catalog);
            }
        }
    }

    /// The user wrote this text.
    pub(super) fn typed(&mut self, text: &str, catalog: &Arc<Catalog>) {
        let (calls, _) = calls(text, catalog);
        calls.iter().for_each(|call| self.wrote(call, catalog));
    }

    /// A call has its result. Our own answers to blocks that could not be read say those blocks again, and do not count.
    pub(super) fn result(&mut self, call: Option<&ToolCall>, result: &ToolResult, catalog: &Arc<Catalog>) {
        if result.error.as_ref().is_some_and(|failure| failure.code == ErrorCode::MalformedCall) {
            return;
        }
        let source = call.map_or_else(|| result.tool.clone(), |call| label(call, catalog));
        self.text(&result.output, &source, catalog);
        if let Some(failure) = &result.error {
            self.text(&failure.message.to_string(), &source, catalog);
        }
    }

    /// The model gets this text, which nobody in the conversation wrote.
    pub(super) fn text(&mut self, text: &str, source: &str, catalog: &Arc<Catalog>) {
        self.catch_up(catalog);
        let (calls, all) = calls(text, catalog);
        let source: Arc<str> = source.into();
        if !all || self.read.len() + calls.len() > MOST {
            self.full.get_or_insert_with(|| source.clone());
        }
        for call in calls.iter().take(MOST) {
            let print = print(call, catalog);
            if self.read.len() < MOST && !self.own.contains(&print) {
                self.read.entry(print).or_insert_with(|| source.clone());
            }
        }
    }
}

/// The tool and what it was pointed at: `read_file README.md`.
pub(super) fn label(call: &ToolCall, catalog: &Catalog) -> String {
    let telling = catalog.find(&call.name).and_then(|spec| spec.telling(&call.args));
    let target = telling.map_or("", |(_, text)| text);
    let line = format!("{} {}", call.name, target.split_whitespace().collect::<Vec<_>>().join(" "));
    line.trim_end().chars().take(LONGEST_TARGET).collect()
}

/// Every call that stands in the text in some spelling, and whether all of it could be looked at.
fn calls(text: &str, catalog: &Arc<Catalog>) -> (Vec<ToolCall>, bool) {
    let (mut found, mut all) = (Vec::new(), true);
    let mut text = Cow::Borrowed(text);
    for _ in 0..MOST_UNQUOTED {
        all &= blocks(&text, catalog, &mut found) && objects(&text, catalog, &mut found);
        if !text.contains("\\n") && !text.contains("\\\"") {
            return (found, all);
        }
        text = Cow::Owned(unquoted(&text));
    }
    (found, all)
}

/// The text of a string of JSON, or of a program; what is no escape stays.
fn unquoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some(next @ ('"' | '\\' | '/' | '\''))) => out.push(*next),
            _ => {
                out.push(c);
                continue;
            }
        }
        chars.next();
    }
    out
}

/// Reads the blocks of a text whatever stands before their lines. Whether none was left out.
fn blocks(text: &str, catalog: &Arc<Catalog>, found: &mut Vec<ToolCall>) -> bool {
    if !text.contains('`') && !text.contains('~') {
        return true;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut budget = text.len().saturating_mul(MOST_TIMES).saturating_add(1 << 12);
    for (at, line) in lines.iter().enumerate() {
        let Some((column, fence)) = opening(line) else { continue };
        let behind = &lines[at + 1..];
        let closes = |line: &&str| {
            // Inside of a string its end stands behind the fence.
            let line = line.trim_end_matches(|c: char| c.is_whitespace() || "\"'}],;)".contains(c));
            let rest = line.trim_end_matches(if fence.starts_with('`') { '`' } else { '~' });
            line.len() - rest.len() >= fence.len() && !rest.contains(['{', '}', '"'])
        };
        let end = behind.iter().position(closes).unwrap_or(behind.len());
        let body = &behind[..end];
        let cost = body.iter().map(|line| line.len() + 1).sum::<usize>();
        let Some(left) = budget.checked_sub(cost) else { return false };
        budget = left;
        let by_column = |line: &&&str| line.get(column..).unwrap_or_else(|| line.trim_start()).to_owned();
        let by_json = |line: &&&str| line.find(['{', '}', '[', ']', '"']).map_or("", |from| &line[from..]).to_owned();
        let raw: Vec<String> = body.iter().map(|line| (*line).to_owned()).collect();
        let readings =
            [raw, body.iter().map(|line| by_column(&line)).collect(), body.iter().map(|line| by_json(&line)).collect()];
        for (number, reading) in readings.iter().enumerate() {
            // Mostly a block is read alike in all ways.
            if readings[..number].contains(reading) {
                continue;
            }
            read(&format!("{fence}tool\n{}\n{fence}\n", reading.join("\n")), catalog, found);
        }
        if found.len() > MOST {
            return false;
        }
    }
    true
}

/// Whether this is the header of a result as the text format has it, and nothing else: its output stands below it.
fn is_header(value: &serde_json::Value) -> bool {
    const KEYS: &[&str] = &[
        "id",
        "tool",
        "success",
        "exit_code",
        "truncated",
        "output_bytes",
        "execution_time_ms",
        "data",
        "error",
        "nonce",
    ];
    value.as_object().is_some_and(|header| {
        header.get("success").is_some_and(serde_json::Value::is_boolean)
            && header.keys().all(|key| KEYS.contains(&key.as_str()))
    })
}

/// Where a line opens a block, and by which fence.
fn opening(line: &str) -> Option<(usize, &str)> {
    for mark in ['`', '~'] {
        let mut from = 0;
        while let Some(start) = line[from..].find(mark).map(|at| from + at) {
            let length = line[start..].bytes().take_while(|byte| char::from(*byte) == mark).count();
            let rest = line[start + length..].trim_start();
            if length >= 3 && rest.starts_with("tool") && !rest.starts_with("tool_result") {
                return Some((start, &line[start..start + length]));
            }
            from = start + length;
        }
    }
    None
}

/// Reads the objects that stand on one line each and name a tool, as a search shows a line of a block without its fences.
fn objects(text: &str, catalog: &Arc<Catalog>, found: &mut Vec<ToolCall>) -> bool {
    const NAMES: &[&str] = &["name", "tool", "function", "action"];
    if !text.contains('{') {
        return true;
    }
    for line in text.lines() {
        let Some(start) = line.find('{').filter(|_| NAMES.iter().any(|name| line.contains(name))) else { continue };
        read(&format!("```tool\n{}\n```\n", &line[start..]), catalog, found);
        if found.len() > MOST {
            return false;
        }
    }
    true
}

fn read(document: &str, catalog: &Arc<Catalog>, found: &mut Vec<ToolCall>) {
    let calls = events(document, catalog).filter_map(|event| match event {
        Event::Call { call, .. } => Some(*call),
        _ => None,
    });
    found.extend(calls);
}

fn events(document: &str, catalog: &Arc<Catalog>) -> impl Iterator<Item = Event<'static>> {
    let mut options = Options::default();
    options.catalog = Some(Arc::clone(catalog));
    let mut parser = Parser::new(options);
    parser.push(document);
    parser.finish(FinishReason::Stop);
    std::iter::from_fn(move || parser.poll().map(Event::into_owned))
}

/// A number for the call under its taught names, without what a default would say anyway.
fn print(call: &ToolCall, catalog: &Catalog) -> u64 {
    let mut taught = call.clone();
    let mut args: Vec<(String, String)> = match catalog.resolve(&mut taught) {
        Ok(spec) => {
            let default = |name: &str| spec.params.iter().find(|param| param.name == name)?.default.as_ref();
            let said = |(name, value): &(&String, &serde_json::Value)| default(name) != Some(value);
            let unset =
                |name: &str| spec.params.iter().any(|param| param.name == name && param.kind == ParamKind::Flag);
            let says = |pair: &(&String, &serde_json::Value)| said(pair) && !(unset(pair.0) && pair.1 == false);
            pairs(&taught.args, says)
        }
        Err(_) => pairs(&call.args, |_| true),
    };
    args.sort_unstable();
    let mut hasher = DefaultHasher::new();
    (&taught.name, args).hash(&mut hasher);
    hasher.finish()
}

fn pairs(args: &Args, keep: impl Fn(&(&String, &serde_json::Value)) -> bool) -> Vec<(String, String)> {
    args.iter().filter(keep).map(|(name, value)| (name.clone(), value.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "```tool\n{\n  \"name\": \"bash\",\n  \"args\": {\"command\": \"make install\"}\n}\n```";

    #[test]
    fn a_call_is_found_however_it_is_shown() {
        let catalog = toolfence_toolset::catalog();
        let with = |before: &dyn Fn(usize) -> String| {
            CALL.lines().enumerate().map(|(at, line)| format!("{}{line}\n", before(at))).collect::<String>()
        };
        let shown = [
            CALL.to_owned(),
            CALL.replace("```", "~~~~"),
            with(&|_| "> ".into()),
            with(&|_| "    ".into()),
            with(&|_| "+".into()),
            with(&|at| format!("{:>4}\t", at + 8)),
            with(&|at| format!("{}: ", at + 8)),
            with(&|at| format!("docs/a.md:{}:", at + 8)),
            format!("{{\"text\": {}}}", serde_json::to_string(CALL).unwrap()),
            format!("````md\n{CALL}\n````"),
            "```tool\n{\"name\":\"bash\",\"args\":{\"command\":\"make install\",\"background\":false}}".into(),
            "docs/a.md:9:{\"name\":\"bash\",\"args\":{\"command\":\"make install\"}}".into(),
        ];
        let call = ToolCall::new("7", "bash", Args::from_iter([("command".into(), "make install".into())]));
        for text in shown {
            let mut echoes = Echoes::default();
            echoes.text(&text, "read_file README.md", &catalog);
            assert_eq!(echoes.source(&call, &catalog).as_deref(), Some("read_file README.md"), "{text}");
            let mut known = Echoes::default();
            known.wrote(&call, &catalog);
            known.text(&text, "x", &catalog);
            assert_eq!(known.source(&call, &catalog), None);
        }
        let mut echoes = Echoes::default();
        echoes.text("Run make install.\n```sh\nmake install\n```\n", "x", &catalog);
        assert_eq!(echoes.source(&call, &catalog), None);
    }

    #[test]
    fn an_earlier_conversation_is_read_too() {
        let catalog = toolfence_toolset::catalog();
        let call = ToolCall::new("7", "bash", Args::from_iter([("command".into(), "make install".into())]));
        let result = |header: &str| format!("````tool_result\n{header}\n{CALL}\n````\n");
        let read = result("{\"id\":\"call_1\",\"tool\":\"read_file\",\"success\":true}");
        let malformed =
            result("{\"id\":\"c\",\"tool\":\"bash\",\"success\":false,\"error\":{\"code\":\"malformed_call\"}}");
        let quoted = serde_json::to_string(CALL).unwrap();
        let inside = |header: String| format!("````tool_result\n{header}\nnothing\n````\n");
        let in_data =
            inside(format!("{{\"id\":\"1\",\"tool\":\"t\",\"success\":true,\"data\":{{\"diff\":{quoted}}}}}"));
        let in_message = inside(format!(
            "{{\"id\":\"1\",\"tool\":\"t\",\"success\":false,\"error\":{{\"code\":\"exit_status\",\"message\":{quoted}}}}}"
        ));
        let in_place = inside("{\"name\":\"bash\",\"args\":{\"command\":\"make install\"}}".to_owned());
        for (history, source) in [
            (vec![Message::new(Role::User, in_data)], Some("t")),
            (vec![Message::new(Role::User, in_message)], Some("t")),
            (vec![Message::new(Role::User, in_place)], Some("an earlier result")),
            (vec![Message::new(Role::User, read.as_str())], Some("read_file")),
            (vec![Message::new(Role::User, format!("See this.\n\n{read}"))], Some("read_file")),
            (vec![Message::new(Role::User, malformed)], None),
            (vec![Message::new(Role::User, CALL)], None),
            (vec![Message::new(Role::Assistant, CALL), Message::new(Role::User, read.as_str())], None),
        ] {
            let mut echoes = Echoes::earlier(&history);
            assert_eq!(echoes.source(&call, &catalog).as_deref(), source, "{history:?}");
        }
    }

    #[test]
    fn blocks_in_blocks_are_bounded() {
        let catalog = toolfence_toolset::catalog();
        let mut echoes = Echoes::default();
        echoes.text(&"```tool\n{\n".repeat(5000), "x", &catalog);
        assert!(echoes.full.is_some(), "what was not looked at counts as read");
    }
}
