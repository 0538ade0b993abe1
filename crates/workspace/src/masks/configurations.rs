//! The configurations of repositories that a call of git may write, before it and afterwards.
//!
//! Git writes keys there that the command names, and hooks may write any. A key that may make git run a program later does not
//! stay unless the command names it.

use crate::encoding::{path_bytes, path_from};
use crate::masks::Masks;
use crate::masks::set::MaskSet;
use crate::stat::{Stamp, is_later};
use crate::{messages, names};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use toolfence_git::bytes_of;
use toolfence_git::config::{keys_of, unset};
use toolfence_protocol::Text;
use toolfence_rules::git_config::{is_as_cloned, is_harmless};

/// Keys of a configuration with their values.
type Keys = Vec<(String, Option<String>)>;

/// The most bytes of a configuration that is put back as it was.
const MOST_BYTES: u64 = 4 << 20;

/// One configuration, as it was before the call.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Before {
    /// The path of the file, as bytes.
    file: Vec<u8>,
    keys: Keys,
    /// All of it with its mode, where a hook may leave something there that cannot be read.
    whole: Option<(Vec<u8>, u32)>,
    stamp: Option<Stamp>,
}

impl Before {
    fn file(&self) -> PathBuf {
        path_from(self.file.clone())
    }
}

/// The configurations that such a call may write, as they were before it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Configurations {
    before: Vec<Before>,
    /// What the person was asked about.
    command: String,
    with_hooks: bool,
}

impl Configurations {
    /// Of the repositories that are writable in this call.
    pub fn before(masks: &Masks, set: &MaskSet, command: &str) -> Configurations {
        let with_hooks = set.with_hooks();
        let before = |file: PathBuf| {
            let git = masks.host_git()?;
            let stamp = stamp(&file);
            let whole = || Some((bytes_of(&file, MOST_BYTES).ok()?, fs::metadata(&file).ok()?.mode() & 0o777));
            let whole = with_hooks.then(whole).flatten();
            Some(Before { keys: keys_of(git, &file).unwrap_or_default(), whole, stamp, file: path_bytes(&file) })
        };
        let files = set.kept().flat_map(|folder| {
            let folder = masks.root.path().join(folder);
            [folder.join("config"), folder.join("config.worktree")]
        });
        let before = files.filter_map(before).collect();
        Configurations { before, command: command.to_ascii_lowercase(), with_hooks }
    }

    /// The keys of a file that are new, may make git run something, and do not stand in the command.
    fn planted_in(&self, before: &Before, now: Keys) -> Keys {
        let is_planted = |(key, value): &(String, Option<String>)| {
            let known = before.keys.contains(&(key.clone(), value.clone()));
            let fine = is_harmless(key, value.as_deref()) || is_as_cloned(key, value.as_deref());
            !known && !fine && !self.command.contains(&key.to_ascii_lowercase())
        };
        now.into_iter().filter(is_planted).collect()
    }

    /// While hooks run: the name of a configuration that a hook has made git run something by.
    pub fn planted(&self, masks: &Masks) -> Option<String> {
        let git = masks.host_git().filter(|_| self.with_hooks)?;
        let mut changed = self.before.iter().filter(|before| stamp(&before.file()) != before.stamp);
        // One that is being written is looked at again.
        let planted = changed
            .find(|before| keys_of(git, &before.file()).is_ok_and(|now| !self.planted_in(before, now).is_empty()))?;
        Some(shown(masks, &planted.file()))
    }

    /// Takes back keys that are new, may make git run something, and do not stand in the command; the sentences say which.
    pub fn settle(&self, masks: &Masks) -> Vec<Text> {
        self.settle_until(masks, None)
    }

    /// Takes back keys like [`Configurations::settle`], but only those that were written until a time, where that is known: what
    /// came later is another process's work.
    pub(super) fn settle_until(&self, masks: &Masks, until: Option<SystemTime>) -> Vec<Text> {
        let Some(git) = masks.host_git() else { return Vec::new() };
        let mut said = Vec::new();
        for before in &self.before {
            let file = &before.file();
            if rustix::fs::lstat(file).is_ok_and(|stat| is_later(&stat, until)) {
                continue;
            }
            let Ok(now) = keys_of(git, file) else {
                said.extend(self.put_back(masks, before));
                continue;
            };
            for (key, value) in self.planted_in(before, now) {
                let shown = shown(masks, file);
                said.push(match unset(git, file, &key, value.as_deref()) {
                    Ok(()) => messages::key_taken_out(shown, key),
                    Err(error) => messages::key_not_taken_out(shown, key, Text::from(&error)),
                });
            }
        }
        said
    }

    /// Puts a configuration back that a hook has changed so that it cannot be read: what it would make git run is not known.
    fn put_back(&self, masks: &Masks, before: &Before) -> Option<Text> {
        let file = &before.file();
        let is_there = fs::symlink_metadata(file).is_ok();
        if !self.with_hooks || stamp(file) == before.stamp && is_there == before.stamp.is_some() {
            return None;
        }
        let mut done = if is_there { fs::remove_file(file) } else { Ok(()) };
        if let Some((bytes, mode)) = &before.whole {
            // Nothing is written through a link, and nothing over a file that somebody else has made meanwhile.
            let made = |()| OpenOptions::new().write(true).create_new(true).mode(*mode).open(file);
            done = done.and_then(made).and_then(|mut made| made.write_all(bytes));
        }
        let shown = shown(masks, file);
        Some(match done {
            Ok(()) => messages::configuration_put_back(shown),
            Err(error) => messages::configuration_not_put_back(shown, Text::from(&error)),
        })
    }
}

fn shown(masks: &Masks, file: &Path) -> String {
    names::shown(file.strip_prefix(masks.root.path()).unwrap_or(file))
}

fn stamp(file: &Path) -> Option<Stamp> {
    rustix::fs::lstat(file).ok().map(|stat| Stamp::of(&stat))
}
