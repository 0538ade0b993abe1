//! Summarizes a call and its effects for the user who is asked.

use crate::marks::{self, FOLDED};
use crate::question::Question;
use crate::shown::{Words, escaped, language};
use crate::style::Style;
use crate::theme::codes;
use crate::translations::in_language;
use std::ops::Range;
use toolfence_policy::Target;
use toolfence_protocol::tool::ParamKind;
use toolfence_protocol::{Language, Text, ToolCall, text};
use toolfence_workspace::quoted;

/// Number of rows of a diff or of arguments that are displayed at first.
const MOST_ROWS: usize = 60;
/// Number of additional rows that are displayed rather than hidden: hiding only a few would make the user answer twice.
const FEW_ROWS: usize = 8;
/// Maximum number of characters of a label and of the reason that the model gives for a call.
const MOST_CHARS: usize = 160;

/// The effect of a call, as marked rows that fit the terminal.
pub(crate) struct Preview {
    rows: Vec<String>,
    /// The number of rows that are displayed at first.
    first: usize,
    /// The number of rows at the beginning that are always displayed, such as file names.
    names: usize,
}

impl Preview {
    /// Builds the preview for a question. For a command it is the whole command, with the parts that the rules ask
    /// about underlined if `colour`, or marked in a row below otherwise. For another call it is the real names of all
    /// files that would change, with a diff or the arguments. A row has at most `room` columns after its mark.
    pub(crate) fn new(question: &Question, colour: bool, room: usize) -> Preview {
        if let Some(changes) = question.changes() {
            return Preview::of_changes(changes, colour, room);
        }
        let (call, diff) = (&question.call, question.diff.as_deref());
        let catalog = toolfence_policy::toolset::catalog();
        let spec = catalog.find(&call.name);
        let given = |kind: ParamKind| spec.and_then(|spec| spec.only_argument(&kind, &call.args));
        let path = given(ParamKind::Path).map(|(_, path)| path);
        let tint = |rows: Vec<String>| if colour { rows.into_iter().map(tinted).collect() } else { rows };
        let rows = match (given(ParamKind::Command), path, given(ParamKind::Text { content: true })) {
            (Some((param, command)), ..) => {
                return command_rows(call, &param.name, command, &question.marks, colour, room);
            }
            (None, _, content) => match (diff, content) {
                (Some(diff), _) if !diff.starts_with("--- /dev/null\n") => tint(change_rows(diff, room)),
                // The file is new or cannot be compared, so there are no old lines to display.
                (_, Some((_, content))) => {
                    tint([plain(&text!("all of it would be:"), room), marked(content, "  + ", "  + ", room)].concat())
                }
                (Some(diff), None) => tint(change_rows(diff, room)),
                (None, None) => arguments(call, room, language()),
            },
        };
        let names = match (question.targets.as_slice(), path) {
            // If the policy found no targets, nothing else in the rows would identify the file.
            ([], Some(path)) => plain(&text!("file: {name}", name = quoted(path)), room),
            (targets, _) => targets.iter().flat_map(|target| plain(&file_row(target), room)).collect(),
        };
        Preview::with_rows(names, rows)
    }

    /// Previews the changes that a command made on its private copy of the project. The removals come first and are
    /// always displayed.
    fn of_changes(changes: &str, colour: bool, room: usize) -> Preview {
        let is_diff = |line: &&str| line.starts_with("--- ");
        let removals: usize = changes.split_inclusive('\n').take_while(|line| !is_diff(line)).map(str::len).sum();
        let (removals, rest) = changes.split_at(removals);
        let rows = plain(rest, room);
        Preview::with_rows(plain(removals, room), if colour { rows.into_iter().map(tinted).collect() } else { rows })
    }

    /// Builds a preview whose `names` are never hidden, because the user cannot approve a change without seeing the
    /// name of the file.
    fn with_rows(names: Vec<String>, rows: Vec<String>) -> Preview {
        let first = names.len() + if rows.len() <= MOST_ROWS + FEW_ROWS { rows.len() } else { MOST_ROWS };
        Preview { names: names.len(), rows: [names, rows].concat(), first }
    }

    /// Returns the number of rows that [`first_rows`](Preview::first_rows) leaves out.
    pub(crate) fn hidden(&self) -> usize {
        self.rows.len() - self.first
    }

    /// Returns the rows displayed at first, with the number of hidden ones.
    pub(crate) fn first_rows(&self) -> String {
        let shown = self.rows[..self.first].concat();
        match self.hidden() {
            0 => shown,
            hidden => {
                format!("{shown}  {}\n", text!("[{count} more {count|line|lines} not shown]", count = hidden).words())
            }
        }
    }

    /// Shortens the preview for a question about several calls. A command is never cut.
    pub(crate) fn one_of_several(mut self) -> Preview {
        /// Number of rows of each call that are displayed at first.
        const MOST_OF_EACH: usize = 16;
        if self.names < self.first && self.rows.len() > self.names + MOST_OF_EACH + FEW_ROWS {
            self.first = self.first.min(self.names + MOST_OF_EACH);
        }
        self
    }

    /// Returns all rows.
    pub(crate) fn all_rows(&self) -> String {
        self.rows.concat()
    }
}

/// Returns the tool's name and its most informative argument: `read_file src/main.rs`, `bash $ make test`.
pub(crate) fn label(call: &ToolCall) -> String {
    let catalog = toolfence_policy::toolset::catalog();
    let spec = catalog.find(&call.name);
    let Some((param, text)) = spec.and_then(|spec| spec.summary_argument(&call.args)) else {
        return one_line(&call.name);
    };
    let more = match param.kind {
        ParamKind::Command => format!("$ {text}"),
        ParamKind::Path => text.to_owned(),
        _ => format!("{text:?}"),
    };
    let first = more.lines().next().unwrap_or_default();
    let dots = if first.len() < more.trim_end().len() { " ..." } else { "" };
    one_line(&format!("{} {first}{dots}", call.name))
}

/// Joins text of the model into one short line, so that it cannot imitate lines of the program. A line that is too long
/// is cut after a whole word, unless that would remove most of it.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(MOST_CHARS).collect();
    let line = words.join(" ");
    let Some((end, next)) = line.char_indices().nth(MOST_CHARS) else { return line };
    let shown = &line[..end];
    let whole = if next == ' ' { shown } else { shown.rsplit_once(' ').map_or(shown, |(whole, _)| whole) };
    let whole = if whole.len() < shown.len() / 2 { shown } else { whole };
    format!("{whole} ...")
}

/// Describes a file that a call would write: its real name in full, then the name and the link that the model used, if
/// they differ.
fn file_row(target: &Target) -> Text {
    /// Maximum number of characters displayed of the path that the model wrote.
    const MOST_WRITTEN: usize = 60;
    let name = quoted(&target.name);
    let written = target.written.as_deref().map(|written| match written.char_indices().nth(MOST_WRITTEN) {
        Some((end, _)) => text!("written as {name}", name = format!("{} ...", quoted(&written[..end]))),
        None => text!("written as {name}", name = quoted(written)),
    });
    let link = target.link.as_deref().map(|link| text!("by the link {name}", name = quoted(link)));
    let more: Vec<Text> = written.into_iter().chain(link).collect();
    if more.is_empty() {
        text!("file: {name}", name)
    } else {
        text!("file: {name} ({more})", name, more = Text::join(more, ", "))
    }
}

/// Returns the rows of a command, which is never cut: the user must see all of it.
fn command_rows(
    call: &ToolCall,
    argument: &str,
    command: &str,
    asks: &[Range<usize>],
    colour: bool,
    room: usize,
) -> Preview {
    let mut rows = marks::rows(command, asks, colour, room);
    for (name, value) in call.args.iter().filter(|(name, _)| name.as_str() != argument) {
        rows.extend(plain(&format!("{name}: {value}"), room));
    }
    Preview { first: rows.len(), names: rows.len(), rows }
}

/// Colours a row of a diff by its sign.
fn tinted(row: String) -> String {
    let style = match row.trim_start().as_bytes().first() {
        Some(b'+') => Style::Good,
        Some(b'-') => Style::Bad,
        Some(b'@') => Style::Action,
        _ => return row,
    };
    let (on, off) = codes(style);
    format!("{on}{}{off}\n", row.trim_end_matches('\n'))
}

/// Returns the rows of a diff below a heading. The preview has already named the file, so a diff of a single file
/// starts at its first hunk.
fn change_rows(diff: &str, room: usize) -> Vec<String> {
    let name = |mark: &str| diff.lines().filter_map(|line| line.strip_prefix(mark)).collect::<Vec<_>>();
    let hunks = match (&*name("--- a/"), &*name("+++ b/")) {
        ([before], [after]) if before == after => diff.find("\n@@").map_or(diff, |at| &diff[at + 1..]),
        // Keep the file names of a diff of several files, and of a file that is created, removed or renamed.
        _ => diff,
    };
    [plain(&text!("a change:"), room), plain(hunks, room)].concat()
}

fn arguments(call: &ToolCall, room: usize, language: Language) -> Vec<String> {
    let known = toolfence_policy::toolset::builtin(&call.name).map(|spec| spec.purpose.as_ref()).unwrap_or_default();
    let mut rows = if known.is_empty() { Vec::new() } else { plain(in_language(known, language), room) };
    for (name, value) in &call.args {
        match value.as_str() {
            Some(text) if text.contains('\n') => {
                rows.push(format!("  {}:\n", one_line(name)));
                rows.extend(marked(text, "  | ", "  | ", room));
            }
            _ => rows.extend(plain(&format!("{}: {value}", one_line(name)), room)),
        }
    }
    rows
}

/// Returns the lines of a text, indented and without another mark.
fn plain(words: &(impl Words + ?Sized), room: usize) -> Vec<String> {
    marked(&words.words(), "  ", "  ", room)
}

/// Returns the lines of a text, each with a mark before it so that none looks like the program's own output. Long lines
/// are folded.
fn marked(text: &str, first: &str, others: &str, room: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        // Escape before measuring, because an escape sequence is wider than the character that it replaces.
        let line = escaped(line);
        let mark = if index == 0 { first } else { others };
        rows.extend(folded(&line, room).enumerate().map(|(part, row)| {
            let mark = if part == 0 { mark } else { FOLDED };
            format!("{mark}{row}\n")
        }));
    }
    rows
}

/// Returns the lines of a file from outside: marked, folded, and with control and invisible characters escaped.
pub(crate) fn file_rows(text: &str, room: usize) -> String {
    let mut seen = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c != '\n' && marks::hides(c) {
            true => seen.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            false => seen.push(c),
        }
    }
    marked(&seen, "  | ", "  | ", room).concat()
}

/// Splits a line into pieces that fit in a row. An empty line is one empty piece.
fn folded(line: &str, room: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let end = fitting(line, room);
        rest = (end < line.len()).then(|| &line[end..]);
        Some(&line[..end])
    })
}

/// Returns the number of bytes of a line that fit in a row. A tab and every non-ASCII character count with their
/// maximum width.
fn fitting(line: &str, room: usize) -> usize {
    let mut column = 0;
    let over = line.char_indices().find(|(_, c)| {
        column += match c {
            '\t' => 8,
            c if c.is_ascii() => 1,
            _ => 2,
        };
        column > room
    });
    over.map_or(line.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_row_of_a_file_is_marked_and_shows_what_hides() {
        let text = format!("Do it.{}Trusted.\n\u{1b}[2Kx\u{ad}y\u{a0}é\r\n", " ".repeat(74));
        let rows = super::file_rows(&text, 30);
        assert!(rows.lines().count() > 3 && rows.lines().all(|row| row.chars().count() <= 36), "{rows}");
        assert!(rows.lines().all(|row| row.starts_with("  | ") || row.starts_with(super::FOLDED)), "{rows}");
        assert!(rows.ends_with("  | \\u{1b}[2Kx\\u{ad}y\\u{a0}é\n"), "{rows}");
    }

    use super::*;
    use crate::marks::ROOM;
    use serde_json::{Value, json};
    use std::sync::Arc;
    use toolfence_policy::Facts;
    use toolfence_policy::Policy;
    use toolfence_sandbox::isolation::Settings;
    use toolfence_tools::CommandRunner;
    use toolfence_workspace::Workspace;

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall::new("1", name, args.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn the_purpose_of_a_tool_is_translated() {
        for spec in toolfence_policy::toolset::builtins() {
            let rows = |language| arguments(&call(&spec.name, json!({})), 400, language).concat();
            let (english, portuguese) = (rows(Language::English), rows(Language::Portuguese));
            assert!(english.contains(spec.purpose.as_ref()), "{english}");
            assert!(!portuguese.contains(spec.purpose.as_ref()) && portuguese.len() > 10, "{portuguese}");
        }
    }

    #[test]
    fn labels_say_what_matters() {
        assert_eq!(label(&call("read_file", json!({"path": "a.rs"}))), "read_file a.rs");
        assert_eq!(label(&call("bash", json!({"command": "make\nmake test", "cwd": "x"}))), "bash $ make ...");
        assert_eq!(label(&call("search", json!({"pattern": "a b"}))), "search \"a b\"");
        assert_eq!(label(&call("weather", json!({"city": 3}))), "weather");
    }

    /// Returns the diff that a question about the call would contain.
    fn diff(call: &ToolCall, workspace: &Arc<Workspace>) -> Option<String> {
        CommandRunner::new(workspace.clone(), Settings::new()).plan(call).ok().flatten()
    }

    fn preview(name: &str, args: Value, workspace: &Arc<Workspace>) -> Preview {
        let optional = toolfence_policy::toolset::edit_data();
        let spec = toolfence_policy::toolset::builtin(name).or_else(|| (name == optional.name).then_some(&optional));
        let (call, spec) = (call(name, args), spec.expect("it is one of ours"));
        let decision = Policy::default().judge(&call, spec, &**workspace);
        let question = Question {
            diff: diff(&call, workspace),
            call,
            rule: decision.rule,
            reason: String::new(),
            marks: decision.marks,
            targets: decision.targets,
            has_run: false,
            is_about_output: false,
            always: Ok(Vec::new()),
            offers_all: false,
        };
        Preview::new(&question, false, ROOM)
    }

    #[test]
    fn the_file_that_is_really_written_is_shown_whole() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let long = format!("{}/{}  {}", "d".repeat(200), "a".repeat(100), "z".repeat(100));
        std::fs::create_dir_all(home.path().join("d".repeat(200))).expect("a folder can be made");
        std::fs::create_dir(home.path().join("docs")).expect("a folder can be made");
        std::fs::write(home.path().join("Makefile"), "all: ; true\n").expect("it can be written");
        std::os::unix::fs::symlink("Makefile", home.path().join("w3")).expect("a link can be made");
        let workspace = Arc::new(Workspace::open(home.path(), Default::default()).expect("it is a folder"));
        let round = format!("docs/{}../Makefile", "./".repeat(90));
        for (path, want) in [
            ("Makefile", "file: Makefile".to_owned()),
            ("w3", "file: Makefile (written as w3, by the link w3)".to_owned()),
            (&round, format!("file: Makefile (written as {} ...)", &round[..60])),
            (&long, format!("file: \"{long}\"")),
            ("a\tb", "file: \"a\\tb\"".to_owned()),
        ] {
            let shown = preview("write_file", json!({"path": path, "content": "all: ; touch EVIL\n"}), &workspace);
            let rows = shown.first_rows().replace("\n  \\ ", "");
            assert_eq!(rows.lines().next().map(str::trim_start), Some(want.as_str()), "{rows}");
        }
        let patch = "--- a/w3\n+++ b/w3\n@@ -1 +1 @@\n-all: ; true\n+all: ; touch EVIL\n";
        let shown = preview("apply_patch", json!({"patch": patch}), &workspace).first_rows();
        assert!(shown.starts_with("  file: Makefile (written as w3, by the link w3)\n"), "{shown}");
    }

    #[test]
    fn an_edit_is_shown_as_what_it_would_do() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        std::fs::write(home.path().join("a"), "one\ntwo\n").expect("it can be written");
        let workspace = Arc::new(Workspace::open(home.path(), Default::default()).expect("it is a folder"));
        let shown = |name: &str, args: Value| preview(name, args, &workspace).all_rows();
        let change = "  file: a\n  a change:\n  @@ -1,2 +1,2 @@\n   one\n  -two\n  +2\n";
        let edits = json!([{"start_line": 2, "end_line": 2, "replacement": "2"}]);
        assert_eq!(shown("edit_file", json!({"path": "a", "edits": edits})), change);
        assert_eq!(shown("replace_text", json!({"path": "a", "old": "two", "new": "2"})), change);
        assert_eq!(shown("apply_patch", json!({"patch": "--- a/a\n+++ b/a\n@@ -2 +2 @@\n-two\n+2\n"})), change);
        std::fs::write(home.path().join("b"), "{\n  \"x\": 1 // one\n}\n").expect("it can be written");
        let change =
            "  file: b\n  a change:\n  @@ -1,3 +1,3 @@\n   {\n  -  \"x\": 1 // one\n  +  \"x\": 2 // one\n   }\n";
        assert_eq!(shown("edit_data", json!({"path": "b", "edits": [{"at": "/x", "value": 2}]})), change);
        let impossible = shown("replace_text", json!({"path": "a", "old": "three", "new": "3"}));
        assert!(impossible.contains("  old: \"three\"\n"), "{impossible}");
        assert_eq!(std::fs::read_to_string(home.path().join("a")).ok().as_deref(), Some("one\ntwo\n"));
    }

    #[test]
    fn a_new_file_is_a_change_that_adds_all_of_it() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        std::fs::write(home.path().join("old"), "one\n").expect("it can be written");
        std::fs::write(home.path().join("binary"), b"\0\xff").expect("it can be written");
        let workspace = Arc::new(Workspace::open(home.path(), Default::default()).expect("it is a folder"));
        let of = |path: &str| diff(&call("write_file", json!({"path": path, "content": "one\ntwo\n"})), &workspace);
        assert_eq!(of("a/new").as_deref(), Some("--- /dev/null\n+++ b/a/new\n@@ -0,0 +1,2 @@\n+one\n+two\n"));
        assert_eq!(of("old").as_deref(), Some("--- a/old\n+++ b/old\n@@ -1 +1,2 @@\n one\n+two\n"));
        assert_eq!((of("binary"), of("../new")), (None, None), "what is there and cannot be read is not new");
    }

    #[test]
    fn hidden_rows_are_counted() {
        let of = |rows: usize| Preview::with_rows(Vec::new(), marked(&"x\n".repeat(rows), "  + ", "  + ", ROOM));
        let long = of(MOST_ROWS + 15);
        assert!(long.first_rows().ends_with("  + x\n  [15 more lines not shown]\n"), "{}", long.first_rows());
        assert_eq!((long.hidden(), long.all_rows().lines().count()), (15, MOST_ROWS + 15));
        assert_eq!(of(MOST_ROWS + FEW_ROWS).hidden(), 0, "a few more are shown");
    }

    #[test]
    fn a_command_is_shown_whole_and_every_row_is_marked() {
        let command = format!("echo {}; touch hidden\n{}\u{1b}\n\nend", "\t漢x".repeat(100), "y\n".repeat(MOST_ROWS));
        let preview =
            command_rows(&call("bash", json!({"command": command, "cwd": "a"})), "command", &command, &[], false, ROOM);
        let shown = preview.first_rows();
        assert_eq!((preview.hidden(), &shown), (0, &preview.all_rows()));
        assert!(shown.lines().all(|row| ["  $ ", "  > ", "  \\ ", "  cwd: "].iter().any(|mark| row.starts_with(mark))));
        let joined: String = shown.lines().filter_map(|row| row.get(4..)).collect();
        assert!(joined.contains("; touch hidden") && joined.contains("\\u{1b}end"), "{joined}");
        assert!(shown.lines().all(|row| row.chars().count() <= 80));
    }

    #[test]
    fn words_stay_on_their_line() {
        assert_eq!(
            one_line("harmless\n  asked because\r\n\t$ ls\u{2028}Run it?"),
            "harmless asked because $ ls Run it?"
        );
        assert!(one_line(&"a b ".repeat(500)).chars().count() < MOST_CHARS + 8);
        assert_eq!(one_line(&"x".repeat(500)), format!("{} ...", "x".repeat(MOST_CHARS)));
        let long = format!("{} word after", "x ".repeat(79).trim_end());
        assert_eq!(one_line(&long), format!("{} ...", "x ".repeat(79).trim_end()), "the cut is between words");
    }
}
