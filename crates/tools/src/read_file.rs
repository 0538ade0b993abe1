//! `read_file`: returns lines of a file, with line numbers.

use super::{Views, blocking, capped, spec_of, with_notes};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::text::Field;
use toolfence_protocol::{Language, Output, Text, ToolSpec, text};
use toolfence_workspace::{FileText, ReadFile, ReadLimits, Total, Workspace};

/// The tool `read_file`.
#[derive(Debug)]
pub struct Read {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    views: Views,
}

impl Read {
    /// Creates the tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Read {
        Read { spec: spec_of("read_file"), workspace, views: Views::default() }
    }

    /// Sets the views, in which the tool records the versions of the files that it returns, for the tools that change
    /// files.
    #[must_use]
    pub fn views(mut self, views: &Views) -> Read {
        self.views = views.clone();
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
            limits: ReadLimits::from(permit.limits()),
            language: permit.language(),
            ..ReadFile::new(permit.text("path").unwrap_or_default())
        };
        let (language, most) = (permit.language(), permit.limits().output_bytes);
        let numbered = permit.flag("line_numbers", true);
        Box::pin(async move {
            let file = blocking(&self.workspace, move |workspace, stop| workspace.files().read(&wanted, stop)).await?;
            self.views.record_read(&file);
            Ok(output_of(&file, numbered, language, most))
        })
    }
}

fn output_of(file: &FileText, numbered: bool, language: Language, most: u64) -> Output {
    let text = if numbered { with_numbers(file) } else { file.text.clone() };
    let cut = file.left_out > 0 || file.cut_lines > 0;
    let mut output = capped(with_notes(text, notes(file)), cut, language, most);
    // Lines that were not read are missing too, so the size is that of the whole file.
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

fn notes(file: &FileText) -> Vec<Text> {
    let mut notes = Vec::new();
    if file.start_line == 0 {
        notes.push(text!("[The file is empty.]"));
    }
    if file.left_out > 0 {
        notes.push(truncation(file));
    }
    if file.lossy {
        notes.push(text!("[Some bytes are not UTF-8 text; they are shown as �.]"));
    }
    if file.crlf {
        notes.push(text!("[Lines end with CRLF; they are shown as if with LF.]"));
    }
    if file.bom {
        notes.push(text!("[The file begins with a byte order mark, which is not shown.]"));
    }
    notes
}

fn truncation(file: &FileText) -> Text {
    let (shown, next) = (file.end_line + 1 - file.start_line, file.end_line + 1);
    let left: Field = match file.total {
        Total::AtLeast(_) => text!("at least {count}", count = file.left_out).into(),
        _ => file.left_out.into(),
    };
    text!(
        "[TRUNCATED: showing first {shown} lines, {left} more available]\n[Continue with start_line={next}.]",
        shown,
        left,
        next
    )
}

fn data_of(file: &FileText) -> Value {
    let mut data = json!({"path": file.path, "start_line": file.start_line, "end_line": file.end_line});
    let name = if matches!(file.total, Total::Exact(_)) { "total_lines" } else { "total_lines_at_least" };
    data[name] = file.total.count().into();
    data
}
