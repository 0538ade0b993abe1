//! `git config`: whether it reads, sets what is harmless, or sets what only a person may allow. What is not read to the end
//! is a question for a person.

use super::git_words::{GitCall, person};
use crate::shell::expand::Word;
use crate::shell::programs::arguments::Arguments;
use crate::shell::programs::{self, has};
use crate::shell::{messages, shown};
use toolfence_rules::git_config as keys;

/// What is done to the configuration.
#[derive(Clone, Copy, PartialEq)]
enum Action {
    Reads,
    Sets,
    Unsets,
    Section,
    Edits,
}

/// What an option, or a verb of newer versions of git, does; `None` where it changes nothing about what is done.
fn action(name: &str) -> Option<Action> {
    match name {
        _ if has("get get-all get-regexp get-urlmatch get-color get-colorbool list l", name) => Some(Action::Reads),
        "set" | "add" | "replace-all" => Some(Action::Sets),
        "unset" | "unset-all" => Some(Action::Unsets),
        "rename-section" | "remove-section" => Some(Action::Section),
        "edit" => Some(Action::Edits),
        _ => None,
    }
}

/// What `git config` with these words, from `config` on, does.
pub(crate) fn judged(args: &[Word]) -> GitCall {
    let entry = programs::git("git-config", &args[..1]);
    let args = &args[1..];
    if args.iter().any(|word| word.literal().is_none()) {
        return person(messages::may_be_set(), false);
    }
    // The verbs of newer versions stand first; a key always has a dot.
    let verb = args.first().and_then(Word::literal).filter(|word| action(word).is_some());
    let args = &args[usize::from(verb.is_some())..];
    let Some(read) = entry.and_then(|(_, profile, _)| Arguments::of("git", profile, args, false).ok()) else {
        return person(messages::may_set_anything(), false);
    };
    let operands: Vec<&str> = read.operands.iter().filter_map(|word| word.literal()).collect();
    let mut actions = verb.into_iter().chain(read.names.iter().copied()).filter_map(action);
    let action = actions.next().unwrap_or(if operands.len() < 2 { Action::Reads } else { Action::Sets });
    // Git does one of them.
    if actions.any(|other| other != action) {
        return person(messages::may_set_anything(), false);
    }
    if action == Action::Reads {
        return GitCall::Reads;
    }
    if let Some(scope) = read.names.iter().find(|name| has("global system", name)) {
        return person(messages::outside(*scope), false);
    }
    // Another file may be anything, a script among it.
    if let Some(file) = read.value("f file").filter(|file| *file != ".gitmodules") {
        return person(messages::other_file(shown(file, 80)), false);
    }
    match (action, operands.as_slice()) {
        (Action::Sets, [key, value] | [key, value, _]) => sets(key, Some(value)),
        (Action::Unsets, [key] | [key, _]) => sets(key, None),
        (Action::Section, sections)
            if !sections.is_empty() && sections.iter().all(|section| is_plain(section, sections)) =>
        {
            GitCall::Writes
        }
        (Action::Edits, _) => person(messages::opens_editor("edit"), false),
        _ => person(messages::may_set_anything(), false),
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
