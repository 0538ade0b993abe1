//! The calls of one reply, judged and answered in their order.
//!
//! This module knows no messages and no rounds. It says what to do next and takes what came of it.

use super::refusals::Refusal;
use super::reply::Item;
use std::collections::HashSet;
use std::sync::Arc;
use toolfence_policy::{Cleared, Facts, Pending, Policy, Verdict};
use toolfence_protocol::{Catalog, Effect, ErrorCode, ToolCall, ToolResult};

/// Who says what a call can do and whether it may.
pub(super) struct Judge {
    pub(super) catalog: Arc<Catalog>,
    pub(super) policy: Policy,
    pub(super) facts: Arc<dyn Facts>,
}

impl Judge {
    fn review(&mut self, call: &ToolCall) -> Verdict {
        self.policy.review(call.clone(), &self.catalog, &*self.facts)
    }

    /// What the call could do as it is written; what nobody knows counts as Execute.
    fn effect(&self, call: &ToolCall) -> Effect {
        let mut taught = call.clone();
        if let Ok(spec) = self.catalog.resolve(&mut taught) {
            return spec.effect_of(&taught.args);
        }
        self.catalog.find(&call.name).map_or(Effect::Execute, |spec| spec.effect_of(&call.args))
    }

    /// The server that runs a call, for a tool of another program: the first part of `server.tool`.
    fn server(&self, call: &ToolCall) -> Option<String> {
        let spec = self.catalog.find(&call.name).filter(|spec| spec.served)?;
        spec.name.split_once('.').map(|(server, _)| server.to_owned())
    }
}

/// What is to be done next.
pub(super) enum Step {
    Run(Cleared),
    Ask(Pending),
    /// The answer to the next call in order is known.
    Answered(ToolResult),
    /// Nothing until a result or an answer comes.
    Wait,
    /// Every call is answered and told.
    Done,
}

/// A call with its answer, as the loop guard looks at it.
pub(super) struct Outcome<'a> {
    /// `None` for a block that could not be read.
    pub(super) call: Option<&'a ToolCall>,
    pub(super) effect: Effect,
    /// Whether it was cleared.
    pub(super) ran: bool,
    pub(super) result: &'a ToolResult,
}

struct Slot {
    call: Option<ToolCall>,
    effect: Effect,
    server: Option<String>,
    cleared: bool,
    answer: Option<ToolResult>,
}

/// The calls of one reply.
pub(super) struct Work {
    slots: Vec<Slot>,
    /// The first that is not handed out or answered yet.
    next: usize,
    /// The first whose answer is not told yet.
    told: usize,
    running: usize,
    /// What runs is a change, or was asked about: nothing may run beside it.
    alone: bool,
    asked: bool,
    /// A change or command failed: later ones are cancelled.
    broken: bool,
    /// The servers of which a call failed. Only later calls of the same server are cancelled: other servers, files and
    /// commands do not depend on it.
    broken_servers: HashSet<String>,
    /// The person said no to one of several calls. What asked is answered by the person too, and what would run without a question
    /// was not among those that the person saw.
    passed_over: bool,
    /// Something ran that may have changed something.
    changed: bool,
}

impl Work {
    pub(super) fn new(items: Vec<Item>) -> Work {
        let slots = items.into_iter().map(slot).collect();
        Work {
            slots,
            next: 0,
            told: 0,
            running: 0,
            alone: false,
            asked: false,
            broken: false,
            broken_servers: HashSet::new(),
            passed_over: false,
            changed: false,
        }
    }

    /// What is to be done next, where at most `side_by_side` calls run at a time.
    pub(super) fn step(&mut self, judge: &mut Judge, side_by_side: usize) -> Step {
        loop {
            if let Some(result) = self.slots.get(self.told).and_then(|slot| slot.answer.clone()) {
                self.told += 1;
                return Step::Answered(result);
            }
            if self.told == self.slots.len() {
                return Step::Done;
            }
            let blocked = self.alone && self.running > 0;
            if self.asked || blocked || self.running >= side_by_side || self.next == self.slots.len() {
                return Step::Wait;
            }
            if let Some(step) = self.judge(judge) {
                return step;
            }
        }
    }

    /// What came of a call that runs.
    pub(super) fn result(&mut self, result: ToolResult) {
        let waits = |slot: &Slot| slot.cleared && slot.answer.is_none() && slot.is(&result.id);
        let Some(index) = self.slots[..self.next].iter().position(waits) else { return };
        self.running -= 1;
        self.answer(index, result);
    }

    /// The person said yes to the call that was asked about.
    pub(super) fn approved(&mut self, cleared: Cleared) -> Option<Cleared> {
        if !self.is_asked(&cleared.call().id) {
            return None;
        }
        self.asked = false;
        let cleared = self.start(cleared);
        self.alone = true;
        Some(cleared)
    }

    /// The person said no.
    pub(super) fn denied(&mut self, result: ToolResult) {
        if self.is_asked(&result.id) {
            self.asked = false;
            self.answer_next(result);
        }
    }

    /// The person said no to this one, and chose what becomes of the others.
    pub(super) fn skipped(&mut self, result: ToolResult) {
        if self.is_asked(&result.id) {
            self.asked = false;
            self.passed_over = true;
            self.pass_over(result);
        }
    }

    /// Answers the next call as one that does not run, although nothing went wrong.
    fn pass_over(&mut self, result: ToolResult) {
        self.slots[self.next].answer = Some(result);
        self.next += 1;
    }

    /// The calls behind the one that is asked about which would ask too.
    pub(super) fn asked_later(&self, judge: &mut Judge) -> Vec<Pending> {
        /// More than a person looks at in one question.
        const MOST: usize = 16;
        let later = if self.asked { self.slots.get(self.next + 1..).unwrap_or_default() } else { &[] };
        let asks = |call: &ToolCall| match judge.review(call) {
            Verdict::Ask(pending) => Some(pending),
            _ => None,
        };
        later.iter().filter_map(|slot| slot.call.as_ref()).take(MOST).filter_map(asks).collect()
    }

    /// The person changed the call: it is judged again.
    pub(super) fn edited(&mut self, call: ToolCall) {
        if self.is_asked(&call.id) {
            self.asked = false;
            self.slots[self.next].call = Some(call);
        }
    }

    /// Answers what is not answered; gives the answers that were not told yet.
    pub(super) fn cancel(&mut self) -> Vec<ToolResult> {
        for slot in &mut self.slots {
            if let (None, Some(call)) = (&slot.answer, &slot.call) {
                slot.answer = Some({
                    let why = if slot.cleared { Refusal::Stopped } else { Refusal::Cancelled };
                    why.answer(&call.id, &call.name)
                });
            }
        }
        let untold = self.slots[self.told..].iter().filter_map(|slot| slot.answer.clone()).collect();
        self.told = self.slots.len();
        untold
    }

    /// The calls that are answered, in order.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = Outcome<'_>> {
        self.slots.iter().filter_map(|slot| {
            let (call, effect, ran) = (slot.call.as_ref(), slot.effect, slot.cleared);
            slot.answer.as_ref().map(|result| Outcome { call, effect, ran, result })
        })
    }

    /// The calls, with the names that the catalog teaches, and the answers to them and to unreadable blocks, both in order.
    pub(super) fn into_calls_and_results(self, catalog: &Catalog) -> (Vec<ToolCall>, Vec<ToolResult>) {
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for slot in self.slots {
            if let Some(mut call) = slot.call {
                // A call with wrong arguments was answered with an error, so it is kept as it is.
                let _ = catalog.resolve(&mut call);
                calls.push(call);
            }
            results.extend(slot.answer);
        }
        (calls, results)
    }

    /// Whether a call ran that may have changed something.
    pub(super) fn has_changed(&self) -> bool {
        self.changed
    }

    /// Nothing in the reply could be read as a call that may be tried.
    pub(super) fn is_bad(&self) -> bool {
        let unread = |result: &ToolResult| result.error.as_ref().is_some_and(|e| e.code == ErrorCode::MalformedCall);
        self.outcomes().all(|outcome| unread(outcome.result))
    }

    /// Reads go out side by side; whatever changes or asks waits until it is alone. `None`: the call is answered already.
    fn judge(&mut self, judge: &mut Judge) -> Option<Step> {
        let Some(call) = &self.slots[self.next].call else {
            self.broken = true;
            self.next += 1;
            return None;
        };
        let effect = judge.effect(call);
        if effect != Effect::Read && self.running > 0 {
            return Some(Step::Wait);
        }
        let server = judge.server(call);
        let is_cancelled = self.broken || server.as_ref().is_some_and(|server| self.broken_servers.contains(server));
        if effect != Effect::Read && is_cancelled {
            let result = Refusal::Skipped.answer(&call.id, &call.name);
            (self.slots[self.next].effect, self.slots[self.next].server) = (effect, server);
            self.answer_next(result);
            return None;
        }
        let verdict = judge.review(call);
        self.slots[self.next].server = server;
        let Some(call) = &self.slots[self.next].call else { return None };
        match verdict {
            Verdict::Ask(_) if self.running > 0 => Some(Step::Wait),
            Verdict::Cleared(_) if self.passed_over && effect != Effect::Read => {
                let result = Refusal::Skipped.answer(&call.id, &call.name);
                self.slots[self.next].effect = effect;
                self.pass_over(result);
                None
            }
            verdict => self.follow(verdict, effect),
        }
    }

    fn follow(&mut self, verdict: Verdict, effect: Effect) -> Option<Step> {
        self.slots[self.next].effect = effect;
        match verdict {
            Verdict::Cleared(cleared) => Some(Step::Run(self.start(cleared))),
            Verdict::Ask(pending) => {
                self.asked = true;
                Some(Step::Ask(pending))
            }
            Verdict::Denied(result) => {
                self.answer_next(result);
                None
            }
        }
    }

    fn start(&mut self, cleared: Cleared) -> Cleared {
        let slot = &mut self.slots[self.next];
        slot.cleared = true;
        slot.effect = cleared.effect();
        self.alone = slot.effect != Effect::Read;
        // A confined command has changed the project only if its result names kept changes.
        self.changed |= cleared.may_change() && !cleared.decision().is_confined;
        self.running += 1;
        self.next += 1;
        cleared
    }

    fn answer_next(&mut self, result: ToolResult) {
        self.next += 1;
        self.answer(self.next - 1, result);
    }

    fn answer(&mut self, index: usize, result: ToolResult) {
        let slot = &mut self.slots[index];
        self.changed |= lists_changes(&result, "kept");
        if (!result.success || lists_changes(&result, "not_kept")) && slot.effect != Effect::Read {
            match &slot.server {
                Some(server) => _ = self.broken_servers.insert(server.clone()),
                None => self.broken = true,
            }
        }
        slot.answer = Some(result);
    }

    fn is_asked(&self, id: &str) -> bool {
        self.asked && self.slots.get(self.next).is_some_and(|slot| slot.is(id))
    }
}

impl Slot {
    fn is(&self, id: &str) -> bool {
        self.call.as_ref().is_some_and(|call| call.id == id)
    }
}

/// Returns `true` if a list of the changes that a command made on its private copy of the project has any: `kept` or `not_kept`.
fn lists_changes(result: &ToolResult, list: &str) -> bool {
    let paths = result.data.as_ref().and_then(|data| data["changes"][list].as_array());
    paths.is_some_and(|paths| !paths.is_empty())
}

fn slot(item: Item) -> Slot {
    match item {
        Item::Call(call) => {
            Slot { call: Some(call), effect: Effect::Execute, server: None, cleared: false, answer: None }
        }
        Item::Broken(answer) => {
            Slot { call: None, effect: Effect::Execute, server: None, cleared: false, answer: Some(answer) }
        }
    }
}
