//! Parses a JSON or JSONC text into a value and the positions of its parts.

use jsonc_parser::ast;
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};
use toolfence_protocol::json::MOST_NESTING;
use toolfence_protocol::{Text, text};

/// A parsed text.
pub(super) struct Document<'t> {
    pub(super) text: &'t str,
    tree: ast::Value<'t>,
    pub(super) value: Value,
}

/// A value with its items.
#[derive(Clone, Copy)]
pub(super) enum Items<'d> {
    Object(&'d ast::Object<'d>),
    List(&'d ast::Array<'d>),
    Scalar(Range),
}

impl<'t> Document<'t> {
    /// Parses a text.
    ///
    /// # Errors
    /// Fails if it is no JSON, even with comments and trailing commas; if it nests too deep; or if a name is repeated
    /// in an object.
    pub(super) fn read(text: &'t str) -> Result<Document<'t>, Text> {
        // The parser is recursive, so `scan` bounds the nesting before it runs. `scan` also refuses control characters,
        // which the parser accepts.
        scan(text)?;
        // Only JSONC: what JSON5 adds is refused.
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let read = parse_to_ast(text, &CollectOptions::default(), &options);
        let read = read.map_err(|error| text!("The file is no valid JSON: {error}", error = error.to_string()))?;
        let tree = read.value.ok_or_else(|| text!("The file has no JSON value: it is empty."))?;
        let value = value_of(&tree)?;
        Ok(Document { text, tree, value })
    }

    pub(super) fn root(&self) -> Items<'_> {
        Items::new(&self.tree)
    }
}

impl<'d> Items<'d> {
    fn new(value: &'d ast::Value<'d>) -> Items<'d> {
        match value {
            ast::Value::Object(object) => Items::Object(object),
            ast::Value::Array(list) => Items::List(list),
            other => Items::Scalar(other.range()),
        }
    }

    /// Returns its bytes, brackets included.
    pub(super) fn range(&self) -> Range {
        match self {
            Items::Object(object) => object.range,
            Items::List(list) => list.range,
            Items::Scalar(range) => *range,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Items::Object(object) => object.properties.len(),
            Items::List(list) => list.elements.len(),
            Items::Scalar(_) => 0,
        }
    }

    /// Returns the bytes of an item: those of an object begin with the name.
    pub(super) fn item(&self, at: usize) -> Option<Range> {
        match self {
            Items::Object(object) => object.properties.get(at).map(|item| item.range),
            Items::List(list) => list.elements.get(at).map(Ranged::range),
            Items::Scalar(_) => None,
        }
    }

    /// Returns the value of an item.
    pub(super) fn get(&self, at: usize) -> Option<Items<'d>> {
        match self {
            Items::Object(object) => object.properties.get(at).map(|item| Items::new(&item.value)),
            Items::List(list) => list.elements.get(at).map(Items::new),
            Items::Scalar(_) => None,
        }
    }

    /// Returns the value of an item that is known to exist; otherwise an empty range.
    pub(super) fn at(&self, at: usize) -> Items<'d> {
        let end = self.range().end;
        self.get(at).unwrap_or(Items::Scalar(Range { start: end, end }))
    }

    /// Returns the end of the name and the beginning of the value of an item of an object.
    pub(super) fn around_colon(&self, at: usize) -> Option<(usize, usize)> {
        let Items::Object(object) = self else { return None };
        object.properties.get(at).map(|item| (item.name.range().end, item.value.range().start))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'d str> + use<'d> {
        let properties = match self {
            Items::Object(object) => &object.properties[..],
            _ => &[],
        };
        properties.iter().map(|item| item.name.as_str())
    }

    /// Returns the index of a name.
    pub(super) fn index_of(&self, name: &str) -> Option<usize> {
        self.names().position(|known| known == name)
    }
}

fn value_of(tree: &ast::Value<'_>) -> Result<Value, Text> {
    Ok(match tree {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(known) => known.value.into(),
        ast::Value::StringLit(known) => known.value.clone().into_owned().into(),
        // `serde_json` refuses a number that no float can represent. Its text is compared instead, and the NUL keeps it
        // apart from a string of the same characters.
        ast::Value::NumberLit(known) => {
            serde_json::from_str(known.value).unwrap_or_else(|_| format!("\0{}", known.value).into())
        }
        ast::Value::Array(list) => Value::Array(list.elements.iter().map(value_of).collect::<Result<_, _>>()?),
        ast::Value::Object(object) => {
            let mut map = Map::new();
            for item in &object.properties {
                let name = item.name.as_str();
                // RFC 8259, section 4: which of two equal names counts depends on the program that reads them.
                if map.insert(name.to_owned(), value_of(&item.value)?).is_some() {
                    return Err(text!(
                        "The name {name} occurs twice in an object of the file, so it is not clear which one counts. Remove one of them with edit_file.",
                        name
                    ));
                }
            }
            Value::Object(map)
        }
    })
}

/// Limits the nesting of a text, and refuses characters that JSON allows only in strings and comments or not at all.
fn scan(text: &str) -> Result<(), Text> {
    let bytes = text.as_bytes();
    let refused = |at: usize| {
        let line = memchr::memchr_iter(b'\n', &bytes[..at]).count() + 1;
        text!("The file is no valid JSON: line {line} has a character that must not be there.", line)
    };
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at).map_err(refused)?,
            // Brackets and quotes in a comment do not count.
            b'/' => at = after_comment(text, at).map_or(at + 1, |comment| comment.end),
            b'{' | b'[' if depth == MOST_NESTING => {
                return Err(text!("The file nests deeper than {most}, which is the most.", most = MOST_NESTING));
            }
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' => (at, depth) = (at + 1, depth.saturating_sub(1)),
            b'\t' | b'\n' | b'\r' | b' '..=b'~' => at += 1,
            _ => return Err(refused(at)),
        }
    }
    Ok(())
}

/// Returns the position after a string that begins at `at`, or the position of a control character in it. For a string
/// without an end it is the end of the text, for the parser to report.
fn string_end(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    at += 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\\' => at += 2,
            0..0x20 => return Err(at),
            _ => at += 1,
        }
    }
    Ok(bytes.len())
}

/// A comment.
pub(super) struct Comment {
    /// The position after the comment. For a line comment, this is before the line end.
    pub(super) end: usize,
    /// Whether it ends with its line.
    pub(super) is_line: bool,
}

/// Returns the comment that begins at `at`, if there is one.
pub(super) fn after_comment(text: &str, at: usize) -> Option<Comment> {
    let rest = &text.as_bytes()[at..];
    if rest.starts_with(b"//") {
        let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        return Some(Comment { end: at + length, is_line: true });
    }
    let inside = rest.strip_prefix(b"/*")?;
    let length = memchr::memmem::find(inside, b"*/").map_or(inside.len(), |end| end + 2);
    Some(Comment { end: at + 2 + length, is_line: false })
}
