//! What checkers print, read. A line that is none of the known shapes is passed over.
//!
//! | shape | who prints it |
//! |---|---|
//! | `a.rs:3:5: words`, `a.sh: line 3: words`, `a.go:3: words` | compilers, shells, most linters |
//! | `a.ts(3,5): error TS2322: words` | `tsc` |
//! | `error: words`, then ` --> a.rs:3:5` | `rustc`, `cargo`, `rustfmt` |
//! | `a.js:3`, later `SyntaxError: words` | `node` |

use super::Diagnostic;

/// The most errors of one output.
const MOST: usize = 2000;

/// Bytes of a path, as Linux has it (`PATH_MAX`): what is longer names no file.
const LONGEST_PATH: usize = 4096;

/// The errors in an output; warnings are none. Paths below `root` are told relative to it, and what stands for the text on
/// stdin is "".
pub fn read(output: &str, root: &str) -> Vec<Diagnostic> {
    let mut reader = OutputReader { root, found: Vec::new(), heading: None, node: None };
    for line in output.lines() {
        if reader.found.len() == MOST {
            break;
        }
        reader.line(line.trim_end());
    }
    reader.found
}

/// Whether it complains of how a text is laid out, which is none of anybody's errors.
pub fn is_about_layout(output: &str) -> bool {
    output.lines().any(|line| line.starts_with(NO_LAYOUT))
}

/// Whether `tsc` found no file of the project, which is not an error before the first one is written.
pub fn is_about_no_files(output: &str) -> bool {
    output.lines().any(|line| line.starts_with("error TS18003:") || line.contains(": error TS18003:"))
}

struct OutputReader<'a> {
    root: &'a str,
    found: Vec<Diagnostic>,
    /// The words of an error whose place comes behind.
    heading: Option<&'a str>,
    /// The place of an error whose words come behind.
    node: Option<(&'a str, u64)>,
}

impl<'a> OutputReader<'a> {
    fn line(&mut self, line: &'a str) {
        if let Some(place) = line.trim_start().strip_prefix("--> ") {
            if let (Some(words), Some((path, row, column, _))) = (self.heading.take(), placed(place)) {
                self.keep(path, row, column, words);
            }
        } else if let Some((path, row, column, words)) = placed(line).filter(|(.., words)| !words.is_empty()) {
            self.keep(path, row, column, words);
        } else if let Some((kind, words)) = line.split_once(": ").filter(|(kind, _)| is_error(kind)) {
            match self.node.take() {
                Some((path, row)) if kind.ends_with("Error") => self.keep(path, row, 0, words),
                _ => self.heading = Some(words),
            }
        } else if line.starts_with("warning") || line.starts_with(NO_LAYOUT) {
            self.heading = None;
        } else if let Some((path, row)) = line.rsplit_once(':') {
            self.node = row.parse().ok().map(|row| (path, row)).or(self.node);
        }
    }

    fn keep(&mut self, path: &str, line: u64, column: u64, words: &str) {
        let words = words.trim();
        if path.len() > LONGEST_PATH {
            return;
        }
        if ["warning", "note", "help", "hint"].iter().any(|mild| words.starts_with(mild)) {
            return;
        }
        let words = words.strip_prefix("error").map_or(words, |rest| rest.trim_start_matches([':', ' ']));
        let syntax = is_about_syntax(words);
        self.found.push(Diagnostic { syntax, ..Diagnostic::of(self.name(path), line, column, words) });
    }

    fn name(&self, path: &str) -> String {
        let shell = path == "bash" || path.ends_with("/bash");
        if shell || path.starts_with(['<', '[']) || matches!(path, "-" | "/dev/stdin" | "stdin" | "(stdin)") {
            return String::new();
        }
        let path = path.strip_prefix(self.root).map_or(path, |rest| rest.trim_start_matches('/'));
        path.trim_start_matches("./").to_owned()
    }
}

/// How `rustfmt` begins to say that it could read a text, and not lay it out.
const NO_LAYOUT: &str = "error[internal]";

/// `error`, `error[E0308]`, `SyntaxError`.
fn is_error(kind: &str) -> bool {
    kind == "error" || kind.starts_with("error[") && kind != NO_LAYOUT || kind == "SyntaxError"
}

/// Codes of `tsc` for what it cannot read are those from 1000 to 1999.
fn is_about_syntax(words: &str) -> bool {
    let code = words.strip_prefix("TS").and_then(|rest| rest.split(':').next());
    code.is_some_and(|code| code.len() == 4 && code.starts_with('1')) || words.contains("syntax error")
}

/// Path, line, column or 0, and what follows.
fn placed(line: &str) -> Option<(&str, u64, u64, &str)> {
    in_parentheses(line).or_else(|| in_words(line)).or_else(|| with_colons(line)).or_else(|| behind_a_name(line))
}

/// `luac: stdin:3: words`: the program itself says its name first.
fn behind_a_name(line: &str) -> Option<(&str, u64, u64, &str)> {
    let (program, rest) = line.split_once(": ")?;
    let is_name =
        !program.is_empty() && program.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/+".contains(&byte));
    with_colons(rest).filter(|_| is_name && !is_error(program) && !program.starts_with("warning"))
}

/// `src/a.ts(3,5): error TS2322: words`
fn in_parentheses(line: &str) -> Option<(&str, u64, u64, &str)> {
    let (place, words) = line.split_once("): ")?;
    let (path, numbers) = place.rsplit_once('(')?;
    let (row, column) = numbers.split_once(',')?;
    Some((path, row.parse().ok()?, column.parse().ok()?, words))
}

/// `bash: line 3: words`
fn in_words(line: &str) -> Option<(&str, u64, u64, &str)> {
    let (path, rest) = line.split_once(": line ")?;
    let (row, words) = rest.split_once(": ")?;
    Some((path, row.parse().ok()?, 0, words))
}

/// `a.rs:3:5: words`, `a.go:3: words`; and `a.rs:3:5`, with no words.
fn with_colons(line: &str) -> Option<(&str, u64, u64, &str)> {
    // Behind the first of these are words.
    let place = line.find(": ").map_or(line, |end| &line[..end + 1]);
    for (colon, _) in place.match_indices(':').filter(|(colon, _)| *colon > 0) {
        let (row, behind) = number(&line[colon + 1..]);
        let Some(row) = row else { continue };
        let (column, words) = match behind.strip_prefix(':').map(number) {
            Some((Some(column), words)) => (column, words),
            _ => (0, behind),
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

    fn told(output: &str) -> Vec<String> {
        let found = read(output, "/home/p");
        found
            .iter()
            .map(|one| format!("{}|{}|{}|{}|{}", one.path, one.line, one.column, one.message, one.syntax))
            .collect()
    }

    #[test]
    fn every_shape_is_read() {
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
            assert_eq!(told(output), [wanted], "{output}");
        }
    }

    #[test]
    fn what_is_no_error_is_none() {
        for output in [
            "warning: unused variable\n  --> src/main.rs:1:5\n",
            "src/main.rs:1:5: warning: unused variable",
            "    at wrapSafe (node:internal/modules/cjs/loader:1464:18)",
            "Finished in 3:4",
            "warning: a.c:3: words\nsome words: a.c:3: words",
            "error[internal]: left behind trailing whitespace\n --> <stdin>:7:7:17\n",
            "12:30:00 started",
            "::::\n:1:\n: line : \n(,): \n --> \n",
        ] {
            assert_eq!(told(output), Vec::<String>::new(), "{output}");
        }
    }

    #[test]
    fn a_line_is_gone_through_once() {
        let line = format!("{}: {}", "a ".repeat(200_000), "1:".repeat(400_000));
        let started = std::time::Instant::now();
        assert_eq!(told(&line), Vec::<String>::new());
        assert_eq!(told(&format!("{}:3:5: words", "a/".repeat(10_000))), Vec::<String>::new(), "no path is so long");
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    }
}
