//! The syntax check with tree-sitter grammars. The parser never fails: text that does not fit becomes an error node,
//! and a missing token a missing node.

use crate::validate::Diagnostic;
use crate::validate::diagnostic::one_line;
use std::cell::Cell;
use std::ops::ControlFlow;
use toolfence_protocol::{Text, text};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// A tree-sitter grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    C,
    Css,
    Go,
    Java,
    JavaScript,
    Json,
    Python,
    Rust,
    TypeScript,
    Tsx,
}

/// The maximum number of errors that are reported for one text. More would not help.
const MOST_ERRORS: usize = 50;

/// The maximum number of parser steps per byte of text. Hand-written texts need at most half of both limits.
const STEPS_PER_BYTE: usize = 2;
/// The maximum number of times that the parser reads a byte, on average.
const READS_PER_BYTE: usize = 64;

/// The fixed part of both limits, in addition to the part per byte.
const FIXED_BUDGET: usize = 1 << 18;

/// The bytes that the parser gets at a time.
const CHUNK: usize = 4096;

/// The longest piece of text in a message, in characters.
const LONGEST_SNIPPET: usize = 40;

/// Returns the errors of a parsed text.
pub(super) fn errors(grammar: Grammar, tree: &Tree, text: &str) -> Vec<Diagnostic> {
    if !tree.root_node().has_error() {
        return Vec::new();
    }
    match grammar {
        // Macros and new properties make valid texts that the grammar cannot parse, so only brackets are checked.
        Grammar::C | Grammar::Css => brackets(leaves(tree), text).into_iter().collect(),
        _ => all_errors(tree, text),
    }
}

fn all_errors(tree: &Tree, text: &str) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        if found.len() == MOST_ERRORS {
            break;
        }
        let parts = children(&node);
        if node.is_missing() {
            found.push(diagnostic_at(&node, text, text!("`{token}` is missing here", token = node.kind())));
        } else if node.is_error() && !parts.iter().any(Node::has_error) {
            found.push(brackets(parts, text).unwrap_or_else(|| unexpected(&node, text)));
        } else if node.has_error() {
            // The first child is popped first, so the errors are in the order of the text.
            pending.extend(parts.into_iter().rev());
        }
    }
    found
}

/// Returns the first bracket that is not closed, or that closes nothing.
fn brackets<'t>(tokens: impl IntoIterator<Item = Node<'t>>, text: &str) -> Option<Diagnostic> {
    let mut open: Vec<Node<'_>> = Vec::new();
    // A missing token is one that the parser inserted; the text does not contain it.
    for token in tokens.into_iter().filter(|token| !token.is_missing()) {
        let closed = match token.kind() {
            "(" | "[" | "{" => {
                open.push(token);
                continue;
            }
            ")" => "(",
            "]" => "[",
            "}" => "{",
            _ => continue,
        };
        match open.pop() {
            Some(other) if other.kind() == closed => {}
            Some(other) => {
                return Some(diagnostic_at(&other, text, text!("`{bracket}` is never closed", bracket = other.kind())));
            }
            None => {
                return Some(diagnostic_at(&token, text, text!("`{bracket}` closes nothing", bracket = token.kind())));
            }
        }
    }
    open.last().map(|first| diagnostic_at(first, text, text!("`{bracket}` is never closed", bracket = first.kind())))
}

fn unexpected(node: &Node<'_>, text: &str) -> Diagnostic {
    let snippet = node.utf8_text(text.as_bytes()).unwrap_or_default();
    let snippet: String = snippet.lines().next().unwrap_or_default().chars().take(LONGEST_SNIPPET).collect();
    let message = match snippet.is_empty() {
        true => text!("something is missing here"),
        false => text!("unexpected `{snippet}`", snippet = one_line(&snippet)),
    };
    diagnostic_at(node, text, message)
}

/// Iterates over all tokens in order.
fn leaves(tree: &Tree) -> impl Iterator<Item = Node<'_>> {
    let mut pending = vec![tree.root_node()];
    std::iter::from_fn(move || {
        loop {
            let node = pending.pop()?;
            match node.child_count() {
                0 => return Some(node),
                _ => pending.extend(children(&node).into_iter().rev()),
            }
        }
    })
}

/// Parses a text. Unchanged parts are taken from `before`, the edited tree of an earlier version. Returns `None` if
/// parsing exceeds its bounds or `give_up` returns `true`.
pub(super) fn read(grammar: Grammar, text: &str, before: Option<&Tree>, give_up: &dyn Fn() -> bool) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&grammar.language()).ok()?;
    let (most_steps, most_reads) =
        (FIXED_BUDGET + STEPS_PER_BYTE * text.len(), FIXED_BUDGET + READS_PER_BYTE * text.len());
    let (steps, reads) = (Cell::new(0), Cell::new(0));
    let mut bounded = |_: &tree_sitter::ParseState| {
        /// Steps of the parser between two calls of this callback.
        const STEPS: usize = 100;
        steps.set(steps.get() + STEPS);
        let within = steps.get() <= most_steps && reads.get() <= most_reads;
        if within && !give_up() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut read = |at: usize, _| {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let piece = &rest[..rest.len().min(CHUNK)];
        reads.set(reads.get() + piece.len());
        // Beyond the bound the text ends here, so that the parser gets to the callback that stops it.
        if reads.get() > most_reads || give_up() { &[] } else { piece }
    };
    let options = ParseOptions::new().progress_callback(&mut bounded);
    let tree = parser.parse_with_options(&mut read, before, Some(options))?;
    (reads.get() <= most_reads && !give_up()).then_some(tree)
}

fn diagnostic_at(node: &Node<'_>, text: &str, message: Text) -> Diagnostic {
    let at = node.start_position();
    // tree-sitter counts columns in bytes.
    let line_start = node.start_byte().saturating_sub(at.column);
    let column = text.get(line_start..node.start_byte()).map_or(at.column, |before| before.chars().count());
    Diagnostic { path: String::new(), line: at.row as u64 + 1, column: column as u64 + 1, message, syntax: true }
}

fn children<'t>(node: &Node<'t>) -> Vec<Node<'t>> {
    node.children(&mut node.walk()).collect()
}

impl Grammar {
    fn language(self) -> tree_sitter::Language {
        let language = match self {
            Grammar::C => tree_sitter_c::LANGUAGE,
            Grammar::Css => tree_sitter_css::LANGUAGE,
            Grammar::Go => tree_sitter_go::LANGUAGE,
            Grammar::Java => tree_sitter_java::LANGUAGE,
            Grammar::JavaScript => tree_sitter_javascript::LANGUAGE,
            Grammar::Json => tree_sitter_json::LANGUAGE,
            Grammar::Python => tree_sitter_python::LANGUAGE,
            Grammar::Rust => tree_sitter_rust::LANGUAGE,
            Grammar::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Grammar::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        };
        language.into()
    }
}
