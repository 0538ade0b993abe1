//! Reads, lists and searches files.

mod complete;
mod globs;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod search;

use crate::root::Root;
use crate::stop::Stop;
use list::{ListFiles, Listing};
use read::{FileText, ReadFile};
use search::{SearchFiles, SearchResults};
use std::sync::Arc;
use toolfence_protocol::ToolFailure;

/// Read-only operations on the files below a root.
#[derive(Debug, Clone)]
pub struct Files {
    root: Arc<Root>,
}

impl Files {
    pub(crate) fn new(root: Arc<Root>) -> Files {
        Files { root }
    }

    /// Reads a range of lines of a text file.
    ///
    /// # Errors
    /// `not_found` with close names; `permission_denied` outside the root; `denied` for a blocked file;
    /// `invalid_argument` for a file that is not text, or a range that is not in it.
    pub fn read(&self, wanted: &ReadFile, stop: &Stop) -> Result<FileText, ToolFailure> {
        read::read(&self.root, wanted, stop)
    }

    /// Lists the files and folders below a folder. For a file, lists that file.
    ///
    /// # Errors
    /// The errors of [`Files::read`] for the path, and `invalid_argument` for a glob that cannot be read.
    pub fn list(&self, wanted: &ListFiles, stop: &Stop) -> Result<Listing, ToolFailure> {
        list::list(&self.root, wanted, stop, None)
    }

    /// Searches files for lines. Searches hidden and ignored files only if the path names them.
    ///
    /// # Errors
    /// The errors of [`Files::read`] for the path, and `invalid_argument` for a pattern or glob that cannot be read.
    pub fn search(&self, wanted: &SearchFiles, stop: &Stop) -> Result<SearchResults, ToolFailure> {
        search::search(&self.root, wanted, stop, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;
    use toolfence_kit::Random;

    /// Creates a random tree in which some files are binary, blocked, linked or ignored.
    fn make_tree(random: &mut Random, at: &Path, levels: usize) {
        for number in 0..4 + random.below(12) {
            let name =
                at.join(format!("{}{number}{}", random.pick(&["a", "b-", "é"]), random.pick(&["", ".rs", ".md"])));
            match random.below(12) {
                0..4 if levels > 0 => {
                    fs::create_dir(&name).expect("a folder can be made");
                    make_tree(random, &name, levels - 1);
                }
                4 if levels > 0 => {
                    fs::create_dir(&name).expect("a folder can be made");
                    for number in 0..random.below(120) {
                        fs::write(name.join(number.to_string()), text(random)).expect("a file can be written");
                    }
                }
                5 => fs::write(at.join(".env"), text(random)).expect("a file can be written"),
                6 => fs::write(at.join(".gitignore"), "*.md\n!a*\n").expect("a file can be written"),
                7 => drop(fs::hard_link(at.join(".env"), &name)),
                8 => fs::write(&name, text(random) + "\0hit\n").expect("a file can be written"),
                _ => fs::write(&name, text(random)).expect("a file can be written"),
            }
        }
    }

    fn text(random: &mut Random) -> String {
        let most = random.below(30);
        random.text(&["hit\n", "one\n", "two\n", "\n", "three hits\n"], most)
    }

    #[test]
    fn any_number_of_threads_gives_the_same_answer() {
        let stop = Stop::default();
        for seed in 0..6 {
            let home = tempfile::tempdir().expect("a temporary folder can be made");
            let mut random = Random::new(seed);
            make_tree(&mut random, home.path(), 3);
            let root = Root::open(home.path(), Default::default(), None).expect("it is there");
            for limit in [0, 1, 3, 50, 100_000] {
                let glob = random.once_in(3).then(|| "*.rs".to_owned());
                let wanted = SearchFiles { context: random.below(4), limit, glob, ..SearchFiles::new("hit") };
                let listed = ListFiles { limit, include_hidden: random.once_in(2), ..ListFiles::new(".") };
                let searched =
                    |threads| search::search(&root, &wanted, &stop, Some(threads)).expect("it can be searched");
                let alone = (searched(1), list::list(&root, &listed, &stop, Some(1)).expect("it can be listed"));
                assert!(alone.0.matches <= limit && alone.1.entries.len() <= limit);
                for threads in [2, 3, 6] {
                    let listed = list::list(&root, &listed, &stop, Some(threads)).expect("it can be listed");
                    assert_eq!((searched(threads), listed), alone, "{seed} {limit} {threads}");
                }
            }
        }
    }

    #[test]
    fn a_stopped_search_is_cancelled_on_all_threads() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        make_tree(&mut Random::new(1), home.path(), 3);
        let root = Root::open(home.path(), Default::default(), None).expect("it is there");
        let stop = Stop::default();
        stop.stop();
        for threads in [1, 4] {
            let failure =
                search::search(&root, &SearchFiles::new("hit"), &stop, Some(threads)).expect_err("it is stopped");
            assert_eq!(failure.code, toolfence_protocol::ErrorCode::Cancelled);
        }
    }
}
