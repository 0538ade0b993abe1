//! jq: a filter reads its input, but for modules and the environment.
//!
//! The filter is parsed as a whole, interpolated strings included. Functions are those that jq, gojq or jaq have and that
//! compute from their input, and those that the filter defines, where it may call them.

use super::{Cursor, is_name, starts_name};

/// Functions that compute from their input, write to the terminal, or read the next input.
const FUNCTIONS: &str = "IN INDEX GROUP_BY UNIQUE_BY abs acos acosh add all any arrays ascii ascii_downcase ascii_upcase asin \
    asinh atan atan2 atanh booleans bsearch builtins cbrt ceil combinations contains copysign cos cosh date dateadd datesub \
    dateadd debug del delpaths drem empty endswith error erf exp exp10 exp2 expm1 explode fabs fdim finites first flatten \
    floor fma fmax fmin fmod frexp from_entries fromdate fromdateiso8601 fromjson fromstream gamma getpath gmtime group_by \
    gsub halt halt_error has have_decnum have_literal_numbers hypot implode in index indices infinite input input_filename \
    input_line_number inputs inside isempty isfinite isinfinite isnan isnormal isvalid iterables j0 j1 join keys \
    keys_unsorted last ldexp leaf_paths length lgamma lgamma_r limit localtime log log10 log1p log2 logb ltrim ltrimstr map \
    map_values match max max_by min min_by mktime modf nan nearbyint normals not now nth nulls numbers objects path paths \
    pick pow pow10 range recurse recurse_down repeat reverse rindex rint round rtrim rtrimstr scalars scalb scalbln scan \
    select setpath significand sin sinh skip sort sort_by split splits sqrt startswith stderr strflocaltime strftime \
    strings strptime sub tan tanh test tgamma to_entries to_number toarray todate todateiso8601 tojson tonumber tostream \
    tostring toboolean transpose trim trimstr trunc truncate_stream type unique unique_by until utf8bytelength values walk \
    while with_entries y0 y1 ltrimstr rtrimstr getpath have_decnum ascii capture true false null tojson error";

/// Words of the language, which call nothing.
const KEYWORDS: &[&str] = &[
    "and", "as", "catch", "def", "elif", "else", "end", "foreach", "if", "import", "include", "label", "module", "or",
    "reduce", "then", "try",
];

/// The deepest nesting, and the most functions at one place.
const MOST_DEPTH: usize = 48;
const MOST_FUNCTIONS: usize = 64;

/// Whether the filter only reads its input.
pub(crate) fn only_reads(filters: &[&str]) -> bool {
    let [text] = filters else { return false };
    // A carriage return ends a line in some versions only.
    if text.contains(|c: char| c.is_control() && !matches!(c, '\t' | '\n')) {
        return false;
    }
    let mut filter = Filter { text: Cursor { rest: text }, depth: 0, functions: Vec::new() };
    filter.all().is_some()
}

struct Filter<'a> {
    text: Cursor<'a>,
    depth: usize,
    /// The functions and parameters that can be called here, with how many arguments they take: the same name with another
    /// number of them is another function.
    functions: Vec<(&'a str, usize)>,
}

/// Each of these reads a part of the grammar, and gives `None` where it is not known to be harmless. More is accepted than
/// jq does; what it does not accept it does not run.
impl<'a> Filter<'a> {
    fn all(&mut self) -> Option<()> {
        self.blanks()?;
        while self.keyword("def")? {
            self.definition()?;
        }
        if !self.text.rest.is_empty() {
            self.expression()?;
        }
        self.text.rest.is_empty().then_some(())
    }

    /// Blanks and comments. A comment whose line ends in a backslash goes on, or not, by the version of jq.
    fn blanks(&mut self) -> Option<()> {
        loop {
            self.text.take_while(|c| matches!(c, ' ' | '\t' | '\n'));
            if !self.text.rest.starts_with('#') {
                return Some(());
            }
            if self.text.line().ends_with('\\') {
                return None;
            }
        }
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        let read = if self.depth > MOST_DEPTH { None } else { read(self) };
        self.depth -= 1;
        read
    }

    /// Takes a mark and the blanks behind it, if it stands here.
    fn mark(&mut self, mark: &str) -> Option<bool> {
        let found = self.text.eat(mark);
        if found {
            self.blanks()?;
        }
        Some(found)
    }

    fn expect(&mut self, mark: &str) -> Option<()> {
        self.mark(mark)?.then_some(())
    }

    /// The name that stands here, which is not taken.
    fn name(&self) -> Option<&'a str> {
        let mut ahead = self.text;
        ahead.peek().filter(|c| starts_name(*c))?;
        Some(ahead.take_while(is_name))
    }

    fn take_name(&mut self) -> Option<&'a str> {
        let name = self.name()?;
        self.text.eat(name);
        // A name in a module.
        if self.text.rest.starts_with("::") {
            return None;
        }
        self.blanks()?;
        Some(name)
    }

    fn keyword(&mut self, word: &str) -> Option<bool> {
        let found = self.name() == Some(word);
        if found {
            self.take_name()?;
        }
        Some(found)
    }

    fn expect_keyword(&mut self, word: &str) -> Option<()> {
        self.keyword(word)?.then_some(())
    }

    /// `def NAME(PARAMETERS): BODY;`, from behind `def`. The name is known from here to the end of the expression.
    fn definition(&mut self) -> Option<()> {
        let name = self.take_name().filter(|name| !KEYWORDS.contains(name))?;
        let mut parameters = Vec::new();
        if self.mark("(")? {
            loop {
                // `$x` can be called as `x` too.
                let parameter = if self.text.rest.starts_with('$') { self.variable() } else { self.take_name() };
                parameters.push((parameter?, 0));
                if !self.mark(";")? {
                    break;
                }
            }
            self.expect(")")?;
        }
        self.functions.push((name, parameters.len()));
        let outside = self.functions.len();
        self.functions.append(&mut parameters);
        if self.functions.len() > MOST_FUNCTIONS {
            return None;
        }
        self.expect(":")?;
        self.expression()?;
        self.functions.truncate(outside);
        self.expect(";")
    }

    fn expression(&mut self) -> Option<()> {
        let outside = self.functions.len();
        self.deeper(|filter| {
            loop {
                while filter.keyword("def")? {
                    filter.definition()?;
                }
                if filter.keyword("label")? {
                    filter.variable()?;
                    filter.expect("|")?;
                    continue;
                }
                filter.postfix()?;
                if filter.keyword("as")? {
                    filter.patterns()?;
                    filter.expect("|")?;
                } else if !(filter.mark(",")? || filter.operator()?) {
                    return Some(());
                }
            }
        })?;
        self.functions.truncate(outside);
        Some(())
    }

    /// Any operator but the comma.
    fn operator(&mut self) -> Option<bool> {
        const OPERATORS: &[&str] = &[
            "//=", "//", "|=", "|", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "=", "<", ">", "+", "-", "*",
            "/", "%",
        ];
        for operator in OPERATORS {
            if self.mark(operator)? {
                return Some(true);
            }
        }
        Some(self.keyword("and")? || self.keyword("or")?)
    }

    /// A term with what is attached to it.
    fn postfix(&mut self) -> Option<()> {
        while self.mark("-")? {}
        self.deeper(Filter::term)?;
        loop {
            if self.text.rest.starts_with('[') {
                self.index()?;
            } else if self.text.rest.starts_with('.') {
                self.text.bump();
                self.field()?;
            } else if self.text.rest.starts_with("?//") || !self.mark("?")? {
                return Some(());
            }
        }
    }

    /// What stands behind the dot of a path.
    fn field(&mut self) -> Option<()> {
        match self.text.peek()? {
            c if starts_name(c) => {
                self.text.take_while(is_name);
                self.blanks()
            }
            '"' => self.string(),
            '[' => self.index(),
            _ => None,
        }
    }

    /// `[]`, `[1]`, `["a"]`, `[1:2]`.
    fn index(&mut self) -> Option<()> {
        self.expect("[")?;
        if self.mark("]")? {
            return Some(());
        }
        if !self.text.rest.starts_with(':') {
            self.expression()?;
        }
        if self.mark(":")? && !self.text.rest.starts_with(']') {
            self.expression()?;
        }
        self.expect("]")
    }

    fn term(&mut self) -> Option<()> {
        match self.text.peek()? {
            '.' => self.path(),
            '"' => self.string(),
            '@' => self.format(),
            '$' => self.variable().map(drop),
            '0'..='9' => self.number(),
            '{' => self.object(),
            '(' => {
                self.expect("(")?;
                self.expression()?;
                self.expect(")")
            }
            '[' => {
                self.expect("[")?;
                if self.mark("]")? {
                    return Some(());
                }
                self.expression()?;
                self.expect("]")
            }
            c if starts_name(c) => self.word(),
            _ => None,
        }
    }

    /// `.`, `..`, `.a`, `."a"`, `.[0]`, `.5`.
    fn path(&mut self) -> Option<()> {
        let next = self.text.rest[1..].chars().next();
        if next.is_some_and(|c| c.is_ascii_digit()) {
            return self.number();
        }
        self.text.bump();
        if self.text.eat(".") {
            // What follows two dots directly is read in several ways.
            return if self.text.peek().is_some_and(|c| is_name(c) || c == '.') { None } else { self.blanks() };
        }
        match next {
            Some(c) if starts_name(c) || matches!(c, '"' | '[') => self.field(),
            _ => self.blanks(),
        }
    }

    fn number(&mut self) -> Option<()> {
        self.text.take_while(|c| c.is_ascii_digit());
        if self.text.eat(".") {
            self.text.take_while(|c| c.is_ascii_digit());
        }
        if self.text.eat("e") || self.text.eat("E") {
            let _ = self.text.eat("+") || self.text.eat("-");
            if self.text.take_while(|c| c.is_ascii_digit()).is_empty() {
                return None;
            }
        }
        if self.text.peek().is_some_and(|c| is_name(c) || c == '.') {
            return None;
        }
        self.blanks()
    }

    /// `$NAME`, without its mark. `$ENV` is the environment, and `$__prog_args` and the like are not documented.
    fn variable(&mut self) -> Option<&'a str> {
        self.text.eat("$").then_some(())?;
        let name = self.take_name()?;
        let known = name != "ENV" && (!name.starts_with("__") || name == "__loc__");
        known.then_some(name)
    }

    /// `@base64`, alone or with the string that it formats.
    fn format(&mut self) -> Option<()> {
        self.text.bump();
        self.take_name()?;
        if self.text.rest.starts_with('"') { self.string() } else { Some(()) }
    }

    /// A string with what is interpolated in it.
    fn string(&mut self) -> Option<()> {
        self.text.bump();
        loop {
            self.text.take_while(|c| !matches!(c, '"' | '\\'));
            match self.text.bump()? {
                '"' => return self.blanks(),
                _ if self.text.eat("(") => {
                    self.blanks()?;
                    self.expression()?;
                    // No blanks are skipped behind it: they are text.
                    self.text.eat(")").then_some(())?;
                }
                _ => drop(self.text.bump()?),
            }
        }
    }

    /// The values of an object have no comma outside of brackets, so that every name behind a comma is a key.
    fn object(&mut self) -> Option<()> {
        self.expect("{")?;
        while !self.mark("}")? {
            let needs_value = match self.text.peek()? {
                '"' => self.string().map(|()| false)?,
                '@' => self.format().map(|()| false)?,
                '$' => self.variable().map(|_| false)?,
                '(' => {
                    self.expect("(")?;
                    self.expression()?;
                    self.expect(")")?;
                    true
                }
                c if c.is_ascii_digit() => self.number().map(|()| true)?,
                _ => self.take_name().map(|_| false)?,
            };
            if self.mark(":")? {
                self.postfix()?;
                while self.operator()? {
                    self.postfix()?;
                }
            } else if needs_value {
                return None;
            }
            if !self.mark(",")? && !self.text.rest.starts_with('}') {
                return None;
            }
        }
        Some(())
    }

    /// A term that begins with a name: a construct, or a call.
    fn word(&mut self) -> Option<()> {
        let name = self.take_name()?;
        match name {
            "if" => self.condition(),
            "try" => {
                self.postfix()?;
                if self.keyword("catch")? { self.postfix() } else { Some(()) }
            }
            "reduce" | "foreach" => {
                self.postfix()?;
                self.expect_keyword("as")?;
                self.patterns()?;
                self.arguments().map(drop)
            }
            "break" => self.variable().map(drop),
            _ if KEYWORDS.contains(&name) => None,
            _ => {
                let count = if self.text.rest.starts_with('(') { self.arguments()? } else { 0 };
                let computes = || FUNCTIONS.split_ascii_whitespace().any(|known| known == name);
                (self.functions.contains(&(name, count)) || computes()).then_some(())
            }
        }
    }

    /// `(A; B)`, and how many there are.
    fn arguments(&mut self) -> Option<usize> {
        self.expect("(")?;
        self.expression()?;
        let mut count = 1;
        while self.mark(";")? {
            self.expression()?;
            count += 1;
        }
        self.expect(")")?;
        Some(count)
    }

    /// From behind `if`.
    fn condition(&mut self) -> Option<()> {
        self.expression()?;
        self.expect_keyword("then")?;
        self.expression()?;
        while self.keyword("elif")? {
            self.expression()?;
            self.expect_keyword("then")?;
            self.expression()?;
        }
        if self.keyword("else")? {
            self.expression()?;
        }
        self.expect_keyword("end")
    }

    /// `$a`, `[$a, {b: $c}]`, and alternatives of them apart by `?//`.
    fn patterns(&mut self) -> Option<()> {
        self.deeper(Filter::pattern)?;
        while self.mark("?//")? {
            self.deeper(Filter::pattern)?;
        }
        Some(())
    }

    fn pattern(&mut self) -> Option<()> {
        match self.text.peek()? {
            '$' => self.variable().map(drop),
            '[' => {
                self.expect("[")?;
                loop {
                    self.deeper(Filter::pattern)?;
                    if !self.mark(",")? {
                        return self.expect("]");
                    }
                }
            }
            '{' => {
                self.expect("{")?;
                loop {
                    match self.text.peek()? {
                        '$' => self.variable().map(drop)?,
                        '"' => self.string()?,
                        '(' => {
                            self.expect("(")?;
                            self.expression()?;
                            self.expect(")")?;
                        }
                        _ => self.take_name().map(drop)?,
                    }
                    if self.mark(":")? {
                        self.deeper(Filter::pattern)?;
                    }
                    if !self.mark(",")? {
                        return self.expect("}");
                    }
                }
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One filter a line; `⏎` is a line feed.
    const READS: &str = r##"
.
.a
.a.b.c
.a?.b?
."a b"."c"
.["a"]["b"]
.[0]
.[-1]
.[2:5], .[:3], .[1:]
.[].key
..
.. | numbers
.env
.env.key
.a.env
{env: 1, b: .env, "env": 2, if: 3}
{env, $x, "a", "b\(.c)": .d, (.e): .f, @base64 "g": 1}
{a: .b | length, c: -1, d: (.e, .f)}
.dependencies | to_entries | .[] | .key
to_entries | map("\(.key)=\(.value)") | .[]
"a \("b \(.c) d") e"
"env $ENV import"
@base64
@base64 "x\(.a)y"
@tsv "\(.a)\t\(.b)"
[.[] | select(.a > 1 and .b == "x" or (.c | not))]
map(.a) | add / length
reduce .[] as $x (0; . + $x)
foreach .[] as [$a, {b: $c, $d, "e": $f, (.g): $h}] (0; . + $a; [., $c])
. as [$a] ?// {a: $a} | $a
. as {a: $x} | $x * 2
if .a then 1 elif .b then 2 else 3 end
if . then 1 end
try error("x") catch .
try .a.b
.a // "none"
.a //= 1 | .b |= . + 1 | .c += 1
del(.a, .b) | paths
def f: . + 1; f
def f(g): g | g; def h($x; y): $x + x + y; f(.a) | h(1; 2)
def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; [.[] | fac]
label $out | foreach .[] as $x (0; . + $x; if . > 3 then ., break $out else empty end)
.a as $x | .b as $y | $x + $y
$__loc__.line
[inputs | .a]
input_filename
$ARGS.named
1e3, .5, 1.5e-3, -1
# a comment "⏎.a # another
.a⏎| .b
group_by(.a) | map({a: .[0].a, n: length})
test("^a\\(b"; "i")
[limit(3; .[])]
.[] as $x | [$x, $x]
not
-(.a)
walk(if type == "object" then with_entries(.value |= .) else . end)
[paths(type == "number")]
getpath(["a", "b"])
.a."b"[0]."c d"?
[splits(", *")] | join("-")
"\u00e9 é 中"
"##;

    const MORE: &str = r##"
env
env.HOME
$ENV
$ENV.HOME
$ ENV
{$ENV}
{a: env}
{(env): 1}
{a: 1 | env}
{a: if . then 1, env else 2 end}
{a: if . then 1, env, 2 else 3 end}
"\(env)"
"a \("b \(env) c") d"
"\($ENV)"
@base64 "\(env)"
[env]
(env)
.a[env]
.[env:]
{"a\(env)": 1}
import "a" as a; .
include "a"; .
import "a" as $a; $a
module {}; .
modulemeta
get_search_list
a::b
$a::b
$__prog_args
def f: env; f
def f(env): .; env
def env(x): x; env
def readfile: 1; readfile(.)
(def readfile(x): 1; .) | readfile("/etc/passwd")
def f(readfile): 1; readfile
readfile("x")
1env
1.env
1e5env
..env
...env
. env
.a env
.a as $ENV | 1
reduce env as $x (0; 1)
foreach .[] as $x (0; env)
try env catch .
try . catch env
if env then 1 else 2 end
label $x | env
.a |= env
.a ?// env
. as {(env): $x} | $x
. as {"\(env)": $x} | $x
-env
"a
"\(.a
.a)
(.a
[.a
{a: 1
if . then 1
"\(")"env(")"
# comment \⏎env
# comment \⏎"⏎env#"
.a⏎env
@base64 env
@ base64
.[
`id`
.a & env
.a ; env
"a" "b"
{a: . as $x | 1, env: 2}
{a: def f: 1; f}
{a b}
input_filename2
'env'
"##;

    fn cases(table: &str) -> impl Iterator<Item = String> {
        table.lines().filter(|line| !line.is_empty()).map(|line| line.replace('⏎', "\n"))
    }

    #[test]
    fn what_only_reads_is_told_from_what_looks_around() {
        for filter in cases(READS) {
            assert!(only_reads(&[&filter]), "{filter}");
        }
        for filter in cases(MORE) {
            assert!(!only_reads(&[&filter]), "{filter}");
        }
        assert!(only_reads(&[""]));
        assert!(!only_reads(&[".", "."]) && !only_reads(&[".\r"]) && !only_reads(&[".\0"]));
    }

    #[test]
    fn the_environment_is_found_behind_whatever_only_reads() {
        for filter in cases(READS) {
            for end in ["|", ",", "\n|", " ", "//", "+", ";", "?", "[", "\"\\(", "|{a:", "|{("] {
                for more in ["env", "$ENV", "modulemeta", "@base64 \"\\(env)\"", "import \"a\" as a;"] {
                    let comment = filter.lines().last().is_some_and(|line| line.contains('#'));
                    let joined =
                        if comment { format!("{filter}\n{end}{more}") } else { format!("{filter}{end}{more}") };
                    for close in ["", "]", ")\"", "}", "): 1}"] {
                        assert!(!only_reads(&[&format!("{joined}{close}")]), "{joined}{close}");
                    }
                }
            }
        }
    }
}
