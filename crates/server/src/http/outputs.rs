//! Outputs that were too long for a result. Clients can read them piece by piece.
//!
//! This module reads only the files that tools saved for this purpose. It looks up a name in one folder, which only the
//! server writes, and follows no links.

use super::ApiState;
use super::answer::Trouble;
use super::sessions::Stretch;
use super::types::Output;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use tokio::task::spawn_blocking;
use toolfence_protocol::text;
use toolfence_workspace::overflow_file;

/// The most bytes of one piece.
const PIECE: u64 = 256 << 10;

/// Returns a piece of an output that begins at a byte offset.
pub(super) async fn piece(shared: &Arc<ApiState>, id: String, stretch: Stretch) -> Result<Output, Trouble> {
    let workspace = shared.agents.workspace();
    let from = stretch.offset as u64;
    let read = spawn_blocking(move || {
        let file = overflow_file::open(workspace.root(), &id)?;
        let bytes = file.metadata()?.len();
        read(file, bytes, from)
    });
    let read = read.await.map_err(|_| {
        Trouble::new(500, "internal", text!("The server could not answer; its own output may say why."))
    })?;
    read.map_err(|_| {
        Trouble::not_found(text!("This output does not exist, or was removed: the oldest outputs are deleted."))
    })
}

/// Reads a piece that ends with a whole character, with the offset of the next piece and the size of the output.
fn read(mut file: impl Read + Seek, bytes: u64, from: u64) -> io::Result<Output> {
    file.seek(SeekFrom::Start(from))?;
    let mut piece = Vec::new();
    file.take(PIECE).read_to_end(&mut piece)?;
    let is_partial = from + (piece.len() as u64) < bytes;
    if is_partial {
        // At most the last three bytes are an incomplete UTF-8 sequence.
        let cut = piece.iter().rev().take(3).position(|byte| byte & 0xc0 != 0x80);
        if let Some(at) = cut.map(|behind| piece.len() - 1 - behind).filter(|at| piece[*at] >= 0xc0) {
            piece.truncate(at);
        }
    }
    // A piece that is cut to nothing ends the output, so that clients never request the same offset again.
    let next = Some(from + piece.len() as u64).filter(|next| is_partial && *next > from);
    Ok(Output { text: String::from_utf8_lossy(&piece).into_owned(), offset: from, next, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn piece(all: &[u8], from: u64) -> Output {
        read(Cursor::new(all), all.len() as u64, from).unwrap()
    }

    #[test]
    fn pieces_end_with_a_whole_character_and_give_all_of_it() {
        let text = format!("a{}\n", "\u{20ac}\u{1f600}é".repeat(70_000));
        let (mut all, mut from, mut pieces) = (String::new(), Some(0), 0);
        while let Some(at) = from {
            let piece = piece(text.as_bytes(), at);
            all += &piece.text;
            from = piece.next;
            pieces += 1;
        }
        assert!(all == text && pieces == text.len() / 262_144 + 1, "{pieces}");
        let behind = piece(text.as_bytes(), 1 << 40);
        assert_eq!((behind.text.as_str(), behind.next), ("", None));
        // Reading also ends for data that is not UTF-8.
        let noise = vec![0xf0; 600_000];
        let mut from = 0;
        while let Some(next) = piece(&noise, from).next {
            assert!(next > from);
            from = next;
        }
        assert!(from > 500_000);
    }
}
