//! What a program writes to its descriptor 3: one line of JSON about its reply.

use serde_json::Value;

/// The longest line that is read. It goes into a variable of the environment.
const LONGEST: usize = 16 << 10;

/// Characters of a program's own message that are shown.
const SHOWN: usize = 400;

/// What comes in. By default nothing has.
#[derive(Debug, Default)]
pub(super) struct Notes {
    line: Vec<u8>,
    /// The line that is being read is too long, and the rest of it is dropped.
    too_long: bool,
    note: Note,
}

/// How a program says that its reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Finish {
    #[default]
    Stop,
    Length,
    Error,
}

/// What a program said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Note {
    /// The line itself, to be given back.
    pub(super) line: Option<String>,
    /// Tokens of what it read and of what it wrote.
    pub(super) usage: Option<(u64, u64)>,
    pub(super) finish: Finish,
    /// Why there was an error.
    pub(super) message: Option<String>,
    /// Whether it does not have its conversation any more.
    pub(super) lost: bool,
}

impl Notes {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() > LONGEST {
                self.line.clear();
                self.too_long = true;
            }
            if !self.too_long {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.take();
            }
        }
    }

    pub(super) fn finish(mut self) -> Note {
        self.take();
        self.note
    }

    /// The line is over. The last one that can be read counts.
    fn take(&mut self) {
        let line = std::mem::take(&mut self.line);
        let too_long = std::mem::take(&mut self.too_long);
        match Note::read(&line) {
            Some(note) => self.note = note,
            None if line.trim_ascii().is_empty() && !too_long => {}
            None => {
                tracing::warn!(bytes = line.len(), too_long, "descriptor 3 of the program: this is no object of JSON");
            }
        }
    }
}

impl Note {
    fn read(line: &[u8]) -> Option<Note> {
        let line = std::str::from_utf8(line).ok()?.trim();
        let said: Value = serde_json::from_str(line).ok()?;
        let said = said.as_object()?;
        let count = |name: &str| said.get("usage")?.get(name)?.as_u64();
        let message = said.get("message").and_then(Value::as_str).map(|message| {
            let clean: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
            clean.trim().trim_end_matches('.').to_owned()
        });
        Some(Note {
            line: Some(line.to_owned()),
            usage: count("input").zip(count("output")),
            finish: match said.get("finish").and_then(Value::as_str) {
                Some("length") => Finish::Length,
                Some("error") => Finish::Error,
                _ => Finish::Stop,
            },
            message: message.filter(|message| !message.is_empty()),
            lost: said.get("lost") == Some(&Value::Bool(true)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(pieces: &[&[u8]]) -> Note {
        let mut notes = Notes::default();
        pieces.iter().for_each(|piece| notes.push(piece));
        notes.finish()
    }

    #[test]
    fn the_last_line_that_can_be_read_counts() {
        let said =
            note(&[b"{\"conver", b"sation\": 7, \"usage\": {\"input\": 3, \"output\": 4}}\nnonsense\n\xff\n[1]"]);
        assert_eq!(said.line.as_deref(), Some("{\"conversation\": 7, \"usage\": {\"input\": 3, \"output\": 4}}"));
        assert_eq!((said.usage, said.finish, said.lost), (Some((3, 4)), Finish::Stop, false));
        let said = note(&[b"{}\n", b"{\"lost\":true,\"finish\":\"error\",\"message\":\"no\\u001bway.\"}"]);
        assert_eq!((said.lost, said.finish, said.message.as_deref()), (true, Finish::Error, Some("no way")));
        let said = note(&[b"{\"finish\":\"length\",\"lost\":1,\"usage\":{\"input\":-1,\"output\":2}}"]);
        assert_eq!((said.lost, said.finish, said.usage), (false, Finish::Length, None));
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let long = vec![b'x'; 1 << 20];
        let mut notes = Notes::default();
        for _ in 0..100 {
            notes.push(&long);
            assert!(notes.line.capacity() <= 2 * LONGEST);
        }
        assert_eq!(notes.finish(), Note::default());
        // What comes behind it is a line of its own.
        assert!(note(&[&long, b"{}\n{\"lost\":true}\n"]).lost);
    }
}
