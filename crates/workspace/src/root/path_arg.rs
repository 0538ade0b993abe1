//! Parses a path from a model: makes it relative to the root, or refuses it.
//!
//! This module opens nothing. The code that follows the path handles `..`, because its meaning depends on links.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use toolfence_protocol::{ErrorCode, Text, ToolFailure, text};

/// The maximum length in bytes of a path that the kernel accepts (`PATH_MAX`, path_resolution(7)).
const LONGEST: usize = 4095;

/// Makes `text` relative to the root; "." is the root itself. `roots` are the absolute paths of the root.
pub(crate) fn relative(text: &str, roots: &[&Path]) -> Result<PathBuf, ToolFailure> {
    if text.is_empty() {
        return Err(invalid(text!("The path is empty. Give a path relative to the project root; \".\" is the root.")));
    }
    if text.contains('\0') {
        return Err(invalid(text!("The path {path} contains a NUL byte. Write it without.", path = quoted(text))));
    }
    if text.len() > LONGEST {
        return Err(invalid(text!(
            "The path {path} has {bytes} bytes; {most} are the most.",
            path = quoted(text),
            bytes = text.len(),
            most = LONGEST
        )));
    }
    // A shell would expand this to a home folder.
    if text == "~" || text.starts_with("~/") {
        return Err(outside_error(text));
    }
    if !text.starts_with('/') {
        return Ok(PathBuf::from(text));
    }
    below(Path::new(text), roots).map(|rest| with_final_slash(rest, text)).ok_or_else(|| outside_error(text))
}

/// Returns the part of an absolute path below the root; "." for the root itself.
pub(crate) fn below(path: &Path, roots: &[&Path]) -> Option<PathBuf> {
    let rest = roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
    Some(if rest.as_os_str().is_empty() { PathBuf::from(".") } else { rest.to_owned() })
}

/// Keeps a final slash, which marks a folder and which the standard library drops.
fn with_final_slash(path: PathBuf, text: &str) -> PathBuf {
    if !text.ends_with('/') {
        return path;
    }
    let mut path = OsString::from(path);
    path.push("/");
    path.into()
}

/// Returns `true` if the last part of a path can only be a folder.
pub(crate) fn names_a_folder(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.ends_with(b"/")
        || bytes.ends_with(b"/.")
        || !matches!(path.components().next_back(), Some(Component::Normal(_)))
}

/// Returns a path in quotes, shortened for a message.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 200;
    let short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() { format!("{short:?}...") } else { format!("{short:?}") }
}

/// Returns the error for a path that is not below the root.
pub(crate) fn outside_error(text: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::PermissionDenied,
        text!(
            "{path} is outside the project root, where tools cannot go. Use a path relative to the root, such as \
             \"src/main.rs\".",
            path = quoted(text)
        ),
    )
}

/// Returns the error for a link inside the root that leads out of it.
pub(crate) fn link_outside(text: &str, link: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::PermissionDenied,
        text!(
            "{path} leads out of the project by the link {link}; tools do not follow it. Work with files below the \
             root.",
            path = quoted(text),
            link = quoted(link)
        ),
    )
}

pub(crate) fn invalid(message: Text) -> ToolFailure {
    ToolFailure::new(ErrorCode::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_parsed_as_text() {
        let roots = [Path::new("/real/root"), Path::new("/given")];
        let read = |text: &str| relative(text, &roots).map_err(|failure| failure.code);
        assert_eq!(read("a/../b"), Ok("a/../b".into()));
        assert_eq!(read("/real/root"), Ok(".".into()));
        assert_eq!(read("/real//root/./a/"), Ok("a/".into()));
        assert_eq!(read("/given/../x"), Ok("../x".into()));
        assert_eq!(read("/real/rooted"), Err(ErrorCode::PermissionDenied));
        assert_eq!(read("~/x"), Err(ErrorCode::PermissionDenied));
        assert_eq!(read("~x"), Ok("~x".into()));
        assert_eq!(read(""), Err(ErrorCode::InvalidArgument));
        assert_eq!(read("a\0b"), Err(ErrorCode::InvalidArgument));
        assert_eq!(read(&"a".repeat(5000)), Err(ErrorCode::InvalidArgument));
    }

    #[test]
    fn paths_with_a_final_slash_are_folders() {
        for folder in ["a/", ".", "a/..", "..", "a/."] {
            assert!(names_a_folder(Path::new(folder)), "{folder}");
        }
        assert!(!names_a_folder(Path::new("a/b")) && !names_a_folder(Path::new(".a")));
    }
}
