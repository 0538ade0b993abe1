//! Commands that are known: those that only read, and those that run the project's own code, which walls hold. Exact
//! options, operands that are inside the project and not blocked.

mod arguments;
mod git;
mod git_calls;
mod git_settings;
mod languages;
mod odd;
mod table;

use super::Ground;
use super::files;
use super::report::{Finding, shown};
use super::rules;
use super::simple::below;
use super::words::Word;
use crate::policy::PathFact;
use arguments::{Arguments, is_source};
pub(super) use git_calls::{GitCall, git_call};
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
}

/// Whether a command that needs no walls is known to only read.
pub(super) fn is_known(ground: Ground<'_>, folders: Option<&[String]>, program: &str, args: &[Word]) -> bool {
    Reader { ground, folders, fed: false, writes: &Cell::new(false) }.check(program, args).is_ok()
}

type Checked = Result<(), Finding>;

impl Reader<'_> {
    /// Why the command is not known.
    pub(super) fn check(&self, program: &str, args: &[Word]) -> Checked {
        if matches!(program, "echo" | "true" | "false" | ":") {
            return odd::echo(args);
        }
        if matches!(program, "test" | "[") {
            return odd::test(self, program, args);
        }
        if program == "printf" {
            return odd::printf(args);
        }
        if let Some(word) = args.iter().find(|word| word.literal().is_none() && !word.is_glob() && !word.is_found()) {
            return unknown(format!("{} is a word that only a run would tell.", shown(&word.pattern(), 80)));
        }
        match program {
            "find" => odd::find(self, args),
            "date" => odd::date(args),
            "cd" => odd::cd(self, args),
            "set" => odd::set(args),
            "tar" => odd::tar(self, args),
            "command" => odd::command(args),
            "git" if args.len() != 1 || args[0].literal() != Some("--version") => git::check(self, args),
            _ => self.table(program, args),
        }
    }

    /// A program of the project, at a place of its own: its words are its own business, but for names that are blocked.
    pub(super) fn program_of_its_own(&self, program: &Word, args: &[Word]) -> Checked {
        let name = shown(&program.pattern(), 80);
        if let Some(word) = args.iter().find(|word| word.literal().is_none() && !word.is_glob()) {
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
        self.writes.set(true);
        if self.ground.facts.walls().hold { Ok(()) } else { Err(project_code(program)) }
    }

    /// Every way in which the table knows the program; the reason is that of the first.
    fn table(&self, program: &str, args: &[Word]) -> Checked {
        let verb = subcommand(args);
        let (profiles, from, module) = profiles(program, args);
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
        // A name that is an option does no harm where the walls hide what no word names.
        let harmless = profile.harmless || profile.reads_only && self.ground.facts.walls().hold;
        let read = Arguments::of(program, profile, args, harmless)?;
        if !profile.needs.is_empty() && !read.has_any(profile.needs) {
            return unknown(format!("{program} is only known with one of: {}.", profile.needs));
        }
        self.operands(program, profile, &read)?;
        if read.paths.contains(&"-") {
            return unknown(format!("{program} is not known with a file that is its input."));
        }
        read.paths.iter().try_for_each(|path| self.path(&Word::text(path)))?;
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
            Operands::Checked(passes) => return checked(program, operands, passes),
            Operands::One if operands.len() > 1 => {
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
        self.path(operand)?;
        if operand.is_glob() && profile.reads != Reads::Names {
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
                self.path(file)
            }
            _ => unknown(format!("{program} is only known with a file of the project.")),
        }
    }

    /// A path that is inside and not blocked.
    fn path(&self, word: &Word) -> Checked {
        files::operand(self.ground, self.folders, word).map_or(Ok(()), Err)
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

/// The word that would be a subcommand.
fn subcommand(args: &[Word]) -> &str {
    args.get(globals(args)).and_then(Word::literal).unwrap_or_default()
}

fn globals(args: &[Word]) -> usize {
    args.iter().take_while(|word| word.literal().is_some_and(is_global)).count()
}

/// Every way in which the table knows the program, the place from which on its own arguments stand, and whether they are
/// those of a module of Python.
fn profiles(program: &str, args: &[Word]) -> (&'static [&'static Profile], usize, bool) {
    let subcommands = table::subcommands(program, subcommand(args));
    let module = args.first().is_some_and(|word| word.literal() == Some("-m")) && program.starts_with("py");
    match (subcommands, module) {
        ([], false) => (table::programs(program), 0, false),
        ([], true) => (args.get(1).and_then(Word::literal).map_or(&[], table::programs), 2.min(args.len()), true),
        (subcommands, _) => (subcommands, globals(args) + 1, module),
    }
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
            && known.is_ok_and(|read| profile.needs.is_empty() || read.has_any(profile.needs))
    };
    match program {
        "test" | "[" => odd::tests(args).is_ok(),
        "find" => odd::find_lists(args),
        "git" => git::profile(args).is_some_and(|(profile, from)| names(&profile, &args[from..])),
        _ => {
            let (profiles, from, module) = profiles(program, args);
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
            let (profiles, from, _) = profiles(program, args);
            (profiles.to_vec(), from)
        }
    };
    // A word that may become several, or an option, moves those behind it.
    let certain = |word: &Word| match word.guess() {
        Some(text) => word.literal().is_some() || !text.starts_with('-'),
        None => (word.is_glob() || word.is_found()) && !arguments::may_be_option(word),
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
