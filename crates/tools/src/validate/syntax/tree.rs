//! Syntax by a tree-sitter grammar. The parser never fails: what does not fit is an error node, what would have to be there
//! a missing one.

use crate::validate::Diagnostic;
use crate::validate::diagnostic::one_line;
use std::cell::Cell;
use std::ops::ControlFlow;
use toolfence_protocol::{Text, text};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Which grammar.
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

/// The most errors of one text that are told: more say nothing more.
const MOST: usize = 50;

/// What reading a byte of a text may cost: steps of the parser, and how often it is looked at. Texts that people write take
/// half of that at the most.
const STEPS_A_BYTE: usize = 2;
const LOOKS_A_BYTE: usize = 64;

/// What any text may cost beside that.
const AT_LEAST: usize = 1 << 18;

/// Bytes that are handed to the parser at a time.
const PIECE: usize = 4096;

/// The longest piece of text in a message, in characters.
const LONGEST: usize = 40;

/// What is wrong with a text that was read.
pub(super) fn errors(grammar: Grammar, tree: &Tree, text: &str) -> Vec<Diagnostic> {
    if !tree.root_node().has_error() {
        return Vec::new();
    }
    match grammar {
        // What macros and new properties make of them cannot be read by a grammar, and is right all the same.
        Grammar::C | Grammar::Css => brackets(leaves(tree), text).into_iter().collect(),
        _ => all_errors(tree, text),
    }
}

fn all_errors(tree: &Tree, text: &str) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        if found.len() == MOST {
            break;
        }
        let parts = children(&node);
        if node.is_missing() {
            found.push(told(&node, text, text!("`{token}` is missing here", token = node.kind())));
        } else if node.is_error() && !parts.iter().any(Node::has_error) {
            found.push(brackets(parts, text).unwrap_or_else(|| unexpected(&node, text)));
        } else if node.has_error() {
            pending.extend(parts.into_iter().rev());
        }
    }
    found
}

/// The first of these that is not closed, or that closes nothing.
fn brackets<'t>(tokens: impl IntoIterator<Item = Node<'t>>, text: &str) -> Option<Diagnostic> {
    let mut open: Vec<Node<'_>> = Vec::new();
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
                return Some(told(&other, text, text!("`{bracket}` is never closed", bracket = other.kind())));
            }
            None => return Some(told(&token, text, text!("`{bracket}` closes nothing", bracket = token.kind()))),
        }
    }
    open.last().map(|first| told(first, text, text!("`{bracket}` is never closed", bracket = first.kind())))
}

fn unexpected(node: &Node<'_>, text: &str) -> Diagnostic {
    let snippet = node.utf8_text(text.as_bytes()).unwrap_or_default();
    let snippet: String = snippet.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
    let message = match snippet.is_empty() {
        true => text!("something is missing here"),
        false => text!("unexpected `{snippet}`", snippet = one_line(&snippet)),
    };
    told(node, text, message)
}

/// Every token, in order.
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

/// The tree of a text, with what did not change taken from an edited one of before; `None` where it would be too much work,
/// or `give_up` says so.
pub(super) fn read(grammar: Grammar, text: &str, before: Option<&Tree>, give_up: &dyn Fn() -> bool) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&grammar.language()).ok()?;
    let (most_steps, most_looks) = (AT_LEAST + STEPS_A_BYTE * text.len(), AT_LEAST + LOOKS_A_BYTE * text.len());
    let (steps, looks) = (Cell::new(0), Cell::new(0));
    let mut bounded = |_: &tree_sitter::ParseState| {
        /// Of the parser, from one call to the next.
        const STEPS: usize = 100;
        steps.set(steps.get() + STEPS);
        let within = steps.get() <= most_steps && looks.get() <= most_looks;
        if within && !give_up() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut read = |at: usize, _| {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let piece = &rest[..rest.len().min(PIECE)];
        looks.set(looks.get() + piece.len());
        // Beyond the bound the text is over, and the parser comes to where it is stopped.
        if looks.get() > most_looks || give_up() { &[] } else { piece }
    };
    let options = ParseOptions::new().progress_callback(&mut bounded);
    let tree = parser.parse_with_options(&mut read, before, Some(options))?;
    (looks.get() <= most_looks && !give_up()).then_some(tree)
}

fn told(node: &Node<'_>, text: &str, message: Text) -> Diagnostic {
    let at = node.start_position();
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
