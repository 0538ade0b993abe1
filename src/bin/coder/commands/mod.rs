//! One file a command.

pub(crate) mod ask;
pub(crate) mod chat;
pub(crate) mod demo;
pub(crate) mod exec;
pub(crate) mod grammar;
pub(crate) mod parse;
pub(crate) mod policy;
pub(crate) mod prompt;
pub(crate) mod tools;

use crate::failure::Failure;
use std::io::{BufRead, Read};

/// The version of every JSON output, as `"v"`: it grows when a field changes its meaning or goes away.
pub(crate) const SCHEMA: u32 = 1;

/// All of stdin. Bytes that are not UTF-8 are replaced, and a warning says so: spans count the replaced text.
pub(crate) fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(text_of(bytes))
}

/// The lines of stdin, read as they come.
pub(crate) fn stdin_lines() -> impl Iterator<Item = Result<String, Failure>> {
    std::io::stdin().lock().split(b'\n').map(|line| line.map(text_of).map_err(unreadable))
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let at = error.utf8_error().valid_up_to();
        eprintln!("coder: stdin is not UTF-8 at byte {at}; such bytes are read as U+FFFD");
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    })
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::broken(format!("cannot read stdin: {error}"))
}
