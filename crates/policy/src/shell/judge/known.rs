//! Commands that are known: those that only read, and those that run the project's own code, which the sandbox
//! holds. Exact options, operands that are inside the project and not blocked.

use super::inspection::{Checked, Inspection, ask, not_listed, scripts, unknown};
use super::report::{Deeds, Finding, HISTORY};
use super::{expressions, files, git};
use crate::PathFact;
use crate::shell::expand::Word;
use crate::shell::programs::arguments::Arguments;
use crate::shell::programs::{self, Adds, Inner, Operands, Profile, Reads, has, options, words, wrappers};
use crate::shell::{messages, shown};

impl Inspection<'_> {
    /// Why the command is not known.
    pub(crate) fn check(&self, program: &str, args: &[Word]) -> Checked {
        let checked = self.known(program, args);
        match &checked {
            Err(finding) if program == "git" && finding.rule != HISTORY => git::unknown_prints(self, args).and(checked),
            _ => checked,
        }
    }

    pub(crate) fn known(&self, program: &str, args: &[Word]) -> Checked {
        match program {
            "echo" | "true" | "false" | ":" => return expressions::echo(self, args),
            "test" | "[" => return expressions::test(self, program, args),
            "printf" => return expressions::printf(self, args),
            _ => {}
        }
        // In the sandbox the place of such a word says what it may be.
        let open = self.held() && !has(words("literal-words"), program);
        if let Some(word) = args.iter().find(|word| word.is_open() && (!open || word.is_hidden())) {
            return unknown(messages::word_not_told(shown(&word.pattern(), 80)));
        }
        match program {
            // What it would run is judged by itself.
            "find" => self.table(program, &wrappers::without_executed(args)),
            "cd" => expressions::cd(self, args),
            "set" => expressions::set(args),
            "tar" => expressions::tar(self, args),
            "git" => git::check(self, args),
            _ => self.table(program, args),
        }
    }

    /// Whether a variable in front of this command is held by the sandbox as the code of the project that it runs.
    pub(crate) fn holds_variable(&self, argv: &[Word], variable: (&str, &str)) -> bool {
        let Some((program, args)) = argv.split_first() else { return false };
        let Some(name) = program.literal() else { return false };
        let inners = wrappers::inner(name, argv);
        let checked = match inners.as_slice() {
            [Inner::Command { adds: Adds::Project, .. }] => self.runs(name),
            [Inner::Command { from, adds: Adds::Nothing, folder: None, .. }] => {
                return self.holds_variable(&argv[*from..], variable);
            }
            [Inner::File { at }] => self.program_of_its_own(&argv[*at], &args[*at..]),
            [] if name.contains('/') => self.program_of_its_own(program, args),
            [] => self.check(name, args),
            _ => return false,
        };
        let inside = |path: &str| files::is_private(self.ground, path) || self.inside(path).is_ok();
        checked.is_ok() && self.deeds().runs && options::variable(variable.0, variable.1, inside)
    }

    /// A program of the project, at a place of its own: its words are its own business, but for names that are blocked.
    pub(crate) fn program_of_its_own(&self, program: &Word, args: &[Word]) -> Checked {
        let name = shown(&program.pattern(), 80);
        let open = |word: &&Word| word.is_open() && (!self.held() || word.is_hidden()) || word.is_found();
        if let Some(word) = args.iter().find(open) {
            return unknown(messages::word_not_told(shown(&word.pattern(), 80)));
        }
        let Some(folders) = self.folders else {
            return Err(Finding::ask("unknown_path", messages::folder_not_known()));
        };
        let Some(text) = program.literal() else { return unknown(messages::path_not_literal(name)) };
        let inside = |folder: &String| matches!(files::ask(self.ground, folder, text), PathFact::Inside { .. });
        // A name like `PAGER=less x` was meant for something else.
        if text.starts_with('-') || text.contains(' ') || !folders.iter().all(inside) {
            return unknown(messages::at_its_own_place(name));
        }
        self.runs(&name)
    }

    /// Every way in which the table knows the program. The reason is that of the first way that says more than how to ask for
    /// the program's version.
    pub(crate) fn table(&self, program: &str, args: &[Word]) -> Checked {
        let Known { verb, folders, profiles, from, module } = known(program, args);
        folders.into_iter().try_for_each(|folder| self.inside(folder))?;
        let mut first = None;
        for profile in profiles.iter().filter(|profile| !module || profile.runs) {
            match self.profiled(program, profile, &args[from..]) {
                Ok(()) => return Ok(()),
                // `npm install` does not lack an option of `npm --version`.
                Err(finding) if tells_version(profile) && finding.rule == "not_known_read_only" => {}
                Err(finding) => first = Some(better(first, finding)),
            }
        }
        let is_subcommand = !module && !verb.starts_with('-') && programs::has_subcommands(program);
        Err(first.unwrap_or_else(|| ask(not_listed(program, if is_subcommand { verb } else { "" }))))
    }

    pub(crate) fn profiled(&self, program: &str, profile: &Profile, args: &[Word]) -> Checked {
        if profile.is("held") && !self.held() {
            return unknown(not_listed(program, ""));
        }
        let read = Arguments::of(program, profile, args, self.held()).map_err(ask)?;
        self.operands(program, profile, &read)?;
        if read.paths.contains(&"-") {
            return unknown(messages::file_is_input(program));
        }
        read.paths.iter().try_for_each(|path| match profile.runs {
            true => self.inside(path),
            false => self.path(&Word::text(path)),
        })?;
        if let Some(output) =
            read.outputs.iter().find(|path| **path != "/dev/null" && !files::is_private(self.ground, path))
        {
            return unknown(messages::would_write(program, shown(output, 80)));
        }
        if !read.outputs.is_empty() {
            self.does(Deeds::STORES);
        }
        if programs::fact(program, "writable").is_some_and(|options| read.has_any(options)) {
            self.does(Deeds::WRITES);
        }
        if profile.runs {
            return self.runs(program);
        }
        // What only goes into folders when it is told to does so whatever is piped into it.
        let reads_input = self.fed && read.places(profile).is_empty() && profile.list("recursive").is_empty();
        if profile.reads == Reads::Folders && !reads_input && read.goes_down(profile) {
            self.sandbox(program)?;
        }
        Ok(())
    }
}

/// Whether all that the entry knows of the program is how to ask for its version.
fn tells_version(profile: &Profile) -> bool {
    !profile.list("needs").is_empty()
        && profile.list("needs").split_ascii_whitespace().all(|option| has("version v V", option))
}

/// The one of two reasons that says more: that the sandbox is all that is missing.
fn better(first: Option<Finding>, second: Finding) -> Finding {
    match first {
        Some(first) if second.rule == "not_known_read_only" || first.rule != "not_known_read_only" => first,
        _ => second,
    }
}

/// What the table knows of a command.
struct Known<'a> {
    /// The word that would be a subcommand.
    verb: &'a str,
    /// The folders that options before it go to.
    folders: Vec<&'a str>,
    /// Every way in which the table knows the program.
    profiles: Vec<&'static Profile>,
    /// The place from which on its own arguments stand.
    from: usize,
    /// Whether they are those of another program, which is named in the words: a module of Python, a tool of the project.
    module: bool,
}

fn known<'a>(program: &str, args: &'a [Word]) -> Known<'a> {
    if program == "git" {
        let (profile, from) = git::profile(args).unzip();
        let profiles = profile.into_iter().collect();
        return Known { verb: "", folders: Vec::new(), profiles, from: from.unwrap_or(0), module: false };
    }
    let chosen = args.first().and_then(Word::literal).and_then(|text| text.strip_prefix('+'));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    // `cargo +nightly`
    let toolchain = chosen.is_some_and(|name| program == "cargo" && !name.is_empty() && name.bytes().all(plain));
    let from = usize::from(toolchain);
    let before = Arguments::before(program, &args[from..]).unwrap_or_default();
    let mut count = from + before.leading;
    // Which part of the project it is done in.
    if program == "yarn" && args.get(count).and_then(Word::literal) == Some("workspace") {
        count += 2;
    }
    let verb = args.get(count).and_then(Word::literal).unwrap_or_default();
    let subcommands = programs::ways_of(program, verb);
    // Other programs in words of their own: `python -m pytest`, `yarn eslint`.
    let other = match args {
        _ if !subcommands.is_empty() => None,
        [option, ..] if programs::is(program, "modules") => (option.literal() == Some("-m")).then_some(1),
        _ if has("yarn pnpm", program) && !has("npm yarn pnpm bun deno", verb) => Some(count),
        _ => None,
    };
    let named = other.and_then(|at| args.get(at)?.literal()).map_or(&[][..], programs::ways);
    let named = if named.iter().any(|profile| profile.runs) { named } else { &[] };
    let (profiles, from) = match (subcommands, other) {
        ([], Some(at)) if !named.is_empty() || programs::is(program, "modules") => (named, args.len().min(at + 1)),
        ([], _) => (programs::ways(program), 0),
        (subcommands, _) => (subcommands, count + 1),
    };
    let folders = before.paths;
    Known { verb, folders, profiles: profiles.to_vec(), from, module: !named.is_empty() }
}

/// Whether the program is an interpreter that runs a file of the project, with words of the file's own.
pub(crate) fn runs_a_file(program: &str) -> bool {
    programs::ways(program).iter().any(|profile| matches!(profile.operands, Operands::Program))
}

/// Whether a program tells no more than names and sizes of what it is pointed at.
pub(crate) fn tells_names_only(program: &str) -> bool {
    programs::ways(program).first().is_some_and(|profile| profile.reads == Reads::Names && !profile.runs)
}

/// Whether the command, with just these words, tells no more than names, sizes and dates of the files it names.
pub(crate) fn shows_no_content(program: &str, args: &[Word]) -> bool {
    if matches!(program, "test" | "[") {
        return expressions::tests(args);
    }
    let Known { profiles, from, module, .. } = known(program, args);
    // Words that are checked, such as keys of a configuration, may be anything for a program that nobody knows.
    let names = |profile: &&&Profile| {
        profile.reads == Reads::Names && !profile.runs && !matches!(profile.operands, Operands::Checked(_))
    };
    let prints = |profile: &Profile, read: &Arguments<'_>| has(profile.names, "cat-file") && read.has_any("p");
    !module
        && profiles.iter().filter(names).any(|profile| {
            Arguments::of(program, profile, &args[from..], false).is_ok_and(|read| !prints(profile, &read))
        })
}

/// The places of words that are text and never a name of a file: what `echo` prints, what `grep` looks for, the program of
/// `sed`, if it opens no files itself.
pub(crate) fn text_words(program: &str, args: &[Word]) -> Vec<usize> {
    match program {
        "echo" | "printf" | "true" | "false" | ":" => (0..args.len()).collect(),
        "git" => git::left_out(args).into_iter().chain(texts(program, args)).collect(),
        _ => texts(program, args),
    }
}

/// The places of words that are text by what the table says of the program.
fn texts(program: &str, args: &[Word]) -> Vec<usize> {
    let Known { profiles, from, .. } = known(program, args);
    // A word that may become several, or an option, moves those behind it.
    let certain = |word: &Word| match word.guess() {
        Some(text) => word.literal().is_some() || !text.starts_with('-'),
        None => (word.is_glob() || word.is_found()) && !word.may_be_option(),
    };
    if !args.iter().all(certain) {
        return Vec::new();
    }
    let own = &args[from..];
    let texts = profiles.iter().filter(|profile| !profile.runs).find_map(|profile| {
        let read = Arguments::sorted_only(profile, own)?;
        match profile.operands {
            Operands::ScriptThenPaths(only_reads) => only_reads(&scripts(&read)).then_some(read.texts),
            _ => Some(read.texts),
        }
    });
    let literal = |at: &usize| own[*at].literal().is_some();
    texts.unwrap_or_default().into_iter().filter(literal).map(|at| from + at).collect()
}
