//! The configurations of repositories that a call of git may write, before it and afterwards.
//!
//! A key that may make git run a program later does not stay unless the command names it.

use crate::encoding::{path_bytes, path_from};
use crate::git::config::{keys_of, unset};
use crate::masks::Masks;
use crate::masks::set::MaskSet;
use crate::{messages, names};
use std::path::{Path, PathBuf};
use toolfence_policy::rules::git_config::{is_as_cloned, is_harmless};
use toolfence_protocol::Text;

/// Keys of a configuration with their values.
type Keys = Vec<(String, Option<String>)>;

/// One configuration, as it was before the call.
#[derive(Debug, Clone)]
struct Before {
    /// The path of the file, as bytes.
    file: Vec<u8>,
    keys: Keys,
}

impl Before {
    fn file(&self) -> PathBuf {
        path_from(self.file.clone())
    }
}

/// The configurations that such a call may write, as they were before it.
#[derive(Debug, Clone)]
pub struct Configurations {
    before: Vec<Before>,
    /// What the person was asked about.
    command: String,
}

impl Configurations {
    /// Of the repositories that are writable in this call.
    pub fn before(masks: &Masks, set: &MaskSet, command: &str) -> Configurations {
        let before = |file: PathBuf| {
            let git = masks.host_git()?;
            Some(Before { keys: keys_of(git, &file).unwrap_or_default(), file: path_bytes(&file) })
        };
        let files = set.kept().flat_map(|folder| {
            let folder = masks.root.path().join(folder);
            [folder.join("config"), folder.join("config.worktree")]
        });
        let before = files.filter_map(before).collect();
        Configurations { before, command: command.to_ascii_lowercase() }
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

    /// Takes back keys that are new, may make git run something, and do not stand in the command; the sentences say which.
    pub fn settle(&self, masks: &Masks) -> Vec<Text> {
        let Some(git) = masks.host_git() else { return Vec::new() };
        let mut said = Vec::new();
        for before in &self.before {
            let file = &before.file();
            let Ok(now) = keys_of(git, file) else { continue };
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
}

fn shown(masks: &Masks, file: &Path) -> String {
    names::shown(file.strip_prefix(masks.root.path()).unwrap_or(file))
}
