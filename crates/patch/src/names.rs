//! From the names that stand in a patch to names of files. Opens nothing, and does not know the root: an absolute name stays
//! one here.

use super::grammar::Written;
use super::messages;
use super::model::{Name, Problem};
use toolfence_protocol::Text;

/// The longest name in bytes: the kernel takes no longer path.
const LONGEST: usize = 4095;

/// The prefixes git puts before the old and the new name.
const PAIRS: [(&str, &str); 7] =
    [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("old/", "new/"), ("1/", "2/")];

/// Both names, checked and without their prefixes. `Nothing` is no name.
pub(super) fn both(old: &Written, new: &Written, line: usize) -> Result<(Option<Name>, Option<Name>), Problem> {
    let (old, new) = (checked(old, line)?, checked(new, line)?);
    Ok(match (old, new) {
        (Some(old), Some(new)) if is_absolute(&old) || is_absolute(&new) => (Some(alone(old)), Some(alone(new))),
        (Some(old), Some(new)) => {
            let (old, new) = pair(old, new);
            (Some(old), Some(new))
        }
        (old, new) => (old.map(alone), new.map(alone)),
    })
}

/// A name that stands by itself, with nothing before it.
pub(super) fn single(text: &str, line: usize) -> Result<Name, Problem> {
    clean(text, line).map(Name::plain)
}

/// A name that has no prefix for certain.
pub(super) fn plain(written: &Written, line: usize) -> Result<Option<Name>, Problem> {
    Ok(checked(written, line)?.map(Name::plain))
}

fn checked(written: &Written, line: usize) -> Result<Option<String>, Problem> {
    let Written::File(bytes) = written else { return Ok(None) };
    match std::str::from_utf8(bytes) {
        Ok(text) => clean(text, line).map(Some),
        Err(_) => Err(Problem::new(line, messages::name_not_utf8())),
    }
}

/// The name without `.` and doubled slashes.
fn clean(text: &str, line: usize) -> Result<String, Problem> {
    let wrong = |why: Text| Err(wrong(line, why));
    if text.len() > LONGEST || text.contains('\0') {
        return wrong(messages::name_too_long_or_nul());
    }
    let drive = matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    if text.starts_with('\\') || drive || text == "~" || text.starts_with("~/") {
        return wrong(messages::no_path_below_root(format!("{text:?}")));
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.iter().any(|part| *part == ".." || part.split('\\').any(|piece| piece == "..")) {
        return wrong(messages::leads_upwards(format!("{text:?}")));
    }
    if parts.is_empty() || text.ends_with('/') {
        return wrong(messages::names_no_file(format!("{text:?}")));
    }
    Ok(format!("{}{}", if is_absolute(text) { "/" } else { "" }, parts.join("/")))
}

pub(super) fn is_absolute(name: &str) -> bool {
    name.starts_with('/')
}

/// The refusal of an absolute name that is not known to be below the root.
pub(super) fn outside(name: &str, line: usize) -> Problem {
    wrong(line, messages::absolute_outside_root(format!("{name:?}")))
}

fn wrong(line: usize, why: Text) -> Problem {
    Problem::new(line, why.then(messages::give_relative_paths()))
}

fn pair(old: String, new: String) -> (Name, Name) {
    let known = PAIRS.iter().any(|(a, b)| old.starts_with(a) && new.starts_with(b));
    let same_rest = rest(&old).is_some() && rest(&old) == rest(&new) && old != new;
    if known || same_rest {
        return (without_prefix(old), without_prefix(new));
    }
    if old == new && (old.starts_with("a/") || old.starts_with("b/")) {
        return (without_prefix(old), without_prefix(new));
    }
    // One side alone has its prefix.
    match (old.strip_prefix("a/"), new.strip_prefix("b/")) {
        (Some(bare), None) if bare == new => (without_prefix(old.clone()), Name::plain(new)),
        (None, Some(bare)) if bare == old => (Name::plain(old), without_prefix(new.clone())),
        _ => (Name::plain(old), Name::plain(new)),
    }
}

fn alone(name: String) -> Name {
    if name.starts_with("a/") || name.starts_with("b/") { without_prefix(name) } else { Name::plain(name) }
}

/// Whether both can be the same file: one may be absolute.
pub(super) fn may_be_same(one: &Name, other: &Name) -> bool {
    let ends = |long: &str, short: &str| {
        long == short || is_absolute(long) && long.strip_suffix(short).is_some_and(|head| head.ends_with('/'))
    };
    let all = |name: &Name| [Some(name.path.clone()), name.prefixed.clone()].into_iter().flatten();
    all(one).any(|one| all(other).any(|other| ends(&one, &other) || ends(&other, &one)))
}

fn rest(name: &str) -> Option<&str> {
    name.split_once('/').map(|(_, rest)| rest)
}

fn without_prefix(name: String) -> Name {
    match rest(&name) {
        Some(path) => Name { path: path.to_owned(), prefixed: Some(name) },
        None => Name::plain(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(old: &str, new: &str) -> (String, String) {
        let file = |name: &str| Written::File(name.as_bytes().to_vec());
        let (old, new) = both(&file(old), &file(new), 1).unwrap();
        (old.unwrap().path, new.unwrap().path)
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
    fn names_that_lead_elsewhere() {
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
}
