//! The gate before the parser: what is too big, too deep or made to deceive the eye.
//!
//! Linear in the text, and the only thing that stands between hostile text and a parser that takes exponential time on
//! nested parentheses and the whole stack on nested braces. It knows no commands.

use crate::shell::messages;
use crate::shown::deceives;
use brush_parser::Token;
use std::ops::Range;
use toolfence_protocol::Text;

/// The most bytes of a command.
pub(crate) const MOST_BYTES: usize = 64 * 1024;
/// The deepest nesting of groups, compound commands and substitutions together.
pub(crate) const MOST_DEPTH: usize = 8;
/// The most expansions: the tokenizer recurses into each that is nested.
const MOST_EXPANSIONS: usize = 48;
/// The most here-documents, and the most bytes to the end of the word that names their end.
const MOST_HEREDOCS: usize = 16;
const LONGEST_TAG: usize = 128;
/// A run of blanks that pushes what follows out of sight.
const LONGEST_BLANKS: usize = 48;
/// What the parser may do: every token counts as often as its grammar may try it again.
const MOST_WORK: u64 = 40_000;

/// What speaks against parsing or showing a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Over a limit.
    TooLarge(Text),
    /// It cannot be read as a command.
    Unreadable(Text),
    /// It can be read, but a person would see something else.
    Hidden(Text),
}

/// Judges the raw text, before anything else reads it.
pub(crate) fn text(text: &str) -> Result<(), Fault> {
    if text.len() > MOST_BYTES {
        return Err(Fault::TooLarge(messages::too_many_bytes(text.len(), MOST_BYTES)));
    }
    if text.contains('\0') {
        return Err(Fault::Unreadable(messages::holds_nul()));
    }
    expansions(text)?;
    misread(text)?;
    heredocs(text)
}

/// Characters that make a text look like another one. Told apart from [`text`] as they do not hinder the parser.
pub(crate) fn hidden(text: &str) -> Option<Fault> {
    if let Some(c) = text.chars().find(|&c| deceives(c)) {
        return Some(Fault::Hidden(messages::odd_character(format!("{:04X}", c as u32))));
    }
    let mut run = 0;
    for c in text.bytes() {
        run = if matches!(c, b' ' | b'\t' | b'\n') { run + 1 } else { 0 };
        if run > LONGEST_BLANKS {
            return Some(Fault::Hidden(messages::blanks(LONGEST_BLANKS)));
        }
    }
    None
}

fn expansions(text: &str) -> Result<(), Fault> {
    let bytes = text.as_bytes();
    let opens = bytes.windows(2).filter(|pair| matches!(*pair, [b'$', b'(' | b'{' | b'['])).count();
    let backquotes = bytes.iter().filter(|&&byte| byte == b'`').count();
    if opens + backquotes / 2 > MOST_EXPANSIONS {
        return Err(Fault::TooLarge(messages::too_many_expansions(MOST_EXPANSIONS)));
    }
    Ok(())
}

/// What the tokenizer takes for something else than a shell does, so that commands would hide in what passes for a word:
///
/// - A `$` that is escaped, or the second one of `$$`, begins no quote and no expansion: `\$'a\'; rm x; #'`, `$${x; rm x; echo }`.
/// - A backslash before the end of a line belongs to a comment, where it is in one: `$(ls  #\` and `rm x)` are two lines.
fn misread(text: &str) -> Result<(), Fault> {
    let bytes = text.as_bytes();
    let quoted = plainly_quoted(bytes);
    let is_quoted = |at: usize| {
        let before = quoted.partition_point(|quoted| quoted.end <= at);
        quoted.get(before).is_some_and(|quoted| quoted.contains(&at))
    };
    let misleads = |at: usize| match &bytes[at..] {
        [b'\\', b'$', b'\'', ..] | [b'$', b'$', b'\'' | b'"' | b'{' | b'[' | b'(', ..] => true,
        [b'\\', b'\n', ..] => {
            let line = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let begins = |at: usize| at == line || b" \t;&|()<>`{}".contains(&bytes[at - 1]);
            (line..at).any(|at| bytes[at] == b'#' && begins(at) && !is_quoted(at))
        }
        _ => false,
    };
    match memchr::memchr2_iter(b'$', b'\\', bytes).find(|&at| misleads(at) && !is_quoted(at)) {
        Some(_) => Err(Fault::Unreadable(messages::misleads_the_reader())),
        None => Ok(()),
    }
}

/// Every `<<` counts that is not plainly in quotes: too many questions are better than one hang.
fn heredocs(text: &str) -> Result<(), Fault> {
    let bytes = text.as_bytes();
    let quoted = plainly_quoted(bytes);
    let (mut at, mut count) = (0, 0);
    while let Some(found) = memchr::memmem::find(&bytes[at..], b"<<") {
        let start = at + found;
        if let Some(quoted) = quoted.iter().find(|quoted| quoted.contains(&start)) {
            at = quoted.end;
            continue;
        }
        let length = bytes[start..].iter().take_while(|byte| **byte == b'<').count();
        at = start + length;
        // In `\<<<` the first is no operator, and `<<` is one.
        let escaped = start > 0 && bytes[start - 1] == b'\\';
        if length == 3 && !escaped {
            continue;
        }
        if length > 3 {
            return Err(Fault::Unreadable(messages::many_less_signs()));
        }
        count += 1;
        if count > MOST_HEREDOCS {
            return Err(Fault::TooLarge(messages::too_many_documents(MOST_HEREDOCS)));
        }
        if !has_tag(&bytes[at..]) {
            return Err(Fault::Unreadable(messages::document_without_end()));
        }
        let (parameter, substitution) = may_be_open(&bytes[..start], &quoted);
        if parameter || expands_before_the_body(&bytes[at..], substitution) {
            return Err(Fault::Unreadable(messages::expansion_beside_document()));
        }
    }
    Ok(())
}

/// The texts in quotes, from the start of the command up to the first thing that could make a quote mean something else: an
/// expansion, a comment, a here-document. Quotes of the form `$'..'` are not among them.
fn plainly_quoted(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        at += 1;
        match byte {
            b'\\' => at += 1,
            b'\'' => {
                let Some(length) = memchr::memchr(b'\'', &bytes[at..]) else { break };
                found.push(at..at + length);
                at += length + 1;
            }
            b'"' => {
                // An escaped mark would end the text for whoever does not know the escape.
                let Some(length) = memchr::memchr3(b'"', b'\\', b'`', &bytes[at..]) else { break };
                let text = &bytes[at..at + length];
                if bytes[at + length] != b'"' || text.windows(2).any(|pair| matches!(pair, [b'$', b'(' | b'{' | b'[']))
                {
                    break;
                }
                found.push(at..at + length);
                at += length + 1;
            }
            b'`' => break,
            b'$' | b'<' | b'>' if matches!(bytes.get(at), Some(b'(' | b'{' | b'[' | b'\'' | b'"')) => break,
            b'#' if b" \t\n;&|()".contains(&before) => break,
            b'<' if bytes.get(at) == Some(&b'<') => break,
            _ => {}
        }
    }
    found
}

/// Whether `${` may still be open at the end of a text, and whether a substitution may. In `${...}`, `<<` is text for a shell and
/// a here-document for the tokenizer: the lines behind it would be commands that nobody has seen. What closes one is only known
/// where nothing in it is quoted or nested.
fn may_be_open(text: &[u8], quoted: &[Range<usize>]) -> (bool, bool) {
    let (mut parameter, mut substitution) = (false, false);
    for (at, pair) in text.windows(2).enumerate() {
        let close = match pair {
            [b'$', b'{'] => b'}',
            // Not `$((1 << 4))`.
            [b'$' | b'<' | b'>', b'('] if text.get(at + 2) != Some(&b'(') => b')',
            _ => continue,
        };
        let closed = text[at + 2..].iter().find(|byte| b"(){}\\'\"`$".contains(byte)) == Some(&close);
        let before = quoted.partition_point(|quoted| quoted.end <= at);
        if !closed && !quoted.get(before).is_some_and(|quoted| quoted.contains(&at)) {
            parameter |= close == b'}';
            substitution |= close == b')';
        }
    }
    (parameter, substitution)
}

/// Whether an expansion begins behind `<<` on its line: the tokenizer looks for the body inside of it, and is then lost for
/// good (`cat <<E $(x`), or never comes back (`<<E $[|<<E`). Or whether one may end there, in which the here-document is
/// (`$(cat <<E)`): for some shells it then has no body, and the lines behind it are commands.
fn expands_before_the_body(bytes: &[u8], substitution: bool) -> bool {
    let (mut quote, mut escaped, mut before) = (None, false, b' ');
    for &byte in bytes {
        let opens = matches!((before, byte), (b'$', b'(' | b'{' | b'[') | (b'(' | b'<' | b'>', b'(') | (_, b'`'));
        match (byte, quote) {
            _ if opens || substitution && byte == b')' => return true,
            // A line that goes on, by a backslash or in quotes, is the same line.
            _ if escaped => escaped = false,
            (b'\\', None | Some(b'"')) => escaped = true,
            (_, Some(open)) if byte == open => quote = None,
            (b'\'' | b'"', None) => quote = Some(byte),
            (b'\n', None) => return false,
            _ => {}
        }
        before = byte;
    }
    quote.is_some()
}

/// Whether a plain word stands behind `<<`, bare or quoted as a whole. The tokenizer never comes back from one that turns
/// out to be empty (`$(<<  x`, `<<''`), and compares a long one at every line.
fn has_tag(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let bytes = bytes.strip_prefix(b" ").or_else(|| bytes.strip_prefix(b"\t")).unwrap_or(bytes);
    let (bytes, quote) = match bytes.first() {
        Some(mark @ (b'\'' | b'"')) => (&bytes[1..], Some(*mark)),
        Some(b'\\') => (&bytes[1..], None),
        _ => (bytes, None),
    };
    let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let length = bytes.iter().take_while(plain).count();
    let rest = match (quote, &bytes[length..]) {
        (None, rest) => Some(rest),
        (Some(mark), rest) => rest.strip_prefix(&[mark]),
    };
    let delimited = |rest: &[u8]| rest.first().is_none_or(|byte| b" \t\n;|&<>()}]\"`".contains(byte));
    (1..=LONGEST_TAG).contains(&length) && rest.is_some_and(delimited)
}

/// Judges the tokens, before the grammar sees them: what the grammar would try again and again, and what it would not
/// survive. Exact, for these are the very tokens it reads.
pub(crate) fn tokens(tokens: &[Token]) -> Result<(), Fault> {
    let mut gate = Gate::default();
    for (at, token) in tokens.iter().enumerate() {
        // What these hold, the grammar reads twice.
        let doubling = gate.open.iter().filter(|closer| matches!(**closer, ")" | "esac")).count();
        gate.work = gate.work.saturating_add(1 << doubling.min(32));
        match token {
            Token::Operator(operator, _) => gate.operator(operator),
            Token::Word(word, _) => {
                gate.word(word);
                subscript(word)?;
                descriptor(word, tokens.get(at + 1))?;
            }
        }
        gate.limits()?;
    }
    Ok(())
}

#[derive(Default)]
struct Gate {
    /// What closes each group, compound command and the like that is open.
    open: Vec<&'static str>,
    work: u64,
    /// Whether the next word can be a reserved one.
    command: bool,
    begun: bool,
    bangs: usize,
    /// `&&` and `||` since the last `[[`: its expression is a tree as deep as it is long.
    joints: usize,
}

impl Gate {
    fn operator(&mut self, operator: &str) {
        self.bangs = 0;
        match operator {
            "(" => self.push(")"),
            ")" => self.pop(")"),
            "&&" | "||" => self.joints += 1,
            _ => {}
        }
        self.command = !operator.starts_with(['<', '>']) && !operator.starts_with("&>");
        self.begun = true;
    }

    fn word(&mut self, word: &str) {
        let first = self.command || !self.begun;
        self.begun = true;
        self.command = false;
        self.bangs = if word == "!" { self.bangs + 1 } else { 0 };
        match word {
            "{" => self.push("}"),
            "[[" => self.push("]]"),
            "]]" => self.pop("]]"),
            // Nothing closes it.
            "coproc" => self.push(""),
            "if" if first => self.push("fi"),
            "case" if first => self.push("esac"),
            "for" | "while" | "until" | "select" if first => self.push("done"),
            "}" | "fi" | "esac" | "done" if first => self.pop(word),
            _ => {}
        }
        let leads = ["{", "coproc", "if", "while", "until", "then", "else", "elif", "do", "!", "time", "in"];
        let closes = ["}", "fi", "esac", "done"];
        self.command = leads.contains(&word) || first && closes.contains(&word);
    }

    fn push(&mut self, closer: &'static str) {
        if closer == "]]" {
            self.joints = 0;
        }
        self.open.push(closer);
        self.command = true;
    }

    /// Only what stands on top is closed: a stray closer must not hide what is still open.
    fn pop(&mut self, closer: &str) {
        if self.open.last() == Some(&closer) {
            self.open.pop();
        }
    }

    fn limits(&self) -> Result<(), Fault> {
        let joined = self.open.contains(&"]]") && self.joints > 64;
        if self.open.len() > MOST_DEPTH || self.bangs > MOST_DEPTH || joined {
            return Err(Fault::TooLarge(messages::too_deep(MOST_DEPTH)));
        }
        if self.work > MOST_WORK {
            return Err(Fault::TooLarge(messages::too_long_for_depth()));
        }
        Ok(())
    }
}

/// A word like `name[...`, which the grammar reads as arithmetic with a reading that goes back.
fn subscript(word: &str) -> Result<(), Fault> {
    let name = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if name.len() == word.len() || !name.starts_with('[') {
        return Ok(());
    }
    let opens = name.bytes().filter(|byte| b"[({$`\"'\\".contains(byte)).count();
    if opens > 6 || name.len() > 1024 {
        return Err(Fault::Unreadable(messages::odd_subscript()));
    }
    Ok(())
}

/// A number before `<` or `>` that the parser would take for a descriptor and not survive.
fn descriptor(word: &str, next: Option<&Token>) -> Result<(), Fault> {
    let redirect = matches!(next, Some(Token::Operator(operator, _)) if operator.starts_with(['<', '>']));
    // `{PATH}>file`: the parser takes it for a word.
    let variable = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(|name| {
        !name.is_empty()
            && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric() || b"[]".contains(&byte))
    });
    if redirect && variable {
        return Err(Fault::Unreadable(messages::number_into_variable()));
    }
    let number = word.bytes().all(|byte| byte.is_ascii_digit());
    if redirect && number && !(1..=9).contains(&word.len()) {
        return Err(Fault::Unreadable(messages::long_descriptor()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_deceives_the_eye_is_named() {
        for text in ["ls\u{202e}", "ls \u{200b}x", "ls\r", "ls\u{a0}x", "ls \x1b[2J", "a\u{e0041}"] {
            assert!(hidden(text).is_some(), "{text:?}");
        }
        assert_eq!(hidden("ls -la\n\techo 'ção 漢字 🎉'"), None);
        assert!(hidden(&format!("ls{}; rm x", " ".repeat(60))).is_some());
    }

    #[test]
    fn what_is_plainly_quoted_is_no_here_document() {
        for harmless in [
            "grep -rn '<<<<<<< HEAD' .",
            "grep \"<<\" $HOME/a",
            "node -e \"console.log(1 << 3)\"",
            "sed -n '/<<<<<<</,/>>>>>>>/p' a.txt",
            "echo it\\'s; grep '<<$(' a",
        ] {
            assert_eq!(text(harmless), Ok(()), "{harmless}");
        }
        for doubtful in [
            "cat <<E $(x",
            "cat <<E $[|<<E",
            "echo # it's <<'\n",
            "echo $'\\'' <<<<'",
            "echo \"$(cat '<<')\"",
            "a <<E '<< $('",
        ] {
            assert!(text(doubtful).is_err(), "{doubtful}");
        }
    }

    #[test]
    fn a_closer_that_closes_nothing_hides_nothing() {
        let text = "case x in a) ".repeat(12);
        let read = brush_parser::uncached_tokenize_str(&text, &brush_parser::TokenizerOptions::default());
        assert!(matches!(tokens(&read.unwrap()), Err(Fault::TooLarge(_))));
    }
}
