//! Decides about a command: deny rules, blocked names, the settings, and the short table for hosts without a sandbox.

use super::block_list::{MAX_FOLDERS, display, find_blocked, find_fork_bomb, list_folders};
use super::blocked_names::{find_blocked_name, find_doubt};
use super::commands::{CommandList, ListedCommand};
use super::deny::{RuleMatch, match_rules};
use super::harmless::is_harmless;
use super::parse::ShellWord;
use super::{Confinement, Ground, MAX_BYTES};
use crate::answers::{ANSWERED, Rule, quoted};
use crate::decision::{Decision, Judgement, MAX_MET, Met, Question};
use crate::settings::CommandRule;
use crate::shown::{deceives, escape};
use std::ops::Range;
use toolfence_protocol::{ErrorCode, Text, text};

/// The rule that lets a command run without a sandbox.
pub(crate) const HARMLESS: &str = "harmless";

/// The rule that asks before a command changes the files of the project itself.
pub(crate) const WRITES: &str = "write_access";

/// Maximum number of commands in a text that runs without a sandbox and without a question.
const MAX_HARMLESS: usize = 100;

/// Maximum number of words to look up as names of files, counted once for each folder.
const MAX_LOOKUPS: usize = 4_000;

/// Maximum number of commands in a decision.
const MAX_LISTED: usize = 64;

/// Judges a command that runs in `cwd`, a folder relative to the root. For a command that is fully confined, only rules
/// that deny count, and the user's rules if it cannot be read.
pub(crate) fn judge(command: &str, cwd: &str, ground: Ground<'_>, confinement: Confinement) -> Decision {
    if command.len() > MAX_BYTES {
        let reason = text!(
            "The command has {count} bytes; the limit is {limit}. Split it, or put it into a script file.",
            count = command.len(),
            limit = MAX_BYTES
        );
        return Decision { code: Some(ErrorCode::TooLarge), ..Decision::new(Judgement::Deny, "too_large", reason) };
    }
    // First, what denies or may deny; only if nothing does, what allows.
    let list = CommandList::read(command);
    let question = Question::Right;
    let mut findings = Findings { command, question, all: Vec::new(), marks: Vec::new() };
    find_denied(&list, cwd, ground, &mut findings);
    let rules = &ground.settings.commands;
    let has_rules = !rules.deny.is_empty() || !rules.only.is_empty();
    // The user approves what the terminal displays, so invisible characters count like unreadable text.
    let is_hidden = command.chars().any(deceives);
    if has_rules && (!list.is_complete || is_hidden) {
        findings.add(Judgement::Ask, "unreadable", unread(&list, is_hidden), None);
    }
    if findings.worst() == Judgement::Allow {
        find_permission(&list, cwd, ground, confinement, is_hidden, &mut findings);
    } else {
        // A rule of the user may deny this command, so no mode may answer for the user.
        findings.question = Question::Person;
    }
    let question = findings.question;
    let mut decision = findings.decide();
    decision.commands =
        list.commands.iter().filter(|it| it.is_outer).take(MAX_LISTED).map(|it| line_of(it, command)).collect();
    decision.question = question;
    if decision.judgement == Judgement::Ask {
        match question {
            Question::Changes => decision.offer.add(Ok::<_, Text>(Rule::changes(command, cwd))),
            Question::Right => decision.offer.add(Ok::<_, Text>(Rule::command(command, cwd))),
            Question::Outside | Question::Person => {}
        }
    }
    decision
}

/// Adds the rules that deny the command in every mode.
fn find_denied(list: &CommandList, cwd: &str, ground: Ground<'_>, findings: &mut Findings<'_>) {
    let rules = &ground.settings.commands;
    let mut folders = list_folders(cwd, &list.commands);
    // Each word is looked up in each folder. If that is too much, the first folder alone is tried, or none: in the
    // sandbox blocked files are absent, and without one `find_permission` asks.
    if !can_look_up(list, &folders) {
        folders.truncate(1);
    }
    let can_look_up = can_look_up(list, &folders);
    // A text with a function is unreadable, so a fork bomb is recognised by its text.
    if let Some(reason) = find_fork_bomb(findings.command).filter(|_| list.unreadable.is_some()) {
        findings.add(Judgement::Deny, "blocked_command", reason, None);
    }
    for command in &list.commands {
        if let Some(reason) = find_blocked(command, &folders) {
            findings.add(Judgement::Deny, "blocked_command", reason, Some(command));
        }
        let blocked = if can_look_up { find_blocked_name(command, ground, &folders) } else { None };
        if let Some(reason) = blocked {
            findings.add(Judgement::Deny, "blocked_path", reason, Some(command));
        }
        match match_rules(rules.deny.iter().map(CommandRule::words), &command.words) {
            RuleMatch::Matched(words) => {
                let reason = text!("The settings deny commands that begin with {rule}.", rule = in_quotes(words));
                findings.add(Judgement::Deny, "commands.deny", reason, Some(command));
            }
            RuleMatch::Unknown => {
                let reason = text!("A part of the command that is known only when it runs could match a deny rule.");
                findings.add(Judgement::Ask, "unreadable", reason, Some(command));
            }
            RuleMatch::None => {}
        }
        let is_listed = |rule: &CommandRule| rule.is_prefix_of(command.words.iter().map(ShellWord::literal));
        // With an assignment, a listed name can mean another program: `PATH=. ls`.
        let is_plain = command.parsed.assignments.is_empty() && rules.only.iter().any(is_listed);
        let is_redirection_alone = command.words.is_empty() && command.parsed.assignments.is_empty();
        if !(rules.only.is_empty() || is_plain || is_redirection_alone) {
            let reason = text!("`commands.only` does not list this command.");
            findings.add(Judgement::Deny, "commands.only", reason, Some(command));
        }
    }
}

/// Reports whether each word can be looked up in each folder.
fn can_look_up(list: &CommandList, folders: &[String]) -> bool {
    let words: usize = list.commands.iter().map(|command| command.words.len()).sum();
    words.saturating_mul(folders.len()) <= MAX_LOOKUPS
}

/// Adds why the command may run, or why the user is asked.
fn find_permission(
    list: &CommandList,
    cwd: &str,
    ground: Ground<'_>,
    confinement: Confinement,
    is_hidden: bool,
    findings: &mut Findings<'_>,
) {
    if ground.answers.contains(&Rule::command(findings.command, cwd)) {
        let reason = text!("You allowed exactly this command for the session.");
        return findings.add(Judgement::Allow, ANSWERED, reason, None);
    }
    let is_readable = list.is_complete && !is_hidden;
    if is_readable && !list.commands.is_empty() && list.commands.iter().all(|command| is_allowed(command, ground)) {
        let reason = text!("The settings allow it.");
        return findings.add(Judgement::Allow, "commands.allow", reason, None);
    }
    let folders = list_folders(cwd, &list.commands);
    let is_short = !list.has_loops && list.commands.len() <= MAX_HARMLESS && folders.len() < MAX_FOLDERS;
    // The sandbox also confines a text that cannot be read, so this precedes the check for such texts.
    if confinement == Confinement::Full {
        let reason = text!("The sandbox confines it.");
        return findings.add(Judgement::Allow, "sandbox", reason, None);
    }
    if confinement == Confinement::ProjectWritable {
        let rule = Rule::changes(findings.command, cwd);
        let is_harmless =
            |command: &ListedCommand| is_allowed(command, ground) || is_harmless(command, ground, &folders);
        if ground.answers.contains(&rule) {
            let reason = text!("You allowed exactly this command for the session.");
            findings.add(Judgement::Allow, ANSWERED, reason, None);
        } else if is_readable && is_short && list.commands.iter().all(is_harmless) {
            findings.add(Judgement::Allow, HARMLESS, text!("It only reads files of the project."), None);
        } else {
            findings.question = Question::Changes;
            findings.add(Judgement::Ask, WRITES, text!("The command may change files of the project."), None);
        }
        return;
    }
    if !is_readable {
        findings.question = Question::Person;
        return findings.add(Judgement::Ask, "unreadable", unread(list, is_hidden), None);
    }
    // Words that were not looked up can name blocked files, and no sandbox hides these files.
    if !can_look_up(list, &folders) {
        findings.question = Question::Person;
        let reason = text!("The command has too many words to compare each with the names of blocked files.");
        return findings.add(Judgement::Ask, "unreadable", reason, None);
    }
    for command in &list.commands {
        if let Some(reason) = find_doubt(command, ground, &folders) {
            findings.question = Question::Person;
            findings.add(Judgement::Ask, "blocked_path", reason, Some(command));
        } else if !is_allowed(command, ground) && (!is_short || !is_harmless(command, ground, &folders)) {
            let reason = text!(
                "{command} is not on the short list of commands that run without a sandbox.",
                command = escape(&line_of(command, findings.command), 80)
            );
            findings.add(Judgement::Ask, "no_sandbox", reason, Some(command));
        }
    }
    if findings.worst() == Judgement::Allow {
        findings.add(Judgement::Allow, HARMLESS, text!("It only reads files of the project."), None);
    }
}

/// Reports whether a rule of the settings allows a command. Redirections to files and assignments are not part of a
/// rule.
fn is_allowed(command: &ListedCommand, ground: Ground<'_>) -> bool {
    let has_more = !command.parsed.assignments.is_empty()
        || command.parsed.redirections.iter().any(|it| {
            it.target.literal().is_none_or(|target| {
                // `cargo test > file` writes a file that the rule `cargo test` does not name; `2>&1` writes none.
                target != "/dev/null" && !(it.operator == ">&" && target.bytes().all(|byte| byte.is_ascii_digit()))
            })
        });
    let words = || command.words.iter().map(ShellWord::literal);
    !has_more
        && words().all(|word| word.is_some())
        && ground.settings.commands.allow.iter().any(|rule| rule.is_prefix_of(words()))
}

fn unread(list: &CommandList, is_hidden: bool) -> Text {
    match list.unreadable {
        _ if is_hidden => text!("The command has invisible or control characters."),
        Some(construct) => text!("The command cannot be read with certainty: {construct}.", construct),
        None => text!("The command starts a program that is known only when it runs."),
    }
}

/// Formats a command for display: its text, or its words if they are not contiguous in the text.
fn line_of(command: &ListedCommand, text: &str) -> String {
    if let Some(line) = command.span(text).and_then(|span| text.get(span)).filter(|line| !line.contains('\n')) {
        return escape(line, 200);
    }
    let word = |word: &ShellWord| match word {
        ShellWord::Literal(text) => quoted(text),
        other => display(other),
    };
    let parsed = &command.parsed;
    let assignments = parsed.assignments.iter().map(|it| format!("{}={}", it.name, word(&it.value)));
    let redirections = parsed.redirections.iter().map(|it| match it.operator {
        "<<" => "<<..".to_owned(),
        operator => format!("{operator}{}", word(&it.target)),
    });
    let words: Vec<String> = assignments.chain(command.words.iter().map(word)).chain(redirections).collect();
    escape(&words.join(" "), 200)
}

fn in_quotes(words: &[String]) -> String {
    format!("{:?}", escape(&words.join(" "), 80))
}

/// The findings of the rules, in the order of the commands.
struct Findings<'c> {
    command: &'c str,
    question: Question,
    all: Vec<Met>,
    marks: Vec<Range<usize>>,
}

impl Findings<'_> {
    fn add(&mut self, judgement: Judgement, rule: &str, reason: Text, command: Option<&ListedCommand>) {
        let met = Met { judgement, rule: rule.to_owned(), reason };
        // A full list must not lack the strictest rule, so that rule replaces the last one.
        if self.all.len() == MAX_MET && judgement > self.worst() {
            self.all.pop();
        }
        if self.all.len() < MAX_MET && !self.all.contains(&met) {
            self.all.push(met);
        }
        let span = command.and_then(|command| command.span(self.command));
        if let Some(span) = span.filter(|span| self.marks.len() < MAX_MET && !self.marks.contains(span)) {
            self.marks.push(span);
        }
    }

    fn worst(&self) -> Judgement {
        self.all.iter().map(|met| met.judgement).max().unwrap_or(Judgement::Allow)
    }

    fn decide(self) -> Decision {
        let worst = self.worst();
        let Some(first) = self.all.iter().find(|met| met.judgement == worst) else {
            return Decision::new(Judgement::Allow, HARMLESS, text!("It runs no program."));
        };
        let mut decision = Decision::new(worst, first.rule.clone(), first.reason.clone());
        decision.met = self.all;
        decision.marks = self.marks;
        decision
    }
}
