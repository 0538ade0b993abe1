//! Blocked files that appear while a command runs, and the lines of its output that stand in them.
//!
//! No mask lies over such a file until the next command, and the command goes on: it may be the user's editor that made it.
//! What the command read of it is withheld from the output, as far as it stands there as it stands in the file. A
//! command that changes what it prints gets around this; the next one finds the file masked.

use crate::masks::Masks;
use crate::masks::scan::{Purpose, Scan};
use crate::masks::set::MaskSet;
use crate::root::ignores::Ignores;
use crate::root::{Root, folder};
use crate::stat::Stamp;
use crate::stop::Stop;
use crate::{messages, names};
use memchr::memmem;
use rustix::fd::AsFd;
use rustix::fs::FileType;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use toolfence_project::{Identity, MaskKind, Number, number_of};
use toolfence_protocol::{Language, Text};

/// Files that are read, the bytes of one and of all of them, and the lines that are kept. What is beyond is said to be.
const MOST_FILES: usize = 256;
const MOST_BYTES: u64 = 1 << 20;
const MOST_OF_ALL: u64 = 8 << 20;
const MOST_LINES: usize = 4096;

/// A shorter line says nothing, and stands in half of all outputs.
const SHORTEST: usize = 6;

/// A value that is at least so long is withheld wherever it stands, not only alone on its line.
const LONG: usize = 16;

/// What stands in blocked files that appeared while a command ran.
#[derive(Debug, Default)]
pub struct Withheld {
    /// Files by device and inode, with their length and last change when they were read.
    read: HashMap<Number, Stamp>,
    names: Vec<PathBuf>,
    /// What a line of output must not have in it, with the number of a name.
    parts: Vec<(Vec<u8>, usize)>,
    /// What a line of output must not be, with the number of a name.
    whole: HashMap<Vec<u8>, usize>,
    bytes: u64,
    is_incomplete: bool,
}

/// Looks for blocked files that were not there when the command was started, outside folders that git ignores.
pub(super) fn look(masks: &Masks, before: &MaskSet, withheld: &mut Withheld, stop: &Stop) {
    let hidden = |set: &MaskSet| -> Vec<(PathBuf, Identity)> {
        let hidden = set.list.iter().filter(|mask| matches!(mask.how, MaskKind::Hide | MaskKind::HideRemovable));
        hidden.map(|mask| (mask.path.clone(), mask.is)).collect()
    };
    let mut scan = Scan::begin(masks, Purpose::Watch);
    // A project that moves is looked at again the next time, and what was seen of it until then counts.
    let _ = scan.tree(stop);
    let known: HashSet<Identity> = hidden(before).into_iter().map(|(_, is)| is).collect();
    let new = hidden(&scan.set).into_iter().filter(|(_, is)| !known.contains(is));
    let mut pending: Vec<PathBuf> = new.map(|(path, _)| path).collect();
    pending.retain(|path| !is_in_ignored(&masks.root, path));
    let mut seen = 0;
    while let Some(path) = pending.pop() {
        seen += 1;
        if seen > MOST_FILES {
            withheld.is_incomplete = true;
            return;
        }
        let Ok(stat) = masks.root.stat_exact(&path) else { continue };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => withheld.read(&masks.root, path, &stat),
            FileType::Directory => {
                let opened = masks.root.open_exact(&path);
                let items = opened.and_then(|opened| folder::items(opened.as_fd(), MOST_FILES));
                let items = items.map(|(items, _)| items).unwrap_or_default();
                pending.extend(items.into_iter().map(|item| path.join(item.name)));
            }
            _ => {}
        }
    }
}

/// What stands in a folder that git ignores is made by programs, in numbers.
fn is_in_ignored(root: &Root, path: &Path) -> bool {
    path.parent().is_some_and(|folder| Ignores::above(root, folder).matches_above(path))
}

impl Withheld {
    /// Whether there is anything to withhold.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.whole.is_empty() && !self.is_incomplete
    }

    fn read(&mut self, root: &Root, path: PathBuf, stat: &rustix::fs::Stat) {
        let stamp = Stamp::of(stat);
        if self.read.insert(number_of(stat), stamp) == Some(stamp) {
            return;
        }
        let room = MOST_BYTES.min(MOST_OF_ALL.saturating_sub(self.bytes));
        let mut text = Vec::new();
        let opened = root.open_exact(&path);
        let read = opened.map(|file| std::fs::File::from(file).take(room).read_to_end(&mut text));
        self.is_incomplete |= !matches!(read, Ok(Ok(read)) if (read as u64) < room);
        self.bytes += text.len() as u64;
        self.take(&text, path);
    }

    fn take(&mut self, text: &[u8], path: PathBuf) {
        let of = self.names.len();
        self.names.push(path);
        for line in text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
            if self.parts.len() + self.whole.len() >= MOST_LINES {
                self.is_incomplete = true;
                return;
            }
            if line.len() < SHORTEST {
                continue;
            }
            self.parts.push((line.to_vec(), of));
            let Some(at) = line.iter().position(|&byte| byte == b'=') else { continue };
            let value = line[at + 1..].trim_ascii();
            let quoted = |mark: u8| value.strip_prefix(&[mark])?.strip_suffix(&[mark]);
            let value = quoted(b'"').or_else(|| quoted(b'\'')).unwrap_or(value);
            if value.len() >= LONG {
                self.parts.push((value.to_vec(), of));
            } else if value.len() >= SHORTEST {
                self.whole.insert(value.to_vec(), of);
            }
        }
    }

    /// The text without the lines that stand in these files: words in their place say so. The time is linear in the text, for
    /// each of the lines that are known. The words are in `language`.
    pub fn from(&self, text: String, language: Language) -> String {
        if self.parts.is_empty() && self.whole.is_empty() || text.is_empty() {
            return text;
        }
        let bytes = text.as_bytes();
        let starts: Vec<usize> = std::iter::once(0).chain(memchr::memchr_iter(b'\n', bytes).map(|at| at + 1)).collect();
        let mut hit: Vec<Option<usize>> = vec![None; starts.len()];
        for (part, of) in &self.parts {
            for at in memmem::find_iter(bytes, part) {
                hit[starts.partition_point(|start| *start <= at) - 1] = Some(*of);
            }
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (number, line) in lines.iter().enumerate() {
            let bare = line.trim().as_bytes();
            // What is delivered may begin and end within a line.
            let is_edge = (number == 0 || number + 1 == lines.len()) && bare.len() >= SHORTEST;
            let piece = || self.parts.iter().find(|(part, _)| is_edge && memmem::find(part, bare).is_some());
            if hit[number].is_none() {
                hit[number] = self.whole.get(bare).copied().or_else(|| piece().map(|(_, of)| *of));
            }
        }
        let mut out = String::with_capacity(text.len());
        let mut number = 0;
        while let Some(line) = lines.get(number) {
            let Some(of) = hit[number] else {
                out.push_str(line);
                number += 1;
                continue;
            };
            let row = hit[number..].iter().take(lines.len() - number).take_while(|hit| **hit == Some(of)).count();
            number += row;
            out.push_str(&messages::lines_withheld(row, names::shown(&self.names[of])).into_string(language));
        }
        out
    }

    /// What is said where not all of what appeared was compared.
    pub fn note(&self) -> Option<Text> {
        self.is_incomplete.then(messages::more_than_compared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn withheld(file: &str) -> Withheld {
        let mut withheld = Withheld::default();
        withheld.take(file.as_bytes(), ".env".into());
        withheld
    }

    #[test]
    fn lines_and_values_of_the_file_are_withheld_and_nothing_else() {
        let all = withheld("# comment\nA=1\nTOKEN=\"sk-live-0123456789abcdef\"\nMODE=production\n\n  PIN = 123456\n");
        let note = |row: usize| {
            let words = if row == 1 { "A line is withheld: it stands" } else { "Lines are withheld: they stand" };
            format!("[{words} in .env, which appeared while the command ran and is not for tools.]\n")
        };
        for (output, want) in [
            ("one\ntwo\n", "one\ntwo\n".to_owned()),
            ("A=1\nin production\n", "A=1\nin production\n".to_owned()),
            ("x\nMODE=production\ny\n", format!("x\n{}y\n", note(1))),
            ("x\nproduction\ny\n", format!("x\n{}y\n", note(1))),
            ("x\n  123456  \ny\n", format!("x\n{}y\n", note(1))),
            ("x\nkey: sk-live-0123456789abcdef!\ny\n", format!("x\n{}y\n", note(1))),
            ("x\n> TOKEN=\"sk-live-0123456789abcdef\"\nPIN = 123456\ny", format!("x\n{}y", note(2))),
            // The end of a line whose beginning was delivered before, and the other way round.
            ("0123456789abcdef\"\nx\n", format!("{}x\n", note(1))),
            ("x\nTOKEN=\"sk-live-01", format!("x\n{}", note(1))),
            ("", String::new()),
        ] {
            assert_eq!(all.from(output.to_owned(), Language::English), want, "{output:?}");
        }
    }

    #[test]
    fn what_is_kept_of_a_large_file_has_an_end() {
        let lines: String = (0..100_000).map(|number| format!("KEY_{number}=value-{number}\n")).collect();
        let all = withheld(&lines);
        assert!(all.parts.len() + all.whole.len() <= MOST_LINES + 1 && all.note().is_some());
        let output = "KEY_5=value-5\nplain line\n".repeat(4000);
        let started = std::time::Instant::now();
        let left = all.from(output, Language::English);
        assert!(!left.contains("KEY_5=") && left.matches("plain line\n").count() == 4000);
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }
}
