//! Globs in arguments, with the semantics of a `.gitignore`: without a slash a name at any depth, with one a path from
//! the start.

use crate::root::path_arg::{invalid, quoted};
use ignore::overrides::{Override, OverrideBuilder};
use std::path::Path;
use toolfence_protocol::{Text, ToolFailure, text};

/// The maximum length of a glob in bytes. A longer one is too expensive to compile.
const LONGEST: usize = 1024;

/// One glob, for paths relative to a folder.
#[derive(Debug)]
pub(crate) struct Glob {
    patterns: Override,
}

impl Glob {
    /// Parses a glob with `{a,b}` and `**`; a leading `!` is not special.
    pub(crate) fn new(text: &str) -> Result<Glob, ToolFailure> {
        let wrong = |problem: Text| {
            invalid(text!(
                "The glob {glob} cannot be read: {problem}. Give a glob such as *.rs or src/**/*.{{ts,tsx}}.",
                glob = quoted(text),
                problem
            ))
        };
        if text.is_empty() || text.len() > LONGEST {
            return Err(wrong(text!(
                "it has {bytes} bytes, 1 to {most} are allowed",
                bytes = text.len(),
                most = LONGEST
            )));
        }
        let bare = text.strip_prefix("./").unwrap_or(text);
        // An override that begins with `!` would exclude the matching paths.
        let escaped = if bare.starts_with('!') { format!("\\{bare}") } else { bare.to_owned() };
        let mut builder = OverrideBuilder::new("");
        builder.add(&escaped).map_err(|error| wrong(error.to_string().into()))?;
        Ok(Glob { patterns: builder.build().map_err(|error| wrong(error.to_string().into()))? })
    }

    /// Returns `true` if a path relative to the folder matches.
    pub(crate) fn matches(&self, path: &Path, is_folder: bool) -> bool {
        // An override is the opposite of an ignore rule: what matches is on the whitelist.
        self.patterns.matched(path, is_folder).is_whitelist()
    }
}

/// Splits a path with a glob into the folder before the glob and the glob relative to it. Returns `None` if it has
/// none.
pub(crate) fn split(path: &str) -> Option<(&str, String)> {
    let special = path.find(['*', '?', '[', '{'])?;
    match path[..special].rfind('/') {
        Some(0) => Some(("/", path.to_owned())),
        Some(slash) => Some((&path[..slash], path[slash..].to_owned())),
        None => Some((".", format!("/{path}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_in_gitignore() {
        let matches = |glob: &str, path: &str| Glob::new(glob).is_ok_and(|glob| glob.matches(Path::new(path), false));
        assert!(matches("*.rs", "a/b/c.rs") && matches("*.{rs,md}", "c.md") && matches("src/**/*.rs", "src/a/b.rs"));
        assert!(matches("/*.rs", "a.rs") && matches("src/*.rs", "src/a.rs") && matches("./a.rs", "a.rs"));
        assert!(!matches("/*.rs", "a/b.rs") && !matches("src/*.rs", "src/a/b.rs") && !matches("*.rs", "a.md"));
        assert!(matches("!a.rs", "!a.rs") && !matches("!a.rs", "b.rs"));
        assert!(Glob::new("a{b").is_err() && Glob::new("").is_err() && Glob::new(&"a".repeat(2000)).is_err());
    }

    #[test]
    fn a_glob_inside_a_path() {
        assert_eq!(split("src/*.rs"), Some(("src", "/*.rs".into())));
        assert_eq!(split("a/b*/c.rs"), Some(("a", "/b*/c.rs".into())));
        assert_eq!(split("*.rs"), Some((".", "/*.rs".into())));
        assert_eq!(split("src"), None);
    }
}
