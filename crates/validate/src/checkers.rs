//! The languages' own checkers: for which files, which command, and what it is given. Data only; `tools` starts them.

use super::{Sight, messages};
use toolfence_protocol::{Error, ErrorKind, Result};
use toolfence_rules::UserGlob;

/// A program that says what is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checker {
    /// Globs for its files.
    files: Vec<UserGlob>,
    /// The program and its arguments; the program is looked for in the PATH of commands.
    pub command: Vec<String>,
    /// What it reads.
    #[doc(hidden)]
    pub reads: Reads,
    /// How much it sees.
    #[doc(hidden)]
    pub sight: Sight,
    /// Whether it reads nothing but its stdin, and runs nothing: such a one runs where no sandbox is available too.
    pub harmless: bool,
}

/// What a checker reads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reads {
    /// The text, on its stdin: it is asked before anything is written.
    Text,
    /// The project that this file above the changed one describes, on disk: it is asked before the change and after it. The
    /// folder of that file stands for `{folder}` in the command.
    Project(String),
}

/// Python's own compiler, and what it says in the shape of all others.
const PYTHON: &str = "import sys
try: compile(sys.stdin.buffer.read(), '<stdin>', 'exec', dont_inherit=True)
except SyntaxError as e: sys.exit(f'<stdin>:{e.lineno or 1}:{e.offset or 0}: {e.msg}')";

/// It lays out what it can read, and says only whether it would; `/dev/null` are its settings, in the place of a project's.
const RUSTFMT: &[&str] =
    &["rustfmt", "--check", "-l", "--color", "never", "--config-path", "/dev/null", "--edition", "{edition}"];

/// The editions of Rust, the newest first. A text does not say which is its own, and no one reads all that the others do.
const EDITIONS: &[&str] = &["2024", "2021", "2018", "2015"];

/// The built-in ones, in the order they are tried.
pub fn built_in() -> Vec<Checker> {
    let text = |files: &[&str], command: &[&str]| checker(files, command, Reads::Text, Sight::First, true);
    vec![
        text(&["*.py", "*.pyi"], &["python3", "-I", "-S", "-W", "ignore", "-c", PYTHON]),
        text(&["*.mjs"], &["node", "--input-type=module", "--check", "-"]),
        text(&["*.cjs"], &["node", "--input-type=commonjs", "--check", "-"]),
        text(&["*.js"], &["node", "--input-type=", "--check", "-"]),
        text(&["*.go"], &["gofmt", "-e", "-l"]),
        text(&["*.rs"], RUSTFMT),
        text(&["*.sh", "*.bash"], &["bash", "--noprofile", "--norc", "-n"]),
        checker(
            &["*.ts", "*.tsx", "*.mts", "*.cts"],
            &["tsc", "--noEmit", "--pretty", "false", "-p", "{folder}"],
            Reads::Project("tsconfig.json".into()),
            Sight::All,
            false,
        ),
    ]
}

fn checker(files: &[&str], command: &[&str], reads: Reads, sight: Sight, harmless: bool) -> Checker {
    let command = command.iter().map(|word| (*word).to_owned());
    let checker = Checker::new(files, command).expect("what is built in is right");
    Checker { reads, sight, harmless, ..checker }
}

impl Checker {
    /// One that gets the text on its stdin, for the files of these globs: they match at any depth below the root and ignore
    /// case. It runs only inside the sandbox.
    ///
    /// # Errors
    /// A glob that is not one, with the place of the mistake; no command.
    pub fn new(
        files: impl IntoIterator<Item = impl AsRef<str>>,
        command: impl IntoIterator<Item = String>,
    ) -> Result<Checker> {
        let files = files.into_iter().map(|glob| UserGlob::of_files(glob.as_ref())).collect::<Result<_>>()?;
        let command: Vec<String> = command.into_iter().collect();
        if command.is_empty() {
            return Err(Error::with_kind(ErrorKind::InvalidInput, messages::checker_needs_a_command()));
        }
        Ok(Checker { files, command, reads: Reads::Text, sight: Sight::First, harmless: false })
    }

    /// Makes it a checker that runs before and after a change, in projects that have a file of this name, and that sees every
    /// error. The folder of that file stands for `{folder}` in its command.
    #[must_use]
    pub fn in_project(self, file: impl Into<String>) -> Checker {
        Checker { reads: Reads::Project(file.into()), sight: Sight::All, ..self }
    }

    /// The globs for its files, as they were written.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|glob| &*glob.shown)
    }

    /// Whether it is for the file of this path, relative to the root.
    pub fn is_for(&self, path: &str) -> bool {
        self.files.iter().any(|glob| glob.is(path))
    }

    /// The name of its program.
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// What is started for this text, one after the other until one finds nothing wrong with it. Nothing is for one in another
    /// dialect than its name says, which it would refuse.
    pub fn ways(&self, text: &str, folder: &str) -> Vec<Vec<String>> {
        let fits = match self.program() {
            "node" => !["</", "/>", "@flow"].iter().any(|sign| text.contains(sign)),
            "bash" => !text.lines().next().is_some_and(is_another_shell),
            _ => true,
        };
        let word = |word: &String, edition: &str| match &**word {
            "--input-type=" => format!("--input-type={}", if is_module(text) { "module" } else { "commonjs" }),
            "{edition}" => edition.to_owned(),
            other => other.replace("{folder}", folder),
        };
        let editions = if self.command.iter().any(|word| word == "{edition}") { EDITIONS } else { &[""] };
        let way = |edition: &&str| self.command.iter().map(|part| word(part, edition)).collect();
        editions.iter().filter(|_| fits).map(way).collect()
    }
}

fn is_another_shell(line: &str) -> bool {
    line.starts_with("#!") && ["zsh", "fish", "csh", "ksh"].iter().any(|shell| line.contains(shell))
}

/// What only a module has: by that node itself tells them apart.
fn is_module(text: &str) -> bool {
    let begins = |line: &str, word: &str| {
        line.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric) && !rest.starts_with('('))
    };
    text.lines().any(|line| begins(line, "import") || begins(line, "export") || line.starts_with("await "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_decides_what_is_asked() {
        let table = built_in();
        let words = |path: &str, text: &str| {
            let checker = table.iter().find(|checker| checker.is_for(path)).expect("it is known");
            let ways: Vec<String> = checker.ways(text, ".").iter().map(|words| words.join(" ")).collect();
            ways.first().map(|first| format!("{first}{}", "+".repeat(ways.len() - 1)))
        };
        assert_eq!(words("a.js", "import a from 'b'\n").as_deref(), Some("node --input-type=module --check -"));
        assert_eq!(words("a.js", "import('b')\n").as_deref(), Some("node --input-type=commonjs --check -"));
        assert_eq!(words("a.js", "const a = <b>c</b>;\n"), None, "node reads no JSX");
        assert_eq!(words("a.sh", "#!/bin/zsh\n"), None);
        assert!(
            words("a.rs", "").is_some_and(|words| words.ends_with("--edition 2024+++")),
            "older ones are tried too"
        );
        assert!(words("x/a.ts", "").is_some_and(|words| words.ends_with("-p .")));
        for no in ["README.md", "py", "a.py/README.md", "a.sh.txt"] {
            assert!(!table.iter().any(|checker| checker.is_for(no)), "{no}");
        }
    }

    #[test]
    fn globs_say_which_files() {
        let own = |glob: &str| Checker::new([glob], ["x".to_owned()]);
        for (glob, yes, no) in [
            ("*.lua", "a/B.LUA", "a.lua/b"),
            ("src/**", "src/a/b.c", "srca"),
            ("src/*.c", "x/src/a.c", "src/a/b.c"),
            ("/Makefile", "Makefile", "Makefile.am"),
        ] {
            let checker = own(glob).expect("it is a glob");
            assert!(checker.is_for(yes) && !checker.is_for(no), "{glob}");
        }
        assert!(own("a[").is_err() && Checker::new(["*"], Vec::new()).is_err());
    }
}
