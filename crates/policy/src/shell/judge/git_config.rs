//! `git config`: whether it reads, sets what is harmless, or sets what only a person may allow. What is not read to the end
//! is a question for a person.

use super::git_words::{GitCall, person};
use crate::shell::expand::Word;
use crate::shell::programs::has;
use crate::shell::{messages, shown};
use toolfence_rules::git_config as keys;

/// Options without a value that change nothing about what is written.
const FLAGS: &str = "local z null name-only show-origin show-scope show-names no-show-names includes no-includes no-type bool \
    int bool-or-int bool-or-str path expiry-date worktree fixed-value all append regexp";

/// Options with a value that change nothing about what is written, but for the file.
const VALUES: &str = "type default comment value url";

/// Options, and verbs of newer versions of git, that read.
const READS: &str = "get get-all get-regexp get-urlmatch get-color get-colorbool list l";

/// What is done to the configuration.
#[derive(Clone, Copy, PartialEq)]
enum Action {
    Reads,
    Sets,
    Unsets,
    Section,
}

/// What `git config` with these words does.
pub(crate) fn judged(args: &[Word]) -> GitCall {
    let Some(words) = args.iter().map(Word::literal).collect::<Option<Vec<&str>>>() else {
        return person(messages::may_be_set(), false);
    };
    let (mut action, mut verb, mut file, mut elsewhere) = (None, false, None, None);
    let mut operands = Vec::new();
    let (mut at, mut ended) = (0, false);
    while let Some(word) = words.get(at).copied() {
        at += 1;
        let option =
            word.strip_prefix("--").or_else(|| word.strip_prefix('-')).filter(|name| !ended && !name.is_empty());
        let Some(option) = option else {
            // The verbs of newer versions stand first; a key always has a dot.
            match word {
                "--" if !ended => ended = true,
                _ if operands.is_empty() && !verb && !ended && action.is_none() && is_verb(word) => {
                    (verb, action) = (true, verb_action(word));
                    if action.is_none() {
                        return person(messages::opens_editor(shown(word, 40)), false);
                    }
                }
                _ => operands.push(word),
            }
            continue;
        };
        let (name, attached) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let mut value = || {
            attached.or_else(|| {
                at += 1;
                words.get(at - 1).copied()
            })
        };
        match name {
            _ if has(READS, name) => action = Some(Action::Reads),
            "add" | "replace-all" => action = action.or(Some(Action::Sets)),
            "unset" | "unset-all" => action = Some(Action::Unsets),
            "rename-section" | "remove-section" => action = Some(Action::Section),
            "global" | "system" => elsewhere = Some(name),
            "f" | "file" => file = value(),
            "blob" => drop(value()),
            _ if has(VALUES, name) => drop(value()),
            _ if has(FLAGS, name) && attached.is_none() => {}
            _ => return person(messages::unknown_option(shown(word, 40)), false),
        }
    }
    let action = action.unwrap_or(if operands.len() < 2 { Action::Reads } else { Action::Sets });
    if action == Action::Reads {
        return GitCall::Reads;
    }
    if let Some(scope) = elsewhere {
        return person(messages::outside(scope), false);
    }
    match file {
        // Another file may be anything, a script among it.
        Some(file) if file != ".gitmodules" => {
            return person(messages::other_file(shown(file, 80)), false);
        }
        _ => {}
    }
    match (action, operands.as_slice()) {
        (Action::Sets, [key, value] | [key, value, _]) => sets(key, Some(value)),
        (Action::Unsets, [key] | [key, _]) => sets(key, None),
        (Action::Section, sections)
            if !sections.is_empty() && sections.iter().all(|section| is_plain(section, sections)) =>
        {
            GitCall::Writes
        }
        _ => person(messages::may_set_anything(), false),
    }
}

fn is_verb(word: &str) -> bool {
    has("get list set unset rename-section remove-section edit", word)
}

/// `None` for a verb that opens an editor.
fn verb_action(verb: &str) -> Option<Action> {
    match verb {
        "get" | "list" => Some(Action::Reads),
        "set" => Some(Action::Sets),
        "unset" => Some(Action::Unsets),
        "rename-section" | "remove-section" => Some(Action::Section),
        _ => None,
    }
}

/// A section of a branch or a remote, which is renamed to another one of its kind or removed: its keys mean what they did.
fn is_plain(section: &str, all: &[&str]) -> bool {
    let kind = |section: &str| section.split_once('.').map(|(kind, _)| kind.to_owned());
    let first = all.first().and_then(|section| kind(section));
    matches!(kind(section).as_deref(), Some("branch" | "remote")) && kind(section) == first
}

/// What the configuration is asked or told: see [`keys`].
fn sets(key: &str, value: Option<&str>) -> GitCall {
    let Some(normal) = keys::normal(key) else {
        return person(messages::no_key(shown(key, 80)), true);
    };
    let harmless = value.map_or_else(|| keys::is_listed(&normal), |value| keys::is_harmless(&normal, Some(value)));
    match harmless {
        true => GitCall::Writes,
        false => person(messages::key(shown(&normal, 80), keys::danger(&normal)), true),
    }
}
