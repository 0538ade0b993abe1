//! Writes values in the formatting of the surrounding text.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io;

/// The layout of a value.
pub(super) enum Layout<'a> {
    /// On several lines, indented by `unit` below a line with the indentation `base`.
    Lines { newline: &'a str, base: &'a str, unit: &'a str },
    /// On one line, optionally with a space after commas and colons.
    Line { spaced: bool },
}

/// Returns the text of a value.
pub(super) fn format_value(value: &Value, layout: &Layout<'_>) -> String {
    match layout {
        Layout::Lines { newline, base, unit } => {
            // JSON strings contain no line break, so the formatter wrote each of them.
            let text = serialize_with(value, PrettyFormatter::with_indent(unit.as_bytes()));
            text.replace('\n', &format!("{newline}{base}"))
        }
        Layout::Line { spaced: true } => serialize_with(value, Spaced),
        Layout::Line { spaced: false } => value.to_string(),
    }
}

fn serialize_with(value: &Value, formatter: impl Formatter) -> String {
    let mut bytes = Vec::new();
    // Writing a value to memory does not fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    String::from_utf8(bytes).unwrap_or_default()
}

/// Formats on one line with a space after each comma and colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
