//! The limits of a session as one table: what each one bounds, its default, and its smallest and largest setting.
//!
//! [`Limits`] has a number for each row of the table. The settings, the command line, the pipe and the documentation
//! take their keys from the same table, so adding a limit means adding it here and enforcing it, nothing else.
//!
//! Bounds that protect the parsers themselves, such as the nesting depth of a judged shell command, are not in the
//! table: beyond them, parsing takes exponential time.

use crate::{Error, ErrorKind, Result, Text, close_names, text};

/// A row of the table.
#[derive(Debug)]
#[non_exhaustive]
pub struct Limit {
    /// The name of the limit and of its field in [`Limits`].
    pub key: &'static str,
    /// The key with its table in the settings: `limits.rounds`.
    pub setting: &'static str,
    /// The default as written in a settings file.
    pub written: &'static str,
    /// The default.
    pub default: u64,
    /// The smallest setting.
    pub least: u64,
    /// The largest setting.
    pub most: u64,
    /// Describes the limit.
    pub help: fn() -> Text,
    get: fn(&Limits) -> u64,
    field: fn(&mut Limits) -> &mut u64,
}

macro_rules! limits {
    ($($key:ident = $default:literal, $least:literal to $most:literal: text!($help:literal);)*) => {
        /// The limits of one session and its tools.
        ///
        /// ```
        /// let mut limits = toolfence_protocol::Limits::default();
        /// assert_eq!(limits.rounds, 20);
        /// limits.rounds = 40;
        /// limits.set("search_matches", "100")?; // by its key, as the settings and the command line do
        /// assert_eq!(limits.search_matches, 100);
        /// assert!(limits.set("rounds", "0").unwrap_err().to_string().contains("from 1 to 10000"));
        /// # Ok::<(), toolfence_protocol::Error>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Limits {
            $(#[doc = $help] pub $key: u64,)*
        }

        impl Default for Limits {
            fn default() -> Limits {
                Limits { $($key: $default,)* }
            }
        }

        /// All limits, in the order of the documentation.
        pub const LIMITS: &[Limit] = &[$(Limit {
            key: stringify!($key),
            setting: concat!("limits.", stringify!($key)),
            written: stringify!($default),
            default: $default,
            least: $least,
            most: $most,
            help: || crate::text!($help),
            get: |limits| limits.$key,
            field: |limits| &mut limits.$key,
        },)*];
    };
}

limits! {
    command_seconds = 30, 1 to 86400:
        text!("Default time limit of a command in seconds; never more than command_seconds_most.");
    command_seconds_most = 600, 1 to 86400:
        text!("The longest time limit in seconds that a call may set for its command; also the time limit of each \
               command in checks.commands.");
    output_bytes = 100000, 4000 to 16000000:
        text!("Bytes of the result of one call. A longer result keeps its head and tail.");
    file_bytes = 10485760, 1 to 67108864: text!("Bytes of a file that can be written or edited.");
    read_lines = 2000, 1 to 1000000: text!("Lines that read_file shows at once.");
    read_bytes = 51200, 1 to 16777216: text!("Bytes that read_file shows at once. The first line is always shown.");
    read_chars = 16777216, 1 to 16777216:
        text!("Characters that read_file shows at once, for a backend that counts those; by default as many as \
               read_bytes allows.");
    line_chars = 2000, 1 to 1000000: text!("Characters that read_file shows of one line.");
    count_bytes = 67108864, 131072 to 1099511627776:
        text!("Bytes of a file up to which read_file counts all lines without being asked.");
    search_matches = 50, 1 to 10000: text!("Matching lines that search shows.");
    snippet_chars = 200, 10 to 10000: text!("Characters that search shows of one line, around the match.");
    list_entries = 200, 1 to 100000:
        text!("Files and folders that list_files shows; those nearest to the top are kept.");
    jobs = 16, 1 to 64: text!("Commands that run in the background at the same time.");
    side_by_side = 4, 1 to 64:
        text!("Read-only calls that run in parallel; with 1 they run strictly one after the other.");
    rounds = 20, 1 to 10000: text!("Rounds of calls and results for one message of the user.");
    calls = 64, 1 to 1000: text!("Calls of one reply.");
    bad_replies = 3, 1 to 100: text!("Consecutive replies with nothing but unreadable blocks before the turn ends.");
    loop_warning = 3, 2 to 1000: text!("How often the same call may have the same result before the model is warned.");
    loop_stop = 5, 2 to 1000: text!("How often the same call may have the same result before the turn ends.");
    message_bytes = 262144, 1000 to 67108864:
        text!("Bytes of a message of results to the model. The longest outputs give way first; headers always stay.");
    reply_bytes = 16777216, 1 to 268435456:
        text!("Bytes of one reply. A longer reply is cut off as if the model's own length limit was reached.");
    block_bytes = 8388608, 1000 to 67108864: text!("Bytes of one block of a reply.");
    nesting = 128, 8 to 128: text!("Nesting depth of objects and lists in the JSON of a call.");
    compact_percent = 80, 10 to 95: text!("Per cent of the model's window beyond which the conversation is compacted.");
    agents_bytes = 32768, 1 to 1048576: text!("Bytes of AGENTS.md and similar files that the model receives.");
}

impl Limits {
    /// Returns the value of a limit by its key.
    pub fn get(&self, key: &str) -> Option<u64> {
        Limit::by_key(key).map(|limit| (limit.get)(self))
    }

    /// Sets a limit by its key to a number in decimal notation.
    ///
    /// # Errors
    /// Fails if the key is unknown, or if `written` is not a whole number within the range of the limit, which the
    /// error states.
    pub fn set(&mut self, key: &str, written: &str) -> Result<()> {
        let wrong = |message| Error::with_kind(ErrorKind::InvalidInput, message);
        let Some(limit) = Limit::by_key(key) else {
            let close = close_names(key, LIMITS.iter().map(|limit| limit.key));
            let hint = match close.first() {
                Some(close) => text!("Did you mean {close}?", close),
                None => text!(
                    "The limits are {list}.",
                    list = LIMITS.iter().map(|limit| limit.key).collect::<Vec<_>>().join(", ")
                ),
            };
            return Err(wrong(text!("there is no limit {key}. {hint}", key = shorten(key), hint)));
        };
        let number = written.parse().ok().filter(|number| (limit.least..=limit.most).contains(number));
        let Some(number) = number else {
            let (least, most) = (limit.least, limit.most);
            return Err(wrong(text!(
                "{key} is a whole number from {least} to {most}; this is {number}.",
                key = limit.key,
                least,
                most,
                number = shorten(written)
            )));
        };
        *(limit.field)(self) = number;
        Ok(())
    }

    /// Returns the effective limits: each number is clamped to its range, and a number that another limit bounds is at
    /// most that limit.
    #[must_use]
    pub fn in_force(mut self) -> Limits {
        for limit in LIMITS {
            let number = (limit.field)(&mut self);
            *number = (*number).clamp(limit.least, limit.most);
        }
        self.command_seconds = self.command_seconds.min(self.command_seconds_most);
        self.loop_warning = self.loop_warning.min(self.loop_stop);
        self
    }
}

impl Limit {
    fn by_key(key: &str) -> Option<&'static Limit> {
        LIMITS.iter().find(|limit| limit.key == key)
    }
}

/// Returns the beginning of a user's word, for an error message.
fn shorten(word: &str) -> String {
    word.chars().take(64).collect()
}

/// Converts a limit to a size in memory.
pub fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_sets_its_own_field() {
        for limit in LIMITS {
            let mut limits = Limits::default();
            assert_eq!(limits.get(limit.key), Some(limit.default), "{}", limit.key);
            assert!((limit.least..=limit.most).contains(&limit.default), "{}", limit.key);
            assert_eq!(limit.written.parse(), Ok(limit.default), "{}", limit.key);
            let other = if limit.default == limit.least { limit.most } else { limit.least };
            limits.set(limit.key, &other.to_string()).unwrap();
            let changed: Vec<&str> =
                LIMITS.iter().filter(|row| limits.get(row.key) != Some(row.default)).map(|row| row.key).collect();
            assert_eq!(changed, [limit.key]);
        }
    }

    #[test]
    fn invalid_settings_are_refused_with_the_range() {
        for limit in LIMITS {
            for number in [limit.least.checked_sub(1), limit.most.checked_add(1)].into_iter().flatten() {
                let mut limits = Limits::default();
                let error = limits.set(limit.key, &number.to_string()).unwrap_err().to_string();
                for wanted in
                    [limit.key.to_owned(), number.to_string(), limit.least.to_string(), limit.most.to_string()]
                {
                    assert!(error.contains(&wanted), "{error}");
                }
                assert_eq!(limits, Limits::default());
            }
        }
        for number in ["", "x", "1.5", "1e3", "99999999999999999999999"] {
            let error = Limits::default().set("rounds", number).unwrap_err().to_string();
            assert_eq!(error, format!("rounds is a whole number from 1 to 10000; this is {number}."));
        }
        let error = Limits::default().set("round", "1").unwrap_err().to_string();
        assert_eq!(error, "there is no limit round. Did you mean rounds?");
        assert!(Limits::default().set("xyzzy", "1").unwrap_err().to_string().contains("side_by_side, rounds, calls"));
    }

    #[test]
    fn limits_that_bound_each_other_are_clamped() {
        let mut limits = Limits::default();
        (limits.command_seconds_most, limits.loop_stop, limits.rounds, limits.jobs) = (10, 2, 0, u64::MAX);
        let limits = limits.in_force();
        assert_eq!((limits.command_seconds, limits.loop_warning, limits.rounds, limits.jobs), (10, 2, 1, 64));
        assert_eq!(Limits::default().in_force(), Limits::default());
    }
}
