//! Recognises the commands that run without a sandbox and without a question: a short table of programs that only read,
//! with their harmless options.

use super::Ground;
use super::block_list::is_option;
use super::blocked_names::{NAMES_ONLY, find_in_word};
use super::commands::ListedCommand;
use super::parse::ShellWord;
use super::wrappers::{Options, find_options, options};
use crate::{EntryKind, PathFact, ProgramFact};

/// Programs that only read, with the options and operands of this table. An option that is not listed asks.
const HARMLESS: &[Options] = &[
    options(
        "ls",
        "1aACdFghiklmnoprRsStuUx",
        "",
        "all almost-all directory human-readable recursive reverse size",
        "",
        0,
    ),
    options("cat", "AbeEnstTuv", "", "number show-all", "", 0),
    options("head", "0123456789qvz", "cn", "quiet verbose", "lines bytes", 0),
    options("tail", "0123456789qvz", "cn", "quiet verbose", "lines bytes", 0),
    options("wc", "clLmw", "", "lines words bytes chars", "", 0),
    options("grep egrep fgrep", "acEFGhHiIlLnoPqsTvwxyZz", "ABCem", GREP_LONG, GREP_VALUES, 0),
    options("rg", "cFHIlnovwxi", "", "count line-number", "", 0),
    options("cut", "sz", "bcdf", "only-delimited", "delimiter fields characters bytes", 0),
    options("tr", "cCdst", "", "complement delete squeeze-repeats", "", 0),
    options("diff", "abBcdeEinNpqstuwyZ", "CU", "brief unified", "", 0),
    options("file", "bhikLNprsv", "", "brief mime mime-type", "", 0),
    options("stat", "fLt", "c", "terse dereference", "format printf", 0),
    options("du", "abcDhklmPsSx", "d", "human-readable summarize all total", "max-depth exclude", 0),
    options("nl tac rev", "", "", "", "", 0),
    options("md5sum sha1sum sha256sum", "bt", "", "", "", 0),
    options("basename dirname realpath readlink", "aefmnqsz", "", "", "", 0),
    options("pwd", "LP", "", "", "", 0),
    options("which type", "ap", "", "", "", 0),
    options("date", "uR", "", "utc", "", 0),
    options("uname", "amnoprsv", "", "all", "", 0),
    options("whoami id hostname nproc", "", "", "", "", 0),
    options("true false : wait", "", "", "", "", 0),
    options("test [", "abcdefghknoprstuxzGLNOS", "", "", "", 0),
    options("echo", "neE", "", "", "", 0),
    options("cd", "LP", "", "", "", 0),
];

const GREP_LONG: &str = "count files-with-matches ignore-case invert-match line-number no-filename only-matching \
    extended-regexp fixed-strings perl-regexp word-regexp";
const GREP_VALUES: &str = "regexp max-count context after-context before-context color";

/// Subcommands of git with their harmless options. They count only in a repository that names no program for git to
/// run.
const GIT: &[Options] = &[
    options("status", "bsuz", "", "short branch porcelain long show-stash ahead-behind no-renames", "", 0),
    options("log", "1234567890z", "n", GIT_LONG, GIT_VALUES, 0),
    options("show", "", "", "", "", 0),
    options("diff", "bwz", "", GIT_LONG, GIT_VALUES, 0),
    options("rev-parse", "", "", "show-toplevel abbrev-ref short verify git-dir show-prefix", "", 0),
    options("ls-files", "cdmoszt", "x", "cached deleted modified others stage exclude-standard", "", 0),
];

const GIT_LONG: &str = "oneline stat shortstat numstat name-only name-status graph all decorate no-decorate cached staged \
    reverse merges no-merges follow first-parent summary no-patch no-color abbrev-commit";
const GIT_VALUES: &str = "format pretty since until after before author grep max-count diff-filter date";

/// Options with which `git diff` prints no contents.
const NAMES_OF_CHANGES: &[&str] = &["--stat", "--shortstat", "--numstat", "--name-only", "--name-status"];

/// Programs that do not open their words as files.
const TEXT_ONLY: &str =
    "echo printf true false : wait tr date uname whoami id hostname nproc which type basename dirname";

/// Reports whether a command only reads files of the project that are not blocked.
pub(super) fn is_harmless(command: &ListedCommand, ground: Ground<'_>, folders: &[String]) -> bool {
    // A variable can name a program, as `GIT_PAGER` does.
    if !command.is_outer || !command.parsed.assignments.is_empty() {
        return false;
    }
    let only_reads = command.parsed.redirections.iter().all(|redirection| match redirection.target.literal() {
        Some("/dev/null") => true,
        Some(_) if redirection.operator == "<" => is_readable(&redirection.target, ground, folders),
        // `2>&1`
        Some(number) => redirection.operator == ">&" && number.bytes().all(|byte| byte.is_ascii_digit()),
        None => false,
    });
    let words: Option<Vec<&str>> = command.words.iter().map(text_of).collect();
    let Some((name, arguments)) = words.as_deref().and_then(<[&str]>::split_first) else { return false };
    if !only_reads || command.words[0].literal().is_none() {
        return false;
    }
    let is_builtin = matches!(*name, "cd" | "echo" | "test" | "[" | "pwd" | "type" | "true" | "false" | ":" | "wait");
    // A program of the project may have been written by the model, whatever its name is.
    if !is_builtin && (name.contains('/') || ground.facts.program(name) != ProgramFact::System) {
        return false;
    }
    let (row, arguments) = match (*name, arguments) {
        ("git", [subcommand, rest @ ..]) => {
            // Settings of a repository make git run programs, also for `git status`: `core.fsmonitor`.
            if !folders.iter().all(|folder| ground.facts.is_plain_repository(folder)) {
                return false;
            }
            (find_options(GIT, subcommand), rest)
        }
        _ => (find_options(HARMLESS, name), arguments),
    };
    let Some(row) = row else { return false };
    let mut operands =
        command.words[1..].iter().filter(|word| !is_option(word)).map(|word| text_of(word).unwrap_or(""));
    let takes_its_operands = match *name {
        // Without a folder it changes to the home folder, and `-` is the previous folder. A name that matches a pattern
        // can be a link to another place.
        "cd" if command.words.iter().any(|word| matches!(word, ShellWord::Pattern(_))) => false,
        "cd" => command.words.len() == 2 && operands.next().is_some_and(|folder| !matches!(folder, "" | "-")),
        "pwd" | "uname" | "whoami" | "hostname" | "nproc" => operands.next().is_none(),
        // Only a format prints: `date 010100002030` sets the clock.
        "date" => operands.all(|operand| operand.starts_with('+')),
        "git" => prints_no_blocked_file(&words.as_deref().unwrap_or(&[])[1..], ground, folders),
        _ => true,
    };
    if !takes_its_operands {
        return false;
    }
    // These read all files in a folder, and one of them can be blocked.
    if matches!(*name, "rg" | "diff") {
        let patterns = usize::from(*name == "rg");
        let mut operands = command.words[1..].iter().filter(|word| !is_option(word)).skip(patterns).peekable();
        let is_file = |word: &ShellWord| {
            let is_one =
                |folder: &String| ground.facts.entry_kind(folder, text_of(word).unwrap_or("")) == EntryKind::File;
            folders.iter().all(is_one)
        };
        if operands.peek().is_none() || !operands.all(is_file) {
            return false;
        }
    }
    // A name that matches a pattern can be a link to a blocked file.
    let shows_names = NAMES_ONLY.split_ascii_whitespace().any(|one| one == *name);
    if !shows_names && command.words.iter().any(|word| matches!(word, ShellWord::Pattern(_))) {
        return false;
    }
    let is_text = TEXT_ONLY.split_ascii_whitespace().any(|one| one == *name);
    has_only_options(row, arguments, *name == "test" || *name == "[")
        && (is_text || command.words[1..].iter().all(|word| is_readable(word, ground, folders)))
}

/// Returns `true` for a git command that prints the contents only of files that it names. A revision can be the hash of
/// a blocked file, and a folder can contain a blocked file.
fn prints_no_blocked_file(words: &[&str], ground: Ground<'_>, folders: &[String]) -> bool {
    let Some((subcommand, arguments)) = words.split_first() else { return false };
    let operands = || arguments.iter().filter(|word| !word.starts_with('-'));
    let is_file = |path: &&str| folders.iter().all(|folder| ground.facts.entry_kind(folder, path) == EntryKind::File);
    match *subcommand {
        "show" => match arguments {
            [operand] => operand.split_once(':').is_some_and(|(revision, path)| !revision.is_empty() && is_file(&path)),
            _ => false,
        },
        "diff" if arguments.iter().any(|word| NAMES_OF_CHANGES.contains(word)) => operands().next().is_none(),
        "diff" => match arguments.iter().position(|word| *word == "--") {
            Some(at) => {
                let is_current = |word: &&str| word.starts_with('-') || word.starts_with("HEAD");
                arguments.len() > at + 1
                    && arguments[..at].iter().all(is_current)
                    && arguments[at + 1..].iter().all(is_file)
            }
            None => false,
        },
        // `:(top).env` and `:1:.env` are paths too.
        _ => !operands().any(|operand| operand.starts_with(':')),
    }
}

/// Returns the text of a word, if it is known except for the names that match a pattern.
fn text_of(word: &ShellWord) -> Option<&str> {
    match word {
        ShellWord::Literal(text) | ShellWord::Pattern(text) => Some(text),
        ShellWord::Home(_) | ShellWord::Unknown { .. } => None,
    }
}

/// Reports whether every option is in the row. Options also follow operands, as GNU programs read them.
fn has_only_options(row: &Options, arguments: &[&str], is_test: bool) -> bool {
    let has = |list: &str, name: &str| list.split_ascii_whitespace().any(|one| one == name);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            // Some options take a value only after `=`, so the next word could be an option of its own.
            if has(row.long_values, name) {
                if value.is_none() {
                    return false;
                }
            } else if !long.is_empty() && !has(row.long_flags, name) {
                return false;
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            // `-eq` and the like are operators.
            if is_test && letters.len() == 2 && letters.bytes().all(|byte| byte.is_ascii_lowercase()) {
                continue;
            }
            for (at, letter) in letters.char_indices() {
                if row.values.contains(letter) {
                    if at + letter.len_utf8() == letters.len() && words.next().is_none_or(|word| word.starts_with('-'))
                    {
                        return false;
                    }
                    break;
                }
                if !row.flags.contains(letter) {
                    return false;
                }
            }
        }
    }
    true
}

/// Reports whether a word names nothing blocked and nothing outside the project.
fn is_readable(word: &ShellWord, ground: Ground<'_>, folders: &[String]) -> bool {
    let Some(text) = text_of(word) else { return false };
    if is_option(word) {
        return find_in_word(word, ground, folders).is_none();
    }
    if find_in_word(word, ground, folders).is_some() {
        return false;
    }
    if matches!(word, ShellWord::Pattern(_)) {
        let could_block = text.split('/').any(|component| ground.paths.could_block(component).next().is_some());
        if could_block || ground.paths.first_denied().is_some() {
            return false;
        }
    }
    text.is_empty() || folders.iter().all(|folder| matches!(ground.facts.path(folder, text), PathFact::Inside { .. }))
}
