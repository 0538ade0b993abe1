//! yq: two programs have this name, one in Go with a language of its own, and one in Python that hands its filter to jq.
//!
//! Only what both read alike is passed: paths, a few functions, comparisons. The lexer of the Go program has paths that reach
//! up to a blank or one of a few marks, and takes the first rule that fits, so that what stands behind a path decides
//! where a string begins.

use super::{Cursor, is_name, starts_name};

/// Functions that compute from their input in both.
const FUNCTIONS: &str = "add all and any ascii_downcase ascii_upcase capture contains del downcase error false first flatten \
    from_entries fromjson group_by has input_filename join key keys last length line map map_values match max min not null \
    or parent path pick pivot reverse select sort sort_by sort_keys split style sub tag test to_entries to_json to_number \
    to_string to_yaml tojson tonumber tostring true type unique unique_by upcase values with_entries fileIndex documentIndex \
    file_index document_index filename";

/// Formats behind `@`.
const FORMATS: &str = "base64 csv json sh text tsv uri yaml";

/// Words that are passed nowhere but as a part of a path: what opens files, looks at the environment or runs something.
const FORBIDDEN: &[&str] =
    &["env", "ENV", "eval", "exec", "import", "include", "load", "modulemeta", "strenv", "envsubst", "system"];

/// Whether the expression only reads its input.
pub(crate) fn only_reads(expressions: &[&str]) -> bool {
    let [text] = expressions else { return false };
    Expression { text: Cursor { rest: text } }.all().is_some()
}

/// Whether a text has a word that is passed nowhere: `load_str` counts as `load`.
fn is_forbidden(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| FORBIDDEN.contains(&word))
}

struct Expression<'a> {
    text: Cursor<'a>,
}

/// Each of these reads a token, and gives `None` where it is not known to be harmless.
impl Expression<'_> {
    fn all(&mut self) -> Option<()> {
        while let Some(c) = self.text.peek() {
            match c {
                ' ' | '\n' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ':' => drop(self.text.bump()),
                '.' => self.path()?,
                '"' => drop(self.string()?),
                '0'..='9' => self.number()?,
                '-' => {
                    self.text.bump();
                    self.number()?;
                }
                '@' => {
                    self.text.bump();
                    self.word(FORMATS)?;
                }
                _ if starts_name(c) => self.word(FUNCTIONS)?,
                _ => self.operator()?,
            }
        }
        Some(())
    }

    fn path(&mut self) -> Option<()> {
        self.text.bump();
        match self.text.peek() {
            Some('.') => drop(self.text.bump()),
            Some('"') => {
                let name = self.string()?;
                if name.contains(' ') {
                    return None;
                }
                self.text.eat("?");
            }
            Some(c) if starts_name(c) => {
                let name = self.text.take_while(|c| is_name(c) || c == '-');
                // Behind a dash jq sees a function.
                if name.split_once('-').is_some_and(|(_, behind)| is_forbidden(behind)) {
                    return None;
                }
                self.text.eat("?");
            }
            _ => {}
        }
        self.text.peek().is_none_or(|c| " \n.[]|,){}:(".contains(c)).then_some(())
    }

    /// A string without escapes.
    fn string(&mut self) -> Option<&str> {
        self.text.bump();
        let text = self.text.take_while(|c| c != '"' && c != '\\' && !c.is_control());
        (self.text.eat("\"") && !is_forbidden(text)).then_some(text)
    }

    fn number(&mut self) -> Option<()> {
        let whole = self.text.take_while(|c| c.is_ascii_digit());
        if self.text.eat(".") && self.text.take_while(|c| c.is_ascii_digit()).is_empty() {
            return None;
        }
        (!whole.is_empty() && self.text.peek().is_none_or(|c| !is_name(c) && c != '.')).then_some(())
    }

    fn word(&mut self, known: &str) -> Option<()> {
        let name = self.text.take_while(is_name);
        known.split_ascii_whitespace().any(|known| known == name).then_some(())
    }

    fn operator(&mut self) -> Option<()> {
        // A single `=` changes something, if only what is printed.
        const OPERATORS: &[&str] = &["==", "!=", "<=", ">=", "//", "<", ">", "+", "*"];
        let operator = OPERATORS.iter().find(|operator| self.text.rest.starts_with(**operator))?;
        self.text.eat(operator);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: &str = r##"
.
.a.b
.env
.env.key
.a.env.load
.jobs.build.runs-on
.on.push?
.a[0].b
.a[-1]
.[]
.[].key
.a["b"]
.a["b c"].d
."a".b
..
.. | select(has("a"))
.jobs | keys
.services | to_entries | .[].key
.a | length
.a | select(. == "x")
.a | select(.b > 3 and .c != null)
.[] | select(.name == "x") | .version
.a // "none"
map(.a)
.a | with_entries(select(.key != "b"))
.a | @json
[.a, .b]
{"a": .b}
.a | sort | unique
select(fileIndex == 0) * select(fileIndex == 1)
.a | test("^x")
"##;

    const MORE: &str = r##"
env(HOME)
strenv(HOME)
env
$ENV
$ENV.HOME
.a | envsubst
load("x")
load_str("x")
load_xml("x")
.a = load("x")
eval(.a)
eval("env(HOME)")
"\(env)"
."a b" env(HOME) "c"
.a+"x env(HOME) "
.a-"x env(HOME) "
.a"x env(HOME) "
.a	"x env(HOME) "
.a-env
.a-load("x")
. env
.a = 1
.a |= 1
.a += 1
del(.a) | load("x")
system("id")
.a | import
include "x"; .
# comment
.a # env(HOME)
.a \
"a
'a'
`id`
1env
.é
unknown(.a)
.a as $x | $x
..env
.a;.b
"##;

    #[test]
    fn what_only_reads_is_told_from_what_looks_around() {
        for expression in READS.lines().filter(|line| !line.is_empty()) {
            assert!(only_reads(&[expression]), "{expression}");
        }
        for expression in MORE.lines().filter(|line| !line.is_empty()) {
            assert!(!only_reads(&[expression]), "{expression}");
        }
    }
}
