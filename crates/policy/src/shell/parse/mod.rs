//! The shell parser lists the simple commands that bash would run, with the words it would pass to them.
//!
//! Bash is the oracle (`tests/policy/agreement/parser.rs`). For every text that [`parse`] accepts, each program that
//! bash starts is in the list, and each word that is a [`ShellWord::Literal`] is exactly the word that bash passes.
//! Everything else is [`Unreadable`]: a caller must not allow it based on its appearance.
//!
//! ```text
//! list      pipeline ((";" | "&" | "&&" | "||" | newline) pipeline)*
//! pipeline  ("!" | "time" "-p"? "--"?)* command (("|" | "|&") command)*
//! command   simple | compound redirection*
//! simple    (assignment | redirection)* word (word | redirection)*
//! compound  "(" list ")" | "{" list "}" | "if" .. "fi" | ("while" | "until") list "do" list "done" | "[[" words "]]"
//!           | "for" name ("in" word*)? "do" list "done" | "case" word "in" ("("? word ("|" word)* ")" list? (";;" | ";&" | ";;&"))* "esac"
//! redirect  (digits | "{" name "}")? ("<" | ">" | ">>" | ">|" | "<>" | "<&" | ">&" | "&>" | "&>>" | "<<" | "<<-" | "<<<") word
//! word      text, '..', "..", $'..', $"..", $name, ${name}, ${#name}, ${name:-text}, $(list), `list`, <(list), >(list), $((sum))
//! ```
//!
//! Words keep their known parts: a brace list of literals is several literals, a pattern of file names keeps its text,
//! and `~/x` is a path below the home. The commands of a substitution are listed wherever it is: in a word, in double
//! quotes, in a here-document, in the default of a variable.
//!
//! These constructs are unreadable, because their text is evaluated again when they run, or because their reading
//! depends on settings or on bash's version:
//! - arithmetic beyond numbers and names: `((`, `$[`, `let`, `for ((`, subscripts, `${x:1:2}`, `[[ a -eq b ]]` with
//!   words other than numbers. A subscript in the *value* of a name runs commands, so a name counts only if the text
//!   sets it to numbers;
//! - parameters beyond a plain default: `${x@P}`, `${!x}`, `${x:=a}`, `${x%a}`, and quotes inside `${..}`. In double
//!   quotes and here-documents, single quotes pair when bash looks for the `}`, and protect nothing when it expands:
//!   `"${x:-'$(a)'}"` runs `a`;
//! - functions, arrays, extended globs, `select`, `coproc`, brackets and alternatives in `[[ ]]`;
//! - builtins that change how later words are read, or that evaluate a word (see `builtins.rs`), and variables whose
//!   value bash evaluates: `RANDOM='a[$(a)]'` runs `a`;
//! - control characters, which bash uses inside its own words, and CR, which is invisible where it changes a name;
//! - a target of `>&` or `<&` that is not plain: bash expands it a second time if it is no number;
//! - whatever bash reports as a syntax error, and nesting of more than 200 levels.
//!
//! Every step of a loop takes a character or ends the loop, and the stack is a vector. Therefore time is linear and
//! nothing recurses.

mod builtins;
mod documents;
mod expansions;
mod grammar;
mod source;
mod words;

use grammar::Parser;

/// Maximum nesting of lists, words and quotes.
const MAX_DEPTH: usize = 200;

/// Maximum nesting of here-documents and backquotes. Each level reads its text again.
const MAX_TEXT_DEPTH: usize = 4;

/// A parsed command text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// Every simple command of the text, those of substitutions included, in no particular order. A redirection of a
    /// compound command is a command without words.
    pub commands: Vec<SimpleCommand>,
    /// Set if arithmetic uses variables. A text that another one runs inherits their values, which can be expressions
    /// that run commands.
    pub uses_numbers_by_name: bool,
    /// Set if the text has a loop.
    pub has_loops: bool,
}

/// A program or builtin with its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The name and its arguments. Empty for assignments and redirections alone.
    pub words: Vec<ShellWord>,
    /// `NAME=value` before the name.
    pub assignments: Vec<Assignment>,
    /// The redirections in order.
    pub redirections: Vec<Redirection>,
    /// The offset in the text of its first word, assignment or redirection.
    pub position: usize,
    /// Set if a redirection of an input names its descriptor: `3<file`.
    pub(super) names_input: bool,
    /// The byte range of the command in the text, up to the operator that ends it. `None` in a here-document or
    /// backquotes.
    pub span: Option<std::ops::Range<usize>>,
}

/// `NAME=value` or `NAME+=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value, or the text appended to it.
    pub value: ShellWord,
}

/// A redirection of a simple or compound command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// `<`, `>`, `>>`, `>|`, `<>`, `<&`, `>&`, `&>`, `&>>`, `<<` (also for `<<-`) or `<<<`.
    pub operator: &'static str,
    /// A path, a descriptor, or the text of a here-document.
    pub target: ShellWord,
    /// The here-document that becomes the target when the parser has read it.
    document: Option<usize>,
}

/// The known part of a word before bash runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellWord {
    /// Exactly this text.
    Literal(String),
    /// A pattern of file names, in which `\` quotes: the names that match, or the unquoted text if none does.
    Pattern(String),
    /// `~` or `~/…`: a path below the home.
    Home(String),
    /// The word depends on the run.
    Unknown {
        /// The text before the first unknown part.
        prefix: String,
        /// Set if it can be any number of words, also none.
        several: bool,
        /// Set if it is a number.
        number: bool,
    },
}

impl ShellWord {
    /// Returns the text, if it is known.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            _ => None,
        }
    }

    /// Reports whether the word is a decimal number, whatever its value.
    fn is_number(&self) -> bool {
        match self {
            Self::Literal(text) => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()),
            Self::Unknown { number, .. } => *number,
            _ => false,
        }
    }
}

/// A text that the parser does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable {
    /// The offset in the text, or in the here-document or backquotes in it.
    pub position: usize,
    /// The construct, in English.
    pub construct: &'static str,
}

/// Lists the simple commands of a command text.
///
/// # Errors
///
/// [`Unreadable`] for every construct outside of the grammar above.
pub fn parse(text: &str) -> Result<Parsed, Unreadable> {
    parse_counted(text).0
}

/// Parses a text and counts the steps that this takes.
pub fn parse_counted(text: &str) -> (Result<Parsed, Unreadable>, usize) {
    let mut parser = Parser::default();
    let result = parser.parse_all(text);
    let steps = parser.steps;
    (result.map(|()| parser.finish()), steps)
}

/// Reports whether a name is that of a variable whose value bash does not evaluate. `ENV` with a plain word counts too.
pub(super) fn is_plain_assignment(name: &str, value: &str) -> bool {
    is_name(name) && (!builtins::is_evaluated(name) || builtins::is_plain_env(name, value))
}

/// Reports whether a text is the name of a variable.
fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && !text.as_bytes()[0].is_ascii_digit() && text.bytes().all(is_inner)
}

#[cfg(test)]
mod tests;
