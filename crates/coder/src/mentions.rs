//! Expands mentions in a message: `@src/main.rs` appends a file, a folder or an image of the project.

use crate::shown::{Words, language};
use std::path::PathBuf;
use toolfence_agent::redact::Redactor;
use toolfence_protocol::{ErrorCode, Text};
use toolfence_protocol::{fence, text};
use toolfence_workspace::Workspace;
use toolfence_workspace::{EntryKind, ListFiles, ReadFile, Stop};

/// Maximum number of names that are processed in a message, of listed entries of a folder, and of bytes appended to a
/// message.
const MOST_NAMES: usize = 20;
const MOST_ENTRIES: usize = 200;
const MOST_BYTES: usize = 256 << 10;

/// The file name extensions of images.
const IMAGES: &[&str] = &["png", "jpg", "jpeg", "gif", "webp"];

/// The files and images that a message mentions.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Mentions {
    /// The texts appended to the message: the displayed name and the content.
    pub(crate) texts: Vec<(String, String)>,
    pub(crate) images: Vec<PathBuf>,
    /// Explains to the user which names were not attached, and why.
    pub(crate) notes: Vec<Text>,
}

impl Mentions {
    /// Collects the files that a message mentions. A name that does not exist is plain text. `room` is the remaining
    /// room in the model's window in bytes, if it is known; the files take at most half of it.
    pub(crate) fn collect(message: &str, workspace: &Workspace, room: Option<usize>) -> Mentions {
        let mut found = Mentions::default();
        // If the files filled the window, many servers would silently cut the request.
        let most = room.map_or(MOST_BYTES, |room| MOST_BYTES.min(room / 2));
        let mut left = most;
        for name in names(message) {
            match found.add(&name, workspace, &mut left) {
                Ok(()) => {}
                Err(Why::Absent) => {}
                Err(Why::TooLong) if most < MOST_BYTES => {
                    let why = text!(
                        "the model's window has room for {limit} KiB of files in this message; the model can read \
                         parts of it",
                        limit = most >> 10
                    );
                    found.notes.push(text!("@{name} was not attached: {why}", name, why));
                }
                Err(Why::TooLong) => {
                    found.notes.push(text!(
                        "@{name} was not attached: {why}",
                        name,
                        why = text!(
                            "the files of one message may have {kibibytes} KiB together",
                            kibibytes = MOST_BYTES >> 10
                        )
                    ));
                }
                Err(Why::Told(why)) => {
                    found.notes.push(text!("@{name} was not attached: {why}", name, why));
                }
            }
        }
        found
    }

    fn add(&mut self, name: &str, workspace: &Workspace, left: &mut usize) -> Result<(), Why> {
        let mut wanted = ListFiles::new(name);
        (wanted.max_depth, wanted.limit) = (Some(2), MOST_ENTRIES);
        // A user who names a file does not write a glob; the model can list files for one.
        if name.contains(['*', '?', '[', '{']) {
            return Err(Why::Absent);
        }
        let listing = workspace.files().list(&wanted, &Stop::default())?;
        let is_file =
            matches!(&listing.entries[..], [only] if only.path == listing.path && only.kind == EntryKind::File);
        let shown = if listing.path.is_empty() { ".".to_owned() } else { listing.path.clone() };
        // Two names, such as `src` and `src/`, may mean the same path.
        if self.texts.iter().any(|(known, _)| *known == shown) {
            return Ok(());
        }
        let ending = shown.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
        if is_file && IMAGES.contains(&ending.as_str()) {
            self.images.push(workspace.root_path().join(&listing.path));
            return Ok(());
        }
        let (head, body) = if is_file {
            let file = workspace.files().read(&ReadFile::new(name), &Stop::default())?;
            let head = match file.left_out {
                0 => text!("The file {path}:", path = &shown),
                _ => text!(
                    "The file {path}, first {count} {count|line|lines}; read_file shows the rest:",
                    path = &shown,
                    count = file.end_line
                ),
            };
            // The configuration of a repository often has a token in the URL of a remote.
            let in_git_folder = shown.split('/').any(|part| part.eq_ignore_ascii_case(".git"));
            let text = if in_git_folder { Redactor::new().text(&file.text).into_owned() } else { file.text };
            (head, text)
        } else {
            let entries = listing.entries.iter().filter(|entry| !entry.blocked && !entry.unnameable);
            let rows = entries.map(|entry| {
                let end = if entry.kind == EntryKind::Folder { "/" } else { "" };
                format!("{}{end}\n", entry.shown)
            });
            let head = match listing.truncated {
                true => text!("The folder {path}, first names only; list_files shows more:", path = &shown),
                false => text!("The folder {path}:", path = &shown),
            };
            (head, rows.collect())
        };
        if body.len() > *left {
            return Err(Why::TooLong);
        }
        *left -= body.len();
        let marks = "`".repeat(fence::safe_length(&body));
        let end = if body.is_empty() || body.ends_with('\n') { "" } else { "\n" };
        let text = format!("{}\n\n{marks}\n{body}{end}{marks}", head.render(language()));
        self.texts.push((shown, text));
        Ok(())
    }

    /// Returns the message followed by the texts.
    pub(crate) fn append_to(&self, message: &str) -> String {
        self.texts.iter().fold(message.to_owned(), |message, (_, text)| format!("{message}\n\n{text}"))
    }

    /// Returns the line that lists the appended names; `None` without any.
    pub(crate) fn summary(&self) -> Option<Text> {
        let images = self.images.iter().map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let names: Vec<String> = self.texts.iter().map(|(name, _)| name.clone()).chain(images).collect();
        (!names.is_empty()).then(|| text!("attached: {names}", names = names.join(", ")))
    }
}

/// The reason why a name appends nothing.
enum Why {
    /// No file has this name, so it is an ordinary word.
    Absent,
    /// The content exceeds the limit.
    TooLong,
    Told(Text),
}

impl From<toolfence_protocol::ToolFailure> for Why {
    fn from(failure: toolfence_protocol::ToolFailure) -> Why {
        match failure.code {
            ErrorCode::NotFound => Why::Absent,
            _ => Why::Told(failure.message.words().lines().next().unwrap_or_default().into()),
        }
    }
}

/// Returns the first [`MOST_NAMES`] names after an `@` that begins a word, outside of fences. A name with spaces is in
/// double quotes.
fn names(message: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_code = false;
    for line in message.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        for (at, _) in line.match_indices('@') {
            let begins =
                line[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || "([".contains(before));
            // Each name may be as long as the rest of the message, so no more of them are read than count.
            if names.len() == MOST_NAMES {
                return names;
            }
            if !begins {
                continue;
            }
            let rest = &line[at + 1..];
            let name = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap_or_default(),
                None => {
                    let word = rest.split_whitespace().next().filter(|_| !rest.starts_with(char::is_whitespace));
                    // Trailing punctuation belongs to the sentence, not to the name.
                    word.unwrap_or_default().trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '"'])
                }
            };
            if !name.is_empty() && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_policy::rules::PathRules;

    #[test]
    fn names_begin_words() {
        for (message, want) in [
            ("look at @src/main.rs, and @src/.", &["src/main.rs", "src/"][..]),
            ("(@a) @\"b c.md\" @a", &["a", "b c.md"]),
            ("me@example.org @ @\n```\n@property\n```\n@after", &["after"]),
            ("@..", &[]),
        ] {
            assert_eq!(names(message), want, "{message}");
        }
    }

    /// Each `@` precedes a word as long as the rest of the message, so reading all of them would take minutes and
    /// gigabytes.
    #[test]
    fn no_more_names_are_read_than_count() {
        assert_eq!(names(&"(@".repeat(500_000)).len(), MOST_NAMES);
        assert!(names(&"x@".repeat(500_000)).is_empty());
    }

    #[test]
    fn files_and_folders_stand_below_the_message() {
        let folder = tempfile::tempdir().unwrap();
        let config = "[remote \"origin\"]\n\turl = https://ana:s3cr3t-t0ken@example.org/x.git\n";
        for (name, text) in [
            (".git/config", config),
            ("src/a.rs", "one\n```\ntwo"),
            ("src/b.rs", ""),
            (".env", "KEY=1"),
            ("shot.PNG", "x"),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::write(folder.path().join("large"), "x\n".repeat(20_000)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        let workspace = Workspace::open(folder.path(), PathRules::default()).unwrap();
        let of = |message: &str| Mentions::collect(message, &workspace, None);
        let found = of("see @src/a.rs and @src and @nothing");
        assert_eq!(
            found.append_to("see"),
            "see\n\nThe file src/a.rs:\n\n````\none\n```\ntwo\n````\n\nThe folder src:\n\n```\nsrc/a.rs\nsrc/b.rs\n```"
        );
        assert!(found.notes.is_empty());
        let shown = of("@.git/config").append_to("");
        assert!(shown.contains("ana:[redacted: password]@example.org") && !shown.contains("s3cr3t"), "{shown}");
        assert_eq!(found.summary().unwrap().to_string(), "attached: src/a.rs, src");
        assert_eq!(of("@shot.PNG").images, [folder.path().canonicalize().unwrap().join("shot.PNG")]);
        let large = of("@large");
        assert!(large.texts[0].1.starts_with("The file large, first "), "{:.80}", large.texts[0].1);
        let small = Mentions::collect("@large", &workspace, Some(4 << 10));
        assert!(small.texts.is_empty() && small.notes[0].to_string().contains("room for 2 KiB"), "{:?}", small.notes);
        for refused in ["@.env", "@/etc/passwd", "@../x", "@link"] {
            let found = of(refused);
            assert!(found.texts.is_empty() && found.images.is_empty(), "{refused}: {found:?}");
        }
        assert!(of("@.env").notes[0].to_string().starts_with("@.env was not attached: "));
    }
}
