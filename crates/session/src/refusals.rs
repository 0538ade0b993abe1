//! Answers to calls and blocks that do not run, although no rule denies them.

use toolfence_protocol::{ErrorCode, Text, ToolFailure, ToolResult, text};

/// Why a call or a block of a reply did not run, or did not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The reply broke off inside the block.
    BrokeOff,
    /// The reply broke off inside the block, which continued another one.
    BrokeOffAgain,
    /// The reply broke off inside the block, and the next reply is to continue it.
    ToBeContinued,
    /// The reply should have continued a block and did not.
    NotContinued,
    /// An earlier change or command of the reply failed.
    Skipped,
    /// The user cancelled before the call ran.
    Cancelled,
    /// The user stopped the call while it ran.
    Stopped,
}

impl Refusal {
    const ALL: [Refusal; 7] = [
        Refusal::BrokeOff,
        Refusal::BrokeOffAgain,
        Refusal::ToBeContinued,
        Refusal::NotContinued,
        Refusal::Skipped,
        Refusal::Cancelled,
        Refusal::Stopped,
    ];

    /// Returns the result of a call that was refused for this reason.
    pub fn answer(self, id: &str, tool: &str) -> ToolResult {
        let code = match self {
            Refusal::Skipped | Refusal::Cancelled | Refusal::Stopped => ErrorCode::Cancelled,
            _ => ErrorCode::MalformedCall,
        };
        ToolResult::refused(id, tool, ToolFailure::new(code, self.text()))
    }

    /// Returns the refusal that this failure reports, so that a program can display a message of its own for it.
    pub fn from_failure(failure: &ToolFailure) -> Option<Refusal> {
        let key = failure.message.key()?;
        Refusal::ALL.into_iter().find(|refusal| refusal.text().key() == Some(key))
    }

    /// Returns the message for the model: what happened and what to do.
    fn text(self) -> Text {
        match self {
            Refusal::BrokeOff => text!(
                "The reply broke off inside this block, so it was not run. Send the whole block again from its opening \
                 fence; if it is long, split the work into several smaller calls."
            ),
            Refusal::BrokeOffAgain => text!(
                "The reply broke off inside this block for the second time, so it was not run. Do not continue it: \
                 split the work into several smaller calls, and send the first of them whole, from its opening fence."
            ),
            Refusal::ToBeContinued => text!(
                "The reply broke off inside this block, so it was not run yet. Continue it as the note below says."
            ),
            Refusal::NotContinued => text!(
                "Not run: your reply should have continued a block that broke off, but does not begin with the text to \
                 repeat, so this may be content of that block. Send the whole call again as the first thing of your \
                 reply, from its opening fence; if it is long, split the work into several smaller calls."
            ),
            Refusal::Skipped => text!(
                "Not run: a change or command before it in your reply did not succeed. Look at that result first, then \
                 send this call again if it is still right."
            ),
            Refusal::Cancelled => text!("The user cancelled before it ran. Wait for what the user says next."),
            Refusal::Stopped => {
                text!("The user stopped it while it ran; some of its effects may remain. Check before you continue.")
            }
        }
    }
}
