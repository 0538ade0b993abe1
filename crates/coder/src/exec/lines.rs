//! The JSON lines between the client and the host of an exec session.

use crate::question::{Question, UserAnswer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Maximum number of bytes of a line. A reply has at most 64 MiB, and JSON needs at most six bytes for a byte of it.
const MOST_BYTES: usize = (6 * 64 + 1) << 20;

/// Maximum number of lines that were read but not handled. After that, the other side must wait.
const MOST_WAITING: usize = 16;

/// A message from the client. The first line of a connection is `Reply` or `End`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    Reply(Reply),
    Answer(UserAnswer),
    /// Ctrl-C: stops the running tools, or ends the round if no tool runs.
    Interrupt,
    /// Ends the session and its jobs.
    End,
}

/// A reply of the model, with the options that apply only to it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Reply {
    /// The fingerprint of the client's options and settings (see `open` in the parent module).
    pub(crate) fingerprint: String,
    pub(crate) text: String,
    pub(crate) json: bool,
    pub(crate) explain: bool,
    pub(crate) debug: bool,
}

/// A message from the host. The last line of a connection is `Busy`, `Changed` or `End`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The host begins to handle the reply. If the connection is closed before this line, the client can send the reply
    /// again.
    Began,
    /// Another client's reply is being handled.
    Busy,
    /// The options or settings differ from those of the session. Without `jobs` the host ends now.
    Changed { jobs: bool },
    /// A line for standard error.
    Note(String),
    /// A line of `--debug`.
    Debug(String),
    /// The host waits for an `Answer`.
    Question(Box<Question>),
    /// A call has a result.
    Call { label: String, success: bool, message: String },
    /// The text for standard output.
    Output(String),
    /// The exit status of the client.
    End(u8),
}

/// The client's side of a connection.
pub(crate) struct Link {
    pub(crate) requests: mpsc::UnboundedSender<Request>,
    /// The host's reports. The channel is closed when the host closes the connection.
    pub(crate) reports: mpsc::Receiver<Report>,
}

/// Reads lines until the stream ends or contains an invalid line.
pub(crate) fn read_lines<T: DeserializeOwned + Send + 'static>(
    stream: impl AsyncRead + Unpin + Send + 'static,
) -> mpsc::Receiver<T> {
    let (lines, received) = mpsc::channel(MOST_WAITING);
    tokio::spawn(async move {
        let mut stream = BufReader::new(stream);
        while let Ok(Some(line)) = read_line(&mut stream, MOST_BYTES).await {
            if lines.send(line).await.is_err() {
                break;
            }
        }
    });
    received
}

async fn read_line<T: DeserializeOwned>(
    stream: &mut (impl AsyncBufRead + Unpin),
    most: usize,
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    stream.take(most as u64).read_until(b'\n', &mut line).await?;
    if line.pop() != Some(b'\n') {
        // The stream has ended, or the line exceeds the limit.
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).map_err(Into::into)
}

/// Writes lines until every sender is dropped or the other side has closed the stream.
pub(crate) fn write_lines<T: Serialize + Send + 'static>(
    mut stream: impl AsyncWrite + Unpin + Send + 'static,
) -> (mpsc::UnboundedSender<T>, JoinHandle<()>) {
    let (lines, mut received) = mpsc::unbounded_channel::<T>();
    let writer = tokio::spawn(async move {
        while let Some(line) = received.recv().await {
            let Ok(mut bytes) = serde_json::to_vec(&line) else { continue };
            bytes.push(b'\n');
            if stream.write_all(&bytes).await.is_err() {
                break;
            }
        }
    });
    (lines, writer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_or_has_no_end_is_not_read() {
        let read = async |mut text: &[u8]| read_line::<Request>(&mut text, 16).await;
        assert!(matches!(read(b"\"interrupt\"\n").await, Ok(Some(Request::Interrupt))));
        assert!(matches!(read(b"\"interrupt\"").await, Ok(None)));
        assert!(matches!(read(b"\"interrupt\"          \n").await, Ok(None)));
        assert!(read(b"\"other\"\n").await.is_err());
        assert!(read(b"\xff\n").await.is_err());
    }
}
