//! Rules about commands: a rule such as `git push` matches a command by the last part of its program's name, with
//! options before the subcommand skipped.

use super::commands::CommandList;
use super::parse::ShellWord;
use super::wrappers::{Options, base_name, find_options, may_move_words, options, skip_options};

/// Whether a rule matches a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleMatch<'r> {
    /// No rule matches.
    None,
    /// Some command, or the name of its program, cannot be read; a rule might match.
    Unknown,
    /// This rule matches.
    Matched(&'r [String]),
}

/// Matches the commands of a text with deny rules, each a program's name with further words.
pub fn match_deny_rules<'r>(text: &str, rules: &'r [Vec<String>]) -> RuleMatch<'r> {
    if rules.is_empty() {
        return RuleMatch::None;
    }
    let list = CommandList::read(text);
    let matches = list.commands.iter().map(|command| match_rules(rules.iter().map(Vec::as_slice), &command.words));
    let unread = if list.is_complete { RuleMatch::None } else { RuleMatch::Unknown };
    matches.max().map_or(unread, |worst| worst.max(unread))
}

/// Matches the words of one command with rules; the strictest result counts.
pub(super) fn match_rules<'r>(rules: impl Iterator<Item = &'r [String]>, words: &[ShellWord]) -> RuleMatch<'r> {
    rules.map(|rule| match_rule(rule, words)).max().unwrap_or(RuleMatch::None)
}

/// Matches one rule with the words of one command.
fn match_rule<'r>(rule: &'r [String], words: &[ShellWord]) -> RuleMatch<'r> {
    let (Some((program, rest)), Some((name, arguments))) = (rule.split_first(), words.split_first()) else {
        return RuleMatch::None;
    };
    let Some(name) = name.literal().map(base_name) else { return RuleMatch::Unknown };
    // A rule matches a program wherever it is: `/usr/bin/git`.
    let program = base_name(program);
    let Some((subcommand, others)) = rest.split_first() else {
        return if name == program { RuleMatch::Matched(rule) } else { RuleMatch::None };
    };
    // `git-push` is `git push`.
    if name.strip_prefix(program).and_then(|rest| rest.strip_prefix('-')) == Some(subcommand) {
        return match_others(rule, others, arguments);
    }
    if name != program {
        return RuleMatch::None;
    }
    if subcommand.starts_with('-') {
        return match_others(rule, rest, arguments);
    }
    // `cargo +nightly publish`
    let is_toolchain = |word: &&ShellWord| word.literal().is_some_and(|text| text.starts_with('+'));
    let arguments = &arguments[arguments.iter().take_while(is_toolchain).count()..];
    let mut worst = RuleMatch::None;
    for at in skip_options(arguments, find_options(OPTIONS_BEFORE_SUBCOMMANDS, name).unwrap_or(&Options::NONE)) {
        let (globals, rest) = arguments.split_at(at.min(arguments.len()));
        if may_move_words(globals) || may_set_alias(name, globals, rest) {
            worst = worst.max(RuleMatch::Unknown);
        }
        match arguments.get(at) {
            Some(ShellWord::Literal(text)) if text == subcommand => {
                worst = worst.max(match_others(rule, others, &arguments[at + 1..]));
            }
            Some(ShellWord::Literal(_)) | None => {}
            // The subcommand is known only at run time.
            Some(_) => worst = worst.max(RuleMatch::Unknown),
        }
    }
    worst
}

/// Reports whether a command can give a subcommand another name: `git -c alias.p=push p` is `git push`.
fn may_set_alias(name: &str, globals: &[ShellWord], rest: &[ShellWord]) -> bool {
    let sets =
        |text: &str| text.contains("alias.") || name == "git" && (text == "-c" || text.starts_with("--config-env"));
    if globals.iter().filter_map(ShellWord::literal).any(sets) {
        return true;
    }
    let Some((subcommand, operands)) = rest.split_first() else { return false };
    if name != "git" || subcommand.literal() != Some("config") {
        return false;
    }
    // `git config` can set an alias: the first word with a dot is its key or a file. An unknown word before that one
    // can be the key, or the section to rename.
    let is_alias = |word: &ShellWord| word.literal().is_some_and(|text| text.to_ascii_lowercase().starts_with("alias"));
    let is_key = |word: &&ShellWord| word.literal().is_none_or(|text| text.contains('.'));
    operands.iter().any(is_alias) || operands.iter().find(is_key).is_some_and(|word| word.literal().is_none())
}

/// Matches the words of a rule after its subcommand. Options can be anywhere. The other words must be, in order, the
/// first words that are no options.
fn match_others<'r>(rule: &'r [String], others: &[String], arguments: &[ShellWord]) -> RuleMatch<'r> {
    let is_known = arguments.iter().all(|word| word.literal().is_some());
    let (options, expected): (Vec<&String>, Vec<&String>) = others.iter().partition(|word| word.starts_with('-'));
    let has_options = options.iter().all(|option| arguments.iter().any(|word| word.literal() == Some(option)));
    let mut expected = expected.into_iter().peekable();
    let mut may_be_value = false;
    for text in arguments.iter().filter_map(ShellWord::literal) {
        if text.starts_with('-') {
            // Whether this option takes the next word is unknown, so one word after it may be skipped.
            may_be_value = !text.contains('=');
        } else if expected.next_if(|word| *word == text).is_some() || may_be_value {
            may_be_value = false;
        } else {
            break;
        }
    }
    if has_options && expected.next().is_none() {
        return RuleMatch::Matched(rule);
    }
    if is_known { RuleMatch::None } else { RuleMatch::Unknown }
}

/// Options before the subcommand.
pub(super) const OPTIONS_BEFORE_SUBCOMMANDS: &[Options] = &[
    options(
        "git",
        "pPhv",
        "Cc",
        "no-pager paginate bare no-replace-objects literal-pathspecs",
        "git-dir work-tree namespace config-env super-prefix",
        0,
    ),
    options("docker podman", "Dv", "Hcl", "debug tls tlsverify", "host context config log-level connection url", 0),
    options("kubectl helm", "", "ns", "", "namespace context cluster user kubeconfig server token kube-context", 0),
    options("npm pnpm yarn", "sgC", "", "silent global", "prefix registry dir cwd userconfig", 0),
    options("cargo", "vqV", "CZ", "verbose quiet offline locked frozen", "config color manifest-path", 0),
];
