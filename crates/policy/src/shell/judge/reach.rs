//! What an operand reaches: the whole system, one of its main folders, the home folder, everything above the project.

use crate::shell::expand::{Part, Word};
use crate::shell::programs::{has, words};

/// Whether a word names the whole system, one of its main folders, the home folder, or everything above the project.
pub(crate) fn is_everything(word: &Word, folders: &[String]) -> bool {
    let pattern = word.pattern();
    // Behind a `/` what is unknown may be nothing or everything; elsewhere nothing can be said.
    if word.parts.iter().any(is_unknown) && !pattern.starts_with('/') {
        return false;
    }
    if word.parts.first() == Some(&Part::Home) {
        return resolve("", &pattern[1..]).is_none_or(|names| is_all(&names));
    }
    if pattern.starts_with('/') {
        return is_system(&pattern, "/");
    }
    folders.iter().any(|folder| {
        if folder.starts_with('/') {
            return is_system(&pattern, folder);
        }
        if let Some(folder) = folder.strip_prefix('~') {
            return resolve(folder.trim_start_matches('/'), &pattern).is_none_or(|names| is_all(&names));
        }
        // A name that follows `..` is a neighbour and only asked about.
        let (above, names) = climb(folder, &pattern);
        above > 0 && is_all(&names)
    })
}

/// Whether a word begins with a value that only a run would tell and goes on with nothing that narrows it: `"$d/"`, `$1/*`. What
/// commands print that are judged by themselves are names of the project.
pub(crate) fn may_be_everything(word: &Word) -> bool {
    let untold = matches!(word.parts.first(), Some(Part::Value | Part::Values | Part::Unknown));
    let pattern = word.pattern();
    untold && is_all(&climb("", &pattern).1)
}

pub(crate) fn is_unknown(part: &Part) -> bool {
    !matches!(part, Part::Text(_) | Part::Glob(_) | Part::Home)
}

fn is_system(path: &str, folder: &str) -> bool {
    let Some(names) = resolve(folder, path) else { return true };
    match names.as_slice() {
        [] => true,
        [first, _] if has(words("folder-system-deep"), first) => true,
        [first, rest @ ..] => (is_any(first) || has(words("folder-system"), first)) && is_all(rest),
    }
}

fn is_all(names: &[&str]) -> bool {
    names.iter().all(|name| is_any(name))
}

/// Whether a name is a pattern that leaves nothing out.
fn is_any(name: &str) -> bool {
    name.contains(['*', '?']) && name.chars().all(|c| "*?.".contains(c))
}

/// A path with `.` and `..` worked in as text, whatever links are on the way.
pub(crate) fn collapsed(path: &str) -> String {
    let (above, names) = climb("", path);
    let top = if path.starts_with('/') { "/".to_owned() } else { "../".repeat(above) };
    format!("{top}{}", names.join("/"))
}

/// The names of a path below a folder with `.` and `..` worked in. Above `/` there is only `/`; above a relative folder
/// there is `None`.
pub(crate) fn resolve<'a>(folder: &'a str, path: &'a str) -> Option<Vec<&'a str>> {
    let absolute = path.starts_with('/') && !folder.is_empty();
    let top = absolute || folder.starts_with('/');
    let (above, names) = climb(if absolute { "" } else { folder }, path);
    (top || above == 0).then_some(names)
}

/// How many folders above the start a path leads, and the names from there.
fn climb<'a>(folder: &'a str, path: &'a str) -> (usize, Vec<&'a str>) {
    let (mut above, mut names) = (0, Vec::new());
    for name in folder.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." if names.pop().is_none() => above += 1,
            ".." => {}
            _ => names.push(name),
        }
    }
    (above, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_worked_out() {
        assert_eq!(resolve("/", "/usr/.."), Some(vec![]));
        assert_eq!(resolve("/", "//a/./b"), Some(vec!["a", "b"]));
        assert_eq!(resolve("src", "../.."), None);
        assert_eq!(resolve("src", ".."), Some(vec![]));
        assert_eq!(resolve("/home", "../.."), Some(vec![]));
    }

    #[test]
    fn what_is_everything() {
        let here = [String::new()];
        for word in ["/", "/*", "//", "/..", "/usr/..", "/etc", "/home/*", "..", "../..", "../*", "/.*", "/?*"] {
            assert!(is_everything(&Word::text(word), &here), "{word}");
        }
        for word in ["target", "../x", "/tmp/x", ".", "*", "/*.log", "/home/me/x"] {
            assert!(!is_everything(&Word::text(word), &here), "{word}");
        }
        assert!(is_everything(&Word::text("*"), &["/".to_owned()]));
    }
}
