//! Reads the changes that the next commit would make, and the subjects of the last commits.
//!
//! A diff can run programs that the repository names: drivers for a diff, converters to text, and filters of the
//! working tree. All of them are disabled, so a file that a filter rewrites is compared as it is on the disk.

use super::{Answer, Conditions, Git};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use toolfence_protocol::text;

/// The time limit of one call of git.
const PATIENCE: Duration = Duration::from_secs(20);

/// The maximum size in bytes of a list of names or of keys.
const MOST_LISTED: u64 = 16 << 20;

/// The maximum number of filters, which are disabled one by one.
const MOST_FILTERS: usize = 1000;

/// Options of every diff: no program, no colours, and prefixes that no configuration changes.
const PLAIN: &[&str] = &[
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.relative=false",
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--find-renames",
    "--submodule=short",
    // For other values, git would read the working tree of a submodule with the submodule's configuration.
    "--ignore-submodules=dirty",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// The repository around a folder, and the selected changes.
#[derive(Debug)]
pub struct NextCommit<'g> {
    git: &'g Git,
    /// The folder in which git runs. The repository's own configuration can name another folder as the top of its
    /// working tree, in which git would find another repository.
    folder: PathBuf,
    has_commits: bool,
    /// `--cached`, or the tree that the working tree is compared with.
    against: String,
    overrides: Vec<(OsString, OsString)>,
}

/// A file that the next commit would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedName {
    /// The letter of `git diff --name-status`, such as `M` or `A`.
    pub status: char,
    /// The path of the file below the top of the repository.
    pub name: OsString,
    /// The path of the file before the commit, if it is renamed or copied.
    pub old_name: Option<OsString>,
}

impl<'g> NextCommit<'g> {
    /// Returns the next commit in the repository that git finds around `folder`: with the staged changes, or with
    /// `all`, like `git commit -a`, with the changes of all tracked files. Returns `None` if `folder` is not in a
    /// working tree.
    ///
    /// # Errors
    /// Git failed.
    pub fn find(git: &'g Git, folder: &Path, all: bool) -> io::Result<Option<NextCommit<'g>>> {
        let line = |args: &[&str], also: &[i32]| -> io::Result<OsString> {
            let mut bytes = git.ask(folder, args, also, PATIENCE, MOST_LISTED)?;
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            Ok(OsString::from_vec(bytes))
        };
        // Git exits with 128 outside of a working tree.
        let top = PathBuf::from(line(&["rev-parse", "--show-toplevel"], &[128])?);
        // A repository's configuration can set `core.worktree` to a folder that does not contain this one.
        if top.as_os_str().is_empty() || !folder.canonicalize()?.starts_with(&top) {
            return Ok(None);
        }
        let has_commits = !line(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], &[1])?.is_empty();
        let against = match (all, has_commits) {
            (false, _) => "--cached".to_owned(),
            (true, true) => "HEAD".to_owned(),
            // The name of the empty tree depends on the hash of the repository.
            (true, false) => line(&["hash-object", "-t", "tree", "--stdin"], &[])?.to_string_lossy().into_owned(),
        };
        // Git runs filters only to compare the working tree.
        let overrides = if all { without_filters(git, folder)? } else { Vec::new() };
        Ok(Some(NextCommit { git, folder: folder.to_owned(), has_commits, against, overrides }))
    }

    /// Returns the changed files, sorted by name.
    ///
    /// # Errors
    /// Git failed, or there are too many.
    pub fn names(&self) -> io::Result<Vec<ChangedName>> {
        let Answer { bytes, is_cut } = self.diff(&["--name-status", "-z"], &[], MOST_LISTED)?;
        if is_cut {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text!("git printed too much")));
        }
        let mut fields = bytes.split(|&byte| byte == 0);
        let mut names = Vec::new();
        while let Some([status, ..]) = fields.next() {
            let mut name = || fields.next().map(|name| OsStr::from_bytes(name).to_owned());
            // A rename or copy has two names.
            let old_name = if matches!(status, b'R' | b'C') { name() } else { None };
            let Some(name) = name() else { break };
            names.push(ChangedName { status: char::from(*status), name, old_name });
        }
        Ok(names)
    }

    /// Returns the diffs of the changed files except those in `without`, each from its line `diff --git`: the first
    /// `most` bytes of all, and whether there are more.
    ///
    /// # Errors
    /// Git failed.
    pub fn diffs(&self, without: &[&OsStr], most: u64) -> io::Result<(Vec<Vec<u8>>, bool)> {
        const HEAD: &[u8] = b"diff --git ";
        // The names are relative to the top of the work tree, and are not patterns (gitglossary(7), "pathspec").
        let mut paths: Vec<OsString> = vec![":(top)".into()];
        paths.extend(without.iter().map(|name| {
            let mut path = OsString::from(":(top,exclude,literal)");
            path.push(name);
            path
        }));
        let Answer { bytes, is_cut } = self.diff(&["--patch", "--unified=3"], &paths, most)?;
        let mut diffs: Vec<Vec<u8>> = Vec::new();
        // Each line of a hunk begins with a blank, `+`, `-` or `\`, so a line that begins with the words of a header is
        // one.
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            match diffs.last_mut() {
                Some(diff) if !line.starts_with(HEAD) => diff.extend_from_slice(line),
                _ => diffs.push(line.to_vec()),
            }
        }
        Ok((diffs, is_cut))
    }

    /// Returns the subjects of the last commits, the newest first.
    ///
    /// # Errors
    /// Git failed.
    pub fn subjects(&self, most: usize) -> io::Result<Vec<String>> {
        if !self.has_commits {
            return Ok(Vec::new());
        }
        let number = format!("--max-count={most}");
        let bytes = self.git.ask(&self.folder, &["log", &number, "--format=%s", "-z"], &[], PATIENCE, MOST_LISTED)?;
        let subjects = bytes.split(|&byte| byte == 0).filter(|subject| !subject.is_empty());
        Ok(subjects.map(|subject| String::from_utf8_lossy(subject).into_owned()).collect())
    }

    fn diff(&self, options: &[&str], paths: &[OsString], most: u64) -> io::Result<Answer> {
        let words = PLAIN.iter().chain(options).copied().chain([self.against.as_str(), "--"]);
        let mut args: Vec<OsString> = words.map(OsString::from).collect();
        args.extend(paths.iter().cloned());
        let overrides = &self.overrides;
        let conditions = Conditions { input: Stdio::null(), overrides, also: &[], limit: PATIENCE, most };
        self.git.answer(&self.folder, &args, conditions)
    }
}

/// Returns overrides that disable every filter of the configuration: git would run the filters of a file in the working
/// tree to compare it.
fn without_filters(git: &Git, folder: &Path) -> io::Result<Vec<(OsString, OsString)>> {
    let args = ["config", "-z", "--name-only", "--get-regexp", "^filter[.]"];
    // Status 1 means that no key matches (git-config(1)).
    let keys = git.ask(folder, &args, &[1], PATIENCE, MOST_LISTED)?;
    let mut filters: Vec<&[u8]> = keys
        .split(|&byte| byte == 0)
        .filter_map(|key| key.iter().rposition(|&byte| byte == b'.').map(|dot| &key[..dot]))
        .collect();
    filters.sort_unstable();
    filters.dedup();
    if filters.len() > MOST_FILTERS {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text!("git printed too much")));
    }
    // A required filter without a command would be an error (gitattributes(5)), so none is required.
    let off = |filter: &[u8]| {
        [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")].map(|(key, value)| {
            let key = [filter, b".", key.as_bytes()].concat();
            (OsString::from_vec(key), OsString::from(value))
        })
    };
    Ok(filters.into_iter().flat_map(off).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;
    use tempfile::TempDir;

    struct Repository(TempDir, Git);

    impl Repository {
        fn new() -> Repository {
            let folder = tempfile::tempdir().unwrap();
            let git = Git::find(&std::env::var_os("PATH").unwrap()).expect("git is installed");
            let repository = Repository(folder, git);
            repository.run(&["init", "-q", "-b", "main"]);
            repository
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn run(&self, args: &[&str]) {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(args);
            command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
            let output = command.current_dir(self.0.path()).output().unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        }

        fn next(&self, all: bool) -> NextCommit<'_> {
            NextCommit::find(&self.1, self.0.path(), all).unwrap().expect("it is a repository")
        }
    }

    fn names(next: &NextCommit<'_>) -> Vec<String> {
        next.names().unwrap().iter().map(|name| format!("{} {}", name.status, name.name.display())).collect()
    }

    /// The configuration of a repository can name the folder of another one as its working tree.
    #[test]
    fn another_repository_is_not_read_and_none_of_its_programs_run() {
        let repository = Repository::new();
        fs::write(repository.path("a"), "one\n").unwrap();
        repository.run(&["add", "."]);
        let inner = repository.path("sub");
        fs::create_dir(&inner).unwrap();
        let at = |args: &[&str]| {
            let mut all = vec!["-C", inner.to_str().unwrap()];
            all.extend(args);
            repository.run(&all);
        };
        at(&["init", "-q"]);
        fs::write(inner.join("b"), "private\n").unwrap();
        fs::write(inner.join(".gitattributes"), "* filter=x\n").unwrap();
        at(&["add", "."]);
        let planted = repository.path("planted");
        at(&["config", "filter.x.clean", &format!("touch {}; cat", planted.display())]);
        fs::write(inner.join("b"), "private work\n").unwrap();
        repository.run(&["config", "core.worktree", "../sub"]);
        for all in [false, true] {
            let next = NextCommit::find(&repository.1, repository.0.path(), all).unwrap();
            assert!(next.is_none(), "{next:?}");
        }
        assert!(!planted.exists());
    }

    #[test]
    fn the_next_commit_has_staged_changes_or_all_of_tracked_files() {
        let repository = Repository::new();
        for name in ["a", "b", "moved"] {
            fs::write(repository.path(name), format!("{name}\n").repeat(9)).unwrap();
        }
        repository.run(&["add", "."]);
        assert_eq!(names(&repository.next(false)), ["A a", "A b", "A moved"]);
        assert_eq!(names(&repository.next(true)), ["A a", "A b", "A moved"]);
        assert_eq!(repository.next(true).subjects(10).unwrap(), Vec::<String>::new());
        repository.run(&["commit", "-q", "-m", "first\n\nbody"]);
        repository.run(&["mv", "moved", "there"]);
        fs::write(repository.path("a"), "diff --git a/x b/x\n").unwrap();
        fs::write(repository.path("untracked"), "x").unwrap();
        let (staged, all) = (repository.next(false), repository.next(true));
        assert_eq!(names(&staged), ["R there"]);
        assert_eq!(names(&all), ["M a", "R there"]);
        assert_eq!(all.names().unwrap()[1].old_name.as_deref(), Some(OsStr::new("moved")));
        assert_eq!(all.subjects(10).unwrap(), ["first"]);
        let (diffs, is_cut) = all.diffs(&[], 1 << 20).unwrap();
        assert_eq!((diffs.len(), is_cut), (2, false), "{diffs:?}");
        assert!(diffs[0].starts_with(b"diff --git a/a b/a\n"));
        let (diffs, is_cut) = all.diffs(&[OsStr::new("a")], 40).unwrap();
        assert_eq!((diffs.concat().as_slice(), is_cut), (&b"diff --git a/moved b/there\nsimilarity in"[..], true));
        fs::create_dir(repository.path("below")).unwrap();
        let below = NextCommit::find(&repository.1, &repository.path("below"), true).unwrap().unwrap();
        assert_eq!(names(&below), ["M a", "R there"]);
    }

    #[test]
    fn a_folder_outside_of_a_repository_has_no_next_commit() {
        let (folder, repository) = (tempfile::tempdir().unwrap(), Repository::new());
        assert!(NextCommit::find(&repository.1, folder.path(), false).unwrap().is_none());
        assert!(NextCommit::find(&repository.1, &repository.path(".git"), false).unwrap().is_none());
    }

    #[test]
    fn programs_that_the_repository_names_do_not_run() {
        let repository = Repository::new();
        let ran = repository.path("ran");
        for name in ["a", "b"] {
            fs::write(repository.path(name), "1\n").unwrap();
        }
        repository.run(&["add", "."]);
        repository.run(&["commit", "-q", "-m", "first"]);
        fs::write(repository.path(".gitattributes"), "* filter=x diff=y\nb filter=a=b\n").unwrap();
        let touch = format!("touch '{}'; cat", ran.display());
        for key in [
            "filter.x.clean",
            "filter.x.smudge",
            "filter.a=b.clean",
            "diff.y.command",
            "diff.y.textconv",
            "diff.external",
            "core.fsmonitor",
            "core.pager",
            "pager.diff",
        ] {
            repository.run(&["config", key, &touch]);
        }
        repository.run(&["config", "filter.x.required", "true"]);
        repository.run(&["config", "filter.z.process", &touch]);
        fs::write(repository.path("a"), "2\n").unwrap();
        fs::write(repository.path("b"), "2\n").unwrap();
        for all in [false, true] {
            let next = repository.next(all);
            assert_eq!(names(&next).len(), if all { 2 } else { 0 });
            next.diffs(&[], 1 << 20).unwrap();
            next.subjects(10).unwrap();
        }
        assert!(!ran.exists());
    }
}
