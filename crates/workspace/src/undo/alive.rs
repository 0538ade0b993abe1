//! Signs of life while commands run, so that a turn that was cut short does not own what another process did after it.
//!
//! What runs in the sandbox ends with this process, within milliseconds. A name whose last change is not clearly older than the
//! last sign of life may be another process's work. Times of files are compared with the clock that gave them, so a clock that was
//! set in between, or that is another machine's, makes all of them doubtful.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// Between two signs. What a command did in between is left as it is when it is killed.
const BEAT: Duration = Duration::from_millis(250);

/// How far two clocks may be apart: those of files may keep only every other second.
const MOST_APART: i64 = 2_500_000_000;

/// The bytes of a sign, so that one is always written over the whole of the last.
const LENGTH: usize = 256;

/// A moment by two clocks: the one that people set, and the one that only runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moment {
    /// Nanoseconds since 1970.
    at: i64,
    /// Nanoseconds since the machine was started, and which start that was; `None` where the system does not tell.
    up: Option<(i64, String)>,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let at = since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
        Moment { at, up: up() }
    }

    pub(crate) fn of_milliseconds(at: u64) -> Moment {
        Moment { at: i64::try_from(at).unwrap_or(i64::MAX).saturating_mul(1_000_000), up: None }
    }

    /// Nanoseconds since 1970.
    pub(crate) fn nanoseconds(&self) -> i128 {
        self.at.into()
    }

    /// Whether the clock that gives files their times went on evenly from here to a later moment. `file` is the time of a file
    /// that was made at that later moment.
    pub(crate) fn leads_to(&self, later: &Moment, file: Option<i128>) -> bool {
        let between = later.at.saturating_sub(self.at);
        let even = match (&self.up, &later.up) {
            (Some((from, start)), Some((to, same))) if start == same => {
                between.abs_diff(to.saturating_sub(*from)) < MOST_APART.unsigned_abs()
            }
            _ => true,
        };
        let same_clock = file.is_some_and(|file| (file - later.nanoseconds()).abs() < MOST_APART.into());
        between >= 0 && even && same_clock
    }
}

fn up() -> Option<(i64, String)> {
    let text = |path: &str| {
        let mut text = String::new();
        File::open(path).ok()?.take(100).read_to_string(&mut text).ok()?;
        Some(text)
    };
    let start = text("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
    let uptime = text("/proc/uptime")?;
    // Seconds with two digits behind the point (proc_uptime(5)).
    let (seconds, hundredths) = uptime.split_whitespace().next()?.split_once('.')?;
    let hundredths = seconds.parse::<i64>().ok()?.checked_mul(100)?.checked_add(hundredths.parse().ok()?)?;
    Some((hundredths.checked_mul(10_000_000)?, start))
}

/// A sign as it is written.
#[derive(Serialize, Deserialize)]
struct Sign {
    session: String,
    moment: Moment,
}

/// Gives signs until it is dropped.
#[derive(Debug)]
pub(crate) struct Heart {
    #[cfg(test)]
    beat: Beat,
    stopped: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
struct Beat {
    file: Arc<File>,
    session: String,
}

impl Beat {
    fn give(&self) {
        let sign = Sign { session: self.session.clone(), moment: Moment::now() };
        let mut text = serde_json::to_vec(&sign).unwrap_or_default();
        text.resize(LENGTH, b' ');
        // Without it the last one counts.
        let _ = self.file.write_all_at(&text, 0);
    }
}

impl Heart {
    pub(crate) fn start(path: &Path, session: &str) -> io::Result<Heart> {
        let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let beat = Beat { file: Arc::new(file), session: session.to_owned() };
        let stopped = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&stopped);
        #[cfg(test)]
        let own_beat = beat.clone();
        let run = move || {
            let (stopped, changed) = &*theirs;
            let mut is_stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
            while !*is_stopped {
                beat.give();
                (is_stopped, _) = changed.wait_timeout(is_stopped, BEAT).unwrap_or_else(PoisonError::into_inner);
            }
        };
        let thread = std::thread::Builder::new().name("undo-alive".into()).spawn(run)?;
        Ok(Heart {
            #[cfg(test)]
            beat: own_beat,
            stopped,
            thread: Some(thread),
        })
    }

    /// Gives one at once.
    #[cfg(test)]
    pub(crate) fn beat(&self) {
        self.beat.give();
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        let (stopped, changed) = &*self.stopped;
        *stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Where the signs of a history are.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("alive")
}

/// The last sign of a session.
pub(crate) fn last(path: &Path, session: &str) -> Option<Moment> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(LENGTH as u64).read_to_end(&mut text).ok()?;
    let sign: Sign = serde_json::from_slice(&text).ok()?;
    (sign.session == session).then_some(sign.moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_makes_times_doubtful() {
        const SECOND: i64 = 1_000_000_000;
        let moment = |at: i64, up: i64, start: &str| Moment { at: at * SECOND, up: Some((up * SECOND, start.into())) };
        let last = moment(1000, 10, "a");
        for (later, file, leads) in [
            (moment(1100, 110, "a"), Some(1100), true),
            (moment(1100, 110, "a"), Some(1099), true),
            (moment(1100, 5, "b"), Some(1100), true),
            // It stood still, or was set forward.
            (moment(1003, 110, "a"), Some(1003), false),
            (moment(1200, 110, "a"), Some(1200), false),
            // It was set back, over another start too.
            (moment(900, 110, "a"), Some(900), false),
            (moment(900, 5, "b"), Some(900), false),
            // That of the files is another one, or not known.
            (moment(1100, 110, "a"), Some(1000), false),
            (moment(1100, 110, "a"), Some(1200), false),
            (moment(1100, 110, "a"), None, false),
        ] {
            let file = file.map(|seconds: i128| seconds * i128::from(SECOND));
            assert_eq!(last.leads_to(&later, file), leads, "{later:?} {file:?}");
        }
    }

    #[test]
    fn a_sign_is_found_by_its_session_and_replaced_whole() {
        let home = tempfile::tempdir().unwrap();
        let path = file(home.path());
        assert_eq!(last(&path, "a long session"), None);
        let before = Moment::now();
        drop(Heart::start(&path, "a long session").unwrap());
        let heart = Heart::start(&path, "s").unwrap();
        heart.beat();
        assert_eq!(last(&path, "a long session"), None);
        let sign = last(&path, "s").unwrap();
        assert!(sign.at >= before.at && sign.at <= Moment::now().at);
        // Its thread would write a sign over what follows.
        drop(heart);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(last(&path, "s"), None);
    }
}
