//! Which wall could not be raised, and why, on one line.

use std::io;
use std::path::Path;
use toolfence_protocol::clip;

/// Characters of a path on a line: one that goes on for ever keeps its beginning and its end.
const LONGEST: usize = 200;

/// What the helper tells the host instead of how the command ended.
#[derive(Debug)]
pub(super) struct Trouble {
    wall: &'static str,
    at: Option<String>,
    cause: io::Error,
}

impl Trouble {
    pub(super) fn new(wall: &'static str, cause: io::Error) -> Trouble {
        Trouble { wall, at: None, cause }
    }

    pub(super) fn at(wall: &'static str, at: &Path, cause: io::Error) -> Trouble {
        Trouble { wall, at: Some(clip::middle(&at.display().to_string(), LONGEST).into_owned()), cause }
    }

    /// `changed` where the host has to look at the project again, else `failed`, and the sentence.
    pub(super) fn line(&self) -> String {
        let word = if self.cause.kind() == io::ErrorKind::StaleNetworkFileHandle { "changed" } else { "failed" };
        let at = self.at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
        let sentence = format!("{}{at}: {}", self.wall, self.cause);
        let plain: String = sentence.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("{word} {plain}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_does_not_make_a_long_line() {
        let path = format!("/begin/{}/end", "d/".repeat(10_000));
        let line = Trouble::at("the masks", Path::new(&path), io::Error::other("why")).line();
        assert!(line.len() < 400 && line.contains("/begin/d") && line.contains("d//end: why\n"), "{line}");
        let short = Trouble::at("the masks", Path::new("/a/b"), io::Error::other("why")).line();
        assert_eq!(short, "failed the masks at /a/b: why\n");
    }
}
