//! Builds the messages of a request from the history: all of it, or its [compacted](super::compact) form if it does not
//! fit.
//!
//! The history itself never changes, so that a compaction can be undone. The session cannot count tokens; it estimates
//! them from bytes, with the ratio of the backend's last count.

use super::compact::{self, Context, View};
use super::ids::Ids;
use super::turn::{Entry, Part, add_replies, entries};
use super::{Action, Note, Session, State};
use serde::Serialize;
use toolfence_protocol::{Image, Message, Role, text};

/// Bytes per thousand tokens until a backend reports a count: 3.5 per token, as in code and English prose.
const USUAL_RATIO: u64 = 3500;

/// Bounds of the ratio, in case a backend reports a wrong count.
const RATIOS: std::ops::RangeInclusive<u64> = 500..=20_000;

/// Tokens that every model can read.
const SHORT: u64 = 2000;

/// The target size of compaction in per cent of the window, small enough that the next reply does not need another one.
const TARGET: u64 = 50;

/// The maximum number of bytes of images in a request, not counting those of the newest message. Servers refuse much
/// larger requests.
const MOST_OF_IMAGES: usize = 20 << 20;

/// The result of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Compacted {
    /// Estimated tokens before the compaction.
    pub before: u64,
    /// Estimated tokens after the compaction.
    pub after: u64,
    /// Shortened outputs of tools.
    pub outputs: usize,
    /// Messages that a note replaces.
    pub messages: usize,
    /// Images that a note replaces.
    pub images: usize,
}

/// How much of the model's window a request takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WindowUse {
    /// Estimated tokens of the request, images included.
    pub tokens: u64,
    /// The window of the model in tokens, if it is known.
    pub window: Option<u64>,
}

impl WindowUse {
    /// Returns the share of the window in per cent, if the window is known.
    pub fn percent(&self) -> Option<u64> {
        self.tokens.saturating_mul(100).checked_div(self.window?)
    }
}

/// The estimates for the model's window, and the compacted beginning of the history.
#[derive(Debug)]
pub(super) struct Window {
    /// Bytes per thousand tokens.
    ratio: u64,
    head: Option<Head>,
    /// Whether the current request was already refused once and compacted.
    refused: bool,
}

impl Default for Window {
    fn default() -> Window {
        Window { ratio: USUAL_RATIO, head: None, refused: false }
    }
}

/// The messages that replace the first turns in requests.
#[derive(Debug, Clone)]
struct Head {
    view: View,
    /// The number of these turns.
    turns: usize,
    /// The number of replies in the last of these turns; more may have been added since.
    replies: usize,
}

impl Session {
    /// Returns the messages for the model: the [`history`](Session::history), compacted at its beginning if it did not
    /// fit. A line replaces each of the oldest images if the images together are too large for a request.
    pub fn messages(&self) -> Vec<Message> {
        let mut messages = self.compacted_history();
        let bytes = |message: &Message| message.images.iter().map(Image::bytes).sum::<usize>();
        // The images of the newest message stay, because the question may be about them.
        let mut newer = messages.last().map(bytes).unwrap_or_default();
        for message in messages.iter_mut().rev().skip(1) {
            newer += bytes(message);
            // The loop runs from the newest message to the oldest, so the oldest images exceed the limit.
            if newer > MOST_OF_IMAGES {
                for image in std::mem::take(&mut message.images) {
                    let note = text!(
                        "[The image {name} is not shown any more, because newer ones take its room; if you need it, \
                         call again the tool that gave it, or ask the user to show it again]",
                        name = image.name()
                    )
                    .render(self.options.language);
                    message.content.extend(["\n\n", &note]);
                }
            }
        }
        messages
    }

    /// Returns the history, compacted at its beginning if it did not fit.
    fn compacted_history(&self) -> Vec<Message> {
        let Some(Head { view, turns, replies }) = &self.window.head else { return self.history() };
        let mut messages = view.messages.clone();
        let mut newer = Vec::new();
        if let Some(last) = turns.checked_sub(1).and_then(|last| self.turns.get(last)) {
            add_replies(&mut newer, last.replies.get(*replies..).unwrap_or_default());
        }
        newer.extend(entries(self.turns.get(*turns..).unwrap_or_default()));
        for message in newer.iter().map(|entry| entry.render(&self.options.format)) {
            match messages.last_mut() {
                // The view may end with a message of the same role, and many backends refuse two of these in a row.
                Some(last) if last.role == message.role => {
                    last.content.extend(["\n\n", &message.content]);
                    last.images.extend(message.images);
                }
                _ => messages.push(message),
            }
        }
        messages
    }

    /// Returns the size of [`messages`](Session::messages) in bytes.
    fn request_size(&self) -> usize {
        compact::size(&self.messages())
    }

    /// Records how many tokens the backend counted for the last request, to improve the next estimate.
    pub fn measured(&mut self, tokens: u64) {
        let bytes = self.request_size() as u64;
        if let Some(ratio) = bytes.saturating_mul(1000).checked_div(tokens) {
            self.window.ratio = ratio.clamp(*RATIOS.start(), *RATIOS.end());
        }
    }

    /// Returns `true` if the driver should find out the model's window: the window is unknown and the conversation is
    /// no longer short.
    pub fn wants_window(&self) -> bool {
        self.options.window.is_none() && self.tokens(self.request_size()) > SHORT
    }

    /// Sets the model's window in tokens for its next call.
    pub fn learn_window(&mut self, tokens: u64) {
        self.options.window = Some(tokens);
    }

    /// Compacts the conversation after the backend refused the last [`Action::CallModel`] because the conversation
    /// exceeds the model's window, once per call. `tokens` and `window` are the numbers that the backend reported, if
    /// any.
    ///
    /// Returns `true` if the model must be called again, which the next actions request. Returns `false` if nothing is
    /// left to drop, so that the call has failed.
    #[must_use = "if this returns false, the call of the model has failed"]
    pub fn too_long(&mut self, tokens: Option<u64>, window: Option<u64>) -> bool {
        let began = !matches!(&self.state, State::Streaming(reply) if reply.len() == 0);
        // The beginning of a reply was already shown, so the request cannot be repeated after it.
        if began || std::mem::replace(&mut self.window.refused, true) {
            return false;
        }
        tokens.into_iter().for_each(|tokens| self.measured(tokens));
        if window.is_some() {
            self.options.window = window;
        }
        let Some(done) = self.compact_history() else { return false };
        self.actions.extend([Action::Compacted(done), Action::CallModel]);
        true
    }

    /// Compacts the conversation now, to half of its size or half of the window, whichever is less. Returns `None` if
    /// nothing can be dropped or a turn is under way.
    pub fn compact(&mut self) -> Option<Compacted> {
        if self.is_idle() { self.compact_history() } else { None }
    }

    /// Returns how much of the model's window the next request takes.
    #[doc(hidden)]
    pub fn window_use(&self) -> WindowUse {
        WindowUse { tokens: self.tokens(self.request_size()), window: self.options.window }
    }

    /// Returns the bytes that a message of the user may have before the conversation is compacted, or `None` if the
    /// window is unknown.
    pub fn room(&self) -> Option<usize> {
        Some(self.limit()?.saturating_sub(self.request_size()))
    }

    /// Returns the most bytes for the results of a reply: a third of the room left in the window, but at least a
    /// sixteenth of the window.
    pub(super) fn room_for_results(&self) -> usize {
        /// The minimum number of bytes that hold a useful part of a result with its note.
        const LEAST: usize = 2000;
        let most = self.options.format.message_limit;
        let (Some(window), Some(left)) = (self.options.window, self.room()) else { return most };
        most.min((left / 3).max(self.bytes(window) / 16).max(LEAST))
    }

    /// Removes the last message of the user with all replies to it and every compaction since then, and returns its
    /// text. Its images and the notes that preceded it are kept for the next message. Files that its calls changed stay
    /// changed, and a note for the model names them. Returns `None` without such a message, or while a turn is under
    /// way.
    pub fn take_back(&mut self) -> Option<String> {
        if !self.is_idle() {
            return None;
        }
        let taken = self.turns.pop_if(|turn| matches!(turn.user.last(), Some(Note::User(_))))?;
        let changed = compact::changed_in_turns(std::slice::from_ref(&taken), &self.context(&[]));
        let mut notes = taken.user;
        let said = notes.pop()?.text().to_owned();
        self.images = taken.images;
        self.owed = notes;
        if !changed.is_empty() {
            let note = text!(
                "Note: an earlier attempt at what follows was removed from this conversation. Its changes remain \
                 unless they were undone: {names}.",
                names = changed.join(", ")
            );
            self.owed.push(Note::Session(note.render(self.options.language)));
        }
        // A compaction of the removed turn still has its text, so it is dropped with the turn.
        self.window.head.take_if(|head| head.turns > self.turns.len());
        Some(said)
    }

    /// Removes and returns the images for the first message of the next turn.
    pub fn take_images(&mut self) -> Vec<Image> {
        std::mem::take(&mut self.images)
    }

    /// Begins a new conversation with the same settings and permissions. Does nothing while a turn is under way.
    pub fn clear(&mut self) {
        if self.is_idle() {
            self.turns.clear();
            self.owed.clear();
            self.images.clear();
            self.ids = Ids::default();
            // The ratio depends on the backend and not on the conversation, so it stays.
            self.window = Window { ratio: self.window.ratio, ..Window::default() };
        }
    }

    /// Returns the last plan of the model in this conversation, one step per line: `[x]` marks finished steps, `[>]`
    /// the current one, `[ ]` the others.
    pub fn plan(&self) -> Option<String> {
        compact::find_last_plan(&self.turns).map(|plan| plan.checklist())
    }

    /// Compacts the next request if it is near the end of the window.
    pub(super) fn compact_if_near_limit(&mut self) {
        self.window.refused = false;
        let Some(limit) = self.limit() else { return };
        if self.request_size() > limit {
            let done = self.compact_history();
            self.actions.extend(done.map(Action::Compacted));
        }
    }

    /// Returns the bytes beyond which the conversation is compacted, if the window is known.
    fn limit(&self) -> Option<usize> {
        let window = self.options.window?;
        Some(self.bytes(window.saturating_mul(self.options.limits.compact_percent) / 100))
    }

    /// Compacts the whole history again, so that compactions do not build on each other. Until the next compaction,
    /// requests only grow at their end, so that a local server can reuse its cache of the prefix.
    fn compact_history(&mut self) -> Option<Compacted> {
        let sent = self.request_size();
        let half = sent / 2;
        let target = self.options.window.map(|window| self.bytes(window.saturating_mul(TARGET) / 100));
        let goal = target.map_or(half, |target| target.min(half));
        let allowed: Vec<String> = self.policy().remembered().iter().map(ToString::to_string).collect();
        let mut conversation = entries(&self.turns);
        if !self.options.system.is_empty() {
            let mut system = Entry::new(Role::System);
            system.parts.push(Part::Text(self.options.system.as_str().into()));
            conversation.insert(0, system);
        }
        let view =
            compact::compact(&conversation, goal, self.limit().unwrap_or(goal).max(goal), &self.context(&allowed))?;
        let now = compact::size(&view.messages);
        // The last compaction already dropped as much, so nothing is left to drop.
        if now >= sent {
            return None;
        }
        let done = Compacted {
            before: self.tokens(sent),
            after: self.tokens(now),
            outputs: view.outputs,
            messages: view.dropped,
            images: view.images,
        };
        let replies = self.turns.last().map_or(0, |turn| turn.replies.len());
        self.window.head = Some(Head { view, turns: self.turns.len(), replies });
        Some(done)
    }

    fn context<'a>(&'a self, allowed: &'a [String]) -> Context<'a> {
        Context { catalog: &self.judge.catalog, format: &self.options.format, allowed }
    }

    fn tokens(&self, bytes: usize) -> u64 {
        (bytes as u64).saturating_mul(1000) / self.window.ratio
    }

    fn bytes(&self, tokens: u64) -> usize {
        usize::try_from(tokens.saturating_mul(self.window.ratio) / 1000).unwrap_or(usize::MAX)
    }
}
