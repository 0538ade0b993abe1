//! Parses the output of checkers. Lines in unknown formats are ignored.
//!
//! | format | printed by |
//! |---|---|
//! | `a.rs:3:5: words`, `a.sh: line 3: words`, `a.go:3: words` | compilers, shells, most linters |
//! | `a.ts(3,5): error TS2322: words` | `tsc` |
//! | `error: words`, then ` --> a.rs:3:5` | `rustc`, `cargo`, `rustfmt` |
//! | `a.js:3`, later `SyntaxError: words` | `node` |

use super::Diagnostic;

/// The maximum number of errors that are read from one output.
const MOST: usize = 2000;

/// The longest path in bytes, as on Linux (`PATH_MAX`). A longer string cannot name a file.
const LONGEST_PATH: usize = 4096;

/// Returns the errors in an output, without warnings. Paths below `root` become relative to it, and names for stdin
/// become "".
pub fn read(output: &str, root: &str) -> Vec<Diagnostic> {
    let mut reader = OutputReader { root, found: Vec::new(), heading: None, node: None };
    for line in output.lines() {
        if reader.found.len() == MOST {
            break;
        }
        reader.read_line(line.trim_end());
    }
    reader.found
}

/// Returns `true` if `rustfmt` could read the text but failed to format it, which is not an error of the text.
pub fn is_about_layout(output: &str) -> bool {
    output.lines().any(|line| line.starts_with(NO_LAYOUT))
}

/// Returns `true` if `tsc` found no file of the project, which is not an error before the first one is written.
pub fn is_about_no_files(output: &str) -> bool {
    output.lines().any(|line| line.starts_with("error TS18003:") || line.contains(": error TS18003:"))
}

struct OutputReader<'a> {
    root: &'a str,
    found: Vec<Diagnostic>,
    /// The message of an error whose location follows on a later line.
    heading: Option<&'a str>,
    /// The location of an error whose message follows on a later line.
    node: Option<(&'a str, u64)>,
}

impl<'a> OutputReader<'a> {
    fn read_line(&mut self, line: &'a str) {
        if let Some(place) = line.trim_start().strip_prefix("--> ") {
            if let (Some(words), Some((path, row, column, _))) = (self.heading.take(), split_location(place)) {
                self.push(path, row, column, words);
            }
        } else if let Some((path, row, column, words)) = split_location(line).filter(|(.., words)| !words.is_empty()) {
            self.push(path, row, column, words);
        } else if let Some((kind, words)) = line.split_once(": ").filter(|(kind, _)| is_error(kind)) {
            match self.node.take() {
                // node prints the location first, then the source line, then `SyntaxError: words`.
                Some((path, row)) if kind.ends_with("Error") => self.push(path, row, 0, words),
                _ => self.heading = Some(words),
            }
        } else if line.starts_with("warning") || line.starts_with(NO_LAYOUT) {
            self.heading = None;
        } else if let Some((path, row)) = line.rsplit_once(':') {
            self.node = row.parse().ok().map(|row| (path, row)).or(self.node);
        }
    }

    fn push(&mut self, path: &str, line: u64, column: u64, words: &str) {
        let words = words.trim();
        // A message with colons can look like a location.
        if path.len() > LONGEST_PATH {
            return;
        }
        if ["warning", "note", "help", "hint"].iter().any(|mild| words.starts_with(mild)) {
            return;
        }
        let words = words.strip_prefix("error").map_or(words, |rest| rest.trim_start_matches([':', ' ']));
        let syntax = is_about_syntax(words);
        self.found.push(Diagnostic { syntax, ..Diagnostic::new(self.name(path), line, column, words) });
    }

    fn name(&self, path: &str) -> String {
        // bash calls a script on stdin by its own name: `bash: line 3: ...`.
        let shell = path == "bash" || path.ends_with("/bash");
        if shell || path.starts_with(['<', '[']) || matches!(path, "-" | "/dev/stdin" | "stdin" | "(stdin)") {
            return String::new();
        }
        let path = path.strip_prefix(self.root).map_or(path, |rest| rest.trim_start_matches('/'));
        path.trim_start_matches("./").to_owned()
    }
}

/// The start of the message with which `rustfmt` reports a text that it can read but not format.
const NO_LAYOUT: &str = "error[internal]";

/// Returns `true` for `error`, `error[E0308]` and `SyntaxError`.
fn is_error(kind: &str) -> bool {
    kind == "error" || kind.starts_with("error[") && kind != NO_LAYOUT || kind == "SyntaxError"
}

/// Returns `true` for syntax errors. Those of `tsc` have the codes from 1000 to 1999.
fn is_about_syntax(words: &str) -> bool {
    let code = words.strip_prefix("TS").and_then(|rest| rest.split(':').next());
    code.is_some_and(|code| code.len() == 4 && code.starts_with('1')) || words.contains("syntax error")
}

/// Splits a line into path, line, column (0 if absent) and message.
fn split_location(line: &str) -> Option<(&str, u64, u64, &str)> {
    in_parentheses(line).or_else(|| in_words(line)).or_else(|| with_colons(line)).or_else(|| after_program_name(line))
}

/// Splits `luac: stdin:3: words`, where the name of the program precedes the location.
fn after_program_name(line: &str) -> Option<(&str, u64, u64, &str)> {
    let (program, rest) = line.split_once(": ")?;
    let is_name =
        !program.is_empty() && program.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/+".contains(&byte));
    with_colons(rest).filter(|_| is_name && !is_error(program) && !program.starts_with("warning"))
}

/// Splits `src/a.ts(3,5): error TS2322: words`.
fn in_parentheses(line: &str) -> Option<(&str, u64, u64, &str)> {
    let (place, words) = line.split_once("): ")?;
    let (path, numbers) = place.rsplit_once('(')?;
    let (row, column) = numbers.split_once(',')?;
    Some((path, row.parse().ok()?, column.parse().ok()?, words))
}

/// Splits `bash: line 3: words`.
fn in_words(line: &str) -> Option<(&str, u64, u64, &str)> {
    let (path, rest) = line.split_once(": line ")?;
    let (row, words) = rest.split_once(": ")?;
    Some((path, row.parse().ok()?, 0, words))
}

/// Splits `a.rs:3:5: words` and `a.go:3: words`, and also `a.rs:3:5` without a message.
fn with_colons(line: &str) -> Option<(&str, u64, u64, &str)> {
    // The message starts after the first of these.
    let place = line.find(": ").map_or(line, |end| &line[..end + 1]);
    for (colon, _) in place.match_indices(':').filter(|(colon, _)| *colon > 0) {
        let (row, rest) = number(&line[colon + 1..]);
        let Some(row) = row else { continue };
        let (column, words) = match rest.strip_prefix(':').map(number) {
            Some((Some(column), words)) => (column, words),
            _ => (0, rest),
        };
        let words = words.strip_prefix(':').or(words.is_empty().then_some(words))?;
        return (column > 0 || !words.is_empty()).then_some((&line[..colon], row, column, words.trim_start()));
    }
    None
}

fn number(text: &str) -> (Option<u64>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostics(output: &str) -> Vec<String> {
        let found = read(output, "/home/p");
        found
            .iter()
            .map(|one| format!("{}|{}|{}|{}|{}", one.path, one.line, one.column, one.message, one.syntax))
            .collect()
    }

    #[test]
    fn every_format_is_parsed() {
        for (output, wanted) in [
            (
                "src/a.ts(3,5): error TS2322: Type 'string' is not assignable.\n",
                "src/a.ts|3|5|TS2322: Type 'string' is not assignable.|false",
            ),
            ("/home/p/a.ts(1,9): error TS1005: ';' expected.", "a.ts|1|9|TS1005: ';' expected.|true"),
            ("<standard input>:3:5: expected declaration, found x", "|3|5|expected declaration, found x|false"),
            ("bash: line 2: syntax error: unexpected end of file", "|2|0|syntax error: unexpected end of file|true"),
            ("/usr/bin/bash: line 2: syntax error near `)'", "|2|0|syntax error near `)'|true"),
            ("<stdin>:2:7: '(' was never closed", "|2|7|'(' was never closed|false"),
            ("./a/b.c:7: words: and more", "a/b.c|7|0|words: and more|false"),
            (
                "error[E0308]: mismatched types\n  --> src/main.rs:4:9\n   |\n4  | x\n",
                "src/main.rs|4|9|mismatched types|false",
            ),
            ("src/main.rs:4:9: error[E0308]: mismatched types", "src/main.rs|4|9|[E0308]: mismatched types|false"),
            ("luac: stdin:3: '=' expected near 'x'", "|3|0|'=' expected near 'x'|false"),
            (
                "error: mismatched closing delimiter: `}`\n --> <stdin>:2:13\n  |\n1 | fn main() {\n",
                "|2|13|mismatched closing delimiter: `}`|false",
            ),
            (
                "[stdin]:1\nconst a = (1;\n            ^\n\nSyntaxError: Unexpected token ';'\n    at x (node:a:1464:18)\n",
                "|1|0|Unexpected token ';'|false",
            ),
        ] {
            assert_eq!(diagnostics(output), [wanted], "{output}");
        }
    }

    #[test]
    fn other_lines_are_ignored() {
        for output in [
            "warning: unused variable\n  --> src/main.rs:1:5\n",
            "src/main.rs:1:5: warning: unused variable",
            "    at wrapSafe (node:internal/modules/cjs/loader:1464:18)",
            "Finished in 3:4",
            "warning: a.c:3: words\nsome words: a.c:3: words",
            "error[internal]: left rest trailing whitespace\n --> <stdin>:7:7:17\n",
            "12:30:00 started",
            "::::\n:1:\n: line : \n(,): \n --> \n",
        ] {
            assert_eq!(diagnostics(output), Vec::<String>::new(), "{output}");
        }
    }

    #[test]
    fn long_lines_take_linear_time() {
        let line = format!("{}: {}", "a ".repeat(200_000), "1:".repeat(400_000));
        let started = std::time::Instant::now();
        assert_eq!(diagnostics(&line), Vec::<String>::new());
        assert_eq!(
            diagnostics(&format!("{}:3:5: words", "a/".repeat(10_000))),
            Vec::<String>::new(),
            "no path is so long"
        );
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    }
}
