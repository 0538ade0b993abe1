//! How a stream said it ended, read from the wire: `genai` tells the reason only with the closing `[DONE]`, which some
//! servers do not send.

use super::finish_of;
use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef, StopReason};
use std::sync::Mutex;
use toolfence_protocol::FinishReason;

/// What the frames of one stream said of its end.
#[derive(Default)]
pub(super) struct Frames(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    finish: Option<FinishReason>,
    /// The word it was said with.
    reason: String,
    done: bool,
    /// Something came that was no event.
    odd: bool,
}

impl Frames {
    /// How the stream said it ended, if it did.
    pub(super) fn finish(&self) -> Option<FinishReason> {
        let seen = self.0.lock().ok()?;
        seen.finish.or(seen.done.then_some(FinishReason::Stop))
    }

    /// The word for its end, as the server has it; empty if it said none.
    pub(super) fn reason(&self) -> String {
        self.0.lock().map(|seen| seen.reason.clone()).unwrap_or_default()
    }

    /// Whether what came was something else than events, at least in part.
    pub(super) fn are_odd(&self) -> bool {
        self.0.lock().is_ok_and(|seen| seen.odd)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let Ok(mut seen) = self.0.lock() else { return };
        seen.done |= frame.data == "[DONE]";
        seen.odd |= frame.data.is_empty();
        if let Some(word) = reason(frame.data) {
            seen.finish = Some(finish_of(&StopReason::from(word.clone())));
            seen.reason = word;
        }
    }
}

fn reason(frame: &str) -> Option<String> {
    // Nearly every frame has `"finish_reason":null`: a search is cheaper than a second reading of all of them.
    if !frame.contains("finish_reason") || frame.contains("\"finish_reason\":null") {
        return None;
    }
    let frame: serde_json::Value = serde_json::from_str(frame).ok()?;
    frame.pointer("/choices/0/finish_reason")?.as_str().map(str::to_owned)
}
