//! Reads the configuration of a repository to find the files of the project that the host's git would run or read.
//!
//! Git itself reads the configuration (`git config --list --includes`), so quoting, comments, continued lines,
//! conditions of includes and the user's own global file need no second parser. The result is cached until one of the
//! files that were read, or that would have been read, changes.

use super::Git;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The maximum size of a list of settings in bytes.
const MOST_BYTES: u64 = 4 << 20;

/// The time limit of a call of git.
const PATIENCE: Duration = Duration::from_secs(5);

/// The maximum number of entries of a folder of hooks that are checked for links.
const MOST_HOOKS: usize = 1000;

/// The files of the project that the host's git would run or read because of one repository's configuration. All paths
/// are absolute and lexically normalized; links in them are not followed yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configured {
    /// Folders of hooks, included files and programs in the project.
    pub used: Vec<PathBuf>,
    /// Keys and values of the repository's own files.
    pub local: Vec<(String, Option<String>)>,
    /// Keys and values of the files of the user and the system.
    pub global: Vec<(String, Option<String>)>,
    /// A relative folder of hooks in the user's own configuration, which applies to every repository.
    pub hooks_everywhere: Option<PathBuf>,
}

/// Identifies one version of a file, so that a cached result is used only as long as the file has not changed.
type Stamp = Option<(u64, u64, i64, i64, i64, u64)>;

/// Cached results by the folder of the call.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<PathBuf, CachedConfig>>);

#[derive(Debug)]
struct CachedConfig {
    files: Vec<(PathBuf, Stamp)>,
    configured: Arc<Configured>,
}

impl Memory {
    /// Returns the configuration of the repository that git finds in `top`. `git_dirs` are the folders of its own
    /// files: the git directory and the common one.
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
        // `HEAD` is one of the files, because it decides about `includeIf.onbranch` (git-config(1)).
        let mut files: Vec<PathBuf> = git_dirs
            .iter()
            .flat_map(|dir| [dir.join("config"), dir.join("config.worktree"), dir.join("HEAD")])
            .collect();
        files.extend(global_files());
        // The stamps are taken first, so that files which change while git reads are read again the next time.
        let mut files: Vec<(PathBuf, Stamp)> = files.into_iter().map(|file| (file.clone(), stamp(&file))).collect();
        let text = git.ask(top, &args, &[], PATIENCE, MOST_BYTES)?;
        let (configured, more) = read(&text, top);
        files.extend(more.into_iter().map(|file| (file.clone(), stamp(&file))));
        let configured = Arc::new(configured);
        known.insert(top.to_owned(), CachedConfig { files, configured: Arc::clone(&configured) });
        Ok(configured)
    }
}

/// Returns the keys and values of one file, without included files.
///
/// # Errors
/// The file is not a configuration, or git took too long.
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

/// Removes one value of a key from a file.
///
/// # Errors
/// Git could not write the file, or took too long.
pub fn unset(git: &Git, file: &Path, key: &str, value: Option<&str>) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut args: Vec<&OsStr> =
        ["config".as_ref(), "--file".as_ref(), file.as_os_str(), "--unset-all".as_ref()].to_vec();
    // Without this option, git would match the value as a regular expression (git-config(1)).
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

/// Returns the files of the user's and the system's configuration, whether they exist or not.
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

/// Parses the list. Returns the configuration and the files that it was read from.
fn read(text: &[u8], top: &Path) -> (Configured, Vec<PathBuf>) {
    let mut configured = Configured::default();
    let mut files = Vec::new();
    let mut fields = text.split(|&byte| byte == 0);
    while let (Some(scope), Some(origin), Some(entry)) = (fields.next(), fields.next(), fields.next()) {
        // The scope `command` has the overrides that this crate itself passes to git.
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
                // A relative path is relative to the folder where hooks run, which is the top of the work tree
                // (git-config(1)).
                let hooks = path_value(value, top);
                if !local && !Path::new(value).is_absolute() && !value.starts_with('~') {
                    configured.hooks_everywhere = Some(PathBuf::from(value));
                }
                // Husky sets `.husky/_` as the folder of hooks; its files start those in the folder above.
                if hooks.file_name().is_some_and(|name| name == "_") {
                    configured.used.extend(hooks.parent().map(Path::to_owned));
                }
                configured.used.push(hooks);
            } else if key == "include.path" || key.starts_with("includeif.") && key.ends_with(".path") {
                // Git looks for the file relative to the one that includes it (git-config(1)).
                let included = path_value(value, beside);
                files.push(included.clone());
                configured.used.push(included);
            } else {
                configured.used.extend(programs(&key, value, top));
            }
        }
        if local { configured.local.push((key, value)) } else { configured.global.push((key, value)) }
    }
    let hooks: Vec<PathBuf> = configured.used.iter().flat_map(|path| links_in(path)).collect();
    configured.used.extend(hooks);
    configured.used.sort();
    configured.used.dedup();
    (configured, files)
}

/// Returns a path value relative to `base`, or to the home folder if it begins with `~/`.
fn path_value(value: &str, base: &Path) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    match value.strip_prefix("~/") {
        Some(rest) => home().map_or_else(|| base.join(value), |home| plain(&home.join(rest))),
        None => plain(&base.join(value)),
    }
}

/// Returns the files of the project that a value makes git run, and the folders that it enters to run something there.
///
/// The value is a command line, so it is split at blanks and quotes. A word is returned if such a file exists, or if it
/// is a path that could become one: with a slash, and relative to the top of the work tree or absolute. Folders are
/// returned after `cd`, except for those of an alias, which only runs when the user types it: making the folder
/// read-only would prevent all work in it.
fn programs(key: &str, value: &str, top: &Path) -> Vec<PathBuf> {
    let is_alias = key.starts_with("alias.");
    if !names_a_program(key) || is_alias && !value.starts_with('!') {
        return Vec::new();
    }
    if key == "init.templatedir" {
        return vec![path_value(value, top)];
    }
    let words =
        value.split(|c: char| c.is_whitespace() || "\"'!;&|()<>=`$".contains(c)).filter(|word| !word.is_empty());
    let mut found = Vec::new();
    let mut before = "";
    for word in words {
        let path = path_value(word, top);
        // Two slashes are part of a URL.
        let could_be_a_file = word.contains('/') && !word.starts_with(['-', '~']) && !word.contains("//");
        let is_entered = matches!(before, "cd" | "pushd" | "-C") && !is_alias && path != top;
        if path.is_file() || could_be_a_file && !path.is_dir() || is_entered && path.is_dir() {
            found.push(path);
        }
        before = word;
    }
    found
}

/// Returns `true` if git runs the value of this key, or a part of it, as a program: see git-config(1). Keys have the
/// form in which git lists them: section and name in lower case.
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
        // Hooks that need no folder, since git 2.54.
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

/// Every setting that lets a read-only git command (`status`, `log`, `diff`, `show`, ..) run a program, or read another
/// file of settings, another tree or another repository, has at least one of these words. Keys that such commands
/// ignore are missing; a test lists each with the reason.
const WORDS_OF_READS: &[&str] = &[
    "filter",
    "textconv",
    "external",
    "command",
    "program",
    "include",
    "worktree",
    "promisor",
    "partialclone",
    "submodule",
    "showsignature",
    "pretty",
    "orderfile",
    "attributesfile",
    "mailmap",
    "ignorerevsfile",
];

/// Returns `true` if a file of settings may make a read-only git command run a program or read files elsewhere.
///
/// It searches the text instead of asking git, because it is called before each command that is judged. It can have
/// false positives, but no false negatives: one of a few words in any line counts, unless the line can only hold an
/// address or the name of a branch.
pub fn may_make_reads_run_programs(settings: &[u8]) -> bool {
    settings.split(|&byte| byte == b'\n').any(|line| {
        let line = line.trim_ascii().to_ascii_lowercase();
        !is_address_or_branch(&line)
            && WORDS_OF_READS.iter().any(|word| memchr::memmem::find(&line, word.as_bytes()).is_some())
    })
}

/// Returns `true` if a line in lower case can only hold an address or the name of a branch, regardless of its words.
fn is_address_or_branch(line: &[u8]) -> bool {
    let key = line.split(|&byte| byte == b'=').next().unwrap_or(line).trim_ascii();
    // A second section may begin on the same line.
    let opens = line.iter().filter(|&&byte| byte == b'[').count();
    matches!(key, b"url" | b"pushurl" | b"fetch" | b"merge" | b"remote")
        || line.starts_with(b"[branch \"") && opens == 1
}

/// Returns the links in a folder, such as one of hooks.
fn links_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_HOOKS);
    let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    entries.filter(is_link).map(|entry| entry.path()).collect()
}

/// Returns the links at the top of a git directory and in its hooks: `config`, `hooks` or one hook may be a link.
pub fn links_of(git_dir: &Path) -> Vec<PathBuf> {
    let mut found = links_in(git_dir);
    found.extend(links_in(&git_dir.join("hooks")));
    found
}

/// Returns the path without `.` and `..`, without reading links.
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

/// Returns the folder that a `.git` file, `commondir` or `gitdir` names, relative to the folder of that file.
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

    /// Examples of all keys that name a program.
    const NAMES_OF_PROGRAMS: &[&str] = &[
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
        "man.x.cmd",
        "man.x.path",
        "browser.x.cmd",
        "difftool.x.cmd",
        "mergetool.x.cmd",
        "guitool.x.cmd",
        "core.editor",
        "core.pager",
        "core.askpass",
        "core.gitproxy",
        "core.alternaterefscommand",
        "filter.x.clean",
        "filter.x.smudge",
        "diff.x.command",
        "gpg.program",
        "gpg.ssh.defaultkeycommand",
        "credential.helper",
        "remote.origin.receivepack",
        "remote.origin.vcs",
        "remote.origin.proxy",
        "uploadpack.packobjectshook",
        "sendemail.smtpserver",
        "sendemail.tocmd",
        "sendemail.cccmd",
        "sendemail.headercmd",
        "sendemail.sendmailcmd",
        "ssh.variant",
        "init.templatedir",
        "web.browser",
        "instaweb.httpd",
    ];

    #[test]
    fn keys_that_name_programs() {
        for key in NAMES_OF_PROGRAMS {
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
    fn the_output_of_git_config_is_parsed() {
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
        assert_eq!(configured.global.len(), 1);
    }

    #[test]
    fn settings_that_name_programs_are_distinguished_from_names() {
        for line in ["[FILTER \"x\"]", "\ttextConv = x", "[branch \"a\"] [diff \"b\"] command = x", "path = include"] {
            assert!(may_make_reads_run_programs(line.as_bytes()), "{line}");
        }
        for line in ["[core]", "bare = false", "\turl = https://x.example/include/filter", "[branch \"filter-x\"]\r"] {
            assert!(!may_make_reads_run_programs(line.as_bytes()), "{line}");
        }
    }

    /// Every key that names a program has a word that the search finds, or no read-only git command uses it.
    #[test]
    fn the_text_search_finds_every_key_that_names_a_program() {
        // Each key with the reason why it needs no word.
        const NOT_FOR_READS: &[(&str, &str)] = &[
            ("alias.st", "an alias is not a subcommand that is known to only read"),
            ("pager.log", "the output is no terminal, and the pager is switched off"),
            ("core.pager", "the output is no terminal, and the pager is switched off"),
            ("man.x.cmd", "git help is not known to only read"),
            ("man.x.path", "git help is not known to only read"),
            ("browser.x.cmd", "git help and git web--browse are not known to only read"),
            ("difftool.x.cmd", "git difftool is not known to only read"),
            ("mergetool.x.cmd", "git mergetool is not known to only read"),
            ("guitool.x.cmd", "git gui is not known to only read"),
            ("core.fsmonitor", "every git is run with it switched off"),
            ("core.editor", "only a git that writes asks for a text"),
            ("sequence.editor", "only a git that writes asks for a text"),
            ("core.askpass", "only a git that uses the network asks for a password"),
            ("core.gitproxy", "only a git that uses the network connects"),
            ("ssh.variant", "only a git that uses the network connects"),
            ("credential.https://x.y.helper", "only a git that uses the network needs a credential"),
            ("credential.helper", "only a git that uses the network needs a credential"),
            ("remote.origin.uploadpack", "only a git that uses the network or another repository fetches"),
            ("remote.origin.receivepack", "only a git that uses the network or another repository pushes"),
            ("remote.origin.vcs", "only a git that uses the network or another repository fetches"),
            ("remote.origin.proxy", "only a git that uses the network connects"),
            ("merge.x.driver", "only a git that writes merges"),
            ("uploadpack.packobjectshook", "only a git that serves a repository packs it"),
            ("sendemail.smtpserver", "git send-email is not known to only read"),
            ("sendemail.tocmd", "git send-email is not known to only read"),
            ("sendemail.cccmd", "git send-email is not known to only read"),
            ("sendemail.headercmd", "git send-email is not known to only read"),
            ("sendemail.sendmailcmd", "git send-email is not known to only read"),
            ("init.templatedir", "only a git that makes a repository copies a template"),
            ("web.browser", "git web--browse is not known to only read"),
            ("instaweb.httpd", "git instaweb is not known to only read"),
        ];
        for (key, reason) in NOT_FOR_READS {
            assert!(names_a_program(key), "{key} names no program");
            assert!(!may_make_reads_run_programs(as_settings(key).as_bytes()), "{key} has a word: {reason}");
        }
        for key in NAMES_OF_PROGRAMS {
            let is_excepted = NOT_FOR_READS.iter().any(|(other, _)| other == key);
            assert!(is_excepted || may_make_reads_run_programs(as_settings(key).as_bytes()), "{key}");
        }
    }

    /// Returns a key in the form of a file of settings.
    fn as_settings(key: &str) -> String {
        let (section, rest) = key.split_once('.').unwrap_or((key, ""));
        match rest.rsplit_once('.') {
            Some((subsection, name)) => format!("[{section} \"{subsection}\"]\n\t{name} = x\n"),
            None => format!("[{section}]\n\t{rest} = x\n"),
        }
    }
}
