//! sed: a script that prints, deletes and replaces, and neither runs, reads nor writes anything else.
//!
//! All commands of GNU sed are read but `e`, which runs, `r R w W`, which name files, and `v`; of the flags of `s` all but
//! `e` and `w`. The grammar is that of GNU sed's `compile.c`. BusyBox and BSD read labels and brackets otherwise.

use super::{Cursor, brackets_close, is_plain_text};

/// Commands without an argument.
const PLAIN: &str = "=dDFgGhHnNpPxz";

/// What may stand between the parts of `s`, `y` and an address. Not what could be a bracket, the end of a command or a
/// letter in some reading.
const DELIMITERS: &str = "/,|#:@!%_~+=^&-*.?()<>\"'`$";

/// Whether the script only reads its input. Every piece is the text of one `-e`; braces may be closed in a later one.
pub(crate) fn only_reads(pieces: &[&str]) -> bool {
    let mut depth = 0;
    let known = pieces.iter().all(|piece| {
        let mut script = Script { text: Cursor { rest: piece }, depth, labelled: false };
        let known = is_plain_text(piece) && script.all().is_some();
        depth = script.depth;
        known
    });
    known && depth == 0
}

struct Script<'a> {
    text: Cursor<'a>,
    /// How many braces are open.
    depth: usize,
    /// Whether a label stands before this on the same line. POSIX has it reach to the end of the line, so nothing behind it
    /// may go on to the next.
    labelled: bool,
}

/// Each of these reads a part, and gives `None` where it is not known.
impl<'a> Script<'a> {
    fn all(&mut self) -> Option<()> {
        loop {
            let between = self.text.take_while(|c| matches!(c, ' ' | '\t' | ';' | '\n'));
            self.labelled &= !between.contains('\n');
            if self.text.rest.is_empty() {
                return Some(());
            }
            self.command()?;
        }
    }

    fn command(&mut self) -> Option<()> {
        let addressed = self.addresses()?;
        self.blanks();
        if self.text.eat("!") {
            self.blanks();
        }
        match self.text.bump()? {
            '#' if !addressed => drop(self.text.line()),
            '{' => self.depth += 1,
            '}' if !addressed => {
                self.depth = self.depth.checked_sub(1)?;
                self.end()?;
            }
            's' => {
                self.delimited(2)?;
                self.text.take_while(|c| c.is_ascii_digit() || "gpiIMm \t".contains(c));
                self.end()?;
            }
            'y' => {
                self.delimited(2)?;
                self.end()?;
            }
            'a' | 'i' | 'c' => self.lines()?,
            ':' if !addressed => self.label(true)?,
            'b' | 't' | 'T' => self.label(false)?,
            // A status to end with, or a length of lines.
            'q' | 'Q' | 'l' => {
                self.blanks();
                self.text.take_while(|c| c.is_ascii_digit());
                self.end()?;
            }
            c if PLAIN.contains(c) => self.end()?,
            _ => return None,
        }
        Some(())
    }

    fn blanks(&mut self) -> bool {
        !self.text.take_while(|c| matches!(c, ' ' | '\t')).is_empty()
    }

    /// Behind a command only its end may stand.
    fn end(&mut self) -> Option<()> {
        self.blanks();
        (self.text.rest.is_empty() || self.text.rest.starts_with([';', '\n', '}', '#'])).then_some(())
    }

    /// `1,5`, `/a/,/b/`, `$`, `0~3`, `/a/,+2`; whether there are any.
    fn addresses(&mut self) -> Option<bool> {
        if !self.address()? {
            return Some(false);
        }
        self.blanks();
        if self.text.eat(",") {
            self.blanks();
            if self.text.eat("+") || self.text.eat("~") {
                self.number()?;
            } else if !self.address()? {
                return None;
            }
        }
        Some(true)
    }

    fn address(&mut self) -> Option<bool> {
        match self.text.peek() {
            Some('$') => drop(self.text.bump()),
            Some(c) if c.is_ascii_digit() => {
                self.number()?;
                self.blanks();
                // Without a number GNU sed takes it for zero, and what follows for a command.
                if self.text.eat("~") {
                    self.number()?;
                }
            }
            Some(c @ ('/' | '\\')) => {
                if c == '\\' {
                    self.text.bump();
                }
                self.delimited(1)?;
                self.text.take_while(|c| matches!(c, 'I' | 'M' | ' ' | '\t'));
            }
            _ => return Some(false),
        }
        Some(true)
    }

    fn number(&mut self) -> Option<()> {
        self.blanks();
        (!self.text.take_while(|c| c.is_ascii_digit()).is_empty()).then_some(())
    }

    /// So many parts, each ended by the character that stands before the first.
    fn delimited(&mut self, parts: usize) -> Option<()> {
        let mark = self.text.bump().filter(|mark| DELIMITERS.contains(*mark))?;
        for part in 0..parts {
            let start = self.text.rest;
            loop {
                match self.text.bump()? {
                    '\\' => self.escaped()?,
                    '\n' => return None,
                    c if c == mark => break,
                    _ => {}
                }
            }
            // Whether a mark in brackets ends the pattern is not the same everywhere.
            let text = &start[..start.len() - self.text.rest.len() - 1];
            if part == 0 && !brackets_close(text) {
                return None;
            }
        }
        Some(())
    }

    /// The character behind a backslash.
    fn escaped(&mut self) -> Option<()> {
        let c = self.text.bump()?;
        (c != '\n' || !self.labelled).then_some(())
    }

    /// The text of `a`, `i` and `c`, on this line or on the next ones: each line that ends in a backslash has another.
    fn lines(&mut self) -> Option<()> {
        self.blanks();
        if matches!(self.text.peek(), None | Some('\n')) {
            return None;
        }
        let mut ahead = self.text;
        // GNU sed skips these blanks; others have the text end here.
        if ahead.eat("\\") && !ahead.take_while(|c| matches!(c, ' ' | '\t')).is_empty() && ahead.rest.starts_with('\n')
        {
            return None;
        }
        loop {
            match self.text.peek() {
                None | Some('\n') => return Some(()),
                Some('\\') => {
                    self.text.bump();
                    // At the end of a piece the next piece would go on with it.
                    self.escaped()?;
                }
                Some(_) => drop(self.text.bump()),
            }
        }
    }

    /// A label is what every reading takes for one, and behind it stands its end. GNU sed ends a label at a blank or `;`,
    /// and only new versions at `}`; for all of them `#` belongs to it.
    fn label(&mut self, must_be: bool) -> Option<()> {
        self.blanks();
        let name = self.text.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
        if must_be && name.is_empty() {
            return None;
        }
        self.labelled = true;
        let apart = self.blanks();
        let behind = self.text.rest.trim_start_matches('}');
        let ended = behind.is_empty() || behind.starts_with([';', '\n']);
        let braces = behind.len() < self.text.rest.len();
        let comment = apart && !name.is_empty() && !braces && behind.starts_with('#');
        (ended || comment || braces && behind.starts_with([' ', '\t'])).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One script a line; `⏎` is a line feed, ` ⏸ ` parts the texts of several `-e`.
    const READS: &str = r##"
5p
1,10p
$p
/a/p
/a/,/b/p
/a/ , /b/ p
5,+3p
0~5p
2,~4p
2 ~ 4 p
1d;2p
s/a/b/
s/a/b/gI
s/a/b/ ; p
s/a/b/ g
s|a/b|c|2p
s,a\,b,c,
s#a#b#
s:a:b:
5q
5q7
Q
/^$/d
$!N;P;D
/a/!p
/a/ ! p
\,x,p
\%x%Ip
/a/I{p;=}
y/abc/xyz/
y,/,|,
s/\//x/
s/^version = "\(.*\)"/\1/p
:a;N;$!ba;s/x/ /g
:a⏎s/x/y/⏎ta
: a;ta
$!{N;ba}
/x/{bend};p;:end
{b}
{:a;n;ba};p
{:a;n;b a } ; p
{{ba}}
:a # a loop⏎ta
bx.y-z_1;:x.y-z_1
s/[a-z]*/x/
s/[[:space:]]*$//
p # all
p#all
#n
# comment
l
l 60
l;n
=
F
z
x;G;H;h;g;x
a text
a\⏎text
a\text
1i\⏎one\⏎two⏎3d
$a end of file; w is only text
/x/c\⏎changed
2i  indented
/a/{a foo⏎}
/a/{⏎  p⏎  s/x/y/⏎}
s/a/b\⏎c/
s/a/é/;p
s/é/e/g
y/ção/cao/
n;d
$!d
1!G;h;$!d
/a/{ ⏸ p ⏸ }
p ⏸ # a comment ⏸ s/a/b/
a text ⏸ p
s/.*\///
/start/,/end/{//!p}
//p
s//x/g
"##;

    const MORE: &str = r##"
e
1e id
s/a/b/e
s/a/b/ge
s/a/b/ e
s/a/b/w x
s/a/b/ w x
w x
/a/w x
r x
R x
W x
1!e id
1!!p
s/[/]/e/x/e
p;e
\
s
s/a
s/a/b
s/a/b/p;w x
y/a/b/;e
b;e
/a/{p;e}
v
M
s/[]/x/;#]/id/e
s/[/x/;#]/id/e
/[]/p;#]/e
:a e id
:a w x
:a	w x
ba w x
Ta w x
t a e id
:a $e id
:a#x w y
b #x w y
b#x w y
{ba}#x w y
{b }#x w y
{:a}w x
{ba}w x
:a;a\⏎w x
:a;s/a/b\⏎w x/
:a;/a\⏎w x/p
ba;a text\⏎w x
:
:é
:a,b
1~e id
1,e id
1,~e id
1,+w x
,5p
p}
}
{p
{{p}
a
a⏎w x
a\
a\ ⏎w x
a text\
a text⏎w x
a text⏎e
c\⏎text⏎w x
s/a/b⏎/
s;a;b;
s}a}b}
sxaxbx
s a b 
s[a[b[
s/中\/e id;#/x/
s/a/b/ p w x
s/a/b/⏎w x
# comment⏎w x
#\⏎w x
p x
q w
l w
=w x
F x
a text\ ⏸ w x
a\ ⏸ w x
s/a/b\ ⏸ /w x
p ⏸ w x
/a/{ ⏸ p
/a/: x
/a/}
/a/# x
y/a/b/w x
y/[/]/;w x;/
"##;

    fn cases(table: &str) -> impl Iterator<Item = Vec<String>> {
        let lines = table.lines().filter(|line| !line.is_empty());
        lines.map(|line| line.split(" ⏸ ").map(|piece| piece.replace('⏎', "\n")).collect())
    }

    fn passes(pieces: &[String]) -> bool {
        only_reads(&pieces.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn what_only_reads_is_told_from_what_runs() {
        for pieces in cases(READS) {
            assert!(passes(&pieces), "{pieces:?}");
        }
        for pieces in cases(MORE) {
            assert!(!passes(&pieces), "{pieces:?}");
        }
    }

    /// A command that does more is found behind every command that does not, wherever one could end.
    #[test]
    fn what_runs_is_found_behind_whatever_only_reads() {
        for pieces in cases(READS) {
            for end in ["\n", ";", " ", "", "}", " ;", " }", "\t"] {
                for more in ["e id", "w x", "r x", "1e id", "s/a/b/e", "{e id", "!w x"] {
                    let Some((last, before)) = pieces.split_last() else { continue };
                    let (joined, apart) = (format!("{last}{end}{more}\n"), format!("{last}\n{more}\n"));
                    let with = |last: String| before.iter().cloned().chain([last]).collect::<Vec<_>>();
                    let is_text = last.lines().last().is_some_and(|line| {
                        line.contains('#') || line.starts_with(['a', '1', '2', '$']) || last.contains("\\\n")
                    });
                    assert!(is_text || !passes(&with(joined)), "{pieces:?} {end:?} {more}");
                    assert!(!passes(&with(apart)), "{pieces:?} {more}");
                }
            }
        }
    }
}
