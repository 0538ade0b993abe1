//! A backend that plays recorded replies one after another, for demonstrations and for tests that need no model.
//!
//! A recording is text that people can write and read. A line that begins with `%%% reply` begins a reply; the text
//! before the first one is a comment. The reply is the text below, without the line ending before the next such line or
//! the end of the file, so that calls are written as a model writes them.
//!
//! ````text
//! A model that looks before it leaps.
//! %%% reply
//! I will look first.
//!
//! ```tool
//! {"name": "list_files"}
//! ```
//! %%% reply finish=length
//! There is a lot to say about
//! ````
//!
//! `finish` is `stop` (the default), `length` or `cut`. The backend ignores the messages: the results of tools are
//! real, the replies are not.

use super::{Backend, Chunk, Sink};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Error, ErrorKind, FinishReason, Message, text};

const MARK: &str = "%%% reply";

/// One recorded reply.
#[derive(Debug)]
struct Recorded {
    /// The text, verbatim.
    text: String,
    /// How the reply ends.
    finish: FinishReason,
}

/// A backend that plays replies.
#[derive(Debug)]
pub struct Replay {
    replies: Vec<Recorded>,
    next: AtomicUsize,
    chunk: usize,
    delay: Duration,
}

impl Replay {
    /// Plays these replies, each in one piece, without delay and to its end. [`Replay::parse`] accepts replies that are
    /// cut.
    pub fn new(replies: impl IntoIterator<Item = impl Into<String>>) -> Replay {
        let whole = |text: String| Recorded { text, finish: FinishReason::Stop };
        Replay::from_recorded(replies.into_iter().map(Into::into).map(whole).collect())
    }

    fn from_recorded(replies: Vec<Recorded>) -> Replay {
        Replay { replies, next: AtomicUsize::new(0), chunk: usize::MAX, delay: Duration::ZERO }
    }

    /// Parses a recording.
    ///
    /// # Errors
    /// Fails if there is no reply, or if a line that begins one has an unknown word; the error names the line.
    pub fn parse(recording: &str) -> Result<Replay, Error> {
        let mut replies: Vec<(FinishReason, Vec<&str>)> = Vec::new();
        for (index, line) in recording.split('\n').enumerate() {
            match (line.strip_prefix(MARK), replies.last_mut()) {
                (Some(words), _) => replies.push((finish(words, index + 1)?, Vec::new())),
                (None, Some((_, lines))) => lines.push(line),
                (None, None) => {}
            }
        }
        if replies.is_empty() {
            return Err(Error::with_kind(
                ErrorKind::InvalidInput,
                text!("The recording has no replies: no line begins with `{mark}`.", mark = MARK),
            ));
        }
        let last = replies.len() - 1;
        let whole = replies.into_iter().enumerate().map(|(index, (finish, mut lines))| {
            // A newline at the end of the file ends its last line, and is not part of the reply.
            if index == last && lines.last() == Some(&"") {
                lines.pop();
            }
            Recorded { text: lines.join("\n"), finish }
        });
        Ok(Replay::from_recorded(whole.collect()))
    }

    /// Sets the length of the pieces in bytes (a piece has at least one character), and the pause before each.
    #[must_use]
    pub fn paced(mut self, chunk: usize, delay: Duration) -> Replay {
        self.chunk = chunk.max(1);
        self.delay = delay;
        self
    }

    /// Returns the number of replies that were not played yet.
    pub fn remaining(&self) -> usize {
        self.replies.len().saturating_sub(self.next.load(Ordering::Relaxed))
    }

    async fn play(&self, sink: &mut dyn Sink) -> Result<FinishReason, Error> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(reply) = self.replies.get(index) else {
            let count = self.replies.len();
            return Err(Error::with_kind(
                ErrorKind::InvalidInput,
                text!(
                    "The recording is at its end: it has {count} {count|reply|replies} and one more was asked for. \
                     Record another reply, or end the conversation before.",
                    count
                ),
            ));
        };
        let mut rest = reply.text.as_str();
        while !rest.is_empty() {
            let (piece, remaining) = rest.split_at(piece_end(rest, self.chunk));
            rest = remaining;
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
            if let ControlFlow::Break(()) = sink.chunk(Chunk::Text(piece)) {
                return Ok(FinishReason::Cut);
            }
        }
        Ok(reply.finish)
    }
}

impl Backend for Replay {
    fn stream<'a>(&'a self, _: &'a [Message], sink: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(self.play(sink))
    }
}

fn finish(words: &str, line: usize) -> Result<FinishReason, Error> {
    let mut finish = FinishReason::Stop;
    for word in words.split_whitespace() {
        finish = match word {
            "finish=stop" => FinishReason::Stop,
            "finish=length" => FinishReason::Length,
            "finish=cut" => FinishReason::Cut,
            _ => {
                return Err(Error::with_kind(
                    ErrorKind::InvalidInput,
                    text!(
                        "The recording says {word} in line {line}; a reply may say finish=stop, finish=length or \
                         finish=cut.",
                        word = format!("{word:?}"),
                        line
                    ),
                ));
            }
        };
    }
    Ok(finish)
}

/// Returns the length of the next piece: at most `most` bytes, but at least one whole character.
fn piece_end(text: &str, most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    let end = (1..=most).rev().find(|end| text.is_char_boundary(*end));
    end.or_else(|| text.chars().next().map(char::len_utf8)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pieces(Vec<String>, usize);

    impl Sink for Pieces {
        fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()> {
            if let Chunk::Text(text) = chunk {
                self.0.push(text.to_owned());
            }
            if self.0.len() == self.1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    #[tokio::test]
    async fn replies_are_played_in_order() {
        let recording = "a comment\n%%% reply finish=length\n\nä€𐍈\n%%% reply\nb\n\n%%% reply finish=cut\nlast\n";
        let replay = Replay::parse(recording).unwrap().paced(3, Duration::ZERO);
        let mut all = Vec::new();
        for _ in 0..3 {
            let mut pieces = Pieces(Vec::new(), usize::MAX);
            let finish = replay.stream(&[], &mut pieces).await.unwrap();
            all.push((pieces.0, finish));
        }
        let words = |pieces: &[&str]| pieces.iter().map(|piece| (*piece).to_owned()).collect::<Vec<_>>();
        let wanted = vec![
            (words(&["\nä", "€", "𐍈"]), FinishReason::Length),
            (words(&["b\n"]), FinishReason::Stop),
            (words(&["las", "t"]), FinishReason::Cut),
        ];
        assert_eq!(all, wanted);
        assert_eq!(replay.remaining(), 0);
        let error = replay.stream(&[], &mut Pieces(Vec::new(), 1)).await.unwrap_err();
        assert!(error.to_string().contains("it has 3 replies"), "{error}");
    }

    #[tokio::test]
    async fn a_break_of_the_sink_ends_the_reply() {
        let replay = Replay::new(["abc"]).paced(1, Duration::ZERO);
        let mut pieces = Pieces(Vec::new(), 2);
        assert_eq!(replay.stream(&[], &mut pieces).await.unwrap(), FinishReason::Cut);
        assert_eq!(pieces.0, ["a", "b"]);
    }

    #[test]
    fn errors_name_the_fault_in_a_recording() {
        let error = |text: &str| Replay::parse(text).unwrap_err().to_string();
        assert!(error("hello\n").contains("no replies"));
        assert!(error("x\n%%% reply finnish=cut\n").contains("\"finnish=cut\" in line 2"));
    }
}
