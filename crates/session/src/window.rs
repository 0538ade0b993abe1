//! What of the history is sent: all of it, or what [`compact`](super::compact) made of it where it did not fit.
//!
//! The history itself stays as it was, so that a compaction can be taken back. How many tokens a conversation takes nobody here
//! can count; it is estimated from bytes, with the ratio that the backend's last number showed.

use super::compact::{self, Context, View};
use super::ids::Ids;
use super::turn::{Entry, Part, add_replies, entries};
use super::{Action, Note, Session, State};
use serde::Serialize;
use toolfence_protocol::{Image, Message, Role, text};

/// Bytes of a thousand tokens, as long as no backend has said more: 3.5 a token, which code and English prose have.
const USUAL_RATIO: u64 = 3500;

/// Bounds of the ratio, for a number that a backend got wrong.
const RATIOS: std::ops::RangeInclusive<u64> = 500..=20_000;

/// Tokens of a conversation that every model can read.
const SHORT: u64 = 2000;

/// What a conversation is compacted to, in per cent of the window: enough that it does not happen again with the next reply.
const TARGET: u64 = 50;

/// Bytes of the images that are sent with a request, beside those of the newest message: servers refuse what is much larger.
const MOST_OF_IMAGES: usize = 20 << 20;

/// What became of a conversation that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Compacted {
    /// Tokens that it took before, as they are estimated.
    pub before: u64,
    /// Tokens that it takes now.
    pub after: u64,
    /// Outputs of tools that are shortened.
    pub outputs: usize,
    /// Messages that a note stands for.
    pub messages: usize,
    /// Images that a note stands for.
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
    /// The share in per cent, if the window is known.
    pub fn percent(&self) -> Option<u64> {
        self.tokens.saturating_mul(100).checked_div(self.window?)
    }
}

/// What is known of the model's window, and what is sent in the place of the beginning of the history.
#[derive(Debug)]
pub(super) struct Window {
    /// Bytes of a thousand tokens.
    ratio: u64,
    head: Option<Head>,
    /// The call of the model under way was refused once, and compacted for.
    refused: bool,
}

impl Default for Window {
    fn default() -> Window {
        Window { ratio: USUAL_RATIO, head: None, refused: false }
    }
}

/// The messages that are sent in place of the first turns.
#[derive(Debug, Clone)]
struct Head {
    view: View,
    /// The number of these turns.
    turns: usize,
    /// The replies of the last of them; more may have been added since.
    replies: usize,
}

impl Session {
    /// What to send to the model: the [`history`](Session::history), with the beginning compacted where it did not fit, and a line in
    /// the place of the oldest images where these are together too large to be sent with each request.
    pub fn messages(&self) -> Vec<Message> {
        let mut messages = self.fitting();
        let bytes = |message: &Message| message.images.iter().map(Image::bytes).sum::<usize>();
        // Those of the newest message stay: without them the question would be another one.
        let mut newer = messages.last().map(bytes).unwrap_or_default();
        for message in messages.iter_mut().rev().skip(1) {
            newer += bytes(message);
            if newer > MOST_OF_IMAGES {
                for image in std::mem::take(&mut message.images) {
                    let told = text!(
                        "[The image {name} is not shown any more, because newer ones take its room; if you need it, \
                         call again the tool that gave it, or ask the user to show it again]",
                        name = image.name()
                    )
                    .render(self.options.language);
                    message.content.extend(["\n\n", &told]);
                }
            }
        }
        messages
    }

    /// The history, with the beginning compacted where it did not fit.
    fn fitting(&self) -> Vec<Message> {
        let Some(Head { view, turns, replies }) = &self.window.head else { return self.history() };
        let mut messages = view.messages.clone();
        let mut newer = Vec::new();
        if let Some(last) = turns.checked_sub(1).and_then(|last| self.turns.get(last)) {
            add_replies(&mut newer, last.replies.get(*replies..).unwrap_or_default());
        }
        newer.extend(entries(self.turns.get(*turns..).unwrap_or_default()));
        for message in newer.iter().map(|entry| entry.render(&self.options.format)) {
            match messages.last_mut() {
                Some(last) if last.role == message.role => {
                    last.content.extend(["\n\n", &message.content]);
                    last.images.extend(message.images);
                }
                _ => messages.push(message),
            }
        }
        messages
    }

    /// The size of [`messages`](Session::messages).
    fn sent(&self) -> usize {
        compact::size(&self.messages())
    }

    /// Says how many tokens the backend counted for what was sent last, so that the next estimate is better.
    pub fn measured(&mut self, tokens: u64) {
        let bytes = self.sent() as u64;
        if let Some(ratio) = bytes.saturating_mul(1000).checked_div(tokens) {
            self.window.ratio = ratio.clamp(*RATIOS.start(), *RATIOS.end());
        }
    }

    /// Whether it is time to find out the model's window: it is not known, and the conversation is no longer short.
    pub fn wants_window(&self) -> bool {
        self.options.window.is_none() && self.tokens(self.sent()) > SHORT
    }

    /// Says how many tokens the model can read, for the next time that it is called.
    pub fn learn_window(&mut self, tokens: u64) {
        self.options.window = Some(tokens);
    }

    /// The backend refused the last [`Action::CallModel`] because the conversation is longer than the model's window: compacts
    /// it, once a call. `tokens` and `window` are what the backend said of both, if it did.
    ///
    /// Where it says true, the model is to be called again: the next actions say so. Where it says false nothing is left to
    /// give way, and the call has failed.
    #[must_use = "where it says false, the call of the model has failed"]
    pub fn too_long(&mut self, tokens: Option<u64>, window: Option<u64>) -> bool {
        let began = !matches!(&self.state, State::Streaming(reply) if reply.len() == 0);
        if began || std::mem::replace(&mut self.window.refused, true) {
            return false;
        }
        tokens.into_iter().for_each(|tokens| self.measured(tokens));
        if window.is_some() {
            self.options.window = window;
        }
        let Some(done) = self.give_way() else { return false };
        self.actions.extend([Action::Compacted(done), Action::CallModel]);
        true
    }

    /// Compacts the conversation now, to half of its size or of the window, whichever is less. `None` if nothing can give way, or a turn
    /// is under way.
    pub fn compact(&mut self) -> Option<Compacted> {
        if self.is_idle() { self.give_way() } else { None }
    }

    /// How much of the model's window the next request takes.
    #[doc(hidden)]
    pub fn window_use(&self) -> WindowUse {
        WindowUse { tokens: self.tokens(self.sent()), window: self.options.window }
    }

    /// The bytes that a message of the user may have before the conversation is compacted; `None` if the window is not known.
    pub fn room(&self) -> Option<usize> {
        Some(self.limit()?.saturating_sub(self.sent()))
    }

    /// The most bytes that the results of a reply may take: a third of what is left of the window, but not less than a sixteenth of it.
    pub(super) fn room_for_results(&self) -> usize {
        /// Bytes in which a result and its note are of use.
        const LEAST: usize = 2000;
        let most = self.options.format.message_limit;
        let (Some(window), Some(left)) = (self.options.window, self.room()) else { return most };
        most.min((left / 3).max(self.bytes(window) / 16).max(LEAST))
    }

    /// Takes the last message of the user back with all replies to it and every compaction since then, and returns its text. The images
    /// that it showed and the notes that preceded it are kept for the next message. Files that its calls changed stay changed, and a
    /// note to the model names them. `None` if there is no such message, or a turn is under way.
    pub fn take_back(&mut self) -> Option<String> {
        if !self.is_idle() {
            return None;
        }
        let taken = self.turns.pop_if(|turn| matches!(turn.user.last(), Some(Note::User(_))))?;
        let changed = compact::changed(std::slice::from_ref(&taken), &self.context(&[]));
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
        self.window.head.take_if(|head| head.turns > self.turns.len());
        Some(said)
    }

    /// Takes back the images that the message was to show with which the next turn begins.
    pub fn take_images(&mut self) -> Vec<Image> {
        std::mem::take(&mut self.images)
    }

    /// Begins a new conversation with the same settings: what the person allowed stays allowed. Nothing happens while a turn is
    /// under way.
    pub fn clear(&mut self) {
        if self.is_idle() {
            self.turns.clear();
            self.owed.clear();
            self.images.clear();
            self.ids = Ids::default();
            self.window = Window { ratio: self.window.ratio, ..Window::default() };
        }
    }

    /// The last plan that the model made in this conversation, a step a line: `[x]` before one that is done, `[>]` before the
    /// one under way, `[ ]` before the others.
    pub fn plan(&self) -> Option<String> {
        compact::last_plan(&self.turns).map(|plan| plan.checklist())
    }

    /// Compacts what is about to be sent, where it is near the end of the window.
    pub(super) fn fit_the_window(&mut self) {
        self.window.refused = false;
        let Some(limit) = self.limit() else { return };
        if self.sent() > limit {
            let done = self.give_way();
            self.actions.extend(done.map(Action::Compacted));
        }
    }

    /// Bytes beyond which the conversation is compacted, where the window is known.
    fn limit(&self) -> Option<usize> {
        let window = self.options.window?;
        Some(self.bytes(window.saturating_mul(self.options.limits.compact_percent) / 100))
    }

    /// Compacts the whole history anew, so that one compaction is never the task of the next. Until the next one the requests only grow at
    /// their end, which spares a local server from reading everything again.
    fn give_way(&mut self) -> Option<Compacted> {
        let sent = self.sent();
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
