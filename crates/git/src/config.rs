//! What the configuration of a repository makes the host's git run or read in the project.
//!
//! Git itself reads the configuration (`git config --list --includes`), so quoting, comments, continued lines, conditions of
//! includes and the person's own global file need no second reader. The answer is kept until one of the files that were
//! read, or that would have been read, changes.

use super::Git;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The most bytes of a configuration.
const MOST_BYTES: u64 = 4 << 20;

/// How long git may take to list it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most entries of a folder of hooks that are looked at for links.
const MOST_HOOKS: usize = 1000;

/// What the host's git would run or read in the project because of one repository's configuration. All paths are absolute
/// and lexically plain; links in them are not followed yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configured {
    /// Folders of hooks, included files and programs in the project.
    pub used: Vec<PathBuf>,
    /// Keys and values of the repository's own files.
    pub local: Vec<(String, Option<String>)>,
    /// Keys and values of the person's and the system's files.
    pub global: Vec<(String, Option<String>)>,
    /// The folder of hooks that the repository's own files name, as it is written.
    pub hooks: Option<String>,
    /// A relative folder of hooks that the person's own configuration names: it holds in every repository.
    pub hooks_everywhere: Option<PathBuf>,
}

/// What tells whether a file is the one that was read.
type Stamp = Option<(u64, u64, i64, i64, i64, u64)>;

/// Answers by the folder they were asked in.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<PathBuf, Known>>);

#[derive(Debug)]
struct Known {
    files: Vec<(PathBuf, Stamp)>,
    configured: Arc<Configured>,
}

impl Memory {
    /// What the configuration of the repository that git finds in `top` says. `git_dirs` are the folders its own files are
    /// in: the git directory and the common one.
    ///
    /// # Errors
    /// Git did not list it: the repository is broken, or git took too long.
    pub fn configured(&self, git: &Git, top: &Path, git_dirs: &[PathBuf]) -> std::io::Result<Arc<Configured>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(top)
            && known.files.iter().all(|(file, then)| stamp(file) == *then)
        {
            return Ok(Arc::clone(&known.configured));
        }
        let args = ["config", "--list", "--includes", "--show-scope", "--show-origin", "-z"];
        let mut files: Vec<PathBuf> = git_dirs
            .iter()
            .flat_map(|dir| [dir.join("config"), dir.join("config.worktree"), dir.join("HEAD")])
            .collect();
        files.extend(global_files());
        // The stamps are taken first: what changes while git reads is read again the next time.
        let mut files: Vec<(PathBuf, Stamp)> = files.into_iter().map(|file| (file.clone(), stamp(&file))).collect();
        let text = git.ask(top, &args, &[], PATIENCE, MOST_BYTES)?;
        let (configured, more) = read(&text, top);
        files.extend(more.into_iter().map(|file| (file.clone(), stamp(&file))));
        let configured = Arc::new(configured);
        known.insert(top.to_owned(), Known { files, configured: Arc::clone(&configured) });
        Ok(configured)
    }
}

/// The keys and values of one file, without what it includes.
///
/// # Errors
/// The file is no configuration, or git took too long.
pub fn keys_of(git: &Git, file: &Path) -> std::io::Result<Vec<(String, Option<String>)>> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let args: [&OsStr; 6] = [
        "config".as_ref(),
        "--file".as_ref(),
        file.as_os_str(),
        "--no-includes".as_ref(),
        "--list".as_ref(),
        "-z".as_ref(),
    ];
    let text = git.ask(folder, &args, &[], PATIENCE, MOST_BYTES)?;
    Ok(text.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()).map(key_and_value).collect())
}

/// Takes one value of a key out of a file.
///
/// # Errors
/// Git could not write the file, or took too long.
pub fn unset(git: &Git, file: &Path, key: &str, value: Option<&str>) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut args: Vec<&OsStr> =
        ["config".as_ref(), "--file".as_ref(), file.as_os_str(), "--unset-all".as_ref()].to_vec();
    if value.is_some() {
        args.push("--fixed-value".as_ref());
    }
    args.push(key.as_ref());
    args.extend(value.map(OsStr::new));
    git.ask(folder, &args, &[], PATIENCE, MOST_BYTES).map(drop)
}

fn stamp(file: &Path) -> Stamp {
    let meta = fs::metadata(file).ok()?;
    Some((meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec(), meta.mtime_nsec(), meta.size()))
}

/// Where the person's and the system's configuration is or would be.
fn global_files() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let xdg = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| home.as_ref().map(|home| home.join(".config")));
    let person = home.map(|home| home.join(".gitconfig"));
    let system = ["/etc/gitconfig", "/usr/local/etc/gitconfig"].map(PathBuf::from);
    let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    named.chain(person).chain(xdg.map(|xdg| xdg.join("git/config"))).chain(system).collect()
}

fn key_and_value(entry: &[u8]) -> (String, Option<String>) {
    let text = String::from_utf8_lossy(entry);
    match text.split_once('\n') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        // `key` alone is a flag that is set.
        None => (text.into_owned(), None),
    }
}

/// What the list says, and the files it was made from.
fn read(text: &[u8], top: &Path) -> (Configured, Vec<PathBuf>) {
    let mut configured = Configured::default();
    let mut files = Vec::new();
    let mut fields = text.split(|&byte| byte == 0);
    while let (Some(scope), Some(origin), Some(entry)) = (fields.next(), fields.next(), fields.next()) {
        // Our own overrides.
        if scope == b"command" {
            continue;
        }
        let origin = origin.strip_prefix(b"file:").map(|name| plain(&top.join(OsStr::from_bytes(name))));
        let (key, value) = key_and_value(entry);
        if let Some(origin) = &origin
            && !files.contains(origin)
        {
            files.push(origin.clone());
            configured.used.push(origin.clone());
        }
        let local = matches!(scope, b"local" | b"worktree");
        if let Some(value) = &value {
            let beside = origin.as_deref().and_then(Path::parent).unwrap_or(top);
            if key == "core.hookspath" {
                let hooks = path_value(value, top);
                if local {
                    configured.hooks = Some(value.clone());
                }
                if !local && !Path::new(value).is_absolute() && !value.starts_with('~') {
                    configured.hooks_everywhere = Some(PathBuf::from(value));
                }
                // Husky keeps `.husky/_` as the folder of hooks; the files there start those of the folder above.
                if hooks.file_name().is_some_and(|name| name == "_") {
                    configured.used.extend(hooks.parent().map(Path::to_owned));
                }
                configured.used.push(hooks);
            } else if key == "include.path" || key.starts_with("includeif.") && key.ends_with(".path") {
                let included = path_value(value, beside);
                files.push(included.clone());
                configured.used.push(included);
            } else {
                configured.used.extend(programs(&key, value, top));
            }
        }
        if local { configured.local.push((key, value)) } else { configured.global.push((key, value)) }
    }
    let hooks: Vec<PathBuf> = configured.used.iter().flat_map(|path| linked(path)).collect();
    configured.used.extend(hooks);
    configured.used.sort();
    configured.used.dedup();
    (configured, files)
}

/// A value that is a path: relative to `base`, or to the home where it begins with `~/`.
pub fn path_value(value: &str, base: &Path) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    match value.strip_prefix("~/") {
        Some(rest) => home().map_or_else(|| base.join(value), |home| plain(&home.join(rest))),
        None => plain(&base.join(value)),
    }
}

/// Files of the project that a value would have git run.
///
/// The value is a command line, so its words are taken apart at blanks and quotes. A word is kept where such a file is
/// there, or where it is a relative path with a slash, which the shell would look for from the top of the work tree.
fn programs(key: &str, value: &str, top: &Path) -> Vec<PathBuf> {
    if !names_a_program(key) || key.starts_with("alias.") && !value.starts_with('!') {
        return Vec::new();
    }
    let words =
        value.split(|c: char| c.is_whitespace() || "\"'!;&|()<>=`$".contains(c)).filter(|word| !word.is_empty());
    let found = words.filter_map(|word| {
        let path = path_value(word, top);
        let names_a_file = word.contains('/') && !word.starts_with(['/', '-', '~']) && !word.contains("//");
        (path.is_file() || names_a_file).then_some(path)
    });
    found.collect()
}

/// Whether git takes the value of this key, or a part of it, for a program: see git-config(1). Keys are as git lists them:
/// section and name in lower case.
pub fn names_a_program(key: &str) -> bool {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let name = rest.rsplit('.').next().unwrap_or(rest);
    match section {
        "alias" | "pager" | "man" | "browser" | "difftool" | "mergetool" | "guitool" | "trailer" => true,
        "core" => matches!(
            name,
            "fsmonitor" | "editor" | "pager" | "askpass" | "sshcommand" | "gitproxy" | "alternaterefscommand"
        ),
        "filter" => matches!(name, "clean" | "smudge" | "process"),
        "diff" => matches!(name, "external" | "command" | "textconv"),
        "merge" => name == "driver",
        // Hooks without a folder, since git 2.54.
        "hook" => name == "command",
        "sequence" => name == "editor",
        "gpg" => matches!(name, "program" | "defaultkeycommand"),
        "credential" => name == "helper",
        "interactive" => name == "difffilter",
        "remote" => matches!(name, "uploadpack" | "receivepack" | "vcs" | "proxy"),
        "submodule" => name == "update",
        "uploadpack" => name == "packobjectshook",
        "sendemail" => matches!(name, "smtpserver" | "tocmd" | "cccmd" | "headercmd" | "sendmailcmd"),
        "ssh" => true,
        "init" => name == "templatedir",
        "web" | "instaweb" => true,
        _ => false,
    }
}

/// Where the links in a folder of hooks lead, and the link itself where the path is one.
fn linked(path: &Path) -> Vec<PathBuf> {
    let target = |path: &Path| {
        let is_link = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
        is_link.then(|| fs::canonicalize(path).ok()).flatten()
    };
    let mut found: Vec<PathBuf> = target(path).into_iter().collect();
    if path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten().take(MOST_HOOKS);
        found.extend(entries.filter_map(|entry| target(&entry.path())));
    }
    found
}

/// Where the links at the top of a git directory and in its hooks lead: `config`, `hooks` or one hook may be one.
pub fn links_of(git_dir: &Path) -> Vec<PathBuf> {
    let mut found = linked(git_dir);
    found.extend(linked(&git_dir.join("hooks")));
    found
}

/// The path without `.` and `..`, by its words alone.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The folder that a `.git` file, `commondir` or `gitdir` names, relative to where the file is.
pub fn pointed(file: &Path, prefix: &str) -> Option<PathBuf> {
    const LONGEST: u64 = 8192;
    let text = super::bytes_of(file, LONGEST).ok()?;
    let name = text.strip_prefix(prefix.as_bytes())?;
    let name = name.strip_suffix(b"\n").unwrap_or(name);
    let name = OsString::from_vec(name.trim_ascii_start().to_vec());
    Some(file.parent().unwrap_or(Path::new("/")).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_name_programs() {
        for key in [
            "core.fsmonitor",
            "core.sshcommand",
            "filter.lfs.process",
            "diff.x.textconv",
            "diff.external",
            "merge.x.driver",
            "alias.st",
            "credential.https://x.y.helper",
            "remote.origin.uploadpack",
            "submodule.a.b.update",
            "pager.log",
            "sequence.editor",
            "gpg.ssh.program",
            "interactive.difffilter",
            "trailer.x.command",
            "hook.lint.command",
        ] {
            assert!(names_a_program(key), "{key}");
        }
        for key in [
            "core.bare",
            "user.name",
            "remote.origin.url",
            "branch.main.merge",
            "diff.algorithm",
            "merge.conflictstyle",
        ] {
            assert!(!names_a_program(key), "{key}");
        }
    }

    #[test]
    fn the_list_of_git_is_read() {
        let text =
            b"local\0file:.git/config\0core.hookspath\n.husky/_\0global\0file:/h/.gitconfig\0include.path\nmore\0\
                     local\0file:.git/config\0core.bare\0command\0command line:\0core.fsmonitor\nfalse\0\
                     local\0file:.git/config\0filter.x.clean\nsh \"./scripts/clean.sh\" %f\0";
        let (configured, files) = read(text, Path::new("/p"));
        let used: Vec<&str> = configured.used.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(
            used,
            ["/h/.gitconfig", "/h/more", "/p/.git/config", "/p/.husky", "/p/.husky/_", "/p/scripts/clean.sh"]
        );
        assert_eq!(files, ["/p/.git/config", "/h/.gitconfig", "/h/more"].map(PathBuf::from));
        assert_eq!(configured.local[1], ("core.bare".to_owned(), None));
        assert_eq!((configured.global.len(), configured.hooks.as_deref()), (1, Some(".husky/_")));
    }
}
