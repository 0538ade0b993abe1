//! What the rules found on the way through a command, folded to the strictest.

use crate::answers::Offer;
use crate::decision::MOST_MET;
use crate::shell::messages;
use crate::shell::shown;
use crate::shell::syntax::Fault;
use crate::{Decision, Judgement, Met, Rule};
use std::collections::HashSet;
use std::ops::Range;
use toolfence_protocol::{ErrorCode, Text};

/// The most simple commands that are shown, and the most characters of each.
const MOST_SHOWN: usize = 64;
const LONGEST_SHOWN: usize = 200;

/// The rule about what is committed: it is in git's own folder, which the sandbox does not hide.
pub(crate) const HISTORY: &str = "history";

/// One thing a rule has to say.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(crate) judgement: Judgement,
    pub(crate) rule: &'static str,
    pub(crate) reason: Text,
    pub(crate) unreadable: bool,
    /// Whether only a person may say yes to it.
    pub(crate) needs_person: bool,
}

impl Finding {
    pub(crate) fn ask(rule: &'static str, reason: impl Into<Text>) -> Finding {
        Finding { judgement: Judgement::Ask, rule, reason: reason.into(), unreadable: false, needs_person: false }
    }

    /// A question that only a person may answer.
    pub(crate) fn ask_person(rule: &'static str, reason: impl Into<Text>) -> Finding {
        Finding { needs_person: true, ..Finding::ask(rule, reason) }
    }

    pub(crate) fn deny(rule: &'static str, reason: impl Into<Text>) -> Finding {
        Finding { judgement: Judgement::Deny, ..Finding::ask(rule, reason) }
    }
}

impl From<Fault> for Finding {
    fn from(fault: Fault) -> Finding {
        match fault {
            Fault::TooLarge(reason) => Finding::deny("too_large", messages::split_it(reason)),
            Fault::Unreadable(reason) => Finding { unreadable: true, ..Finding::ask("unreadable", reason) },
            Fault::Hidden(reason) => Finding { unreadable: true, ..Finding::ask("hidden_text", reason) },
        }
    }
}

/// The findings so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    worst: Option<Finding>,
    met: Vec<Met>,
    /// Rule and reason of each in `met`. To compare two texts both are written out, so each is only looked up.
    known: HashSet<(String, Text)>,
    pub(crate) unreadable: bool,
    pub(crate) needs_person: bool,
    pub(crate) beyond_sandbox: bool,
    commands: Vec<String>,
    /// Where the commands that ask stand in the script, in characters.
    marks: Vec<Range<usize>>,
    offer: Offer,
    /// The last rule that allows a command which is not known to only read.
    allowed_by: Option<&'static str>,
    /// What the commands in it do that were allowed.
    deeds: Deeds,
}

/// What a known command does beside reading.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Deeds {
    /// It wants a project that can be written.
    pub(crate) writes: bool,
    /// It runs code of the project, which the sandbox holds.
    pub(crate) runs: bool,
    /// It writes to the sandbox's private `/tmp`.
    pub(crate) stores: bool,
}

impl Deeds {
    pub(crate) const NOTHING: Deeds = Deeds { writes: false, runs: false, stores: false };
    pub(crate) const WRITES: Deeds = Deeds { writes: true, ..Deeds::NOTHING };
    pub(crate) const RUNS: Deeds = Deeds { runs: true, ..Deeds::WRITES };
    pub(crate) const STORES: Deeds = Deeds { stores: true, ..Deeds::WRITES };

    /// These and others.
    pub(crate) fn and(self, other: Deeds) -> Deeds {
        Deeds { writes: self.writes | other.writes, runs: self.runs | other.runs, stores: self.stores | other.stores }
    }
}

impl Report {
    pub(crate) fn note(&mut self, finding: impl Into<Finding>) {
        let finding = finding.into();
        self.unreadable |= finding.unreadable;
        self.needs_person |= finding.needs_person;
        self.beyond_sandbox |= finding.rule == HISTORY;
        if finding.judgement == Judgement::Ask {
            self.offer.refuse(messages::more_than_plain());
        }
        let Finding { judgement, rule, reason, .. } = &finding;
        self.meet(Met { judgement: *judgement, rule: (*rule).to_owned(), reason: reason.clone(), command: None });
        self.worsen(finding);
    }

    /// Notes what a rule has to say, if it has.
    pub(crate) fn note_any(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.note(finding));
    }

    /// A command in it does this beside reading.
    pub(crate) fn does(&mut self, deeds: Deeds) {
        self.deeds = self.deeds.and(deeds);
    }

    /// What an allowed command does, in a sentence that says no more than is true.
    fn told(&self) -> Text {
        let by_name = self.allowed_by.map(|_| messages::does_by_name());
        let stores = self.deeds.stores.then(messages::does_store);
        let mut done: Vec<Text> =
            [by_name, stores, self.deeds.runs.then(messages::does_run)].into_iter().flatten().collect();
        match (done.pop(), done.is_empty()) {
            (None, _) => messages::only_reads(),
            (Some(last), true) => messages::only_reads_or(last),
            (Some(last), false) => messages::only_reads_or_several(Text::join(done, ", "), last),
        }
    }

    /// The strictest judgement so far.
    pub(crate) fn judgement(&self) -> Judgement {
        self.worst.as_ref().map_or(Judgement::Allow, |worst| worst.judgement)
    }

    fn worsen(&mut self, finding: Finding) {
        if self.worst.as_ref().is_none_or(|worst| finding.judgement > worst.judgement) {
            self.worst = Some(finding);
        }
    }

    fn meet(&mut self, met: Met) {
        if self.met.len() < MOST_MET && self.known.insert((met.rule.clone(), met.reason.clone())) {
            self.met.push(met);
        }
    }

    /// Takes in the report of one command. `offer` is what "always" would store for it.
    pub(crate) fn absorb(&mut self, mut own: Report, offer: Result<Rule, Text>, mark: Option<Range<usize>>) {
        if own.judgement() == Judgement::Ask {
            self.offer.add(offer);
        }
        if own.judgement() > Judgement::Allow && self.marks.len() < MOST_SHOWN {
            self.marks.extend(mark);
        }
        let first = self.commands.len();
        for met in &mut own.met {
            met.command = Some(first + met.command.unwrap_or(0)).filter(|index| *index < MOST_SHOWN);
        }
        self.commands.append(&mut own.commands);
        self.commands.truncate(MOST_SHOWN);
        self.merge(own);
    }

    fn merge(&mut self, own: Report) {
        self.does(own.deeds);
        self.unreadable |= own.unreadable;
        self.needs_person |= own.needs_person;
        self.beyond_sandbox |= own.beyond_sandbox;
        self.allowed_by = own.allowed_by.or(self.allowed_by);
        own.met.into_iter().for_each(|met| self.meet(met));
        own.worst.into_iter().for_each(|worst| self.worsen(worst));
    }

    /// Takes in the report of commands that were met before, for other values of a variable.
    pub(crate) fn absorb_again(&mut self, mut again: Report) {
        if again.judgement() == Judgement::Ask {
            self.offer.refuse(messages::more_than_plain());
        }
        again.met.iter_mut().for_each(|met| met.command = None);
        self.merge(again);
    }

    /// Takes in a command that is allowed by this rule, whatever was found in it.
    pub(crate) fn allow(&mut self, own: Report, rule: &'static str, reason: impl Into<Text>) {
        let command = Some(self.commands.len()).filter(|index| *index < MOST_SHOWN);
        self.meet(Met { judgement: Judgement::Allow, rule: rule.to_owned(), reason: reason.into(), command });
        self.does(own.deeds);
        self.commands.extend(own.commands);
        self.commands.truncate(MOST_SHOWN);
        self.allowed_by = Some(rule);
    }

    pub(crate) fn command(&mut self, words: &str) {
        if self.commands.len() < MOST_SHOWN {
            self.commands.push(shown(words, LONGEST_SHOWN));
        }
    }

    /// The decision; with nothing found, every part is known to only read.
    pub(crate) fn decide(self, script: &str) -> Decision {
        let told = self.told();
        let commands = self.commands;
        let Some(worst) = self.worst else {
            let held = self.deeds.runs || self.deeds.stores;
            let rule = self.allowed_by.unwrap_or(if held { "sandboxed" } else { "read_only" });
            let only_reads = self.allowed_by.is_none() && !self.deeds.writes;
            let decision = Decision::new(Judgement::Allow, rule, told);
            let met = if self.allowed_by.is_some() { self.met } else { decision.met };
            return Decision { commands, only_reads, met, ..decision };
        };
        let mut decision = Decision::new(worst.judgement, worst.rule, worst.reason);
        decision.unreadable = self.unreadable;
        decision.needs_person = self.needs_person;
        decision.code = (worst.rule == "too_large").then_some(ErrorCode::TooLarge);
        decision.commands = commands;
        decision.marks = self.marks.iter().filter_map(|mark| bytes(script, mark)).collect();
        decision.offer = self.offer;
        // The one that decided is told even where the list was full before it.
        if self.known.contains(&(decision.rule.clone(), decision.reason.clone())) {
            decision.met = self.met;
        } else {
            decision.met.extend(self.met.into_iter().take(MOST_MET - 1));
        }
        decision
    }
}

/// A range of characters as a range of bytes.
fn bytes(text: &str, mark: &Range<usize>) -> Option<Range<usize>> {
    let mut starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let start = starts.nth(mark.start)?;
    let length = mark.end.checked_sub(mark.start)?.checked_sub(1)?;
    Some(start..starts.nth(length)?)
}
