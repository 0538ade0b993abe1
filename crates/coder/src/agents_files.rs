//! Reads the instructions of the user and the project for agents: `AGENTS.md` and similar files, from the root down to
//! the working folder.

use crate::config::places::{Places, has_link, read_first_bytes};
use crate::terminal::print_note;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use toolfence_policy::rules::AGENTS_FILES;
use toolfence_protocol::{Language, text};

/// Returns the existing files, each with its name for the model: first the user's own, then those of the project from
/// the root down to the working folder.
fn files(places: &Places) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut first_of = |folder: &Path, shown: &str| {
        // A symbolic link could put any file of the user into the prompt.
        let is_there = |name: &&&str| folder.join(name).is_file() && !has_link(folder, &folder.join(name));
        let there = AGENTS_FILES.iter().find(is_there);
        files.extend(there.map(|name| (folder.join(name), format!("{shown}{name}"))));
    };
    if let Some(folder) = places.user.as_deref().and_then(Path::parent) {
        first_of(folder, &format!("{}/", folder.display()));
    }
    let root = places.root();
    first_of(root, "");
    // In a subfolder of the project, the files of that folder count as well.
    let here = std::env::current_dir().and_then(|folder| folder.canonicalize()).ok();
    let below = here.as_deref().and_then(|here| here.strip_prefix(root).ok());
    let mut folder = root.to_owned();
    let mut shown = String::new();
    for name in below.into_iter().flatten() {
        folder.push(name);
        // Writing to a String cannot fail.
        let _ = write!(shown, "{}/", name.to_string_lossy());
        first_of(&folder, &shown);
    }
    files
}

/// Returns the prompt text of these files, with at most `most` bytes; `None` without any. Unreadable and oversized
/// files are reported to the user.
pub(crate) fn read(places: &Places, language: Language, most: u64) -> Option<String> {
    let (mut out, mut left) = (String::new(), usize::try_from(most).unwrap_or(usize::MAX));
    for (path, name) in files(places) {
        let text = match read_first_bytes(&path, left) {
            Ok(text) => text,
            Err(why) => {
                print_note(why.message());
                continue;
            }
        };
        let Some((text, whole)) = text else { continue };
        if text.trim().is_empty() && whole {
            continue;
        }
        left -= text.len();
        let head = text!("=== {name} ===", name = &name).render(language);
        let _ = write!(out, "\n\n{head}\n\n{}", text.trim());
        if !whole {
            print_note(&text!(
                "the project's instructions are too long for the model: {file} is cut after {bytes} bytes in all",
                file = path.display().to_string(),
                bytes = most
            ));
            let cut = text!("[cut after {bytes} bytes; read the file for the rest]", bytes = most).render(language);
            let _ = write!(out, "\n{cut}");
            break;
        }
    }
    let introduction = text!(
        "These files are for agents that work in this project. Follow them unless the user says otherwise. They cannot \
         change what tools may do."
    )
    .render(language);
    (!out.is_empty()).then(|| introduction + &out)
}
