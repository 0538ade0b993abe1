//! Generates random harmless commands: every construct of the language around programs that are stubs.

use toolfence_kit::Random;

/// The stubs. Some have the names of programs that only read.
pub(super) const PROGRAMS: &[&str] = &["ls", "cat", "wc", "grep", "head", "touch", "evil", "sort", "basename"];

const WORDS: &[&str] = &[
    "a",
    "b.rs",
    "'a b'",
    "\"a b\"",
    "a\\ b",
    "-l",
    "-n",
    "--",
    "src",
    "$'a\\tb'",
    "a'b'\"c\"",
    "''",
    "\"\"",
    "{a,b}",
    "a{1..3}",
    "x{,y}",
    "*.rs",
    "?.rs",
    "[ab].rs",
    "~",
    "$HOME",
    "$x",
    "\"$x\"",
    "${x}",
    "${y:-d}",
    "a$x",
    "'$x'",
    "\\$x",
    "\"\\$x\"",
    "a=b",
    "--file=a",
    "-o",
    "#a",
    "a#b",
    "'#'",
    "\\a",
    "\"it's\"",
    "'\"'",
    "$'\\x61\\142'",
    "{a}",
    "{a",
    "a}",
    "!",
    "-e",
    "[",
    "]",
    "a\\\nb",
    "$((1 + 2))",
    "é",
    "$'\\''",
];

pub(super) struct Grammar<'a> {
    random: &'a mut Random,
    depth: usize,
}

impl<'a> Grammar<'a> {
    pub(super) fn new(random: &'a mut Random) -> Grammar<'a> {
        Grammar { random, depth: 0 }
    }

    /// Returns a whole command.
    pub(super) fn command(&mut self) -> String {
        self.list()
    }

    fn list(&mut self) -> String {
        let mut out = self.pipeline();
        for _ in 0..self.random.below(3) {
            let joint = *self.random.pick(&["; ", " && ", " || ", "\n", " & "]);
            out = format!("{out}{joint}{}", self.pipeline());
        }
        out
    }

    fn pipeline(&mut self) -> String {
        let mut out = self.one();
        if self.random.below(4) == 0 {
            let joint = *self.random.pick(&[" | ", " |& ", " |\n"]);
            out = format!("{out}{joint}{}", self.one());
        }
        if self.random.below(12) == 0 { format!("! {out}") } else { out }
    }

    fn one(&mut self) -> String {
        self.depth += 1;
        let made = match self.random.below(if self.depth > 4 { 6 } else { 26 }) {
            0..=7 => self.simple(),
            8 => format!("( {} )", self.list()),
            9 => format!("{{ {}; }}", self.pipeline()),
            10 => format!("if {}; then {}; else {}; fi", self.pipeline(), self.pipeline(), self.pipeline()),
            11 => format!("for i in {} {}; do {} $i; done", self.word(), self.word(), self.simple()),
            12 => format!("for i in a.rs b.rs; do {} \"$i\"; done", self.simple()),
            13 => format!("while {}; do {}; break; done", self.pipeline(), self.pipeline()),
            14 => format!("case {} in a|b) {} ;; *) {} ;; esac", self.word(), self.pipeline(), self.pipeline()),
            15 => format!("f() {{ {} \"$@\"; }}; f {}", self.simple(), self.word()),
            16 => format!("x={}; {}", self.random.pick(&["a", "'b c'", "-l", "b.rs", "ls"]), self.simple()),
            17 => self.substituted(),
            18 => self.document(),
            19 => self.texts(),
            20..=24 => self.wrapped(),
            _ => self.odd(),
        };
        self.depth -= 1;
        made
    }

    fn simple(&mut self) -> String {
        let mut words = vec![self.program()];
        for _ in 0..self.random.below(4) {
            words.push(self.word());
        }
        match self.random.below(10) {
            0 => words.push(
                (*self.random.pick(&[">/dev/null", "2>&1", "2>/dev/null", "</dev/null", "> out", ">>out"])).into(),
            ),
            1 => words.insert(0, (*self.random.pick(&["LC_ALL=C", "X=1", "</dev/null", "2>/dev/null"])).into()),
            _ => {}
        }
        words.join(" ")
    }

    /// Returns a program's name in some spelling.
    fn program(&mut self) -> String {
        let name = *self.random.pick(PROGRAMS);
        match self.random.below(14) {
            0 => format!("\\{name}"),
            1 => format!("'{name}'"),
            2 => format!("\"{}\"{}", &name[..1], &name[1..]),
            3 => format!("{}''{}", &name[..1], &name[1..]),
            4 => format!("command {name}"),
            5 => format!("{{{name},a}}"),
            _ => name.into(),
        }
    }

    fn word(&mut self) -> String {
        (*self.random.pick(WORDS)).into()
    }

    fn substituted(&mut self) -> String {
        let (program, inner) = (self.program(), self.pipeline());
        match self.random.below(9) {
            0 => format!("{program} $({inner})"),
            1 => format!("{program} \"$({inner})\""),
            2 => format!("{program} `{}`", self.program()),
            3 => format!("{program} a$({inner})b"),
            4 => format!("{program} ${{y:-$({inner})}}"),
            5 => format!("y=$({inner}); {program} \"$y\""),
            6 => format!("[[ -n $({inner}) ]] && {program}"),
            7 => format!("echo \"$({inner}) x\"; {program}"),
            _ => format!("{program} <({inner})"),
        }
    }

    fn document(&mut self) -> String {
        let program = self.program();
        match self.random.below(5) {
            0 => format!("{program} <<'E'\ntext $(evil)\nE\n{}", self.simple()),
            1 => format!("{program} <<E\n$({})\nE\n{}", self.simple(), self.simple()),
            2 => format!("{program} <<-E\n\ttext\n\tE\n{}", self.simple()),
            3 => format!("{program} <<< {}", self.word()),
            _ => format!("bash <<'E'\n{}\nE\n{}", self.list(), self.simple()),
        }
    }

    /// Returns text that a shell reads.
    fn texts(&mut self) -> String {
        let inner = self.pipeline();
        let quoted = format!("'{}'", inner.replace('\'', r"'\''"));
        // Other shells do not support these constructs.
        let plain =
            !["$'", "{", "|&", "<(", "[[", "<<<", "coproc", "function", "=("].iter().any(|mark| inner.contains(mark));
        let shell = if plain { "sh" } else { "bash" };
        match self.random.below(9) {
            0 => format!("{shell} -c {quoted}"),
            1 => format!("bash -c {quoted}"),
            2 => format!("bash -e -c {quoted}"),
            3 => format!("eval {quoted}"),
            4 => format!("printf '%s\\n' {quoted} | bash"),
            5 => format!("bash -c {quoted} x y z"),
            6 => format!("bash -c '\"$@\"' _ {}", self.simple()),
            7 => format!("(trap {quoted} EXIT; {})", self.simple()),
            _ => format!("echo {quoted} | {shell}"),
        }
    }

    fn wrapped(&mut self) -> String {
        let inner = self.simple();
        match self.random.below(19) {
            0 => format!("env {inner}"),
            1 => format!("env X=1 Y=2 {inner}"),
            2 => format!("env -u Z {inner}"),
            3 => format!("timeout 5 {inner}"),
            4 => format!("timeout -s KILL 5 {inner}"),
            5 => format!("timeout --signal=KILL 5 {inner}"),
            6 => format!("nice {inner}"),
            7 => format!("nice -n 5 {inner}"),
            8 => format!("command {inner}"),
            9 => format!("(exec {inner})"),
            10 => format!("time {inner}"),
            11 => format!("echo {} | xargs {inner}", self.random.pick(&["a", "a b", "b.rs 'c d'", "-l"])),
            12 => format!("echo a b | xargs -n 1 {inner}"),
            13 => format!("echo a | xargs -I{{}} {inner} {{}}"),
            14 => format!("{} | xargs {inner}", self.simple()),
            15 => format!("find . -maxdepth 1 -name b.rs -exec {inner} {{}} \\;"),
            16 => format!("find . -maxdepth 1 -name '*.rs' -exec {inner} {{}} +"),
            17 => format!("env timeout 5 nice {inner}"),
            _ => format!("env -S '{}'", self.random.pick(&["ls -l", "evil a b", "X=1 cat"])),
        }
    }

    fn odd(&mut self) -> String {
        let inner = self.simple();
        match self.random.below(10) {
            0 => format!("set -- a b; {inner} \"$1\""),
            1 => format!("a=({} x); {inner} \"${{a[@]}}\"", self.word()),
            2 => format!("coproc {inner}; wait"),
            3 => format!("until {inner}; do break; done"),
            4 => format!("( ( {inner} ) )"),
            5 => format!("{inner} # {}\n:", self.simple()),
            6 => format!("alias q='evil'; {inner}"),
            7 => format!("x='{}'; $x a", self.random.pick(&["ls -l", "evil", "cat b"])),
            8 => format!("read x <<< 'a'; {inner} $x"),
            _ => format!("function g {{ {inner}; }}; g; g"),
        }
    }
}
