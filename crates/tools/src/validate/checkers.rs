//! The table of checkers: the files, the command and the input of each. The module `checks` runs them.

use super::{Diagnostic, Sight};
use toolfence_policy::rules::UserGlob;
use toolfence_protocol::{Error, ErrorKind, Result, text};

/// A program that reports errors in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checker {
    /// The globs for its files.
    files: Vec<UserGlob>,
    /// The program and its arguments. The program is looked up in the PATH of commands.
    pub command: Vec<String>,
    /// What the checker reads.
    #[doc(hidden)]
    pub reads: Reads,
    /// How many of the existing errors the checker reports.
    #[doc(hidden)]
    pub sight: Sight,
    /// Whether the checker reads only its stdin and executes nothing. Such a checker also runs if no sandbox is
    /// available.
    pub harmless: bool,
    /// Whether a program of this name in the project's `node_modules/.bin` is preferred to the one in the PATH.
    #[doc(hidden)]
    pub in_modules: bool,
    /// The command for a file on disk that belongs to no project; empty if the checker needs a project.
    alone: Vec<String>,
}

/// What a checker reads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reads {
    /// The text, on its stdin. The checker runs before anything is written.
    Text,
    /// A project on disk. The nearest file of this name in a folder above the changed file describes the project. The
    /// checker runs before and after the change. `{folder}` in the command becomes the folder of the project.
    Project(String),
}

/// The subject of one run of a checker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// This text, on stdin.
    Text(&'a str),
    /// The project in this folder.
    Project(&'a str),
    /// The file of this name, which belongs to no project.
    File(&'a str),
}

/// The placeholders in a command. `{cache}` is a file that the checker keeps between two runs.
const FOLDER: &str = "{folder}";
const FILE: &str = "{file}";
const CACHE: &str = "{cache}";

/// The command of `tsc` without the project or the file. Each run leaves a build info that the next one can reuse.
const TSC: &[&str] = &["tsc", "--noEmit", "--pretty", "false", "--incremental", "--tsBuildInfoFile", CACHE];

/// Options for a file without a `tsconfig.json`: everything that a bundler or a current runtime accepts.
const TSC_ALONE: &[&str] = &[
    "--target",
    "esnext",
    "--module",
    "esnext",
    "--moduleResolution",
    "bundler",
    "--jsx",
    "preserve",
    "--allowImportingTsExtensions",
    "--esModuleInterop",
    "--skipLibCheck",
    FILE,
];

/// Codes of `tsc` for unresolved names and modules. Without a project `tsc` cannot know where these are defined.
const UNRESOLVED: &[&str] = &[
    "TS2304:", "TS2307:", "TS2503:", "TS2580:", "TS2582:", "TS2584:", "TS2591:", "TS2688:", "TS2792:", "TS2867:",
    "TS2868:", "TS7016:",
];

/// A script that compiles Python code and reports errors in the common format.
const PYTHON: &str = "import sys
try: compile(sys.stdin.buffer.read(), '<stdin>', 'exec', dont_inherit=True)
except SyntaxError as e: sys.exit(f'<stdin>:{e.lineno or 1}:{e.offset or 0}: {e.msg}')";

/// The command of `rustfmt`, which reports syntax errors while it checks the layout. `/dev/null` replaces the project's
/// settings.
const RUSTFMT: &[&str] =
    &["rustfmt", "--check", "-l", "--color", "never", "--config-path", "/dev/null", "--edition", "{edition}"];

/// The editions of Rust, the newest first. A text does not name its edition, and no edition accepts all that the others
/// do.
const EDITIONS: &[&str] = &["2024", "2021", "2018", "2015"];

/// Returns the built-in checkers, in the order in which they are tried.
pub fn built_in() -> Vec<Checker> {
    let text = |files: &[&str], command: &[&str]| checker(files, command, Reads::Text, Sight::First, true);
    vec![
        // `-I` and `-S` keep modules of the project and of the user from running in place of the standard ones.
        text(&["*.py", "*.pyi"], &["python3", "-I", "-S", "-W", "ignore", "-c", PYTHON]),
        text(&["*.mjs"], &["node", "--input-type=module", "--check", "-"]),
        text(&["*.cjs"], &["node", "--input-type=commonjs", "--check", "-"]),
        // `ways` completes the option, because only the text shows whether it is a module.
        text(&["*.js"], &["node", "--input-type=", "--check", "-"]),
        // `-e` reports all errors and not only the first ten. With `-l` the output does not contain the formatted text.
        text(&["*.go"], &["gofmt", "-e", "-l"]),
        text(&["*.rs"], RUSTFMT),
        // `-n` parses the script without executing it.
        text(&["*.sh", "*.bash"], &["bash", "--noprofile", "--norc", "-n"]),
        typescript(),
    ]
}

fn typescript() -> Checker {
    let files = &["*.ts", "*.tsx", "*.mts", "*.cts"];
    let project = Reads::Project("tsconfig.json".into());
    let checker = checker(files, &[TSC, &["-p", FOLDER]].concat(), project, Sight::All, false);
    let alone = [TSC, TSC_ALONE].concat().into_iter().map(str::to_owned).collect();
    Checker { in_modules: true, alone, ..checker }
}

fn checker(files: &[&str], command: &[&str], reads: Reads, sight: Sight, harmless: bool) -> Checker {
    let command = command.iter().map(|word| (*word).to_owned());
    let checker = Checker::new(files, command).expect("the built-in checkers are valid");
    Checker { reads, sight, harmless, ..checker }
}

impl Checker {
    /// Creates a checker that gets the text on its stdin, for the files that match these globs at any depth below the
    /// root, without regard to case. It runs only in the sandbox.
    ///
    /// # Errors
    /// Fails if a glob is invalid, with the position of the mistake, or if the command is empty.
    pub fn new(
        files: impl IntoIterator<Item = impl AsRef<str>>,
        command: impl IntoIterator<Item = String>,
    ) -> Result<Checker> {
        let files = files.into_iter().map(|glob| UserGlob::of_files(glob.as_ref())).collect::<Result<_>>()?;
        let command: Vec<String> = command.into_iter().collect();
        if command.is_empty() {
            return Err(Error::with_kind(
                ErrorKind::InvalidInput,
                text!("a checker needs a command: the name of a program, and its arguments"),
            ));
        }
        let (reads, sight) = (Reads::Text, Sight::First);
        Ok(Checker { files, command, reads, sight, harmless: false, in_modules: false, alone: Vec::new() })
    }

    /// Makes this a checker of projects that have a file of this name. The checker runs before and after a change, and
    /// reports every error. `{folder}` in its command becomes the folder of the project.
    #[must_use]
    pub fn in_project(self, file: impl Into<String>) -> Checker {
        Checker { reads: Reads::Project(file.into()), sight: Sight::All, ..self }
    }

    /// Returns the globs for its files, as they were written.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|glob| &*glob.shown)
    }

    /// Returns `true` if the checker is for the file at this path, relative to the root.
    pub fn is_for(&self, path: &str) -> bool {
        self.files.iter().any(|glob| glob.matches(path))
    }

    /// Returns the name of the checker's program.
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// Returns `true` if the checker can also check a single file that belongs to no project.
    #[doc(hidden)]
    pub fn checks_files_alone(&self) -> bool {
        !self.alone.is_empty()
    }

    /// Returns the commands for this subject, which run until one finds no error. Returns none for a text in another
    /// dialect than its name suggests, because the program would reject it. `cache` is the path of the file that the
    /// program keeps.
    #[doc(hidden)]
    pub fn ways(&self, subject: Subject<'_>, cache: &str) -> Vec<Vec<String>> {
        let (text, folder, file) = match subject {
            Subject::Text(text) => (text, ".", ""),
            Subject::Project(folder) => ("", folder, ""),
            Subject::File(file) => ("", ".", file),
        };
        let fits = match self.program() {
            // Signs of JSX and of Flow, which node cannot parse.
            "node" => !["</", "/>", "@flow"].iter().any(|sign| text.contains(sign)),
            "bash" => !text.lines().next().is_some_and(is_another_shell),
            _ => true,
        };
        let word = |word: &String, edition: &str| match &**word {
            "--input-type=" => format!("--input-type={}", if is_module(text) { "module" } else { "commonjs" }),
            "{edition}" => edition.to_owned(),
            // With `./` before it, no name is mistaken for an option or a list of arguments.
            FILE => format!("./{file}"),
            CACHE => cache.to_owned(),
            other => other.replace(FOLDER, folder),
        };
        let command = if matches!(subject, Subject::File(_)) { &self.alone } else { &self.command };
        let editions = if command.iter().any(|word| word == "{edition}") { EDITIONS } else { &[""] };
        let way = |edition: &&str| command.iter().map(|part| word(part, edition)).collect();
        editions.iter().filter(|_| fits).map(way).collect()
    }
}

/// Returns the projects that a `tsconfig.json` refers to, as it names them, if it has no files of its own, so that a
/// checker must read these projects instead. Returns at most eight.
pub fn referenced_projects(config: &str) -> Vec<String> {
    const MOST: usize = 8;
    // `tsconfig.json` may contain comments and trailing commas.
    let config =
        toolfence_protocol::json::read(config, true).ok().and_then(|reading| reading.values.into_iter().next());
    let Some(config) = config else { return Vec::new() };
    let is_empty = |key: &str| config[key].as_array().is_some_and(Vec::is_empty);
    if !is_empty("files") && !is_empty("include") || config["include"].as_array().is_some_and(|all| !all.is_empty()) {
        return Vec::new();
    }
    let references = config["references"].as_array().into_iter().flatten();
    references.filter_map(|one| one["path"].as_str().map(str::to_owned)).take(MOST).collect()
}

/// Returns `true` if an error only reports an unresolved name or module, which is not an error in a file without a
/// project.
pub fn is_unresolved(error: &Diagnostic) -> bool {
    let message = error.message.to_string();
    UNRESOLVED.iter().any(|code| message.starts_with(code))
}

fn is_another_shell(line: &str) -> bool {
    line.starts_with("#!") && ["zsh", "fish", "csh", "ksh"].iter().any(|shell| line.contains(shell))
}

/// Returns `true` if the text has syntax that only a module can have, by which Node itself detects modules.
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
    fn the_text_selects_the_command() {
        let table = built_in();
        let subject = |path, text| if path == "x/a.ts" { Subject::Project(".") } else { Subject::Text(text) };
        let words = |path: &'static str, text: &'static str| {
            let checker = table.iter().find(|checker| checker.is_for(path)).expect("a checker exists");
            let ways: Vec<String> =
                checker.ways(subject(path, text), "c").iter().map(|words| words.join(" ")).collect();
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
        let tsc = table.iter().find(|checker| checker.is_for("a.ts")).expect("it is built in");
        let alone = tsc.ways(Subject::File("-a.ts"), "c").concat().join(" ");
        assert!(alone.contains("--tsBuildInfoFile c --target") && alone.ends_with(" ./-a.ts"), "{alone}");
        for no in ["README.md", "py", "a.py/README.md", "a.sh.txt"] {
            assert!(!table.iter().any(|checker| checker.is_for(no)), "{no}");
        }
    }

    #[test]
    fn a_config_without_files_refers_to_projects() {
        for (config, wanted) in [
            (
                "{\n  \"files\": [], // none\n  \"references\": [{ \"path\": \"./app.json\" }, { \"path\": \"node\" },],\n}",
                &["./app.json", "node"][..],
            ),
            ("{\"include\": [], \"references\": [{\"path\": \"a\"}, 1]}", &["a"]),
            ("{\"files\": [], \"include\": [\"src\"], \"references\": [{\"path\": \"a\"}]}", &[]),
            ("{\"references\": [{\"path\": \"a\"}]}", &[]),
            ("[]", &[]),
            ("{", &[]),
        ] {
            assert_eq!(referenced_projects(config), wanted, "{config}");
        }
    }

    #[test]
    fn globs_select_files() {
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
