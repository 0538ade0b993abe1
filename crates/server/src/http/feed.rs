//! The events of a turn in a conversation. Any number of clients can read them, also after the connection that began
//! the turn has closed.
//!
//! A turn writes its events without waiting for readers. A feed keeps the newest events, and a reader that is too slow
//! gets the event `gap` instead of the lost ones. Ids increase from turn to turn, also across a restart, so that an old
//! id never skips a new event.

use crate::pipe::words;
use axum::body::{Body, Bytes};
use futures_util::stream::unfold;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// The most bytes of events that a feed keeps.
const MOST_KEPT: usize = 1 << 20;

/// Bytes of memory that an event takes in addition to its text.
const OVERHEAD: usize = 64;

/// Bytes that one read returns. A single event may be longer.
const MOST_AT_ONCE: usize = 64 << 10;

/// Feeds of ended turns that are kept.
const MOST_ENDED: usize = 16;

/// The feeds of the turns that run and of the last ones that ended, by the ids of their conversations.
pub(super) struct Feeds {
    all: Mutex<Registered>,
    /// The last id of an event.
    ids: Arc<AtomicU64>,
}

#[derive(Default)]
struct Registered {
    feeds: HashMap<String, Arc<Feed>>,
    /// The conversations whose turns have ended, oldest first.
    ended: VecDeque<String>,
}

impl Default for Feeds {
    fn default() -> Feeds {
        // Ids begin with the time in microseconds. A server emits fewer events than that, so ids after a restart are
        // greater.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_micros());
        Feeds { all: Mutex::default(), ids: Arc::new(AtomicU64::new(u64::try_from(now).unwrap_or(0))) }
    }
}

impl Feeds {
    fn all(&self) -> MutexGuard<'_, Registered> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the feed of turn number `turn` of this conversation. Returns `None` if a turn of the conversation is
    /// running.
    pub(super) fn begin(self: &Arc<Feeds>, session: &str, turn: u64) -> Option<OpenFeed> {
        let mut all = self.all();
        // `last_id` is `None` while a turn runs. Only a feed whose turn has ended is replaced.
        let before = all.feeds.get(session).map_or(Some(0), |feed| feed.last_id())?;
        let feed = Arc::new(Feed::new(self.ids.clone(), before, turn));
        all.ended.retain(|ended| ended != session);
        all.feeds.insert(session.to_owned(), feed.clone());
        Some(OpenFeed { feed, feeds: self.clone(), session: session.to_owned() })
    }

    /// Returns the feed of the running or the last turn of this conversation.
    pub(super) fn find(&self, session: &str) -> Option<Arc<Feed>> {
        self.all().feeds.get(session).cloned()
    }

    /// Returns `true` if a turn of this conversation is running.
    pub(super) fn is_running(&self, session: &str) -> bool {
        self.find(session).is_some_and(|feed| feed.last_id().is_none())
    }

    fn end(&self, session: &str, feed: &Feed) {
        let mut all = self.all();
        // End the feed while the table is locked. Otherwise the next turn could begin in between and be listed as
        // ended.
        feed.end();
        all.ended.push_back(session.to_owned());
        if all.ended.len() > MOST_ENDED
            && let Some(oldest) = all.ended.pop_front()
        {
            all.feeds.remove(&oldest);
        }
    }
}

/// The feed of a turn that runs. Dropping it ends the feed.
pub(super) struct OpenFeed {
    feed: Arc<Feed>,
    feeds: Arc<Feeds>,
    session: String,
}

impl OpenFeed {
    pub(super) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }
}

impl Drop for OpenFeed {
    fn drop(&mut self) {
        self.feeds.end(&self.session, &self.feed);
    }
}

/// The events of one turn.
pub(super) struct Feed {
    kept: Mutex<FeedState>,
    ids: Arc<AtomicU64>,
    /// The last id of the previous turn, or 0 if that is unknown.
    before: u64,
    /// The number of the turn in its conversation.
    turn: u64,
    changed: watch::Sender<()>,
    /// Notified when a client cancels the turn.
    pub(super) cancelled: Notify,
}

#[derive(Default)]
struct FeedState {
    events: VecDeque<Numbered>,
    bytes: usize,
    /// A text event that no reader has received. The pieces that follow are appended to it.
    open: Option<Value>,
    /// The id of the newest event that was discarded.
    lost: u64,
    last: u64,
    ended: bool,
}

struct Numbered {
    id: u64,
    name: String,
    data: String,
}

impl Numbered {
    fn bytes(&self) -> usize {
        self.name.len() + self.data.len() + OVERHEAD
    }
}

impl Feed {
    fn new(ids: Arc<AtomicU64>, before: u64, turn: u64) -> Feed {
        let (kept, cancelled) = Default::default();
        Feed { kept, ids, before, turn, changed: watch::Sender::new(()), cancelled }
    }

    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event, which is a line of the pipe.
    pub(super) fn push(&self, line: Value) {
        let mut kept = self.state();
        if !kept.open.as_mut().is_some_and(|open| join(open, &line)) {
            self.close_text(&mut kept);
            match line["event"].as_str() {
                Some("text" | "reasoning") => kept.open = Some(line),
                _ => self.add(&mut kept, &line),
            }
        }
        drop(kept);
        self.changed.send_replace(());
    }

    fn close_text(&self, kept: &mut FeedState) {
        if let Some(line) = kept.open.take() {
            self.add(kept, &line);
        }
    }

    fn add(&self, kept: &mut FeedState, line: &Value) {
        // The id is taken while the feed is locked, so the ids of a feed are in order.
        let id = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        let name = line["event"].as_str().unwrap_or_default().to_owned();
        let event = Numbered { id, name, data: line.to_string() };
        kept.last = id;
        kept.bytes += event.bytes();
        kept.events.push_back(event);
        // Keep the newest event however large it is: it may be the question that the turn waits for.
        while kept.bytes > MOST_KEPT
            && kept.events.len() > 1
            && let Some(oldest) = kept.events.pop_front()
        {
            kept.bytes -= oldest.bytes();
            kept.lost = oldest.id;
        }
    }

    fn end(&self) {
        let mut kept = self.state();
        self.close_text(&mut kept);
        kept.ended = true;
        drop(kept);
        self.changed.send_replace(());
    }

    /// Returns the last id if the turn has ended.
    fn last_id(&self) -> Option<u64> {
        let kept = self.state();
        kept.ended.then_some(kept.last)
    }

    /// Waits until the turn has ended.
    pub(super) async fn wait_for_end(&self) {
        let mut changed = self.changed.subscribe();
        while self.last_id().is_none() && changed.changed().await.is_ok() {}
    }

    /// Returns the events that follow the id `after`, and the id of the last of them. Returns `None` at the end of the
    /// turn, and an empty text if the turn is running and there is no new event.
    fn read(&self, after: u64) -> Option<(String, u64)> {
        let mut kept = self.state();
        self.close_text(&mut kept);
        let (mut text, mut last) = (String::new(), after);
        // An id below `before` is from an earlier turn whose last events the reader missed. 0 asks for this turn only.
        if after < kept.lost || (after > 0 && after < self.before) {
            last = kept.lost.max(self.before);
            write_event(&mut text, last, "gap", &words::gap(self.turn).to_string());
        }
        let start = kept.events.partition_point(|event| event.id <= last);
        for event in kept.events.range(start..) {
            write_event(&mut text, event.id, &event.name, &event.data);
            last = event.id;
            if text.len() >= MOST_AT_ONCE {
                break;
            }
        }
        (!text.is_empty() || !kept.ended).then_some((text, last))
    }

    /// Returns a response body with the events that follow the id `after`, until the turn ends. A comment is sent after
    /// each `silence` without an event.
    pub(super) fn body(self: Arc<Feed>, after: u64, silence: Duration) -> Body {
        let changed = self.changed.subscribe();
        Body::from_stream(unfold((self, changed, after), move |(feed, mut changed, after)| async move {
            loop {
                // Mark before reading: an event that arrives during the read is then found in the next iteration.
                changed.mark_unchanged();
                let (mut text, last) = feed.read(after)?;
                if text.is_empty() {
                    match timeout(silence, changed.changed()).await {
                        Ok(_) => continue,
                        Err(_) => text = ": still here\n\n".to_owned(),
                    }
                }
                return Some((Ok::<_, Infallible>(Bytes::from(text)), (feed, changed, last)));
            }
        }))
    }
}

fn write_event(out: &mut String, id: u64, name: &str, data: &str) {
    // Writing to a string does not fail. JSON has no line ends outside of strings, where they are escaped.
    let _ = write!(out, "event: {name}\nid: {id}\ndata: {data}\n\n");
}

/// Appends the text of `next` to `open`. Returns `false` and changes nothing if `next` does not continue `open`.
fn join(open: &mut Value, next: &Value) -> bool {
    let (Some(text), Some(more)) = (open["text"].as_str(), next["text"].as_str()) else { return false };
    let fields = ["event", "unopened", "closed"];
    let is_same = fields.iter().all(|field| open.get(*field) == next.get(*field));
    if !is_same || open["span"][1] != next["span"][0] || text.len() + more.len() > MOST_AT_ONCE {
        return false;
    }
    let joined = [text, more].concat();
    open["text"] = joined.into();
    open["span"][1] = next["span"][1].clone();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(text: &str, start: usize) -> Value {
        json!({"v": 1, "event": "text", "text": text, "span": [start, start + text.len()]})
    }

    fn open_feed(feeds: &Arc<Feeds>, session: &str) -> OpenFeed {
        feeds.begin(session, 1).expect("no turn runs")
    }

    /// The names of the events in a stream.
    fn names(stream: &str) -> Vec<&str> {
        stream.lines().filter_map(|line| line.strip_prefix("event: ")).collect()
    }

    #[test]
    fn text_is_joined_until_a_reader_gets_it() {
        let feeds = Arc::new(Feeds::default());
        let open = open_feed(&feeds, "a");
        let feed = open.feed();
        feed.push(text("one ", 0));
        feed.push(text("two ", 4));
        let (first, last) = feed.read(0).unwrap();
        assert!(first.contains("\"one two \"") && first.contains("[0,8]"), "{first}");
        feed.push(text("three", 8));
        // This text does not continue the one before it.
        feed.push(text("again", 0));
        let (second, _) = feed.read(last).unwrap();
        assert_eq!(names(&second), ["text", "text"], "{second}");
        let (all, _) = feed.read(0).unwrap();
        assert_eq!(all, first + &second);
    }

    #[test]
    fn a_reader_that_is_too_far_behind_gets_a_gap_and_the_newest_events() {
        let feeds = Arc::new(Feeds::default());
        let open = open_feed(&feeds, "a");
        let line = json!({"v": 1, "event": "note", "id": "c", "text": "x".repeat(10_000)});
        (0..1000).for_each(|_| open.feed().push(line.clone()));
        assert!(open.feed().state().bytes <= MOST_KEPT);
        let (mut stream, mut last) = open.feed().read(0).unwrap();
        assert_eq!(names(&stream)[0], "gap");
        while let Some((more, next)) = open.feed().read(last)
            && !more.is_empty()
        {
            (stream, last) = (stream + &more, next);
        }
        let count = names(&stream).len();
        assert!((100..110).contains(&count), "{count}");
    }

    #[test]
    fn the_newest_event_stays_however_large_it_is() {
        let feeds = Arc::new(Feeds::default());
        let open = open_feed(&feeds, "a");
        open.feed().push(json!({"v": 1, "event": "note", "text": "before"}));
        open.feed().push(json!({"v": 1, "event": "ask", "diff": "x".repeat(2 * MOST_KEPT)}));
        let (stream, last) = open.feed().read(0).unwrap();
        assert_eq!(names(&stream), ["gap", "ask"]);
        open.feed().push(json!({"v": 1, "event": "stop"}));
        assert_eq!(names(&open.feed().read(last).unwrap().0), ["stop"]);
    }

    #[test]
    fn ids_increase_from_turn_to_turn_and_a_stale_one_gets_a_gap() {
        let feeds = Arc::new(Feeds::default());
        let open = open_feed(&feeds, "a");
        open.feed().push(text("one", 0));
        let (_, first) = open.feed().read(0).unwrap();
        assert!(feeds.begin("a", 2).is_none(), "a turn runs");
        open.feed().push(json!({"v": 1, "event": "stop"}));
        let (_, last) = open.feed().read(first).unwrap();
        drop(open);
        assert!(feeds.find("a").unwrap().read(last).is_none(), "the end of the turn");
        let next = open_feed(&feeds, "a");
        next.feed().push(text("two", 0));
        for (after, expected) in [(0, &["text"][..]), (last, &["text"]), (first, &["gap", "text"])] {
            let (stream, _) = next.feed().read(after).unwrap();
            assert_eq!(names(&stream), expected, "{stream}");
        }
    }

    #[test]
    fn feeds_of_ended_turns_are_few() {
        let feeds = Arc::new(Feeds::default());
        let running = open_feed(&feeds, "running");
        (0..100).for_each(|number| drop(open_feed(&feeds, &number.to_string())));
        (0..100).for_each(|_| drop(open_feed(&feeds, "99")));
        assert_eq!(feeds.all().feeds.len(), MOST_ENDED + 1);
        assert!(feeds.is_running("running") && !feeds.is_running("99"));
        drop(running);
        assert!(!feeds.is_running("running") && feeds.find("running").is_some());
        assert_eq!(feeds.all().ended.len(), MOST_ENDED);
    }
}
