//! awk: a program that starts nothing, opens nothing and prints to its output alone.
//!
//! It is read token by token. Names of functions and keywords are on a list; `|`, `>` behind `print`, `@` and `getline` are
//! on none. Whether `/` divides or begins a pattern is told from what stands before it, and is a question where
//! implementations differ.

use super::{Cursor, brackets_close, is_name, is_plain_text, starts_name};

/// Functions that compute from their arguments.
const FUNCTIONS: &[&str] = &[
    "and", "asort", "asorti", "atan2", "compl", "cos", "exp", "gensub", "gsub", "index", "int", "isarray", "length",
    "log", "lshift", "match", "mktime", "or", "patsplit", "rand", "rshift", "sin", "split", "sprintf", "sqrt", "srand",
    "strftime", "strtonum", "sub", "substr", "systime", "tolower", "toupper", "typeof", "xor",
];

/// Words of the language behind which a statement, a pattern or a value begins.
const KEYWORDS: &[&str] = &[
    "BEGIN",
    "END",
    "BEGINFILE",
    "ENDFILE",
    "break",
    "case",
    "continue",
    "default",
    "delete",
    "do",
    "else",
    "exit",
    "for",
    "func",
    "function",
    "if",
    "in",
    "next",
    "nextfile",
    "print",
    "printf",
    "return",
    "switch",
    "while",
];

/// Keywords whose parentheses are not a value.
const CONTROLS: &[&str] = &["for", "if", "switch", "while"];

/// Names that are no variables of the program: what starts or opens something, and what tells of the surroundings or
/// changes which files are read.
const FORBIDDEN: &[&str] = &[
    "ARGC",
    "ARGIND",
    "ARGV",
    "BINMODE",
    "ENVIRON",
    "ERRNO",
    "FUNCTAB",
    "LINT",
    "PROCINFO",
    "SYMTAB",
    "TEXTDOMAIN",
    "bindtextdomain",
    "close",
    "dcgettext",
    "dcngettext",
    "extension",
    "fflush",
    "getline",
    "include",
    "load",
    "namespace",
    "stopme",
    "system",
];

/// The most functions that a program defines.
const MOST_FUNCTIONS: usize = 32;

/// Whether the program only reads its input and prints.
pub(crate) fn only_reads(programs: &[&str]) -> bool {
    let [text] = programs else { return false };
    is_plain_text(text) && Program::new(text).all().is_some()
}

/// What a `/` would be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Pattern,
    Division,
    /// Implementations differ, or nothing of the kind can stand here.
    Unsure,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// The parentheses of `if`, `while`, `for` and `switch`.
    Control,
    Parenthesis,
    Bracket,
    Brace,
}

struct Program<'a> {
    text: Cursor<'a>,
    slash: Slash,
    open: Vec<Open>,
    /// The word before this, where nothing stands between but blanks.
    word: &'a str,
    /// How many brackets were open at the last `print` of this statement: a `>` that is in no more of them is a redirect.
    printing: Option<usize>,
    /// The functions that the program defines.
    defined: Vec<&'a str>,
}

/// Each of these reads a token, and gives `None` where it is not known to be harmless.
impl<'a> Program<'a> {
    fn new(text: &'a str) -> Program<'a> {
        let text = Cursor { rest: text };
        Program { text, slash: Slash::Pattern, open: Vec::new(), word: "", printing: None, defined: Vec::new() }
    }

    fn all(&mut self) -> Option<()> {
        while let Some(c) = self.text.peek() {
            match c {
                ' ' | '\t' => drop(self.text.bump()),
                _ if starts_name(c) => self.name()?,
                _ => {
                    self.other(c)?;
                    self.word = "";
                }
            }
        }
        self.open.is_empty().then_some(())
    }

    fn other(&mut self, c: char) -> Option<()> {
        match c {
            '"' => self.string()?,
            '/' if self.slash == Slash::Pattern => self.pattern()?,
            '/' if self.slash == Slash::Unsure => return None,
            '#' => drop(self.text.line()),
            '\\' => {
                self.text.bump();
                // The line goes on.
                return self.text.eat("\n").then_some(());
            }
            '0'..='9' => self.number()?,
            '.' if self.text.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number()?,
            '(' => self.opens(if CONTROLS.contains(&self.word) { Open::Control } else { Open::Parenthesis }),
            '[' => self.opens(Open::Bracket),
            '{' => {
                self.printing = None;
                self.opens(Open::Brace);
            }
            ')' | ']' | '}' => self.closes(c)?,
            ';' => {
                self.printing = None;
                self.turn(Slash::Pattern);
            }
            '\n' | ',' => self.turn(Slash::Pattern),
            _ => self.operator()?,
        }
        Some(())
    }

    fn turn(&mut self, slash: Slash) {
        self.text.bump();
        self.slash = slash;
    }

    fn opens(&mut self, open: Open) {
        self.open.push(open);
        self.turn(Slash::Pattern);
    }

    fn closes(&mut self, c: char) -> Option<()> {
        match (self.open.pop()?, c) {
            // mawk divides behind every parenthesis, others begin a pattern here.
            (Open::Control, ')') => self.turn(Slash::Unsure),
            (Open::Parenthesis, ')') | (Open::Bracket, ']') => self.turn(Slash::Division),
            (Open::Brace, '}') => {
                self.printing = None;
                self.turn(Slash::Pattern);
            }
            _ => return None,
        }
        Some(())
    }

    fn operator(&mut self) -> Option<()> {
        const PATTERN_FOLLOWS: &[&str] = &["&&", "||", "!~", "!=", "==", "<=", ">=", "!", "~"];
        const OTHERS: &[&str] = &[
            "++", "--", "**=", "**", "+=", "-=", "*=", "/=", "%=", "^=", "+", "-", "*", "/", "%", "^", "=", "?", ":",
            "$", "<", ">",
        ];
        if self.text.rest.starts_with(">>") {
            return None;
        }
        if self.text.rest.starts_with('>') && self.printing.is_some_and(|depth| self.open.len() <= depth) {
            return None;
        }
        let operators = || PATTERN_FOLLOWS.iter().chain(OTHERS);
        let operator = operators().find(|operator| self.text.rest.starts_with(**operator))?;
        self.text.eat(operator);
        let compares = matches!(*operator, "!=" | "==" | "<=" | ">=");
        self.slash = if PATTERN_FOLLOWS.contains(operator) && !compares { Slash::Pattern } else { Slash::Unsure };
        Some(())
    }

    fn name(&mut self) -> Option<()> {
        let before = self.word;
        let name = self.text.take_while(is_name);
        self.word = name;
        let called = self.text.rest.trim_start_matches([' ', '\t']).starts_with('(');
        if FORBIDDEN.contains(&name) {
            return None;
        }
        if KEYWORDS.contains(&name) {
            if matches!(name, "print" | "printf") {
                self.printing = Some(self.open.len());
            }
            self.slash = Slash::Unsure;
        } else if FUNCTIONS.contains(&name) {
            // `length` stands for `length($0)`; no other function does without its arguments.
            if !called && name != "length" {
                return None;
            }
            self.slash = Slash::Unsure;
        } else if matches!(before, "function" | "func") {
            self.defined.push(name);
            if self.defined.len() > MOST_FUNCTIONS {
                return None;
            }
            self.slash = Slash::Unsure;
        } else {
            // Only what is defined before it is known to be a function of the program.
            if called && !self.defined.contains(&name) {
                return None;
            }
            self.slash = Slash::Division;
        }
        Some(())
    }

    /// A number ends where every implementation ends it: no name begins right behind it.
    fn number(&mut self) -> Option<()> {
        let start = self.text;
        self.text.take_while(|c| c.is_ascii_digit());
        if self.text.eat(".") {
            self.text.take_while(|c| c.is_ascii_digit());
        }
        if start.rest.len() - self.text.rest.len() > 0 && (self.text.eat("e") || self.text.eat("E")) {
            let _ = self.text.eat("+") || self.text.eat("-");
            if self.text.take_while(|c| c.is_ascii_digit()).is_empty() {
                return None;
            }
        }
        self.slash = Slash::Division;
        self.text.peek().is_none_or(|c| !is_name(c) && c != '.').then_some(())
    }

    fn string(&mut self) -> Option<()> {
        self.quoted('"')?;
        self.slash = Slash::Division;
        Some(())
    }

    fn pattern(&mut self) -> Option<()> {
        let pattern = self.quoted('/')?;
        self.slash = Slash::Division;
        brackets_close(pattern).then_some(())
    }

    /// What stands up to the mark, which is on the same line.
    fn quoted(&mut self, mark: char) -> Option<&'a str> {
        self.text.bump();
        let start = self.text.rest;
        loop {
            match self.text.bump()? {
                '\n' => return None,
                '\\' if self.text.bump()? == '\n' => return None,
                c if c == mark => return Some(&start[..start.len() - self.text.rest.len() - 1]),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One program a line; `⏎` is a line feed.
    const READS: &str = r##"
{print $1}
NR>=5 && NR<=10
NR>1 {print $2}
/a|b/ {print}
/\// {print}
/[a-z]+/
{s+=$1} END {print s/NR}
{s+=$1;n++} END {print (s)/n, s / 2 / 3}
!seen[$0]++
$1 ~ /x/ || /y/ { n++ } END { print n }
$1 !~ /x/ && !/y/
{ if ($1 > 3) print }
{ print ($1 > 3 ? "a" : "b") }
length($0) > 100
length > 72
{printf "%s\n", $1} # a comment | with a pipe
{gsub(/a/, "b|c"); print}
{print $NF, $(NF-1)}
BEGIN{FS=","; OFS="\t"} {$1=$1; print}
{a[$1]+=$2} END{for (k in a) print k, a[k]}
{a[NR]=$0} END{for(i=NR;i>0;i--) print a[i]}
/start/,/end/
function max(a,b) { return a>b?a:b } {print max($1,$2)}
BEGIN { while (i < 3) { i++; print i } }
{ x = 1e3 + .5 * 2.5 ^ 2 % 7; print x -1 }
NR==FNR{a[$1];next} $1 in a
{ print substr($0, 1, 10), toupper($2), index($0, "x") }
{ n = split($0, parts, /,/); print parts[n] }
END{print NR}
1
$3 == "a b" { c++ } END { print c+0 }
{ print $1 \⏎, $2 }
{⏎  if (/x/)⏎    n++⏎  else⏎    m++⏎}
{ print "a" "b"; printf("%d\n", $1) }
{ exit 1 }
{ delete a[1]; next }
{ print length, NF }
{ sum = sum + $1 / 2 } END { print sum / NR / 1024 "MB" }
"##;

    const MORE: &str = r##"
{print > "x"}
{print $1 >$2}
{print >> "x"}
{print (1)>"x"}
{printf("a") > "x"}
{print | "sh"}
{print |& "sh"}
"id" | getline
{print /"/ | "id" }
a++ /1|"id"/ 2
if (x) /"/; {print 1 | "id"}
/[/]/ | "id" /]/
@include "x"
{print "a⏎" > "b"}
BEGIN { printf "a" > "b" }
{print $1,⏎$2 > "x"}
{print $1⏎> "x"}
BEGIN{1system("id")}
{print $1system("id")}
BEGIN{1e1system("id")}
BEGIN{0x1system("id")}
BEGIN{.5system("id")}
BEGIN{1.system("id")}
BEGIN{"id"|1getline}
BEGIN{1getline x}
BEGIN{while((getline l < "f")>0) print l}
BEGIN{getline<"f";print}
BEGIN{sys\⏎tem("id")}
BEGIN{system ("id")}
BEGIN{unknown("id")}
BEGIN{unknown ("id")}
BEGIN{f="system"; @f("id")}
BEGIN{ARGV[1]="f";ARGC=2}{print}
BEGIN{print ENVIRON["HOME"]}
BEGIN{for(k in ENVIRON)print k}
BEGIN{SYMTAB["x"]=1}
BEGIN{print PROCINFO["pid"]}
{print length/"/;print|"id"#/"}
{print }}
{print
{print "a}
{print "a\⏎" > "x"}
/a
/a\⏎/
{print 'x'}
{print `x`}
{print $1 \ > "x"}
{print é}
{x(1)}
function f(x){return x} {f(1); g(1)}
function system(x){} {system(1)}
{ close("x") }
{ fflush() }
{print "中\" > "x"; y="}
{print>"/dev/tcp/x"}
# x⏎{print > "x"}
{ if (1) print > "x" }
{ print (1) > (2) }
"##;

    #[test]
    fn what_only_reads_is_told_from_what_runs() {
        let cases =
            |table: &'static str| table.lines().filter(|line| !line.is_empty()).map(|line| line.replace('⏎', "\n"));
        for program in cases(READS) {
            assert!(only_reads(&[&program]), "{program}");
        }
        for program in cases(MORE) {
            assert!(!only_reads(&[&program]), "{program}");
        }
        assert!(!only_reads(&["{print}", "{print}"]));
    }

    #[test]
    fn what_runs_is_found_behind_whatever_only_reads() {
        for program in READS.lines().filter(|line| !line.is_empty()).map(|line| line.replace('⏎', "\n")) {
            for end in ["\n", ";", "}", " ", "{", "(", "/", "1", "x"] {
                for more in
                    ["system(\"id\")", "{print > \"x\"}", "{print | \"sh\"}", "\"id\" | getline", "{getline < \"x\"}"]
                {
                    let joined = format!("{program}{end}{more}");
                    let comment = program.contains('#') && end != "\n";
                    assert!(comment || !only_reads(&[&joined]), "{joined}");
                }
            }
        }
    }
}
