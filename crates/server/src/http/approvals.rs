//! Calls that wait for the answer of a person. Each has the name under which a client answers, and a time limit.

use super::answer::Trouble;
use super::types::{Approval, ApprovalRequest, Decided, Denial, Edit};
use crate::question::Choices;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::oneshot;
use toolfence_protocol::text;
use toolfence_session::Answer;

/// The most characters of a denial's reason that are sent to the model.
const MOST_OF_REASON: usize = 2000;

/// The waiting calls. `T` is the turn of a call; dropping it ends the turn.
pub(super) struct Approvals<T>(Mutex<HashMap<String, Waiting<T>>>);

/// A call that waits.
pub(super) struct Waiting<T> {
    pub(super) answer: oneshot::Sender<Answer>,
    choices: Choices,
    /// The turn of the call if no client waits for its outcome. The client that answers receives the outcome.
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

    /// Registers a call under this name until the returned guard is dropped.
    pub(super) fn open(&self, id: &str, choices: Choices, answer: oneshot::Sender<Answer>) -> Open<'_, T> {
        self.all().insert(id.to_owned(), Waiting { answer, choices, turn: None });
        Open { approvals: self, id: id.to_owned() }
    }

    /// Leaves the turn to the client that answers. If the call no longer waits, the turn ends.
    pub(super) fn leave(&self, id: &str, turn: T) {
        let left = match self.all().get_mut(id) {
            Some(waiting) => waiting.turn.replace(turn),
            None => Some(turn),
        };
        // Drop after unlocking the map: the turn may hold an approval, whose drop locks the map again.
        drop(left);
    }

    /// Removes the call that waits under this name, and returns it with the answer from the request.
    ///
    /// # Errors
    /// Fails if no call waits under this name, or if the call does not accept this answer. In the second case, it keeps
    /// waiting.
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

/// A guard: the call can be answered until it is dropped.
pub(super) struct Open<'a, T> {
    approvals: &'a Approvals<T>,
    id: String,
}

impl<T> Open<'_, T> {
    /// Withdraws the call, which can no longer be answered, and returns the turn that was left with it.
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
    /// Returns the answer for the turn, and the decision that is reported to the client.
    ///
    /// # Errors
    /// Fails if the question does not accept this answer.
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
