//! Commands that are known: those that only read, and those that run the project's own code, which walls hold. Exact
//! options, operands that are inside the project and not blocked.

mod arguments;
mod git;
mod git_calls;
mod git_settings;
mod held;
mod languages;
mod odd;
mod table;

use super::Ground;
use super::files;
use super::report::{Finding, shown};
use super::rules;
use super::simple::below;
use super::words::Word;
use super::wrappers::{self, Adds, Inner, has};
use crate::PathFact;
use arguments::{Arguments, is_source};
pub(super) use git_calls::{GitCall, git_call};
pub(super) use held::{any_value as held_with_any_value, steers};
use std::cell::Cell;
use table::{Operands, Profile, Reads};

/// Holds a command against the profiles.
pub(super) struct Reader<'a> {
    pub(super) ground: Ground<'a>,
    pub(super) folders: Option<&'a [String]>,
    /// Whether something is piped into it: without operands some programs read the folder instead.
    pub(super) fed: bool,
    /// Set where what is known wants a project that can be written.
    pub(super) writes: &'a Cell<bool>,
    /// Set where it runs code of the project.
    pub(super) runs: &'a Cell<bool>,
    /// Set where it writes to the private `/tmp`.
    pub(super) stores: &'a Cell<bool>,
}

/// What a known command does beside reading.
#[derive(Default)]
pub(super) struct Deeds {
    pub(super) writes: Cell<bool>,
    pub(super) runs: Cell<bool>,
    pub(super) stores: Cell<bool>,
}

/// Whether a command that needs no walls is known to only read.
pub(super) fn is_known(ground: Ground<'_>, folders: Option<&[String]>, program: &str, args: &[Word]) -> bool {
    Reader::new(ground, folders, false, &Deeds::default()).check(program, args).is_ok()
}

type Checked = Result<(), Finding>;

/// Programs that run a module by `-m`.
const INTERPRETERS: &str = "python python2 python3 pypy pypy2 pypy3";

/// Programs for which `@FILE` stands for the options in the file.
const RESPONSES: &str = "nm objdump readelf size";

/// Options before a subcommand whose value is a folder to go to first, and those whose value is a part of the project.
const FOLDERS: &[(&str, &str)] = &[("npm", "--prefix"), ("pnpm", "-C --dir"), ("yarn", "--cwd"), ("go", "-C")];
const CHOOSERS: &[(&str, &str)] =
    &[("npm", "-w --workspace"), ("pnpm", "-F --filter"), ("yarn", "workspace"), ("npm pnpm", "--loglevel")];

impl<'a> Reader<'a> {
    pub(super) fn new(ground: Ground<'a>, folders: Option<&'a [String]>, fed: bool, deeds: &'a Deeds) -> Reader<'a> {
        Reader { ground, folders, fed, writes: &deeds.writes, runs: &deeds.runs, stores: &deeds.stores }
    }

    /// Why the command is not known.
    pub(super) fn check(&self, program: &str, args: &[Word]) -> Checked {
        let checked = self.known(program, args);
        match &checked {
            Err(finding) if program == "git" && !finding.beyond_walls => git::unknown_prints(self, args).and(checked),
            _ => checked,
        }
    }

    fn known(&self, program: &str, args: &[Word]) -> Checked {
        match program {
            "echo" | "true" | "false" | ":" => return odd::echo(self, args),
            "test" | "[" => return odd::test(self, program, args),
            "printf" => return odd::printf(self, args),
            _ => {}
        }
        // In the sandbox the place of such a word says what it may be.
        let open = self.held() && !matches!(program, "git" | "tar" | "date" | "set" | "command" | "cd");
        if let Some(word) = args.iter().find(|word| word.is_open() && (!open || word.is_hidden())) {
            return unknown(format!("{} is a word that only a run would tell.", shown(&word.pattern(), 80)));
        }
        match program {
            "read" => odd::read(self, args),
            "tee" | "mkdir" | "touch" | "mktemp" if self.held() => odd::private(self, program, args),
            "find" => odd::find(self, args),
            "date" => odd::date(args),
            "cd" => odd::cd(self, args),
            "set" => odd::set(args),
            "tar" => odd::tar(self, args),
            "command" => odd::command(self, args),
            "git" if args.len() != 1 || args[0].literal() != Some("--version") => git::check(self, args),
            _ => self.table(program, args),
        }
    }

    fn held(&self) -> bool {
        self.ground.facts.walls().hold
    }

    /// Whether a variable in front of this command is held by the sandbox as the code of the project that it runs.
    pub(super) fn holds_variable(&self, argv: &[Word], variable: (&str, &str)) -> bool {
        let Some((program, args)) = argv.split_first() else { return false };
        let Some(name) = program.literal() else { return false };
        let inners = wrappers::inner(name, argv);
        let checked = match inners.as_slice() {
            [Inner::Command { adds: Adds::Project, .. }] => self.runs(name),
            [Inner::File { at }] => self.program_of_its_own(&argv[*at], &args[*at..]),
            [] if name.contains('/') => self.program_of_its_own(program, args),
            [] => self.check(name, args),
            _ => return false,
        };
        let inside = |path: &str| files::is_private(self.ground, path) || self.inside(path).is_ok();
        checked.is_ok() && self.runs.get() && held::variable(variable.0, variable.1, inside)
    }

    /// A program of the project, at a place of its own: its words are its own business, but for names that are blocked.
    pub(super) fn program_of_its_own(&self, program: &Word, args: &[Word]) -> Checked {
        let name = shown(&program.pattern(), 80);
        let open = |word: &&Word| word.is_open() && (!self.held() || word.is_hidden()) || word.is_found();
        if let Some(word) = args.iter().find(open) {
            return unknown(format!("{} is a word that only a run would tell.", shown(&word.pattern(), 80)));
        }
        let Some(folders) = self.folders else {
            return Err(Finding::ask("unknown_path", "The folder it runs in cannot be known."));
        };
        let Some(text) = program.literal() else { return unknown(format!("{name} is not literal.")) };
        let inside = |folder: &String| matches!(files::ask(self.ground, folder, text), PathFact::Inside { .. });
        if text.starts_with('-') || !folders.iter().all(inside) {
            return unknown(format!("{name} is a program at a place of its own."));
        }
        self.runs(&name)
    }

    /// What runs code of the project is held by walls alone.
    fn runs(&self, program: &str) -> Checked {
        self.runs.set(true);
        if self.ground.facts.walls().hold { Ok(()) } else { Err(project_code(program)) }
    }

    /// Every way in which the table knows the program; the reason is that of the first.
    fn table(&self, program: &str, args: &[Word]) -> Checked {
        let Known { verb, folders, profiles, from, module } = known(program, args);
        folders.into_iter().try_for_each(|folder| self.inside(folder))?;
        let mut first = None;
        for profile in profiles.iter().filter(|profile| !module || profile.runs) {
            match self.profiled(program, profile, &args[from..]) {
                Ok(()) => return Ok(()),
                Err(finding) => first = Some(better(first, finding)),
            }
        }
        Err(first.unwrap_or_else(|| {
            let what =
                if profiles.is_empty() && !verb.is_empty() && !table::programs(program).is_empty() { verb } else { "" };
            let name = format!("{} {what}", shown(program, 40));
            ask(format!("{} is not on the list of commands that only read.", name.trim_end()))
        }))
    }

    fn profiled(&self, program: &str, profile: &Profile, args: &[Word]) -> Checked {
        let read = Arguments::of(program, profile, args, self.ground.facts.walls().hold)?;
        if !profile.needs.is_empty() && !read.has_any(profile.needs) {
            return unknown(format!("{program} is only known with one of: {}.", profile.needs));
        }
        self.operands(program, profile, &read)?;
        if read.paths.contains(&"-") {
            return unknown(format!("{program} is not known with a file that is its input."));
        }
        read.paths.iter().try_for_each(|path| match profile.runs {
            true => self.inside(path),
            false => self.path(&Word::text(path)),
        })?;
        if let Some(output) =
            read.outputs.iter().find(|path| **path != "/dev/null" && !files::is_private(self.ground, path))
        {
            return unknown(format!("{program} would write to {}.", shown(output, 80)));
        }
        if !read.outputs.is_empty() {
            self.stores.set(true);
        }
        if profile.runs {
            return self.runs(program);
        }
        // What only goes into folders when it is told to does so whatever is piped into it.
        let reads_input = self.fed && read.places(profile).is_empty() && profile.recursive.is_empty();
        if profile.reads == Reads::Folders && !reads_input && read.goes_down(profile) {
            self.walls(program)?;
        }
        Ok(())
    }

    fn operands(&self, program: &str, profile: &Profile, read: &Arguments<'_>) -> Checked {
        let operands = &read.operands;
        match profile.operands {
            Operands::None if !operands.is_empty() => return unknown(format!("{program} with operands is not known.")),
            Operands::None | Operands::Text => return Ok(()),
            Operands::Checked(passes) => {
                // What does no harm whatever its words are.
                let harmless = |word: &&&Word| profile.harmless && self.held() && word.is_open();
                let rest: Vec<&Word> = operands.iter().filter(|word| !harmless(word)).copied().collect();
                return checked(program, &rest, passes);
            }
            Operands::Verb(verbs) => {
                return match operands.first() {
                    Some(verb) if verb.literal().is_some_and(|verb| has(verbs, verb)) => Ok(()),
                    _ => unknown(format!("{program} is only known with one of: {verbs}.")),
                };
            }
            Operands::One if operands.len() > 1 || operands.iter().any(|word| word.is_open() && word.is_loose()) => {
                return unknown(format!("{program} may write to its second operand."));
            }
            Operands::ScriptThenPaths(only_reads) => self.script(program, read, only_reads)?,
            Operands::Program => return self.program(program, operands),
            _ => {}
        }
        read.places(profile).iter().try_for_each(|operand| self.place(program, profile, operand))
    }

    fn place(&self, program: &str, profile: &Profile, operand: &Word) -> Checked {
        if operand.is_found() {
            let below = operand.parts.len() > 1;
            if below && profile.reads == Reads::Names && !profile.runs {
                return self.path(operand);
            }
            if !profile.reads_only {
                return unknown(format!("{program} is not known with names that another command found."));
            }
            return self.walls(program);
        }
        if profile.runs {
            self.code(operand)?;
        }
        if has(RESPONSES, program) && operand.pattern().starts_with('@') {
            return unknown(format!("{program} would take options from {}.", shown(&operand.pattern(), 80)));
        }
        self.path(operand)?;
        if (operand.is_glob() || operand.is_open()) && profile.reads != Reads::Names {
            self.walls(program)?;
        }
        Ok(())
    }

    /// A program in an argument has to be one that only reads.
    fn script(&self, program: &str, read: &Arguments<'_>, only_reads: fn(&[&str]) -> bool) -> Checked {
        let operand = if read.has_pattern { None } else { read.operands.first().copied() };
        let texts: Vec<&str> =
            operand.and_then(Word::literal).into_iter().chain(read.scripts.iter().copied()).collect();
        if texts.is_empty() {
            return unknown(format!("{program} is only known with a literal program."));
        }
        if !only_reads(&texts) {
            let text = shown(&texts.join("; "), 80);
            return unknown(format!("{text} is not a program for {program} that is known to only read."));
        }
        // The yq in Go takes an expression that is the name of a file for that file.
        let names = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        let may_be_file = |word: &&Word| word.literal().is_some_and(names);
        let blocked = |word: &Word| files::blocked(self.ground, self.folders, word).is_some();
        if program == "yq" && operand.filter(may_be_file).is_some_and(blocked) { self.walls(program) } else { Ok(()) }
    }

    /// An interpreter that runs a file of the project.
    fn program(&self, program: &str, operands: &[&Word]) -> Checked {
        match operands.first() {
            Some(file) if file.literal().is_some_and(|text| text != "-" && !text.contains(['@', ':'])) => {
                self.code(file)?;
                self.path(file)
            }
            _ => unknown(format!("{program} is only known with a file of the project.")),
        }
    }

    /// A path that is inside and not blocked.
    fn path(&self, word: &Word) -> Checked {
        files::operand(self.ground, self.folders, word).map_or(Ok(()), Err)
    }

    /// What a program takes for code of the project has to be of the project. What stands in the private `/tmp`, or comes from
    /// a command beside, is code that the command line itself has made.
    fn code(&self, word: &Word) -> Checked {
        let made = word.literal().is_some_and(|path| files::is_private(self.ground, path)) || *word == Word::stream();
        if made { unknown(format!("{} is no file of the project.", shown(&word.pattern(), 80))) } else { Ok(()) }
    }

    /// A path in the project.
    fn inside(&self, path: &str) -> Checked {
        self.code(&Word::text(path))?;
        self.path(&Word::text(path))
    }

    /// Where the shell goes if it takes `..` for the folder in the text, and not for the one above where a link has led.
    fn collapsed(&self, target: &str) -> Checked {
        let folders = self.folders.unwrap_or(&[]);
        let mut places = folders.iter().map(|folder| rules::collapsed(&below(folder, target)));
        places.try_for_each(|place| {
            let place = if place.is_empty() { ".".to_owned() } else { place };
            files::operand(self.ground, Some(&[String::new()]), &Word::text(&place)).map_or(Ok(()), Err)
        })
    }

    /// What reads files that no word names is only sure of blocked ones where the walls hide them.
    fn walls(&self, program: &str) -> Checked {
        if self.ground.facts.walls().hold {
            return Ok(());
        }
        let reason =
            format!("{program} would read files that no word names, blocked ones too; only walls could hide those.");
        Err(Finding::ask("unnamed_files", reason))
    }
}

/// What the project means by a program is not known, and only walls hold it.
pub(super) fn project_code(program: &str) -> Finding {
    let reason = format!("{} runs code of the project, which only walls could hold.", shown(program, 80));
    Finding::ask("project_code", reason)
}

fn ask(reason: String) -> Finding {
    Finding::ask("not_known_read_only", reason)
}

fn unknown(reason: String) -> Checked {
    Err(ask(reason))
}

/// The one of two reasons that says more: that walls are all that is missing.
fn better(first: Option<Finding>, second: Finding) -> Finding {
    match first {
        Some(first) if second.rule == "not_known_read_only" || first.rule != "not_known_read_only" => first,
        _ => second,
    }
}

/// Options that stand before a subcommand and only say how much is told.
fn is_global(text: &str) -> bool {
    matches!(text, "-q" | "--quiet" | "-s" | "--silent" | "-r" | "--no-color" | "--offline" | "--locked")
}

fn checked(program: &str, operands: &[&Word], passes: fn(&str) -> bool) -> Checked {
    match operands.iter().find(|word| !word.literal().is_some_and(passes)) {
        Some(word) => unknown(format!("{program} {} is not known.", shown(&word.pattern(), 40))),
        None => Ok(()),
    }
}

/// The words before a subcommand, which only say how much is told, with which toolchain, or where.
struct Globals<'a> {
    count: usize,
    /// The folders to go to first.
    folders: Vec<&'a str>,
}

fn globals<'a>(program: &str, args: &'a [Word]) -> Globals<'a> {
    let texts: Vec<&str> = args.iter().map_while(Word::literal).collect();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let chosen = texts.first().and_then(|text| text.strip_prefix('+')).filter(|_| program == "cargo");
    let mut at = usize::from(chosen.is_some_and(|name| !name.is_empty() && name.bytes().all(plain)));
    let mut folders = Vec::new();
    while let Some(text) = texts.get(at) {
        let (name, attached) = text.split_once('=').map_or((*text, None), |(name, value)| (name, Some(value)));
        let takes =
            |list: &[(&str, &str)]| list.iter().any(|(programs, names)| has(programs, program) && has(names, name));
        let folder = takes(FOLDERS);
        if !folder && !takes(CHOOSERS) {
            if !is_global(text) {
                break;
            }
            at += 1;
            continue;
        }
        let Some(value) = attached.or_else(|| texts.get(at + 1).copied()) else { break };
        if folder {
            folders.push(value);
        }
        at += 1 + usize::from(attached.is_none());
    }
    Globals { count: at, folders }
}

/// What the table knows of a command.
struct Known<'a> {
    /// The word that would be a subcommand.
    verb: &'a str,
    /// The folders that options before it go to.
    folders: Vec<&'a str>,
    /// Every way in which the table knows the program.
    profiles: &'static [&'static Profile],
    /// The place from which on its own arguments stand.
    from: usize,
    /// Whether they are those of another program, which is named in the words: a module of Python, a tool of the project.
    module: bool,
}

fn known<'a>(program: &str, args: &'a [Word]) -> Known<'a> {
    let Globals { count, folders } = globals(program, args);
    let verb = args.get(count).and_then(Word::literal).unwrap_or_default();
    let subcommands = table::subcommands(program, verb);
    // Other programs in words of their own: `python -m pytest`, `yarn eslint`.
    let other = match args {
        _ if !subcommands.is_empty() => None,
        [option, ..] if has(INTERPRETERS, program) => (option.literal() == Some("-m")).then_some(1),
        _ if has("yarn pnpm", program) && !has("npm yarn pnpm bun deno", verb) => Some(count),
        _ => None,
    };
    let named = other.and_then(|at| args.get(at)?.literal()).map_or(&[][..], table::programs);
    let named = if named.iter().any(|profile| profile.runs) { named } else { &[] };
    let (profiles, from) = match (subcommands, other) {
        ([], Some(at)) if !named.is_empty() || has(INTERPRETERS, program) => (named, args.len().min(at + 1)),
        ([], _) => (table::programs(program), 0),
        (subcommands, _) => (subcommands, count + 1),
    };
    Known { verb, folders, profiles, from, module: !named.is_empty() }
}

/// Whether the program is an interpreter that runs a file of the project, with words of the file's own.
pub(super) fn runs_a_file(program: &str) -> bool {
    table::programs(program).iter().any(|profile| matches!(profile.operands, Operands::Program))
}

/// Whether a program tells no more than names and sizes of what it is pointed at.
pub(super) fn tells_names_only(program: &str) -> bool {
    table::programs(program).first().is_some_and(|profile| profile.reads == Reads::Names && !profile.runs)
}

/// Whether the command, with just these words, tells no more than names, sizes and dates of the files it names.
pub(super) fn shows_no_content(program: &str, args: &[Word]) -> bool {
    let names = |profile: &&Profile, args: &[Word]| {
        let known = Arguments::of(program, profile, args, false);
        profile.reads == Reads::Names
            && !profile.runs
            && known.is_ok_and(|read| {
                let prints = has(profile.names, "cat-file") && read.has_any("p");
                !prints && (profile.needs.is_empty() || read.has_any(profile.needs))
            })
    };
    match program {
        "test" | "[" => odd::tests(args).is_ok(),
        "find" => odd::find_lists(args),
        "git" => git::profile(args).is_some_and(|(profile, from)| names(&profile, &args[from..])),
        _ => {
            let Known { profiles, from, module, .. } = known(program, args);
            !module && profiles.iter().any(|profile| names(profile, &args[from..]))
        }
    }
}

/// The places of words that are text and never a name of a file: what `echo` prints, what `grep` looks for, the program of
/// `sed`, if it opens no files itself.
pub(super) fn text_words(program: &str, args: &[Word]) -> Vec<usize> {
    match program {
        "echo" | "printf" | "true" | "false" | ":" => (0..args.len()).collect(),
        "git" => git::left_out(args).into_iter().chain(texts(program, args)).collect(),
        _ => texts(program, args),
    }
}

/// The places of words that are text by what the table says of the program.
fn texts(program: &str, args: &[Word]) -> Vec<usize> {
    let (profiles, from) = match program {
        "git" => match git::profile(args) {
            Some((profile, from)) => (vec![profile], from),
            None => return Vec::new(),
        },
        _ => {
            let Known { profiles, from, .. } = known(program, args);
            (profiles.to_vec(), from)
        }
    };
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

/// The pieces of the program that an interpreter of a little language is given.
fn scripts<'a>(read: &Arguments<'a>) -> Vec<&'a str> {
    let operand = if read.has_pattern { None } else { read.operands.first().copied() };
    operand.and_then(Word::literal).into_iter().chain(read.scripts.iter().copied()).collect()
}
