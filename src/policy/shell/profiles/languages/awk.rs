//! awk: a program that starts nothing, opens nothing and prints to its output alone.

/// What starts a program, opens a file, or tells of the surroundings; wherever it stands.
const MORE: &[&str] = &[
    "system", "getline", "close", "fflush", "ENVIRON", "ARGV", "ARGC", "PROCINFO", "SYMTAB", "FUNCTAB", "include",
    "load",
];

/// Words behind which `/` begins a pattern or is a question.
const KEYWORDS: &[&str] =
    &["print", "printf", "return", "in", "do", "else", "delete", "exit", "case", "if", "while", "for"];

/// Whether the program only reads its input and prints.
pub(in crate::policy::shell::profiles) fn only_reads(program: &str) -> bool {
    let more = super::words(program).any(|word| MORE.contains(&word));
    !more && !program.contains(['@', '`']) && Scan::new(program).ends_well()
}

/// A way through the program that tells code from strings and patterns.
struct Scan<'a> {
    rest: &'a str,
    /// What stood before, as far as it decides what `/` is.
    before: Before,
    /// Whether a `>` would be a file to print to.
    printing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A pattern may follow.
    Start,
    /// Something that can be divided.
    Value,
    /// Neither is sure.
    Unsure,
}

impl<'a> Scan<'a> {
    fn new(program: &'a str) -> Scan<'a> {
        Scan { rest: program, before: Before::Start, printing: false }
    }

    fn ends_well(&mut self) -> bool {
        while let Some(c) = self.rest.chars().next() {
            if self.step(c).is_none() {
                return false;
            }
        }
        true
    }

    /// One token further; nothing where it is not known to be harmless.
    fn step(&mut self, c: char) -> Option<()> {
        match c {
            ' ' | '\t' => self.skip(1),
            '"' => self.string()?,
            '/' if self.before == Before::Start => self.pattern()?,
            '/' if self.before == Before::Unsure => return None,
            '#' => self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]),
            '|' if !self.rest.starts_with("||") => return None,
            '|' => self.operator(2),
            '>' if self.printing => return None,
            ';' | '{' | '}' => {
                self.printing = false;
                self.operator(1);
            }
            // Behind a comma the same statement goes on.
            '\n' => self.operator(1),
            '(' | ',' | '!' | '~' | '&' => self.operator(1),
            ')' | '+' | '-' => self.turn(Before::Unsure, 1),
            ']' | '$' => self.turn(Before::Value, 1),
            _ if c.is_ascii_alphanumeric() || matches!(c, '_' | '.') => self.word(),
            _ if "=<>*%^?:[/".contains(c) => self.turn(Before::Unsure, 1),
            _ => return None,
        }
        Some(())
    }

    fn skip(&mut self, count: usize) {
        self.rest = &self.rest[count..];
    }

    fn operator(&mut self, count: usize) {
        self.turn(Before::Start, count);
    }

    fn turn(&mut self, before: Before, count: usize) {
        self.before = before;
        self.skip(count);
    }

    fn word(&mut self) {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.printing |= matches!(word, "print" | "printf");
        self.before = if KEYWORDS.contains(&word) { Before::Unsure } else { Before::Value };
        self.rest = rest;
    }

    fn string(&mut self) -> Option<()> {
        self.quoted('"')?;
        self.before = Before::Value;
        Some(())
    }

    fn pattern(&mut self) -> Option<()> {
        let start = self.rest;
        self.quoted('/')?;
        let pattern = &start[1..start.len() - self.rest.len()];
        self.before = Before::Value;
        super::brackets_close(pattern.strip_suffix('/').unwrap_or(pattern)).then_some(())
    }

    /// Up to the mark, which stands on the same line.
    fn quoted(&mut self, mark: char) -> Option<()> {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                '\n' => return None,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == mark => {
                    self.rest = &self.rest[at + 1..];
                    return Some(());
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_reads_is_told_from_what_runs() {
        for program in [
            "{print $1}",
            "NR>=5 && NR<=10",
            "NR>1 {print $2}",
            "/a|b/ {print}",
            "/\\// {print}",
            "{s+=$1} END {print s/NR}",
            "!seen[$0]++",
            "$1 ~ /x/ || /y/ { n++ } END { print n }",
            "{ if ($1 > 3) print }",
            "length($0) > 100",
            "{printf \"%s\\n\", $1} # a comment | with a pipe",
            "{gsub(/a/, \"b|c\"); print}",
        ] {
            assert!(only_reads(program), "{program}");
        }
        for program in [
            "{print > \"x\"}",
            "{print $1 >$2}",
            "{print | \"sh\"}",
            "\"id\" | getline",
            "{print /\"/ | \"id\" }",
            "a++ /1|\"id\"/ 2",
            "if (x) /\"/; {print 1 | \"id\"}",
            "/[/]/ | \"id\" /]/",
            "@include \"x\"",
            "{print \"a\n\" > \"b\"}",
            "BEGIN { printf \"a\" > \"b\" }",
            "{print $1,\n$2 > \"x\"}",
        ] {
            assert!(!only_reads(program), "{program}");
        }
    }
}
