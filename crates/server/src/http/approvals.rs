//! Calls that wait for a person: each with the name under which its answer comes, for a finite time.

use super::answer::Trouble;
use super::types::{Approval, ApprovalRequest, Decided, Denial, Edit};
use crate::question::Choices;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::oneshot;
use toolfence_protocol::text;
use toolfence_session::Answer;

/// Characters of a reason that the model is told.
const MOST_OF_REASON: usize = 2000;

/// The calls that wait. `T` is the turn of one, which ends when it is dropped.
pub(super) struct Approvals<T>(Mutex<HashMap<String, Waiting<T>>>);

/// A call that waits.
pub(super) struct Waiting<T> {
    pub(super) answer: oneshot::Sender<Answer>,
    choices: Choices,
    /// Its turn, where no client waits for what comes of it: the one that answers gets it.
    pub(super) turn: Option<T>,
}

impl<T> Default for Approvals<T> {
    fn default() -> Approvals<T> {
        Approvals(Mutex::default())
    }
}

impl<T> Approvals<T> {
    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<String, Waiting<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call waits under this name until what is given is dropped.
    pub(super) fn open(&self, id: &str, choices: Choices, answer: oneshot::Sender<Answer>) -> Open<'_, T> {
        self.all().insert(id.to_owned(), Waiting { answer, choices, turn: None });
        Open { approvals: self, id: id.to_owned() }
    }

    /// Leaves the turn to whoever answers. Where the call does not wait any more the turn ends.
    pub(super) fn leave(&self, id: &str, turn: T) {
        let left = match self.all().get_mut(id) {
            Some(waiting) => waiting.turn.replace(turn),
            None => Some(turn),
        };
        // Not while the map is locked: what is dropped here may hold an approval of its own.
        drop(left);
    }

    /// Takes what waits under this name, with the answer of this request.
    ///
    /// # Errors
    /// Nothing waits, or what waits does not take this answer; then it still waits.
    pub(super) fn answer(&self, id: &str, request: ApprovalRequest) -> Result<(Waiting<T>, Answer, Decided), Trouble> {
        let gone = || {
            Trouble::not_found(text!(
                "No question has the id {id}: it was answered, it expired, or its turn has ended.",
                id
            ))
        };
        let mut all = self.all();
        let (answer, decided) = request.answer(&all.get(id).ok_or_else(gone)?.choices)?;
        Ok((all.remove(id).ok_or_else(gone)?, answer, decided))
    }

    fn take(&self, id: &str) -> Option<Waiting<T>> {
        self.all().remove(id)
    }
}

/// While it lives, the call can be answered.
pub(super) struct Open<'a, T> {
    approvals: &'a Approvals<T>,
    id: String,
}

impl<T> Open<'_, T> {
    /// The turn that was left with the call, if one was. The call cannot be answered any more.
    pub(super) fn expire(&self) -> Option<T> {
        self.approvals.take(&self.id).and_then(|waiting| waiting.turn)
    }
}

impl<T> Drop for Open<'_, T> {
    fn drop(&mut self) {
        drop(self.approvals.take(&self.id));
    }
}

impl ApprovalRequest {
    /// The answer as a turn takes it, and what the client hears of it.
    ///
    /// # Errors
    /// The question does not take it.
    fn answer(self, choices: &Choices) -> Result<(Answer, Decided), Trouble> {
        Ok(match self {
            ApprovalRequest::Approval(Approval { always }) => {
                let answer = choices.approval(always).map_err(|why| Trouble::field("always", why))?;
                (answer, Decided::Approved)
            }
            ApprovalRequest::Edit(Edit { args }) => {
                let answer = choices.edit(args).map_err(|why| Trouble::field("decision", why))?;
                (answer, Decided::Edited)
            }
            ApprovalRequest::Denial(Denial { reason }) => {
                let why = reason.map(|reason| reason.chars().take(MOST_OF_REASON).collect::<String>());
                (Answer::No(why.map_or_else(|| text!("The user said no."), Into::into)), Decided::Denied)
            }
        })
    }
}
