//! Follows the text of a shell script to decide whether a here-document or a quoted text is open at the end of a line
//! (POSIX.1-2017, Shell Command Language, sections 2.2 and 2.7.4).
//!
//! This module knows no commands. Its decision matters only for a script that contains a fence: a script that seems
//! open at its last fence is refused, and a script that seems closed at a fence ends there. Either decision can be
//! wrong for rare syntax, such as `case` in a command substitution.

use crate::{Text, text};
use std::collections::VecDeque;

/// An open construct; the innermost is last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    /// `'..'`
    Single,
    /// `$'..'`
    Ansi,
    /// `".."`
    Double,
    /// `` `..` ``
    Backtick,
    /// `$(..)`, and parentheses in it.
    Parenthesis,
    /// `$((..))` and `((..))`
    Arithmetic,
    /// Parentheses inside of an arithmetic expression.
    Group,
    /// `${..}`
    Brace,
}

/// The text of a script, line by line.
#[derive(Debug, Default)]
pub(in crate::parse) struct ShellText {
    open: Vec<Quote>,
    /// The tags that end the here-documents, and whether tabs may precede them.
    heredocs: VecDeque<(String, bool)>,
}

impl ShellText {
    /// Returns `true` if a here-document or a quoted text is open.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty() || !self.heredocs.is_empty()
    }

    /// Adds a line. Returns a message if the line shows that the text is not a script: it begins with a prompt.
    pub(super) fn line(&mut self, line: &str) -> Option<Text> {
        // A line break in a quoted text does not begin the here-document.
        let is_quoted = matches!(self.open.last(), Some(Quote::Single | Quote::Ansi | Quote::Double));
        if let Some((tag, tabs)) = self.heredocs.front().filter(|_| !is_quoted) {
            let line = if *tabs { line.trim_start_matches('\t') } else { line };
            if line == tag {
                self.heredocs.pop_front();
            }
            return None;
        }
        if self.open.is_empty() && begins_with_prompt(line) {
            return Some(text!(
                "the block shows a terminal: write only the commands, without prompts and without their output"
            ));
        }
        let mut at = 0;
        while at < line.len() {
            at = self.step(line, at);
        }
        None
    }

    /// Reads the character at a position outside of here-documents. Returns the next position.
    fn step(&mut self, line: &str, at: usize) -> usize {
        let bytes = line.as_bytes();
        let follows = |token: &[u8]| bytes[at..].starts_with(token);
        let top = self.open.last().copied();
        match (top, bytes[at]) {
            (Some(Quote::Single), b'\'') => {
                self.open.pop();
            }
            (Some(Quote::Single), _) => {}
            // A backslash escapes the next character except in single quotes (POSIX.1-2017, section 2.2.1).
            (_, b'\\') => return at + 2,
            (Some(Quote::Ansi), b'\'') | (Some(Quote::Double), b'"') | (Some(Quote::Backtick), b'`') => {
                self.open.pop();
            }
            (Some(Quote::Parenthesis | Quote::Group), b')') | (Some(Quote::Brace), b'}') => {
                self.open.pop();
            }
            (Some(Quote::Arithmetic), b')') if follows(b"))") => {
                self.open.pop();
                return at + 2;
            }
            (Some(Quote::Ansi), _) => {}
            (_, b'$') if follows(b"$((") => {
                self.open.push(Quote::Arithmetic);
                return at + 3;
            }
            (_, b'$') if follows(b"$(") || follows(b"${") => {
                self.open.push(if follows(b"$(") { Quote::Parenthesis } else { Quote::Brace });
                return at + 2;
            }
            (_, b'`') => self.open.push(Quote::Backtick),
            (Some(Quote::Double), _) => {}
            (_, b'"') => self.open.push(Quote::Double),
            (_, b'$') if follows(b"$'") => {
                self.open.push(Quote::Ansi);
                return at + 2;
            }
            (_, b'\'') => self.open.push(Quote::Single),
            (Some(Quote::Parenthesis), b'(') => self.open.push(Quote::Parenthesis),
            (Some(Quote::Arithmetic | Quote::Group), b'(') => self.open.push(Quote::Group),
            (None, b'(') if follows(b"((") && begins_word(bytes, at) => {
                self.open.push(Quote::Arithmetic);
                return at + 2;
            }
            (None | Some(Quote::Parenthesis | Quote::Backtick), b'#') if begins_word(bytes, at) => return line.len(),
            // A here-string is one word without lines.
            (_, b'<') if follows(b"<<<") => return at + 3,
            (None | Some(Quote::Parenthesis | Quote::Backtick), b'<') if follows(b"<<") => {
                return self.heredoc(line, at + 2);
            }
            _ => {}
        }
        at + 1
    }

    /// Reads the word after `<<`. Returns the position after it.
    fn heredoc(&mut self, line: &str, from: usize) -> usize {
        let rest = line[from..].strip_prefix('-');
        let tabs = rest.is_some();
        let word = rest.unwrap_or(&line[from..]).trim_start_matches([' ', '\t']);
        let start = line.len() - word.len();
        // The tag is the word after quote removal (POSIX.1-2017, section 2.7.4).
        let mut tag = String::new();
        let mut quote = None;
        let mut length = word.len();
        for (at, c) in word.char_indices() {
            match quote {
                Some(open) if c == open => quote = None,
                Some(_) => tag.push(c),
                None if matches!(c, '\'' | '"') => quote = Some(c),
                None if c == '\\' => {}
                None if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '`') => {
                    length = at;
                    break;
                }
                None => tag.push(c),
            }
        }
        if length > 0 {
            self.heredocs.push_back((tag, tabs));
        }
        start + length
    }
}

/// Returns `true` if a comment may begin at this position.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    at == 0 || matches!(bytes[at - 1], b' ' | b'\t' | b';' | b'&' | b'|' | b'(' | b'`')
}

/// Returns `true` if the first word of a line is the prompt of a shell: `$`, `user@host:~/project$`, `root@host:/#`.
fn begins_with_prompt(line: &str) -> bool {
    let word = line.trim_start_matches([' ', '\t']).split([' ', '\t']).next().unwrap_or_default();
    word == "$" || word.len() > 1 && word.contains('@') && word.ends_with(['$', '#'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(script: &str) -> (ShellText, bool) {
        let mut shell = ShellText::default();
        let terminal = script.lines().any(|line| shell.line(line).is_some());
        (shell, terminal)
    }

    #[test]
    fn scripts_are_open_until_their_quotes_and_heredocs_end() {
        for script in [
            "ls",
            "echo 'it''s' \"a 'b' \\\" c\" # don't",
            "cat <<EOF\n```\n'\nEOF",
            "cat <<-'END' > a; cat <<\"B\"\n\tx\n\tEND\ny\nB",
            "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)\"",
            "x=$((1<<2)); (( y = x << 1 ))",
            "grep x <<< \"$y\"",
            "echo ${x#\\'} $'it\\'s' \"$(echo \"it's (a)\")\" `date` $(( (1+2) * 3 ))",
            "case $x in a) echo 1;; esac",
            "echo é\\é '日本'",
        ] {
            let (shell, terminal) = follow(script);
            assert!(!shell.is_open() && !terminal, "{script}: {shell:?}");
        }
        for script in
            ["cat <<EOF\nx", "echo 'a", "echo \"a\n", "python -c \"\nx", "x=$(ls", "ls\n```bash\npwd", "cat <<-E\n E"]
        {
            assert!(follow(script).0.is_open(), "{script}");
        }
    }

    #[test]
    fn prompts_are_found_outside_of_quotes() {
        for script in ["$ ls", "  $ ls\na", "make\nme@box:~/x$ ls", "root@box:/# id"] {
            assert!(follow(script).1, "{script}");
        }
        for script in ["cat <<E\n$ ls\nE", "echo '\n$ x'", "$HOME/x", "# root", "git clone a@b:c"] {
            assert!(!follow(script).1, "{script}");
        }
    }
}
