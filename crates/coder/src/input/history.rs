//! The lines of earlier conversations: a file below what the program remembers, for its owner alone and without secrets.

use crate::shown::is_plain;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use toolfence_agent::redact::Redactor;

/// The file; each line is a JSON string.
const FILE: &str = "history.jsonl";

/// Lines that are known, bytes of the longest, and bytes of the file beyond which old lines go.
const MOST_LINES: usize = 1000;
const LONGEST: usize = 4 << 10;
const MOST_BYTES: u64 = 1 << 20;

/// Where lines are kept from one conversation to the next.
pub(super) struct Past {
    file: PathBuf,
    redactor: Redactor,
}

impl Past {
    /// Below the folder of what the program remembers.
    pub(super) fn below(state: &Path, redactor: Redactor) -> Past {
        Past { file: state.join(FILE), redactor }
    }

    /// The lines that were kept, the oldest first. A file that has grown too long is made shorter.
    pub(super) fn lines(&self) -> Vec<String> {
        // Without its file the editor knows the lines of this conversation alone.
        let Ok((text, whole)) = self.read() else { return Vec::new() };
        let read = text.lines().filter_map(|line| serde_json::from_str::<String>(line).ok());
        // A paste is kept whole, and the editor shows it as it is.
        let mut lines: Vec<String> = read.filter(|line| line.split(['\n', '\t']).all(is_plain)).collect();
        let more = lines.len().saturating_sub(MOST_LINES);
        lines.drain(..more);
        if !whole || more > MOST_LINES {
            let _ = self.rewrite(&lines); // what is too long now will be made shorter the next time
        }
        lines
    }

    /// The end of the file, and whether that is all of it.
    fn read(&self) -> io::Result<(String, bool)> {
        let mut file = File::open(&self.file)?;
        keep_private(&file);
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        // Where it begins in the middle of a line, that line is no JSON and is left out.
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

    /// Keeps a line. A very long one is no line that anybody looks for again.
    pub(super) fn add(&self, line: &str) -> io::Result<()> {
        if line.trim().is_empty() || line.len() > LONGEST {
            return Ok(());
        }
        let folder = self.file.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.file)?;
        keep_private(&file);
        let line = serde_json::Value::from(self.redactor.text(line).as_ref()).to_string() + "\n";
        // One call writes it, so that the lines of two conversations do not run into one another.
        file.write_all(line.as_bytes())
    }
}

/// A file that was there already, from a backup say, may be readable for others.
fn keep_private(file: &File) {
    const OWNER_ALONE: u32 = 0o600;
    // A user who wants no history may link the file to a shared device.
    let is_open = |meta: std::fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o777 & !OWNER_ALONE != 0;
    if file.metadata().is_ok_and(is_open) {
        // One of another owner stays as that one wants it.
        let _ = file.set_permissions(std::fs::Permissions::from_mode(OWNER_ALONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_others_could_read_is_closed_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let past = Past::below(folder.path(), Redactor::new());
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
        let past = Past::below(&folder.path().join("state"), Redactor::new());
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
        let past = Past::below(folder.path(), Redactor::new());
        let line = format!("{}\n", serde_json::Value::from("y".repeat(1000)));
        std::fs::write(&past.file, line.repeat(5000) + "no JSON\n\"last\"\n").unwrap();
        let lines = past.lines();
        assert!(lines.len() == MOST_LINES && lines.last().is_some_and(|line| line == "last"));
        assert!(std::fs::metadata(&past.file).unwrap().len() <= MOST_BYTES + 10_000);
        assert_eq!(std::fs::metadata(&past.file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(past.lines(), lines);
    }
}
