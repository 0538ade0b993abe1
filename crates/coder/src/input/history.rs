//! Stores the input lines of earlier conversations in the state folder, readable only by their owner and without
//! secrets.

use crate::shown::is_plain;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use toolfence_agent::redact::Redactor;

/// The file; each line is a JSON string.
const FILE: &str = "history.jsonl";

/// Maximum number of lines that are loaded, bytes of a stored line, and bytes of the file that are read.
const MOST_LINES: usize = 1000;
const LONGEST: usize = 4 << 10;
const MOST_BYTES: u64 = 1 << 20;

/// The file that keeps the lines from one conversation to the next.
pub(super) struct Past {
    file: PathBuf,
    redactor: Redactor,
}

impl Past {
    /// Returns the history in this state folder.
    pub(super) fn open(state: &Path, redactor: Redactor) -> Past {
        Past { file: state.join(FILE), redactor }
    }

    /// Returns the stored lines, the oldest first, and shortens a file that has grown too long.
    pub(super) fn lines(&self) -> Vec<String> {
        // If the file cannot be read, the history contains only the lines of this conversation.
        let Ok((text, whole)) = self.read() else { return Vec::new() };
        let read = text.lines().filter_map(|line| serde_json::from_str::<String>(line).ok());
        // The editor would display control characters of an expanded paste unescaped.
        let mut lines: Vec<String> = read.filter(|line| line.split(['\n', '\t']).all(is_plain)).collect();
        let more = lines.len().saturating_sub(MOST_LINES);
        lines.drain(..more);
        // Rewrite the file only when it has twice as many lines, not in every conversation.
        if !whole || more > MOST_LINES {
            let _ = self.rewrite(&lines); // on an error, the next conversation tries again
        }
        lines
    }

    /// Returns the end of the file, and whether that is the complete file.
    fn read(&self) -> io::Result<(String, bool)> {
        let mut file = File::open(&self.file)?;
        keep_private(&file);
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        // If the first line is incomplete, it is not valid JSON, and the caller skips it.
        Ok((String::from_utf8_lossy(&bytes).into_owned(), length <= MOST_BYTES))
    }

    fn rewrite(&self, lines: &[String]) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        for line in lines {
            writeln!(file, "{}", serde_json::Value::from(line.as_str()))?;
        }
        file.persist(&self.file).map_err(|error| error.error)?;
        Ok(())
    }

    /// Stores a line, unless it is blank or too long to be looked for again.
    pub(super) fn add(&self, line: &str) -> io::Result<()> {
        if line.trim().is_empty() || line.len() > LONGEST {
            return Ok(());
        }
        let folder = self.file.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.file)?;
        keep_private(&file);
        let line = serde_json::Value::from(self.redactor.text(line).as_ref()).to_string() + "\n";
        // A single write keeps the lines of two conversations from mixing.
        file.write_all(line.as_bytes())
    }
}

/// Restricts the permissions of an existing file, which may be readable by other users after a restore from a backup.
fn keep_private(file: &File) {
    const OWNER_ALONE: u32 = 0o600;
    // A user who wants no history may link the file to a shared device.
    let is_open = |meta: std::fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o777 & !OWNER_ALONE != 0;
    if file.metadata().is_ok_and(is_open) {
        // This fails for a file of another user, whose permissions then stay as they are.
        let _ = file.set_permissions(std::fs::Permissions::from_mode(OWNER_ALONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_others_could_read_is_closed_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let past = Past::open(folder.path(), Redactor::new());
        let mode = || std::fs::metadata(&past.file).unwrap().permissions().mode() & 0o777;
        let open = || std::fs::set_permissions(&past.file, std::fs::Permissions::from_mode(0o644)).unwrap();
        past.add("one").unwrap();
        open();
        past.add("two").unwrap();
        assert_eq!(mode(), 0o600, "where a line is added");
        open();
        assert_eq!((past.lines().len(), mode()), (2, 0o600), "where the lines are read");
    }

    #[test]
    fn lines_are_kept_without_secrets_and_for_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let past = Past::open(&folder.path().join("state"), Redactor::new());
        assert!(past.lines().is_empty());
        for line in ["one", "two\nlines", "  ", "use sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ"] {
            past.add(line).unwrap();
        }
        past.add(&"x".repeat(LONGEST + 1)).unwrap();
        let lines = past.lines();
        assert_eq!(lines[..2], ["one", "two\nlines"]);
        assert!(lines.len() == 3 && lines[2].starts_with("use ") && !lines[2].contains("abcdefghij"), "{lines:?}");
        assert_eq!(std::fs::metadata(&past.file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_without_an_end_is_made_shorter() {
        let folder = tempfile::tempdir().unwrap();
        let past = Past::open(folder.path(), Redactor::new());
        let line = format!("{}\n", serde_json::Value::from("y".repeat(1000)));
        std::fs::write(&past.file, line.repeat(5000) + "no JSON\n\"last\"\n").unwrap();
        let lines = past.lines();
        assert!(lines.len() == MOST_LINES && lines.last().is_some_and(|line| line == "last"));
        assert!(std::fs::metadata(&past.file).unwrap().len() <= MOST_BYTES + 10_000);
        assert_eq!(std::fs::metadata(&past.file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(past.lines(), lines);
    }
}
