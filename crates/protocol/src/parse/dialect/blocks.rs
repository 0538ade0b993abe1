//! Dialects whose calls are fenced code blocks with another word than `tool`. They are read only if enabled by name,
//! because such blocks are examples in most replies.
//!
//! - `shell_block`: a block with the word `bash`, `sh` or `shell` is a call of `bash`.
//! - `search_replace`: a block that begins with a SEARCH/REPLACE block, perhaps after the path of its file, is a
//!   call of `apply_patch`.
//!
//! The content of a block is followed line by line, so that a closing fence inside a here-document, a string of the
//! shell or the text of a file can count as content.

use super::shell::ShellText;
use crate::json::{self, Problem};
use crate::parse::call::{self, Draft};
use crate::search_replace::{self, MOST_PATH, Mark};
use crate::{Args, Catalog, Dialect, Dialects, Text, text};

/// Returns `true` if fenced code blocks with other words than those of the protocol may be calls.
pub(in crate::parse) fn are_read(dialects: Dialects) -> bool {
    dialects.contains(Dialect::ShellBlock) || dialects.contains(Dialect::SearchReplace)
}

/// The maximum number of bytes in a line with the fence of such a block: the line is examined again with each awaited
/// piece of the reply.
const MOST_LINE: usize = 4096;

/// Returns `true` if a line may be the opening fence of such a block.
pub(in crate::parse) fn may_open(line: &str) -> bool {
    line.len() <= MOST_LINE && (line.contains("```") || line.contains("~~~"))
}

/// Returns `true` if a block with this word is a command.
pub(in crate::parse) fn is_shell(word: &str, dialects: Dialects, catalog: Option<&Catalog>) -> bool {
    matches!(word, "bash" | "sh" | "shell") && offers(Dialect::ShellBlock, dialects, catalog)
}

/// Returns `true` if calls in the dialect are read and their tool is on offer.
fn offers(dialect: Dialect, dialects: Dialects, catalog: Option<&Catalog>) -> bool {
    dialects.contains(dialect) && catalog.is_none_or(|catalog| catalog.find(tool(dialect)).is_some())
}

fn tool(dialect: Dialect) -> &'static str {
    if dialect == Dialect::ShellBlock { "bash" } else { "apply_patch" }
}

/// Returns the dialect of the block with this word in its info string. `content` begins with the first line of the
/// block; with `whole`, the reply ends after it. `None` if more text is needed.
pub(in crate::parse) fn dialect_of(
    word: &str,
    content: &str,
    whole: bool,
    dialects: Dialects,
    catalog: Option<&Catalog>,
) -> Option<Option<Dialect>> {
    if offers(Dialect::SearchReplace, dialects, catalog) && begins_search(content, whole)? {
        return Some(Some(Dialect::SearchReplace));
    }
    Some(is_shell(word, dialects, catalog).then_some(Dialect::ShellBlock))
}

/// Returns `true` if one of the first two lines is the mark of a SEARCH/REPLACE block, the second one only after a
/// path. `None` if more text is needed.
fn begins_search(content: &str, whole: bool) -> Option<bool> {
    const SEARCH: &str = "<<<<<<< SEARCH";
    let mut rest = content;
    for _ in 0..2 {
        // This runs again with each awaited piece of the reply, so only a few bytes are examined.
        let near = &rest[..crate::clip::floor_boundary(rest, 2 * MOST_PATH)];
        let end = near.find(['\n', '\r']);
        let line = near[..end.unwrap_or(near.len())].trim();
        if line.starts_with(SEARCH) {
            return Some(line == SEARCH);
        }
        let Some(end) = end else {
            let is_open = near.len() == rest.len() && line.len() <= MOST_PATH;
            // A reply that was cut within the mark was meant as a block.
            return if whole || !is_open { Some(line.len() > 7 && SEARCH.starts_with(line)) } else { None };
        };
        if search_replace::path(line).is_none() {
            return Some(false);
        }
        rest = rest[end..].strip_prefix("\r\n").unwrap_or(&rest[end + 1..]);
    }
    Some(false)
}

/// The content of an open block so far.
#[derive(Debug)]
pub(in crate::parse) enum CallBlock {
    /// A command.
    Shell(ShellText),
    /// SEARCH/REPLACE blocks.
    SearchReplace {
        /// The path in the line before the fence.
        path: Option<String>,
        part: Part,
    },
}

/// The part of a SEARCH/REPLACE block that contains a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::parse) enum Part {
    Outside,
    Old,
    New,
}

impl CallBlock {
    /// Creates an empty block; `line_before` is the line before its fence.
    pub(in crate::parse) fn new(dialect: Dialect, line_before: &str) -> CallBlock {
        if dialect == Dialect::ShellBlock {
            return CallBlock::Shell(ShellText::default());
        }
        CallBlock::SearchReplace { path: search_replace::path(line_before).map(str::to_owned), part: Part::Outside }
    }

    /// Returns the tool that is called.
    pub(in crate::parse) fn tool(&self) -> &'static str {
        tool(match self {
            CallBlock::Shell(_) => Dialect::ShellBlock,
            CallBlock::SearchReplace { .. } => Dialect::SearchReplace,
        })
    }

    /// Returns `true` if a text is open in which a closing fence is content.
    pub(in crate::parse) fn is_open(&self) -> bool {
        match self {
            CallBlock::Shell(shell) => shell.is_open(),
            CallBlock::SearchReplace { part, .. } => *part != Part::Outside,
        }
    }

    /// Adds a line of the block. Returns a message if the line makes the block malformed.
    pub(in crate::parse) fn line(&mut self, line: &str) -> Option<Text> {
        match self {
            CallBlock::Shell(shell) => shell.line(line),
            CallBlock::SearchReplace { part, .. } => {
                *part = match (*part, search_replace::mark(line)) {
                    (Part::Outside, Some(Mark::Search)) => Part::Old,
                    (Part::Old, Some(Mark::Divider)) => Part::New,
                    (Part::New, Some(Mark::Replace)) => Part::Outside,
                    (part, None) => part,
                    (_, Some(_)) => {
                        return Some(text!(
                            "the marks <<<<<<< SEARCH, ======= and >>>>>>> REPLACE do not come in this order, once for each change; if the \
                             text of the file has such lines, use another tool"
                        ));
                    }
                };
                None
            }
        }
    }

    /// Reads the call of a block that has ended at its closing fence.
    pub(in crate::parse) fn call(&self, body: &str) -> Result<Draft, Problem> {
        let refused = |message| Err(Problem::new(0, message));
        if self.is_open() {
            return Err(Problem { inside: true, ..Problem::new(body.len(), self.fence_inside()) });
        }
        let (key, value) = match self {
            CallBlock::Shell(_) if body.trim().is_empty() => {
                return refused(text!("the block is empty: write a command in it"));
            }
            CallBlock::Shell(_) if json::strict(body.trim()).is_ok_and(|value| value.is_object()) => {
                return refused(text!(
                    "the block contains JSON instead of a command; write a JSON call in a block with the word tool"
                ));
            }
            CallBlock::Shell(_) => ("command", body.strip_suffix('\n').unwrap_or(body).to_owned()),
            CallBlock::SearchReplace { path, .. } => {
                let begins = |line: &str| search_replace::mark(line).is_some();
                match path {
                    // The block itself begins with the path.
                    _ if !body.lines().next().is_some_and(begins) => ("patch", body.to_owned()),
                    Some(path) => ("patch", format!("{path}\n{body}")),
                    None => {
                        return refused(text!(
                            "the path of the file is missing: write it alone on the line before the fence"
                        ));
                    }
                }
            }
        };
        let args: Args = [(key.to_owned(), value.into())].into_iter().collect();
        Ok(Draft { name: call::strip_decoration(self.tool()).into_owned(), args, ..Draft::default() })
    }

    /// Returns the message for a closing fence that came too early.
    pub(in crate::parse) fn fence_inside(&self) -> Text {
        match self {
            CallBlock::Shell(_) => text!(
                "the closing fence came inside a here-document or a quoted text that was still open; end it before the fence"
            ),
            CallBlock::SearchReplace { .. } => {
                text!("the closing fence came before >>>>>>> REPLACE; end each change with this line")
            }
        }
    }
}
