//! Finds names of blocked files among the words of a command.
//!
//! In the sandbox these files are absent, so a command finds no file under a name that this module misses. A refusal
//! with the rule is clearer for the model than a missing file.

use super::Ground;
use super::block_list::{display, is_option, may_reach_everything};
use super::commands::ListedCommand;
use super::deny::OPTIONS_BEFORE_SUBCOMMANDS;
use super::parse::ShellWord;
use super::wrappers::{Options, base_name, find_options, skip_options};
use crate::rules::{Blocked, Harmless};
use crate::shown::escape;
use crate::{EntryKind, PathFact};
use toolfence_protocol::{Text, text};

/// Programs that print their words, or only names and metadata of files.
pub(super) const NAMES_ONLY: &str = "echo printf test [ [[ ls stat file realpath readlink dirname basename du tree which type command find cd \
    mkdir touch";

/// Programs whose first operand, or whose option `-e`, is no file.
const PATTERN_FIRST: &str = "grep egrep fgrep rg ag fd fdfind sed gsed awk gawk mawk jq yq perl";

/// The longest word that is a path.
const LONGEST_PATH: usize = 4096;

/// Returns why a command is refused that names a blocked file.
pub(super) fn find_blocked_name(command: &ListedCommand, ground: Ground<'_>, folders: &[String]) -> Option<Text> {
    let targets = command.parsed.redirections.iter().filter(|it| !it.operator.starts_with("<<")).map(|it| &it.target);
    if let Some(reason) = targets.into_iter().find_map(|word| find_in_word(word, ground, folders)) {
        return Some(reason);
    }
    // The command that it runs is listed too, with its own words.
    if command.is_wrapper {
        return None;
    }
    let (name, arguments) = command.words.split_first()?;
    let program = name.literal().map_or("", base_name);
    list_files(program, arguments).into_iter().find_map(|word| find_in_word(word, ground, folders))
}

/// Lists the words of a command that can be names of files which it opens.
fn list_files<'w>(program: &str, arguments: &'w [ShellWord]) -> Vec<&'w ShellWord> {
    let has = |list: &str| list.split_ascii_whitespace().any(|one| one == program);
    let literal = |at: usize| arguments.get(at).and_then(ShellWord::literal).unwrap_or("");
    let follows = |at: usize, options: &[&str]| at > 0 && options.contains(&literal(at - 1));
    let all = || arguments.iter().enumerate();
    // Names, sizes and dates of blocked files are not secret.
    if has(NAMES_ONLY) {
        return Vec::new();
    }
    if has(PATTERN_FIRST) {
        // `jq --arg NAME VALUE`
        let is_argument = |at: usize| {
            let sets =
                |back: usize| at.checked_sub(back).is_some_and(|at| matches!(literal(at), "--arg" | "--argjson"));
            sets(1) || sets(2)
        };
        let is_value = |at: usize| {
            follows(at, &["-A", "-B", "-C", "-m", "-t", "-T", "-g", "-E", "--indent", "-L"])
                || is_argument(at)
                || at > 0 && gives_pattern(program, literal(at - 1)) && literal(at - 1).ends_with('e')
        };
        let operands: Vec<&ShellWord> =
            all().filter(|(at, word)| !is_option(word) && !is_value(*at)).map(|(_, word)| word).collect();
        let has_pattern = !arguments.iter().filter_map(ShellWord::literal).any(|text| gives_pattern(program, text));
        // `grep -f FILE` reads the patterns.
        let takes_file = |(at, word): &(usize, &ShellWord)| {
            let attached = word.literal().is_some_and(|text| text.starts_with("-f") || text.starts_with("--file="));
            attached || follows(*at, &["-f", "--file"])
        };
        let files = operands.into_iter().skip(usize::from(has_pattern));
        return files.chain(all().filter(takes_file).map(|(_, word)| word)).collect();
    }
    if program == "git" {
        let options = find_options(OPTIONS_BEFORE_SUBCOMMANDS, "git").unwrap_or(&Options::NONE);
        let first = skip_options(arguments, options).first().copied().unwrap_or(0);
        let prints = |word: &ShellWord| {
            let options = ["-p", "-u", "-U", "-L", "--patch", "--cc"];
            word.literal().is_some_and(|text| options.iter().any(|option| text.starts_with(option)))
        };
        let summarises = arguments
            .iter()
            .any(|word| word.literal().is_some_and(|text| text.starts_with("--stat") || text.starts_with("--name-")));
        // Only the subcommands that print contents count. Without a patch, `git log` prints none.
        let skipped = match literal(first) {
            "log" if !arguments.iter().any(prints) => return Vec::new(),
            "diff" | "show" if summarises && !arguments.iter().any(prints) => return Vec::new(),
            "grep" => usize::from(!arguments.iter().filter_map(ShellWord::literal).any(|it| gives_pattern("grep", it))),
            "show" | "diff" | "blame" | "annotate" | "log" | "cat-file" | "archive" => 0,
            _ => return Vec::new(),
        };
        let is_value = |at: usize| follows(at, &["-S", "-G", "-e", "--author", "--grep", "--format"]);
        // `git log -L1,9:file`
        let is_lines = |word: &ShellWord| word.literal().is_some_and(|text| text.starts_with("-L"));
        let operands =
            all().skip(first + 1).filter(|(at, word)| (!is_option(word) || is_lines(word)) && !is_value(*at));
        return operands.map(|(_, word)| word).skip(skipped).collect();
    }
    // Files that an option excludes are not opened.
    let is_left_out = |at: usize| follows(at, &["--exclude", "-x"]) || literal(at).starts_with("--exclude");
    all().filter(|(at, _)| !is_left_out(*at)).map(|(_, word)| word).collect()
}

/// Reports whether an option gives a pattern or a script, so that every operand is a file: `-e`, also in a cluster, and
/// `-f`.
fn gives_pattern(program: &str, option: &str) -> bool {
    let is_cluster = option.starts_with('-') && !option.starts_with("--") && option.contains(['e', 'f']);
    let is_long = ["--reg", "--exp", "--fil"].iter().any(|long| option.starts_with(long)) && option != "--files";
    !matches!(program, "jq" | "yq" | "fd" | "fdfind") && (is_cluster || is_long)
}

/// Returns why a word is refused: it is a blocked name, has one after `=`, `:` or `@`, or is a pattern that matches
/// one.
pub(super) fn find_in_word(word: &ShellWord, ground: Ground<'_>, folders: &[String]) -> Option<Text> {
    let (ShellWord::Literal(text) | ShellWord::Home(text) | ShellWord::Pattern(text)) = word else { return None };
    if let ShellWord::Pattern(pattern) = word {
        let rule = pattern.split('/').find_map(|component| find_matching_rule(component, ground))?;
        return Some(refuse(&display(word), rule));
    }
    if text.len() > LONGEST_PATH || text.contains('\n') {
        return None;
    }
    // The value of an option can be in its word: `-f.env`, `--file=.env`, `HEAD:.env`, `@.env`.
    let attached = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.get(1..));
    let pieces = [text.as_str()].into_iter().chain(attached).chain(text.split(['=', ':', '@']).skip(1));
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        for folder in folders {
            let mut names = vec![piece.to_owned()];
            // The real path counts too, so that a link to a blocked file is found.
            if let PathFact::Inside { names: real } = ground.facts.path(folder, piece) {
                names.extend(real);
            }
            if let Some(rule) = names.iter().find_map(|name| find_rule(name, piece, folder, ground)) {
                return Some(refuse(text, rule));
            }
        }
    }
    None
}

fn find_rule<'g>(name: &str, written: &str, folder: &str, ground: Ground<'g>) -> Option<&'g str> {
    let Blocked { rule, unless } = ground.paths.judge(name)?;
    let is_harmless = match unless {
        None => false,
        Some(Harmless::Package) => true,
        Some(Harmless::Certificates) => ground.facts.entry_kind(folder, written) == EntryKind::Certificates,
        // A word such as `token` is usually no file: `cargo test token`.
        Some(Harmless::NoFile) => {
            !matches!(ground.facts.entry_kind(folder, written), EntryKind::File | EntryKind::Certificates)
        }
    };
    (!is_harmless).then_some(rule)
}

/// Returns the rule that blocks a name that a pattern could match, if the pattern is close to that name:
/// `.en*`, `id_[r]sa`. Others, such as `*.json`, match the names of too many ordinary files.
fn find_matching_rule<'g>(component: &str, ground: Ground<'g>) -> Option<&'g str> {
    let mut is_in_bracket = false;
    let written = component.chars().filter(|&c| match c {
        '[' => {
            is_in_bracket = true;
            false
        }
        ']' => {
            is_in_bracket = false;
            false
        }
        '*' | '?' => false,
        _ => !is_in_bracket,
    });
    let is_live = component.contains(['*', '?', '[']);
    let is_aimed = if component.starts_with('.') { written.count() >= 2 } else { !component.contains('*') };
    if !is_live || !is_aimed {
        return None;
    }
    let is_meant = |name: &str| {
        let is_exact = || glob::Pattern::new(component).is_ok_and(|pattern| pattern.matches(name));
        !component.contains('*') && is_exact() || name == ".ssh" || name.to_ascii_lowercase().starts_with(".env")
    };
    ground.paths.could_block(component).find(|(_, name)| is_meant(name)).map(|(rule, _)| rule)
}

/// Returns why only the user can let a command run without a sandbox: a pattern could match a blocked name, a path
/// controls git or this program, or a whole tree is removed whose name is known only when it runs.
pub(super) fn find_doubt(command: &ListedCommand, ground: Ground<'_>, folders: &[String]) -> Option<Text> {
    if may_reach_everything(command) {
        return Some(text!("The command removes or changes a whole folder whose name is known only when it runs."));
    }
    let name = command.words.first().and_then(ShellWord::literal).map_or("", base_name);
    if NAMES_ONLY.split_ascii_whitespace().any(|one| one == name) && command.parsed.redirections.is_empty() {
        return None;
    }
    let targets = command.parsed.redirections.iter().map(|it| (&it.target, it.operator.contains('>')));
    for (word, writes) in command.words.iter().skip(1).map(|word| (word, false)).chain(targets) {
        if let ShellWord::Pattern(pattern) = word
            && let Some(rule) = pattern.split('/').find_map(|part| ground.paths.could_block(part).next())
        {
            let pattern = escape(pattern, 80);
            return Some(text!("{pattern} could match a name that the rule {rule} blocks.", pattern, rule = rule.0));
        }
        let is_steering = |path: &str| {
            folders.iter().any(|folder| match ground.facts.path(folder, path) {
                PathFact::Inside { names } => names.iter().any(|name| ground.paths.protects(name).is_some()),
                _ => false,
            })
        };
        if let Some(path) = word.literal().filter(|path| writes && is_steering(path)) {
            return Some(text!("{path} steers git or this program.", path = escape(path, 80)));
        }
    }
    None
}

fn refuse(word: &str, rule: &str) -> Text {
    text!(
        "{word} names a file that the rule {rule} blocks. Its content is not for tools, in no other way either. Work without it.",
        word = escape(word, 80),
        rule
    )
}
