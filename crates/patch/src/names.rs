//! Turns the names in a patch into names of files. This module opens no file and does not know the root, so absolute
//! names stay absolute.
//!
//! Tools put a prefix (`a/`, `b/`) before names. Only both names of a file together show a prefix, never one alone.

use super::grammar::WrittenName;
use super::model::{Name, Problem};
use toolfence_protocol::{Text, text};

/// The longest name in bytes, which is the kernel's limit for paths.
const LONGEST: usize = 4095;

/// The prefixes that git and other tools put before the old and the new name.
const PAIRS: [(&str, &str); 7] =
    [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("old/", "new/"), ("1/", "2/")];

/// Maximum number of different prefixes in the heads of a patch: a real one has one or two.
const MOST_PREFIXES: usize = 64;

/// The folder that the names of a patch are relative to.
///
/// ```
/// use toolfence_patch::{self as patch, Base};
///
/// let base = Base::new("./crates//core/").unwrap();
/// let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n";
/// assert_eq!(patch::names(text, &base).names, ["crates/core/x", "crates/core/a/x", "crates/core/b/x"]);
/// assert!(Base::new("../core").is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Base {
    /// The text before each name: empty for the root, otherwise a path that ends with a slash.
    prefix: String,
}

impl Base {
    /// Reads the path of a folder, which is absolute or relative to the root; `""` and `"."` are the root.
    ///
    /// # Errors
    /// Fails if the path contains `..` or is not a path of this system.
    pub fn new(folder: &str) -> Result<Base, Text> {
        let mut prefix = cleaned(folder).map_err(|why| why.then(text!("Give paths relative to the project root.")))?;
        if !prefix.is_empty() && !prefix.ends_with('/') {
            prefix.push('/');
        }
        Ok(Base { prefix })
    }

    /// Returns the name as seen from the root. An absolute name does not depend on the folder.
    pub(super) fn join(&self, name: &str) -> String {
        if is_absolute(name) { name.to_owned() } else { format!("{}{name}", self.prefix) }
    }

    /// Returns the name of the patch from which [`Base::join`] made `path`.
    pub(super) fn strip<'n>(&self, path: &'n str) -> &'n str {
        path.strip_prefix(self.prefix.as_str()).unwrap_or(path)
    }
}

/// The prefixes before the old and the new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefixes {
    pub(super) old: String,
    pub(super) new: String,
}

/// The prefixes that the heads of a patch show.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// The prefixes of pairs that have some.
    prefixes: Vec<Prefixes>,
    /// The prefixes of names that also occur without them on another line.
    certain: Vec<Prefixes>,
    /// Whether a head has no prefix.
    pub(super) none: bool,
}

/// Both names of a file, cleaned; `None` for `/dev/null`.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

/// The names of a file without their prefixes.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) old: Option<Name>,
    pub(super) new: Option<Name>,
    /// Whether the pair alone does not decide between the two readings of its names.
    pub(super) doubtful: bool,
}

impl Evidence {
    /// Adds the prefixes that a pair shows, if any.
    pub(super) fn add(&mut self, pair: &Pair) {
        let (Some(old), Some(new)) = (&pair.old, &pair.new) else { return };
        if is_absolute(old) || is_absolute(new) {
            return;
        }
        match shared_name(old, new) {
            Some(name) if old != new => {
                let prefix = |full: &str| full[..full.len() - name.len()].to_owned();
                add_once(&mut self.prefixes, Prefixes { old: prefix(old), new: prefix(new) });
            }
            // `x` on both sides shows that names have no prefixes, but `a/x` on both sides does not.
            _ => self.none |= old == new && !starts_like_prefix(old),
        }
    }

    /// Adds prefixes of names that also occur without them on another line.
    pub(super) fn add_certain(&mut self, prefixes: Prefixes) {
        add_once(&mut self.certain, prefixes);
    }

    /// Returns the name of a git head, if other heads show for certain how long its prefixes are.
    pub(super) fn read_git(&self, old: &str, new: &str) -> Option<String> {
        self.certain.iter().find_map(|both| {
            let name = old.strip_prefix(both.old.as_str()).filter(|name| !name.is_empty())?;
            (new.strip_prefix(both.new.as_str()) == Some(name)).then(|| name.to_owned())
        })
    }

    /// Returns the reading of a name whose other side is `/dev/null`, if other heads of the patch show the prefixes.
    fn read_alone(&self, name: &str) -> Option<String> {
        // At the limit, further prefixes were ignored, so the lists no longer show all of them.
        if [&self.prefixes, &self.certain].iter().any(|all| all.len() == MOST_PREFIXES) {
            return None;
        }
        let stripped =
            self.prefixes.iter().chain(&self.certain).flat_map(|both| [&both.old, &both.new]).find_map(|prefix| {
                name.strip_prefix(prefix.as_str()).filter(|rest| !prefix.is_empty() && !rest.is_empty())
            });
        let is_shown = self.none || !self.prefixes.is_empty() || !self.certain.is_empty();
        stripped.map(str::to_owned).or_else(|| is_shown.then(|| name.to_owned()))
    }
}

/// Adds prefixes that are not in the list yet. Those above the limit are ignored, so that time stays linear.
fn add_once(all: &mut Vec<Prefixes>, prefixes: Prefixes) {
    if all.len() < MOST_PREFIXES && !all.contains(&prefixes) {
        all.push(prefixes);
    }
}

impl Pair {
    pub(super) fn new(old: &WrittenName, new: &WrittenName, line: usize) -> Result<Pair, Problem> {
        Ok(Pair { old: check_name(old, line)?, new: check_name(new, line)? })
    }

    /// Reads both names of a head that has no `diff --git` line.
    pub(super) fn read(self, evidence: &Evidence) -> Names {
        match (self.old, self.new) {
            (Some(old), Some(new)) => read_pair(old, new, evidence),
            (old, new) => {
                let written = old.as_deref().or(new.as_deref()).unwrap_or_default();
                let sure = evidence.read_alone(written);
                // A name that has none of the prefixes of the other heads may have a prefix all the same.
                let doubtful = starts_like_prefix(written) && sure.as_deref().is_none_or(|sure| sure == written);
                let name = |name: String| sure.clone().map_or_else(|| alone(name), Name::plain);
                Names { doubtful, old: old.map(name), new: new.map(name) }
            }
        }
    }
}

fn read_pair(old: String, new: String, evidence: &Evidence) -> Names {
    let names = |old, new| Names { old: Some(old), new: Some(new), doubtful: false };
    if is_absolute(&old) || is_absolute(&new) {
        return names(alone(old), alone(new));
    }
    if old == new {
        // `a/x` on both sides: either a folder `a` exists, or the name was written with the wrong prefix.
        let doubtful = starts_like_prefix(&old);
        // A head without prefixes elsewhere in the patch shows that `a` is a folder.
        let bare = rest(&old).filter(|_| doubtful && !evidence.none).map(str::to_owned);
        let name = Name { path: old, other: bare };
        return Names { doubtful, ..names(name.clone(), name) };
    }
    let known = is_known(&old, &new);
    if let Some(name) = shared_name(&old, &new).map(str::to_owned) {
        // Prefixes that no tool uses are folders that were compared: the file is in neither.
        let other = |full: String| Some(full).filter(|full| *full != name && (known || starts_like_prefix(full)));
        return names(Name { other: other(old), path: name.clone() }, Name { other: other(new), path: name.clone() });
    }
    // Two different files: the prefixes of a tool can be removed, others are folders.
    if known { names(without_prefix(old), without_prefix(new)) } else { names(Name::plain(old), Name::plain(new)) }
}

fn is_known(old: &str, new: &str) -> bool {
    PAIRS.iter().any(|(one, other)| {
        old.starts_with(one) && new.starts_with(other) || old.starts_with(other) && new.starts_with(one)
    })
}

/// Returns the name without its prefixes if both names are the same file: `a/x/f` and `b/y/f` are two.
pub(super) fn shared_name<'n>(old: &'n str, new: &str) -> Option<&'n str> {
    let name = common_end(old, new)?;
    let depth = |full: &str| full[..full.len() - name.len()].matches('/').count();
    match (depth(old), depth(new)) {
        // Only one side has a prefix: `a/x` and `x`.
        (1, 0) if starts_like_prefix(old) => Some(name),
        (0, 1) if starts_like_prefix(new) => Some(name),
        (one, other) => (one == other && (one < 2 || !is_known(old, new))).then_some(name),
    }
}

/// Returns the longest common end of two names that consists of whole parts of a path.
fn common_end<'n>(old: &'n str, new: &str) -> Option<&'n str> {
    let same = old.bytes().rev().zip(new.bytes().rev()).take_while(|(one, other)| one == other).count();
    let begins = |name: &str, length: usize| length == name.len() || name.as_bytes()[name.len() - length - 1] == b'/';
    // The equal bytes may begin within a part (`xa/f`, `ya/f`), so parts are cut off until both names begin one there.
    let cut = |length: usize| {
        let starts = old.as_bytes()[old.len() - length..].iter().position(|byte| *byte == b'/')?;
        Some(length - starts - 1)
    };
    let mut length = same;
    while length > 0 && !(begins(old, length) && begins(new, length)) {
        length = cut(length)?;
    }
    (length > 0 && !old.ends_with('/')).then(|| &old[old.len() - length..])
}

/// Reads a name that is not one of a pair.
pub(super) fn single(text: &str, line: usize) -> Result<Name, Problem> {
    clean(text, line).map(Name::plain)
}

/// Reads a name after a mark, which has no prefix and no blanks at its ends unless the file's name has.
pub(super) fn marked(text: &str, line: usize) -> Result<Name, Problem> {
    let path = clean(text.trim(), line)?;
    let bare = || rest(&path).filter(|_| starts_like_prefix(&path)).map(str::to_owned);
    let other = if text.trim().len() < text.len() { Some(clean(text, line)?) } else { bare() };
    Ok(Name { other, path })
}

/// Reads a name without a prefix that is not `/dev/null`.
pub(super) fn plain(bytes: &[u8], line: usize) -> Result<Name, Problem> {
    text_of(bytes, line).and_then(|text| single(text, line))
}

fn check_name(written: &WrittenName, line: usize) -> Result<Option<String>, Problem> {
    let WrittenName::File(bytes) = written else { return Ok(None) };
    clean(text_of(bytes, line)?, line).map(Some)
}

fn text_of(bytes: &[u8], line: usize) -> Result<&str, Problem> {
    std::str::from_utf8(bytes)
        .map_err(|_| Problem::new(line, text!("the name of a file is not UTF-8. Rename it with a command first.")))
}

/// Returns the name of a file without `.` and doubled slashes.
fn clean(text: &str, line: usize) -> Result<String, Problem> {
    let path = cleaned(text).map_err(|why| wrong(line, why))?;
    if matches!(path.as_str(), "" | "/") || text.ends_with('/') {
        return Err(wrong(line, text!("{name} names no file.", name = format!("{text:?}"))));
    }
    Ok(path)
}

/// Returns the path of a file or folder without `.`, doubled slashes and a slash at its end.
fn cleaned(text: &str) -> Result<String, Text> {
    if text.len() > LONGEST || text.contains('\0') {
        return Err(text!("the name of a file is too long or has a NUL byte."));
    }
    // These are absolute paths on Windows, or paths below the home folder in a shell.
    let drive = matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    if text.starts_with('\\') || drive || text == "~" || text.starts_with("~/") {
        return Err(text!("{name} is no path of a file below the root.", name = format!("{text:?}")));
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    // A backslash may be meant as a slash: see `with_slashes` in `forms.rs`.
    if parts.iter().any(|part| *part == ".." || part.split('\\').any(|piece| piece == "..")) {
        return Err(text!("{name} leads upwards by \"..\".", name = format!("{text:?}")));
    }
    Ok(format!("{}{}", if is_absolute(text) { "/" } else { "" }, parts.join("/")))
}

pub(super) fn is_absolute(name: &str) -> bool {
    name.starts_with('/')
}

/// Returns the refusal of an absolute name that is not known to be below the root.
pub(super) fn outside(name: &str, line: usize) -> Problem {
    wrong(line, text!("{name} is an absolute path outside of the root.", name = format!("{name:?}")))
}

fn wrong(line: usize, why: Text) -> Problem {
    Problem::new(line, why.then(text!("Give paths relative to the project root.")))
}

fn alone(name: String) -> Name {
    if starts_like_prefix(&name) { without_prefix(name) } else { Name::plain(name) }
}

pub(super) fn starts_like_prefix(name: &str) -> bool {
    (name.starts_with("a/") || name.starts_with("b/")) && name.len() > 2
}

/// Returns whether both can name the same file. An absolute name can be the same as a relative one at its end.
pub(super) fn may_be_same(one: &Name, other: &Name) -> bool {
    let ends = |long: &str, short: &str| {
        long == short || is_absolute(long) && long.strip_suffix(short).is_some_and(|head| head.ends_with('/'))
    };
    let all = |name: &Name| [Some(name.path.clone()), name.other.clone()].into_iter().flatten();
    all(one).any(|one| all(other).any(|other| ends(&one, &other) || ends(&other, &one)))
}

fn rest(name: &str) -> Option<&str> {
    name.split_once('/').map(|(_, rest)| rest)
}

fn without_prefix(name: String) -> Name {
    match rest(&name) {
        Some(path) => Name { path: path.to_owned(), other: Some(name) },
        None => Name::plain(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(old: &str, new: &str) -> (String, String) {
        let file = |name: &str| WrittenName::File(name.as_bytes().to_vec());
        let names = Pair::new(&file(old), &file(new), 1).unwrap().read(&Evidence::default());
        (names.old.unwrap().path, names.new.unwrap().path)
    }

    #[test]
    fn prefixes() {
        for (old, new, want) in [
            ("a/x", "b/x", ("x", "x")),
            ("x", "x", ("x", "x")),
            ("src/x", "src/x", ("src/x", "src/x")),
            ("a/x", "x", ("x", "x")),
            ("x", "b/x", ("x", "x")),
            ("i/x", "w/x", ("x", "x")),
            ("lib-1.0/x", "lib-1.1/x", ("x", "x")),
            ("a/old", "b/new", ("old", "new")),
            ("old.c", "new.c", ("old.c", "new.c")),
            ("./a/x", "b//x", ("x", "x")),
            ("/r//a/x", "/r/./a/x", ("/r/a/x", "/r/a/x")),
            ("q/x", "/x", ("q/x", "/x")),
            ("a/x", "/r/x", ("x", "/r/x")),
        ] {
            assert_eq!(paths(old, new), (want.0.to_owned(), want.1.to_owned()), "{old} {new}");
        }
    }

    #[test]
    fn names_that_leave_the_root_are_refused() {
        for bad in [
            "/",
            "/..",
            "/r/../x",
            "/r/",
            "../x",
            "a/../x",
            "a/b/../../..",
            "C:\\x",
            "",
            ".",
            "x/",
            "~/x",
            "a\0",
            "..\\x",
        ] {
            assert!(single(bad, 1).is_err(), "{bad:?}");
        }
        assert_eq!(single("a..b/...", 1).unwrap().path, "a..b/...");
    }

    #[test]
    fn names_are_joined_to_the_folder() {
        for (folder, name, want) in [
            ("", "x", "x"),
            (".", "x", "x"),
            ("./", "a/x", "a/x"),
            ("src", "x", "src/x"),
            (".//src/./deep//", "x", "src/deep/x"),
            ("/root/src/", "x", "/root/src/x"),
            ("/", "x", "/x"),
            ("src", "/root/x", "/root/x"),
        ] {
            let base = Base::new(folder).unwrap();
            assert_eq!(base.join(name), want, "{folder} {name}");
        }
        for bad in ["..", "src/..", "src/../src", "/root/..", "~", "~/src", "C:\\src", "\\src", "src\\..", "a\0"] {
            assert!(Base::new(bad).is_err(), "{bad:?}");
        }
    }
}
