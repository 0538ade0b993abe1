//! The kinds of values that settings take.

use super::value::Kind;
use clap::ValueEnum;
use std::marker::PhantomData;
use toolfence_policy::settings::{CommandRule, WrittenRule, check_glob};
use toolfence_protocol::limits::{LIMITS, Limit};
use toolfence_protocol::{Text, close_names, text};

/// Maximum number of displayed characters of a value. The command of a checker may be a whole script.
const MOST_SHOWN: usize = 60;

/// Returns the beginning of a text on one line.
pub(crate) fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(MOST_SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST_SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}

/// Declares kinds whose values are used as they are written, after a check.
macro_rules! plain_kinds {
    ($($(#[$meta:meta])* $name:ident: $value:ty, $takes:expr, $check:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Clone)]
        pub(crate) struct $name;

        impl Kind for $name {
            type Value = $value;
            type Toml = $value;

            fn describe_values() -> Text {
                $takes
            }

            fn read(written: $value, _: &str) -> Result<$value, Text> {
                let check: fn(&$value) -> Result<(), Text> = $check;
                check(&written).map(|()| written)
            }

            fn show(value: &$value) -> String {
                value.to_string()
            }
        }
    )*};
}

plain_kinds! {
    /// `true` or `false`.
    Flag: bool, text!("true or false, without quotes"), |_| Ok(());
    /// Any text.
    Line: String, text!("a text in quotes"), |_| Ok(());
    /// A glob for paths.
    Glob: String, text!("a glob such as {example}", example = "\"*.pem\""), |glob| check_glob(glob);
}

/// A word of a command-line option. If a project may set the key, its words are ordered from the loosest to the
/// strictest.
#[derive(Clone)]
pub(crate) struct Word<T>(PhantomData<T>);

/// Returns the word for a value.
pub(crate) fn name_of<T: ValueEnum>(value: &T) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn words<T: ValueEnum>() -> Vec<String> {
    T::value_variants().iter().map(name_of).collect()
}

impl<T: ValueEnum + Clone> Kind for Word<T> {
    type Value = T;
    type Toml = String;

    fn describe_values() -> Text {
        text!("one of {words}", words = words::<T>().join(", "))
    }

    fn read(written: String, _: &str) -> Result<T, Text> {
        T::from_str(&written, false).map_err(|_| {
            let words = words::<T>();
            did_you_mean(close_names(&written, words.iter().map(String::as_str)).into_iter().take(1))
        })
    }

    fn show(value: &T) -> String {
        name_of(value)
    }

    fn rank(value: &T) -> u64 {
        let name = name_of(value);
        words::<T>().iter().take_while(|word| **word != name).count() as u64
    }
}

/// Returns the message about an invalid value: the allowed values, and the reason unless it is empty.
pub(crate) fn wrong_value(key: &str, takes: Text, why: impl Into<Text>) -> Text {
    let (message, why) = (text!("{key} is {takes}.", key, takes), why.into());
    if why.is_empty() { message } else { message.then(why) }
}

/// Returns the question whether one of these close names was meant; empty without any.
pub(crate) fn did_you_mean(close: impl IntoIterator<Item = String>) -> Text {
    let either = |first: Text, second: Text| text!("{first} or {second}", first, second);
    let close = close.into_iter().map(Text::from).reduce(either);
    close.map(|close| text!("Did you mean {close}?", close)).unwrap_or_default()
}

/// A whole number from `LEAST` to `MOST`.
#[derive(Clone)]
pub(crate) struct Whole<const LEAST: u64, const MOST: u64>;

pub(crate) fn whole_number(least: u64, most: u64) -> Text {
    text!("a whole number from {least} to {most}", least, most)
}

impl<const LEAST: u64, const MOST: u64> Kind for Whole<LEAST, MOST> {
    type Value = u64;
    type Toml = u64;

    fn describe_values() -> Text {
        whole_number(LEAST, MOST)
    }

    fn read(written: u64, _: &str) -> Result<u64, Text> {
        if (LEAST..=MOST).contains(&written) { Ok(written) } else { Err(Text::default()) }
    }

    fn show(value: &u64) -> String {
        value.to_string()
    }

    fn rank(value: &u64) -> u64 {
        *value
    }
}

/// A decimal number from 0 to `MOST`.
#[derive(Clone)]
pub(crate) struct Number<const MOST: u32>;

impl<const MOST: u32> Kind for Number<MOST> {
    type Value = f64;
    type Toml = f64;

    fn describe_values() -> Text {
        text!("a number from 0 to {most}", most = MOST)
    }

    fn read(written: f64, _: &str) -> Result<f64, Text> {
        if (0.0..=f64::from(MOST)).contains(&written) { Ok(written) } else { Err(Text::default()) }
    }

    fn show(value: &f64) -> String {
        value.to_string()
    }
}

/// A rule about commands.
#[derive(Clone)]
pub(crate) struct Command;

impl Kind for Command {
    type Value = CommandRule;
    type Toml = WrittenRule;

    fn describe_values() -> Text {
        text!("a command rule such as {example}", example = "\"cargo test\"")
    }

    fn read(written: WrittenRule, _: &str) -> Result<CommandRule, Text> {
        written.try_into()
    }

    fn show(value: &CommandRule) -> String {
        value.to_string()
    }
}

/// The value of a limit, under its key.
#[derive(Clone)]
pub(crate) struct Bound;

impl Kind for Bound {
    type Value = (&'static Limit, u64);
    type Toml = u64;
    const IS_TABLE: bool = true;

    fn describe_values() -> Text {
        text!("a number")
    }

    fn read(written: u64, name: &str) -> Result<(&'static Limit, u64), Text> {
        let limit = LIMITS.iter().find(|limit| limit.key == name && (limit.least..=limit.most).contains(&written));
        limit.map(|limit| (limit, written)).ok_or_else(Text::default)
    }

    fn show((_, number): &(&'static Limit, u64)) -> String {
        number.to_string()
    }

    fn rank((_, number): &(&'static Limit, u64)) -> u64 {
        *number
    }
}
