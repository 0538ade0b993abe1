//! `read_file`: lines of a file, numbered.

use super::{Views, blocking, capped, spec_of};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use toolfence_protocol::{Output, ToolSpec};
use toolfence_toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_workspace::{FileText, ReadFile, ReadLimits, Total, Workspace};

/// The tool.
#[derive(Debug)]
pub struct Read {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    limits: ReadLimits,
    views: Views,
}

impl Read {
    /// With the usual limits.
    pub fn new(workspace: Arc<Workspace>) -> Read {
        Read { spec: spec_of("read_file"), workspace, limits: ReadLimits::default(), views: Views::default() }
    }

    /// Remembers in these views what the tool shows, for the tools that change files.
    #[must_use]
    pub fn views(mut self, views: &Views) -> Read {
        self.views = views.clone();
        self
    }

    /// Sets how much is read at once.
    #[must_use]
    pub fn limits(mut self, limits: ReadLimits) -> Read {
        self.limits = limits;
        self
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let wanted = ReadFile {
            start_line: permit.count("start_line"),
            end_line: permit.count("end_line"),
            lines: permit.count("lines"),
            count_lines: permit.flag("count_lines", false),
            limits: self.limits,
            ..ReadFile::new(permit.text("path").unwrap_or_default())
        };
        let numbered = permit.flag("line_numbers", true);
        Box::pin(async move {
            let file = blocking(&self.workspace, move |workspace, stop| workspace.files().read(&wanted, stop)).await?;
            self.views.read(&file);
            Ok(output_of(&file, numbered))
        })
    }
}

fn output_of(file: &FileText, numbered: bool) -> Output {
    let mut text = if numbered { with_numbers(file) } else { file.text.clone() };
    for note in notes(file) {
        text.push_str(&note);
        text.push('\n');
    }
    let mut output = capped(text, file.left_out > 0 || file.cut_lines > 0);
    output.total_bytes = output.total_bytes.max(if output.truncated { file.bytes } else { 0 });
    output.data = Some(data_of(file));
    output
}

fn with_numbers(file: &FileText) -> String {
    let mut text = String::with_capacity(file.text.len() * 9 / 8 + 16);
    for (number, line) in (file.start_line..).zip(file.text.split_terminator('\n')) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{number:>6}\t{line}");
    }
    text
}

fn notes(file: &FileText) -> Vec<String> {
    let mut notes = Vec::new();
    if file.start_line == 0 {
        notes.push("[The file is empty.]".into());
    }
    if file.left_out > 0 {
        notes.push(truncation(file));
    }
    if file.lossy {
        notes.push("[Some bytes are not UTF-8 text; they are shown as \u{FFFD}.]".into());
    }
    if file.crlf {
        notes.push("[Lines end with CRLF; they are shown as if with LF.]".into());
    }
    if file.bom {
        notes.push("[The file begins with a byte order mark, which is not shown.]".into());
    }
    notes
}

fn truncation(file: &FileText) -> String {
    let shown = file.end_line + 1 - file.start_line;
    let at_least = if matches!(file.total, Total::AtLeast(_)) { "at least " } else { "" };
    let next = file.end_line + 1;
    let more = format!("showing first {shown} lines, {at_least}{} more available", file.left_out);
    format!("[TRUNCATED: {more}]\n[Go on with start_line={next}.]")
}

fn data_of(file: &FileText) -> Value {
    let mut data = json!({"path": file.path, "start_line": file.start_line, "end_line": file.end_line});
    let name = if matches!(file.total, Total::Exact(_)) { "total_lines" } else { "total_lines_at_least" };
    data[name] = file.total.count().into();
    data
}
