//! Room for connections: how many there are, and which one is closed for a new one where there is no room left.
//!
//! A connection that says nothing costs its client nothing. So where all room is taken, the one that has owed the rest of a request
//! for the longest time is closed for the next. One whose request has come whole stays: its answer is under way.

use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The number of a connection whose request is whole.
const ANSWERED: u64 = 0;

/// The room of a server.
pub(crate) struct Slots {
    most: usize,
    /// How long a connection may owe a request before it can be closed for another one.
    grace: Duration,
    taken: Mutex<Taken>,
    changed: Notify,
}

#[derive(Default)]
struct Taken {
    count: usize,
    /// The last number of a connection that began to wait.
    last: u64,
    /// The connections that owe a request, by their numbers: since when, and how they are told that they are closed.
    owing: BTreeMap<u64, (Instant, Arc<Notify>)>,
}

impl Taken {
    fn owes(&mut self, closed: &Arc<Notify>) -> u64 {
        self.last += 1;
        self.owing.insert(self.last, (Instant::now(), closed.clone()));
        self.last
    }
}

impl Slots {
    pub(crate) fn new(most: usize, grace: Duration) -> Arc<Slots> {
        Arc::new(Slots { most, grace, taken: Mutex::default(), changed: Notify::new() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for one more, that of another connection if need be.
    ///
    /// # Errors
    /// There is none, and says when there will be at the latest, if a connection owes a request.
    pub(crate) fn take(self: &Arc<Slots>) -> Result<Arc<Slot>, Option<Instant>> {
        let mut taken = self.taken();
        if taken.count < self.most {
            taken.count += 1;
        } else {
            let first = taken.owing.first_entry().ok_or(None)?;
            let ends = first.get().0 + self.grace;
            if ends > Instant::now() {
                return Err(Some(ends));
            }
            first.remove().1.notify_one();
        }
        let closed = Arc::default();
        let number = taken.owes(&closed).into();
        Ok(Arc::new(Slot { slots: self.clone(), closed, number }))
    }

    /// Until there may be room again since the last time.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// The room of one connection, for as long as it lives.
pub(crate) struct Slot {
    slots: Arc<Slots>,
    closed: Arc<Notify>,
    /// Its number among those that owe a request. It is read and written while what is taken is locked.
    number: AtomicU64,
}

impl Slot {
    /// Until another connection has its room.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Claims the room until the answer is over, because the request has come whole. `false` where another connection has got the room
    /// before: then nothing may be done for this one.
    pub(crate) fn claim(&self) -> bool {
        let mut taken = self.slots.taken();
        let number = self.number.load(Ordering::Relaxed);
        if number != ANSWERED && taken.owing.remove(&number).is_none() {
            return false;
        }
        self.number.store(ANSWERED, Ordering::Relaxed);
        true
    }

    /// Its answer is over, so it owes the next request.
    fn owes(&self) {
        let mut taken = self.slots.taken();
        if self.number.load(Ordering::Relaxed) == ANSWERED {
            self.number.store(taken.owes(&self.closed), Ordering::Relaxed);
            self.slots.changed.notify_one();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        let number = *self.number.get_mut();
        // One that was closed has given its room away already.
        if number == ANSWERED || taken.owing.remove(&number).is_some() {
            taken.count -= 1;
            self.slots.changed.notify_one();
        }
    }
}

/// Why the body of a request is not whole.
#[derive(Debug)]
pub(crate) enum NotWhole {
    /// Another connection has the room of this one.
    Closed,
    Broken(hyper::Error),
}

impl fmt::Display for NotWhole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotWhole::Closed => f.write_str("the connection is closed"),
            NotWhole::Broken(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotWhole {}

/// The body of a request. While it comes the connection owes it.
pub(crate) struct Arriving {
    body: Incoming,
    /// Until it is there.
    slot: Option<Arc<Slot>>,
}

impl Arriving {
    /// The body of a request whose connection has this room; none where there is nothing to wait for.
    pub(crate) fn new(body: Incoming, slot: Option<Arc<Slot>>) -> Arriving {
        Arriving { body, slot }
    }
}

impl hyper::body::Body for Arriving {
    type Data = Bytes;
    type Error = NotWhole;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, NotWhole>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() && self.slot.take().is_some_and(|slot| !slot.claim()) {
            return Poll::Ready(Some(Err(NotWhole::Closed)));
        }
        Poll::Ready(frame.map(|frame| frame.map_err(NotWhole::Broken)))
    }

    fn is_end_stream(&self) -> bool {
        // Its end is what says that the request is whole.
        self.slot.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        // Who does not read the rest answers without it.
        if let Some(slot) = self.slot.take() {
            slot.claim();
        }
    }
}

/// The body of an answer. Once it is over the connection owes the next request.
pub(crate) struct Answering<B> {
    pub(crate) body: B,
    pub(crate) _owes: Owes,
}

/// The connection owes a request when this is dropped.
pub(crate) struct Owes(pub(crate) Arc<Slot>);

impl Drop for Owes {
    fn drop(&mut self) {
        self.0.owes();
    }
}

impl<B: hyper::body::Body + Unpin> hyper::body::Body for Answering<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than two takes are apart on a machine that does much else.
    const GRACE: Duration = Duration::from_secs(3);

    /// Whether its room was given to another one.
    async fn is_closed(slot: &Slot) -> bool {
        tokio::time::timeout(Duration::from_millis(1), slot.closed()).await.is_ok()
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn the_one_that_owed_for_the_longest_time_is_closed_for_a_new_one() {
        run(async {
            let slots = Slots::new(3, GRACE);
            let [first, second, third] = [(); 3].map(|()| slots.take().unwrap());
            assert!(first.claim(), "its request came");
            let too_early = slots.take().err().unwrap().unwrap();
            tokio::time::sleep_until(too_early).await;
            drop(Owes(first.clone()));
            let fourth = slots.take().unwrap();
            assert!(is_closed(&second).await && !is_closed(&first).await && !is_closed(&third).await);
            assert!(!second.claim(), "what came too late is not done");
            drop(second);
            let fifth = slots.take().unwrap();
            assert!(is_closed(&third).await && !is_closed(&fifth).await, "one that was closed has no room to give");
            assert!(!is_closed(&first).await && !is_closed(&fourth).await);
        });
    }

    #[test]
    fn one_whose_answer_is_under_way_is_never_closed() {
        run(async {
            let slots = Slots::new(2, GRACE);
            let both = [(); 2].map(|()| slots.take().unwrap());
            assert!(both.iter().all(|slot| slot.claim()));
            tokio::time::sleep(GRACE * 2).await;
            assert!(matches!(slots.take(), Err(None)));
            let [one, other] = both;
            drop(one);
            tokio::time::timeout(GRACE * 10, slots.changed()).await.expect("room is told");
            let third = slots.take().unwrap();
            tokio::time::sleep(GRACE * 2).await;
            let fourth = slots.take().unwrap();
            assert!(is_closed(&third).await && !is_closed(&other).await && !is_closed(&fourth).await);
        });
    }
}
