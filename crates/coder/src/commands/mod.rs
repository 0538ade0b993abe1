//! The commands of the program, one module each.

pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod chat;
pub(crate) mod clip;
pub(crate) mod commit;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod export;
pub(crate) mod grammar;
pub(crate) mod keep;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod parse;
pub(crate) mod personas;
pub(crate) mod pipe;
pub(crate) mod policy;
pub(crate) mod prompt;
pub(crate) mod proxy;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod stats;
pub(crate) mod tools;
pub(crate) mod undo;

use crate::choices::SCHEMA;
use crate::failure::{Failure, UNSUCCESSFUL};
use crate::terminal::{Terminal, print_note};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{BufRead, Read};
use std::process::ExitCode;
use toolfence_protocol::{Text, text};

/// The most bytes of stdin, or of a line if stdin is read line by line.
const MOST_BYTES: usize = 64 << 20;

/// Answers each JSON line of stdin with one line, or with none if the answer is null. An invalid line is answered with
/// an error, and the exit status is 1 at the end.
pub(crate) fn batch<T: DeserializeOwned>(
    out: &mut Terminal,
    expected: Text,
    answer: impl Fn(T) -> Result<Value, Text>,
) -> Result<ExitCode, Failure> {
    let mut status = ExitCode::SUCCESS;
    for (index, line) in stdin_lines().enumerate() {
        let line = line?;
        // A parser may ignore a byte order mark (RFC 8259, 8.1), but serde_json rejects it.
        let line = if index == 0 { line.trim_start_matches('\u{feff}') } else { &line };
        if line.trim().is_empty() {
            continue;
        }
        let request = serde_json::from_str::<T>(line)
            .map_err(|error| text!("expected {wanted}: {error}", wanted = expected.clone(), error = error.to_string()));
        let value = request.and_then(&answer).unwrap_or_else(|error| {
            status = UNSUCCESSFUL.into();
            json!({"v": SCHEMA, "id": id_of(line), "error": text!("line {line}: {error}", line = index + 1, error)})
        });
        if !value.is_null() {
            out.line(&value.to_string())?;
        }
    }
    Ok(status)
}

/// Returns the id of an invalid line, or null if it has no id.
fn id_of(line: &str) -> Value {
    serde_json::from_str::<Value>(line).ok().and_then(|value| value.get("id").cloned()).unwrap_or_default()
}

/// Reads all of stdin, 64 MiB at most. Invalid UTF-8 is replaced with a warning, and spans refer to the replaced text.
pub(crate) fn read_stdin() -> Result<String, Failure> {
    let bytes = read_all(std::io::stdin().lock(), MOST_BYTES)?;
    Ok(text_of(bytes))
}

fn read_all(reader: impl Read, most: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    reader.take(most as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > most { Err(too_long(most)) } else { Ok(bytes) }
}

/// Returns an iterator over the lines of stdin, each of 64 MiB at most.
pub(crate) fn stdin_lines() -> impl Iterator<Item = Result<String, Failure>> {
    lines(std::io::stdin().lock(), MOST_BYTES).map(|line| line.map(text_of))
}

fn lines(mut reader: impl BufRead, most: usize) -> impl Iterator<Item = Result<Vec<u8>, Failure>> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        // One more byte for the newline.
        match reader.by_ref().take(most as u64 + 1).read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) if line.ends_with(b"\n") => line.truncate(line.len() - 1),
            Ok(_) if line.len() > most => return Some(Err(too_long(most))),
            Ok(_) => {}
            Err(error) => return Some(Err(unreadable(error))),
        }
        Some(Ok(line))
    })
}

fn too_long(most: usize) -> Failure {
    Failure::wrong_use(text!(
        "stdin has a line or text of more than {mebibytes} MiB; send less at a time",
        mebibytes = most >> 20
    ))
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let at = error.utf8_error().valid_up_to();
        print_note(&text!("stdin is not UTF-8 at byte {at}; such bytes are read as U+FFFD", at));
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    })
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::broken(text!("cannot read stdin: {error}", error = Text::from(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_above_the_limit_is_an_error() {
        assert_eq!(read_all(&b"four"[..], 4).unwrap(), b"four");
        assert!(read_all(std::io::repeat(b'y'), 4).is_err());
        let read = |text: &'static [u8]| lines(text, 4).take(4).map(Result::ok).collect::<Vec<_>>();
        let line = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(read(b"four\n\nlast"), [line("four"), line(""), line("last")]);
        assert_eq!(read(b"a\nfives\n")[..2], [line("a"), None]);
        let endless = std::io::BufReader::new(std::io::repeat(b'y'));
        assert!(lines(endless, 4).next().is_some_and(|line| line.is_err()));
    }
}
