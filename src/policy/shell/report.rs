//! What the rules found on the way through a command, folded to the strictest.

use super::super::{Decision, Judgement, MOST_MET, Met};
use super::scan::Fault;
use crate::ErrorCode;

/// The most simple commands that are shown, and the most characters of each.
const MOST_SHOWN: usize = 64;
const LONGEST_SHOWN: usize = 200;

/// One thing a rule has to say.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) judgement: Judgement,
    pub(super) rule: &'static str,
    pub(super) reason: String,
    pub(super) unreadable: bool,
    pub(super) code: Option<ErrorCode>,
}

impl Finding {
    pub(super) fn ask(rule: &'static str, reason: impl Into<String>) -> Finding {
        Finding { judgement: Judgement::Ask, rule, reason: reason.into(), unreadable: false, code: None }
    }

    pub(super) fn deny(rule: &'static str, reason: impl Into<String>) -> Finding {
        Finding { judgement: Judgement::Deny, ..Finding::ask(rule, reason) }
    }
}

impl From<Fault> for Finding {
    fn from(fault: Fault) -> Finding {
        match fault {
            Fault::TooLarge(reason) => {
                let reason = format!("{reason} Split it, or put it into a script file.");
                Finding { code: Some(ErrorCode::TooLarge), ..Finding::deny("too_large", reason) }
            }
            Fault::Unreadable(reason) => Finding { unreadable: true, ..Finding::ask("unreadable", reason) },
            Fault::Hidden(reason) => Finding { unreadable: true, ..Finding::ask("hidden_text", reason) },
        }
    }
}

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct Report {
    worst: Option<Finding>,
    met: Vec<Met>,
    unreadable: bool,
    commands: Vec<String>,
}

impl Report {
    pub(super) fn note(&mut self, finding: impl Into<Finding>) {
        let finding = finding.into();
        self.unreadable |= finding.unreadable;
        self.keep(&finding);
        if self.worst.as_ref().is_none_or(|worst| finding.judgement > worst.judgement) {
            self.worst = Some(finding);
        }
    }

    fn keep(&mut self, finding: &Finding) {
        let Finding { judgement, rule, reason, .. } = finding;
        let known = self.met.iter().any(|met| met.rule == *rule && met.reason == *reason);
        if !known && self.met.len() < MOST_MET {
            self.met.push(Met { judgement: *judgement, rule: (*rule).to_owned(), reason: reason.clone() });
        }
    }

    pub(super) fn command(&mut self, words: &str) {
        if self.commands.len() < MOST_SHOWN {
            self.commands.push(shown(words, LONGEST_SHOWN));
        }
    }

    /// The decision; with nothing found, every part is known to only read.
    pub(super) fn decide(self) -> Decision {
        let commands = self.commands;
        let Some(worst) = self.worst else {
            return Decision { commands, ..Decision::new(Judgement::Allow, "read_only", "Every part only reads.") };
        };
        let mut decision = Decision::new(worst.judgement, worst.rule, worst.reason);
        decision.unreadable = self.unreadable;
        decision.code = worst.code;
        decision.commands = commands;
        // The one that decided is told even where the list was full before it.
        if self.met.iter().any(|met| met.rule == decision.rule && met.reason == decision.reason) {
            decision.met = self.met;
        } else {
            decision.met.extend(self.met.into_iter().take(MOST_MET - 1));
        }
        decision
    }
}

/// Text as it can be shown: control and format characters escaped, and no more than `most` characters.
pub(in crate::policy) fn shown(text: &str, most: usize) -> String {
    let mut out = String::new();
    for c in text.chars().take(most) {
        if super::scan::deceives(c) || c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    if text.chars().nth(most).is_some() {
        out.push_str("...");
    }
    out
}
