//! Names of blocked files among the words of a command.
//!
//! In the sandbox these files are absent, so a name that is missed there finds no file. A refusal that names the rule is clearer
//! than a missing file.

use super::Ground;
use super::block_list::{display, is_option, may_reach_everything};
use super::commands::ListedCommand;
use super::parse::ShellWord;
use super::wrappers::base_name;
use crate::shown::shown;
use crate::{PathFact, Seen};
use toolfence_protocol::{Text, text};
use toolfence_rules::{Blocked, Harmless};

/// Programs that print their words, or only names and metadata of files.
const NAMES_ONLY: &str = "echo printf test [ [[ ls stat file realpath readlink dirname basename du tree which type command find cd \
    mkdir touch";

/// Programs whose first operand, or whose option `-e`, is no file.
const PATTERN_FIRST: &str = "grep egrep fgrep rg ag sed gsed awk gawk mawk jq yq perl";

/// Subcommands of git that print the contents of the files that they name.
const GIT_PRINTS: &str = "show diff blame annotate log cat-file grep archive";

/// The longest word that is a path.
const LONGEST_PATH: usize = 4096;

/// Returns why a command is refused that names a blocked file.
pub(super) fn find_blocked_name(command: &ListedCommand, ground: Ground<'_>, folders: &[String]) -> Option<Text> {
    let targets = command.parsed.redirections.iter().filter(|it| !it.operator.starts_with("<<")).map(|it| &it.target);
    if let Some(reason) = targets.into_iter().find_map(|word| find_in_word(word, ground, folders)) {
        return Some(reason);
    }
    let (name, arguments) = command.words.split_first()?;
    let program = name.literal().map_or("", base_name);
    let has = |list: &str| list.split_ascii_whitespace().any(|one| one == program);
    if has(NAMES_ONLY) {
        return None;
    }
    let files: Vec<&ShellWord> = if has(PATTERN_FIRST) {
        // The values of `jq --arg` are no files either.
        let kept = if matches!(program, "jq" | "yq") { 1 } else { usize::MAX };
        let operands: Vec<&ShellWord> = arguments.iter().filter(|word| !is_option(word)).collect();
        // `grep -f FILE` reads the patterns.
        let patterns = arguments.windows(2).filter(|pair| matches!(pair[0].literal(), Some("-f" | "--file")));
        let attached = arguments
            .iter()
            .filter(|word| word.literal().is_some_and(|word| word.starts_with("-f") || word.starts_with("--file=")));
        let files = operands.into_iter().skip(1).rev().take(kept);
        files.chain(patterns.map(|pair| &pair[1])).chain(attached).collect()
    } else if program == "git" {
        let prints = arguments
            .iter()
            .filter_map(ShellWord::literal)
            .any(|word| GIT_PRINTS.split_ascii_whitespace().any(|one| one == word));
        if !prints {
            return None;
        }
        let is_value = |at: usize| {
            at > 0 && arguments[at - 1].literal().is_some_and(|word| word.starts_with("--") && word.len() > 2)
        };
        let operands = arguments.iter().enumerate().filter(|(at, word)| !is_option(word) && !is_value(*at));
        operands.map(|(_, word)| word).collect()
    } else {
        arguments.iter().collect()
    };
    files.into_iter().find_map(|word| find_in_word(word, ground, folders))
}

/// Returns why a word is refused: it is a blocked name, has one after `=`, `:` or `@`, or is a pattern that matches one.
pub(super) fn find_in_word(word: &ShellWord, ground: Ground<'_>, folders: &[String]) -> Option<Text> {
    let (ShellWord::Literal(text) | ShellWord::Home(text) | ShellWord::Pattern(text)) = word else { return None };
    if let ShellWord::Pattern(pattern) = word {
        let rule = pattern.split('/').find_map(|component| find_matching_rule(component, ground))?;
        return Some(refuse(&display(word), rule));
    }
    if text.len() > LONGEST_PATH || text.contains('\n') {
        return None;
    }
    let attached = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.get(1..));
    let pieces = [text.as_str()].into_iter().chain(attached).chain(text.split(['=', ':', '@']).skip(1));
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        for folder in folders {
            let mut names = vec![piece.to_owned()];
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
        Some(Harmless::Certificates) => ground.facts.seen(folder, written) == Seen::Certificates,
        // Most words like `token` are no names: `cargo test token`.
        Some(Harmless::NoFile) => !matches!(ground.facts.seen(folder, written), Seen::File | Seen::Certificates),
    };
    (!is_harmless).then_some(rule)
}

/// The rule that blocks a name which a pattern could match, if the pattern is close to that name: `.en*`, `id_[r]sa`. Others, such as
/// `*.json`, match the names of too many ordinary files.
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

/// Returns why only a person can let a command run without a sandbox: a pattern could match a blocked name, a path steers git or this
/// program, or a whole tree is removed whose name is known only when it runs.
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
            let pattern = shown(pattern, 80);
            return Some(text!("{pattern} could match a name that the rule {rule} blocks.", pattern, rule = rule.0));
        }
        let is_steering = |path: &str| {
            folders.iter().any(|folder| match ground.facts.path(folder, path) {
                PathFact::Inside { names } => names.iter().any(|name| ground.paths.protects(name).is_some()),
                _ => false,
            })
        };
        if let Some(path) = word.literal().filter(|path| writes && is_steering(path)) {
            return Some(text!("{path} steers git or this program.", path = shown(path, 80)));
        }
    }
    None
}

fn refuse(word: &str, rule: &str) -> Text {
    text!(
        "{word} names a file that the rule {rule} blocks. Its content is not for tools, in no other way either. Work without it.",
        word = shown(word, 80),
        rule
    )
}
