//! The result of a call, which the model receives.

use crate::{Image, Language, Text, text};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Why a call failed. The model and the host see the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// No file, folder or job of this name exists.
    NotFound,
    /// An argument is missing, unknown, of the wrong kind or out of range.
    InvalidArgument,
    /// The path is outside the root, or the system denied access.
    PermissionDenied,
    /// The policy, the user or a blocked path denied the call.
    Denied,
    /// The disk or the kernel failed.
    IoError,
    /// The deadline passed.
    Timeout,
    /// The user stopped it, or an earlier call of the reply failed.
    Cancelled,
    /// The command ran and ended with a status other than zero.
    ExitStatus,
    /// A size limit was exceeded.
    TooLarge,
    /// The text to replace occurs more than once.
    NotUnique,
    /// The text or the hunk was not found.
    NoMatch,
    /// The change would have broken the syntax of the file.
    SyntaxError,
    /// The file changed since it was last read.
    Conflict,
    /// No tool has this name.
    UnknownTool,
    /// The block could not be read as a call, or only with a guess.
    MalformedCall,
}

/// A failure as the model receives it: what failed, on what, why, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolFailure {
    /// The kind of failure.
    pub code: ErrorCode,
    /// The message for the model.
    pub message: Text,
    /// Up to three alternatives to try, such as similar names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

impl ToolFailure {
    /// Creates a failure without suggestions.
    pub fn new(code: ErrorCode, message: impl Into<Text>) -> ToolFailure {
        ToolFailure { code, message: message.into(), suggestions: Vec::new() }
    }

    /// Adds alternatives to try.
    #[must_use]
    pub fn suggest(mut self, suggestions: impl IntoIterator<Item = String>) -> ToolFailure {
        self.suggestions.extend(suggestions);
        self
    }
}

impl fmt::Display for ToolFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(out)
    }
}

/// For hosts that call the workspace themselves and propagate its failures.
impl std::error::Error for ToolFailure {}

/// The output of a tool that ran: text for the model, and data for programs.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// The text for the model.
    pub text: Text,
    /// Whether `text` was truncated.
    pub truncated: bool,
    /// Bytes of the whole text; 0 means the length of `text`.
    pub total_bytes: u64,
    /// The exit status of a command.
    pub exit_code: Option<i32>,
    /// Data for hosts: diffs, changed files, ranges.
    pub data: Option<Value>,
    /// The failure of a tool that produced output nevertheless, such as a command with a non-zero exit status.
    pub failure: Option<ToolFailure>,
    /// Images that accompany the text, for models that accept them; at most [`Image::MOST`].
    pub images: Vec<Image>,
}

impl Output {
    /// Creates an output from a complete text.
    pub fn text(text: impl Into<Text>) -> Output {
        Output { text: text.into(), ..Output::default() }
    }
}

impl From<ToolFailure> for Output {
    fn from(failure: ToolFailure) -> Output {
        Output { failure: Some(failure), ..Output::default() }
    }
}

/// The result of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// The canonical name of the tool.
    pub tool: String,
    /// Whether the call succeeded.
    pub success: bool,
    /// The text for the model.
    pub output: String,
    /// Whether `output` was truncated.
    pub truncated: bool,
    /// Bytes of the whole output, before truncation.
    pub output_bytes: u64,
    /// Wall-clock time in milliseconds.
    pub execution_time_ms: u64,
    /// The exit status of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Data for hosts: diffs, changed files, ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The failure, if the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolFailure>,
    /// Images that accompany the output. They are not part of the serialised result.
    #[serde(skip)]
    pub images: Vec<Image>,
}

impl ToolResult {
    /// Creates the result of the call `id` of `tool` from the tool's output, which is rendered in English. The message
    /// of a failure stays a [`Text`]; [`Format::language`](crate::format::Format::language) selects its language.
    pub fn new(id: impl Into<String>, tool: impl Into<String>, output: Output, execution_time_ms: u64) -> ToolResult {
        let text = output.text.into_string(Language::English);
        ToolResult {
            id: id.into(),
            tool: tool.into(),
            success: output.failure.is_none(),
            output_bytes: output.total_bytes.max(text.len() as u64),
            output: text,
            truncated: output.truncated,
            execution_time_ms,
            exit_code: output.exit_code,
            data: output.data,
            error: output.failure,
            images: output.images,
        }
    }

    /// Returns this result with a line of text in place of each image, for hosts that only pass on text.
    #[must_use]
    pub fn without_images(mut self, language: Language) -> ToolResult {
        for image in std::mem::take(&mut self.images) {
            self.output.extend([
                "\n",
                &text!("[The image {name} is not shown: only text is passed on here.]", name = image.name())
                    .render(language),
            ]);
        }
        self.output_bytes = self.output_bytes.max(self.output.len() as u64);
        self
    }

    /// Creates the result of a call that did not run.
    pub fn refused(id: impl Into<String>, tool: impl Into<String>, failure: ToolFailure) -> ToolResult {
        ToolResult::new(id, tool, Output::from(failure), 0)
    }
}

/// Returns up to three of `names` that are close to `wanted`: first those with the same beginning (ignoring case), then
/// those that contain or are contained in it, then those at a small edit distance.
pub fn close_names<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut ranked: Vec<(u32, usize, &str)> = names
        .into_iter()
        .filter_map(|name| closeness(&wanted, &name.to_lowercase()).map(|(rank, far)| (rank, far, name)))
        .collect();
    ranked.sort_unstable();
    ranked.dedup_by_key(|entry| entry.2);
    ranked.into_iter().take(3).map(|(_, _, name)| name.to_owned()).collect()
}

/// Returns the rank of a name (lower is closer) and its distance within the rank.
fn closeness(wanted: &str, name: &str) -> Option<(u32, usize)> {
    let gap = name.len().abs_diff(wanted.len());
    if name.is_empty() {
        None
    } else if name.starts_with(wanted) || wanted.starts_with(name) {
        Some((0, gap))
    } else if name.contains(wanted) || wanted.contains(name) {
        Some((1, gap))
    } else {
        let allowed = wanted.chars().count() / 3 + 1;
        let distance = edit_distance(wanted, name, allowed)?;
        Some((2, distance))
    }
}

/// Returns the edit distance of two names, counting a swap of neighbours as one edit. `None` if it exceeds `allowed` or
/// a name is longer than 64 characters.
fn edit_distance(a: &str, b: &str, allowed: usize) -> Option<usize> {
    // One character more than the limit shows that a name is too long.
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(65).collect(), b.chars().take(65).collect());
    if a.len() > 64 || b.len() > 64 || a.len().abs_diff(b.len()) > allowed {
        return None;
    }
    // The row above `above`, which a swap of neighbours refers to.
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let step = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = step.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    let distance = above[b.len()];
    (distance <= allowed).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_ranked() {
        let names = ["main.rs", "Main.rs.bak", "domain.rs", "mian.rs", "lib.rs"];
        assert_eq!(close_names("main.rs", names), ["main.rs", "Main.rs.bak", "domain.rs"]);
        assert_eq!(close_names("mian.r", ["main.rs"]), ["main.rs"]);
        assert!(close_names("", names).is_empty());
    }
}
