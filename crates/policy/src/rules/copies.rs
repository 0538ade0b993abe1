//! Recognises the names of copies of a file: those that editors create, and those that users make before a change.

/// Extensions of copies, which are appended to the whole name.
const EXTENSIONS: &[&str] = &["backup", "bak", "copy", "old", "orig", "rej", "save", "tmp"];

/// Endings of copies that need no dot.
const ENDINGS: &[&str] = &["_backup", "-backup", "_bak", "-bak", "_old", "-old", " copy", "~"];

/// Returns whether an extension, in lower case, marks a file as a copy. A number does too.
pub(super) fn is_extension(extension: &str) -> bool {
    let counted = !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_digit());
    EXTENSIONS.contains(&extension) || counted
}

/// Returns the paths of the files of which `path` may be a copy. The list is empty if the name is not that of a copy.
pub(super) fn originals(path: &str) -> Vec<String> {
    /// Maximum depth of copies of copies.
    const MOST: usize = 4;
    let start = path.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, mut name) = path.split_at(start);
    let mut all = Vec::new();
    for _ in 0..MOST {
        let Some((original, hidden)) = original(name) else { break };
        all.push(format!("{folder}{original}"));
        // Vim's swap file of `secrets.env` is `.secrets.env.swp`, and that of `.env` is `.env.swp`.
        if let Some(shown) = original.strip_prefix('.').filter(|_| hidden) {
            all.push(format!("{folder}{shown}"));
        }
        name = original;
    }
    all
}

/// Returns the name without the mark of a copy, and whether an editor put a dot before it.
fn original(name: &str) -> Option<(&str, bool)> {
    // Emacs saves `#name#` automatically, and `.#name` is its lock.
    if let Some(inside) = name.strip_prefix('#').and_then(|rest| rest.strip_suffix('#')) {
        return Some((inside, false)).filter(|_| !inside.is_empty());
    }
    if let Some(locked) = name.strip_prefix(".#") {
        return Some((locked, false)).filter(|_| !locked.is_empty());
    }
    let without = |ending: &&str| {
        let at = name.len().checked_sub(ending.len())?;
        let fits = at > 0 && name.is_char_boundary(at) && name[at..].eq_ignore_ascii_case(ending);
        fits.then(|| &name[..at])
    };
    if let Some(stem) = ENDINGS.iter().find_map(without) {
        return Some((stem, false));
    }
    let (stem, extension) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty())?;
    let extension = extension.to_ascii_lowercase();
    if extension.len() == 3 && extension.starts_with("sw") && extension.is_ascii() {
        return Some((stem, true));
    }
    is_extension(&extension).then_some((stem, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_leads_to_its_original() {
        for (copy, original) in [
            ("a/id_rsa.old", "a/id_rsa"),
            ("id_rsa.bak~", "id_rsa"),
            (".credentials.xml.swp", "credentials.xml"),
            (".credentials.swo", ".credentials"),
            ("#x.pem#", "x.pem"),
            (".#x.pem", "x.pem"),
            ("X.PEM.BAK", "X.PEM"),
            ("é~", "é"),
        ] {
            assert!(originals(copy).iter().any(|path| path == original), "{copy}: {:?}", originals(copy));
        }
        for name in ["", "a", "a/b.rs", ".bak", "~", "#", "##", ".#", "a.b/c", "x.swift"] {
            assert!(originals(name).is_empty(), "{name}: {:?}", originals(name));
        }
    }
}
