//! Parsers for the values of options. Their errors are rendered in the user's language.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use toolfence_protocol::{Text, text};

/// Parses a number with the unit s, m, h or d.
pub(crate) fn parse_age(text: &str) -> Result<Duration, InvalidValue> {
    let (number, unit) = text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
    let invalid = || InvalidValue(text!("expected a number and a unit (s, m, h or d), such as 90s or 7d"));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(invalid()),
    };
    let number: u64 = number.parse().map_err(|_| invalid())?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

pub(crate) fn parse_turn_count(text: &str) -> Result<u32, InvalidValue> {
    parse_up_to(10_000, text)
}

pub(crate) fn parse_seconds(text: &str) -> Result<u64, InvalidValue> {
    parse_up_to(86_400, text)
}

pub(crate) fn parse_mebibytes(text: &str) -> Result<u32, InvalidValue> {
    parse_up_to(1024, text)
}

/// Parses the origin of a web page, as a browser sends it.
pub(crate) fn parse_origin(text: &str) -> Result<String, InvalidValue> {
    let is_origin = text.split_once("://").is_some_and(|(scheme, host)| {
        matches!(scheme, "http" | "https") && !host.is_empty() && !host.contains(['/', '?', '#', '@', ' '])
    });
    let example = "https://chat.example";
    let invalid = || InvalidValue(text!("expected an origin without a path, such as {example}", example));
    if is_origin { Ok(text.to_ascii_lowercase()) } else { Err(invalid()) }
}

pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, InvalidValue> {
    text.parse().map_err(|_| InvalidValue(text!("expected an address with a port, such as 127.0.0.1:4141")))
}

pub(crate) fn parse_temperature(text: &str) -> Result<f64, InvalidValue> {
    text.parse()
        .ok()
        .filter(|n| (0.0..=2.0).contains(n))
        .ok_or_else(|| InvalidValue(text!("expected a number from 0 to 2")))
}

pub(crate) fn parse_at_least_200(text: &str) -> Result<usize, InvalidValue> {
    text.parse().ok().filter(|n| *n >= 200).ok_or_else(|| InvalidValue(text!("expected a number of at least 200")))
}

pub(crate) fn parse_at_least_one(text: &str) -> Result<usize, InvalidValue> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| InvalidValue(text!("expected a whole number of at least 1")))
}

/// Parses a whole number from 1 to `most`.
fn parse_up_to<N: TryFrom<u64>>(most: u64, text: &str) -> Result<N, InvalidValue> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number
        .and_then(|number| number.try_into().ok())
        .ok_or_else(|| InvalidValue(text!("expected a whole number from 1 to {most}", most)))
}

/// An error in the value of an option. It is rendered later, once the language is known.
#[derive(Debug)]
pub(crate) struct InvalidValue(pub(crate) Text);

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for InvalidValue {}
