//! Records which files of projects the user trusts, settings and commands, by path and content hash in the user's state
//! folder.

use super::places::{Places, read_own};
use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};
use toolfence_workspace::Digest;

/// The file with the trust records, one JSON object per line.
const FILE: &str = "trusted.jsonl";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Trusted {
    path: String,
    sha256: String,
}

/// Returns `true` if a file is trusted with exactly this content. If the records cannot be read, nothing is trusted.
pub(crate) fn is_trusted(places: &Places, file: &Path, content: &str) -> bool {
    let wanted = entry(file, content);
    wanted.is_ok_and(|wanted| list(places).unwrap_or_default().contains(&wanted))
}

/// Trusts files with these contents. Their earlier contents are no longer trusted.
pub(crate) fn store(places: &Places, files: &[(PathBuf, String)]) -> Result<(), Failure> {
    let new: Vec<Trusted> = files.iter().map(|(file, content)| entry(file, content)).collect::<Result<_, _>>()?;
    let mut kept = list(places)?;
    kept.retain(|known| new.iter().all(|new| new.path != known.path));
    kept.extend(new);
    write(folder(places)?, &kept)
}

/// Revokes the trust in all files of the project.
pub(crate) fn forget(places: &Places) -> Result<(), Failure> {
    let mut kept = list(places)?;
    kept.retain(|known| {
        let path = Path::new(&known.path);
        path != places.project && !path.starts_with(places.commands())
    });
    write(folder(places)?, &kept)
}

/// Revokes the trust in the file of this name.
pub(crate) fn forget_one(places: &Places, file: &Path) -> Result<(), Failure> {
    let mut kept = list(places)?;
    kept.retain(|known| Path::new(&known.path) != file);
    write(folder(places)?, &kept)
}

/// Returns the SHA-256 of a text in hexadecimal.
pub(crate) fn hash(content: &str) -> String {
    Digest::compute(content.as_bytes()).to_string()
}

fn entry(file: &Path, content: &str) -> Result<Trusted, Failure> {
    let path = file.to_str().ok_or_else(|| {
        Failure::wrong_use(text!("the path of this project is not UTF-8, so its file cannot be trusted"))
    })?;
    Ok(Trusted { path: path.to_owned(), sha256: hash(content) })
}

fn folder(places: &Places) -> Result<&Path, Failure> {
    places
        .state
        .as_deref()
        .ok_or_else(|| Failure::wrong_use(text!("there is no folder for trust decisions: set HOME or XDG_STATE_HOME")))
}

/// Returns the list of everything that the user trusts, as it is stored.
pub(crate) fn read_list(places: &Places) -> String {
    let list = folder(places).and_then(|folder| read_own(&folder.join(FILE)));
    // A list that cannot be read trusts nothing.
    list.ok().flatten().unwrap_or_default()
}

/// Reads the trust records. An invalid line is skipped and trusts nothing.
fn list(places: &Places) -> Result<Vec<Trusted>, Failure> {
    let text = read_own(&folder(places)?.join(FILE))?.unwrap_or_default();
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn write(folder: &Path, trusted: &[Trusted]) -> Result<(), Failure> {
    let text: String = trusted.iter().filter_map(|line| Some(serde_json::to_string(line).ok()? + "\n")).collect();
    let broken = |error: std::io::Error| {
        Failure::broken(text!(
            "cannot write to {folder}: {error}",
            folder = folder.display().to_string(),
            error = Text::from(&error)
        ))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(broken)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(broken)?;
    file.write_all(text.as_bytes()).map_err(broken)?;
    // The rename replaces the whole file, so a reader never sees a part of it.
    file.persist(folder.join(FILE)).map_err(|error| broken(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_sha256() {
        assert_eq!(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
