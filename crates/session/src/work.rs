//! Judges the calls of one reply and collects their answers in order.
//!
//! This module handles neither messages nor rounds. It returns the next step and takes the results.

use super::refusals::Refusal;
use super::reply::Item;
use std::collections::HashSet;
use std::sync::Arc;
use toolfence_policy::{ClearedCall, Facts, Pending, Policy, Verdict};
use toolfence_protocol::{Catalog, Effect, ErrorCode, ToolCall, ToolResult};

/// Determines the effect of a call and whether it may run.
pub(super) struct Judge {
    pub(super) catalog: Arc<Catalog>,
    pub(super) policy: Policy,
    pub(super) facts: Arc<dyn Facts>,
}

impl Judge {
    fn review(&mut self, call: &ToolCall) -> Verdict {
        self.policy.review(call.clone(), &self.catalog, &*self.facts)
    }

    /// Returns the effect of the call as it is written. A call of an unknown tool counts as `Execute`.
    fn effect(&self, call: &ToolCall) -> Effect {
        let mut canonical = call.clone();
        if let Ok(spec) = self.catalog.resolve(&mut canonical) {
            return spec.effect_of(&canonical.args);
        }
        self.catalog.find(&call.name).map_or(Effect::Execute, |spec| spec.effect_of(&call.args))
    }

    /// Returns the server that runs a call, for a tool of another program: the first part of `server.tool`.
    fn server(&self, call: &ToolCall) -> Option<String> {
        let spec = self.catalog.find(&call.name).filter(|spec| spec.served)?;
        spec.name.split_once('.').map(|(server, _)| server.to_owned())
    }
}

/// The next step.
pub(super) enum Step {
    Run(ClearedCall),
    Ask(Pending),
    /// The answer to the next call in order.
    Answered(ToolResult),
    /// Wait for a result or an answer.
    Wait,
    /// Every answer was returned.
    Done,
}

/// A call with its answer, for the loop guard.
pub(super) struct Outcome<'a> {
    /// `None` for a block that could not be read.
    pub(super) call: Option<&'a ToolCall>,
    pub(super) effect: Effect,
    /// Whether it was cleared to run.
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
    /// The index of the first slot that is neither started nor answered.
    next: usize,
    /// The index of the first slot whose answer was not returned yet.
    reported: usize,
    running: usize,
    /// Whether the running call is a change or was approved by a person, so that no other may run at the same time.
    alone: bool,
    asked: bool,
    /// Whether a change or command failed, which cancels later ones.
    broken: bool,
    /// Servers with a failed call. Only later calls of the same server are cancelled, because other servers, files and
    /// commands do not depend on it.
    broken_servers: HashSet<String>,
    /// Whether the person skipped one of several calls. Later calls that need approval are decided by the person too.
    /// Calls that would run without approval are not, because the person did not see them among the choices.
    was_skipped: bool,
    /// Whether a call ran that may have changed something.
    changed: bool,
}

impl Work {
    pub(super) fn new(items: Vec<Item>) -> Work {
        let slots = items.into_iter().map(new_slot).collect();
        Work {
            slots,
            next: 0,
            reported: 0,
            running: 0,
            alone: false,
            asked: false,
            broken: false,
            broken_servers: HashSet::new(),
            was_skipped: false,
            changed: false,
        }
    }

    /// Returns the next step, with at most `side_by_side` calls running at a time.
    pub(super) fn step(&mut self, judge: &mut Judge, side_by_side: usize) -> Step {
        loop {
            // Results may arrive in any order. Return them in the order of the reply.
            if let Some(result) = self.slots.get(self.reported).and_then(|slot| slot.answer.clone()) {
                self.reported += 1;
                return Step::Answered(result);
            }
            if self.reported == self.slots.len() {
                return Step::Done;
            }
            let blocked = self.alone && self.running > 0;
            // An open question blocks the later calls, because a denial cancels them.
            if self.asked || blocked || self.running >= side_by_side || self.next == self.slots.len() {
                return Step::Wait;
            }
            if let Some(step) = self.judge_next(judge) {
                return step;
            }
        }
    }

    /// Records the result of a running call.
    pub(super) fn record_result(&mut self, result: ToolResult) {
        let waits = |slot: &Slot| slot.cleared && slot.answer.is_none() && slot.has_id(&result.id);
        let Some(index) = self.slots[..self.next].iter().position(waits) else { return };
        self.running -= 1;
        self.answer(index, result);
    }

    /// Starts the call that the person approved.
    pub(super) fn approve(&mut self, cleared: ClearedCall) -> Option<ClearedCall> {
        if !self.is_asked(&cleared.call().id) {
            return None;
        }
        self.asked = false;
        let cleared = self.start(cleared);
        self.alone = true;
        Some(cleared)
    }

    /// Answers the call that the person denied.
    pub(super) fn deny(&mut self, result: ToolResult) {
        if self.is_asked(&result.id) {
            self.asked = false;
            self.answer_next(result);
        }
    }

    /// Answers the call that the person skipped while deciding about the others one by one.
    pub(super) fn skip(&mut self, result: ToolResult) {
        if self.is_asked(&result.id) {
            self.asked = false;
            self.was_skipped = true;
            self.skip_next(result);
        }
    }

    /// Answers the next call as one that does not run, without counting it as a failure.
    fn skip_next(&mut self, result: ToolResult) {
        self.slots[self.next].answer = Some(result);
        self.next += 1;
    }

    /// Returns the calls after the pending one that would need approval too.
    pub(super) fn asked_later(&self, judge: &mut Judge) -> Vec<Pending> {
        /// The maximum number of calls that fit into one question.
        const MOST: usize = 16;
        // The slot at `next` is the call in question.
        let later = if self.asked { self.slots.get(self.next + 1..).unwrap_or_default() } else { &[] };
        let asks = |call: &ToolCall| match judge.review(call) {
            Verdict::Ask(pending) => Some(pending),
            _ => None,
        };
        later.iter().filter_map(|slot| slot.call.as_ref()).take(MOST).filter_map(asks).collect()
    }

    /// Replaces the arguments of the pending call, which is judged again.
    pub(super) fn edit(&mut self, call: ToolCall) {
        if self.is_asked(&call.id) {
            self.asked = false;
            self.slots[self.next].call = Some(call);
        }
    }

    /// Answers all open calls as cancelled and returns the answers that were not returned yet.
    pub(super) fn cancel(&mut self) -> Vec<ToolResult> {
        for slot in &mut self.slots {
            if let (None, Some(call)) = (&slot.answer, &slot.call) {
                slot.answer = Some({
                    let why = if slot.cleared { Refusal::Stopped } else { Refusal::Cancelled };
                    why.answer(&call.id, &call.name)
                });
            }
        }
        let unreported = self.slots[self.reported..].iter().filter_map(|slot| slot.answer.clone()).collect();
        self.reported = self.slots.len();
        unreported
    }

    /// Returns the answered calls in order.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = Outcome<'_>> {
        self.slots.iter().filter_map(|slot| {
            let (call, effect, ran) = (slot.call.as_ref(), slot.effect, slot.cleared);
            slot.answer.as_ref().map(|result| Outcome { call, effect, ran, result })
        })
    }

    /// Returns the calls with their canonical names, and the answers to them and to unreadable blocks, both in order.
    pub(super) fn into_calls_and_results(self, catalog: &Catalog) -> (Vec<ToolCall>, Vec<ToolResult>) {
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for slot in self.slots {
            if let Some(mut call) = slot.call {
                // A call with wrong arguments was answered with an error, so it is kept unchanged.
                let _ = catalog.resolve(&mut call);
                calls.push(call);
            }
            results.extend(slot.answer);
        }
        (calls, results)
    }

    /// Returns `true` if a call ran that may have changed something.
    pub(super) fn has_changed(&self) -> bool {
        self.changed
    }

    /// Returns `true` if every block of the reply was unreadable.
    pub(super) fn is_bad(&self) -> bool {
        let unread = |result: &ToolResult| result.error.as_ref().is_some_and(|e| e.code == ErrorCode::MalformedCall);
        self.outcomes().all(|outcome| unread(outcome.result))
    }

    /// Judges the next call. Reads run side by side; a call that changes something or needs approval waits until no
    /// other runs. Returns `None` if the call was answered at once.
    fn judge_next(&mut self, judge: &mut Judge) -> Option<Step> {
        let Some(call) = &self.slots[self.next].call else {
            // An unreadable block may have been a change that the later calls need.
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
        // Review each call only when it is next: earlier calls may have changed its files, and their approvals the
        // rules.
        let verdict = judge.review(call);
        self.slots[self.next].server = server;
        let Some(call) = &self.slots[self.next].call else { return None };
        match verdict {
            // This verdict is dropped. The call is reviewed again when no other call runs.
            Verdict::Ask(_) if self.running > 0 => Some(Step::Wait),
            Verdict::Cleared(_) if self.was_skipped && effect != Effect::Read => {
                let result = Refusal::Skipped.answer(&call.id, &call.name);
                self.slots[self.next].effect = effect;
                self.skip_next(result);
                None
            }
            verdict => self.apply_verdict(verdict, effect),
        }
    }

    fn apply_verdict(&mut self, verdict: Verdict, effect: Effect) -> Option<Step> {
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

    fn start(&mut self, cleared: ClearedCall) -> ClearedCall {
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
        self.asked && self.slots.get(self.next).is_some_and(|slot| slot.has_id(id))
    }
}

impl Slot {
    fn has_id(&self, id: &str) -> bool {
        self.call.as_ref().is_some_and(|call| call.id == id)
    }
}

/// Returns `true` if the result lists changes under `kept` or `not_kept`, which a command made on its private copy of
/// the project.
fn lists_changes(result: &ToolResult, list: &str) -> bool {
    let paths = result.data.as_ref().and_then(|data| data["changes"][list].as_array());
    paths.is_some_and(|paths| !paths.is_empty())
}

fn new_slot(item: Item) -> Slot {
    match item {
        Item::Call(call) => {
            Slot { call: Some(call), effect: Effect::Execute, server: None, cleared: false, answer: None }
        }
        Item::Broken(answer) => {
            Slot { call: None, effect: Effect::Execute, server: None, cleared: false, answer: Some(answer) }
        }
    }
}
