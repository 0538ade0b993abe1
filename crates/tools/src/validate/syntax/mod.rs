//! The in-process syntax check, for languages whose own checker is not available. It runs before anything is written.
//!
//! The check is deterministic and bounded: texts longer than [`MOST_BYTES`], or nested deeper than hand-written code,
//! are not checked. With the feature `syntax` there are grammars for the languages of [`LANGUAGES`]. Without it only
//! JSON and TOML are checked.
//!
//! HTML is not checked: browsers accept any text, and most files with that extension are templates. Neither are shell
//! scripts: wherever the tools run bash is available, and no grammar reads scripts exactly as bash does.

#[cfg(feature = "syntax")]
mod again;
#[cfg(feature = "syntax")]
mod bounds;
#[cfg(feature = "syntax")]
mod tree;
#[cfg(feature = "syntax")]
mod yaml;

use super::{Diagnostic, Sight};

/// The longest text that is checked, in bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// A language whose syntax is checked in process.
#[derive(Debug)]
#[non_exhaustive]
pub struct Language {
    /// The name of the language.
    pub name: &'static str,
    /// The extensions of its files, without the dot.
    pub endings: &'static [&'static str],
    /// How many of the existing errors the check reports.
    pub sight: Sight,
    method: Method,
}

#[derive(Debug)]
enum Method {
    Json,
    Toml,
    #[cfg(feature = "syntax")]
    Yaml,
    #[cfg(feature = "syntax")]
    Tree(tree::Grammar),
}

const fn simple(name: &'static str, endings: &'static [&'static str], method: Method) -> Language {
    Language { name, endings, sight: Sight::First, method }
}

#[cfg(feature = "syntax")]
const fn tree(name: &'static str, endings: &'static [&'static str], grammar: tree::Grammar) -> Language {
    Language { name, endings, sight: Sight::Guesses, method: Method::Tree(grammar) }
}

/// All languages that are checked in process.
pub static LANGUAGES: &[Language] = &[
    simple("JSON", &["json"], Method::Json),
    simple("TOML", &["toml"], Method::Toml),
    #[cfg(feature = "syntax")]
    simple("YAML", &["yaml", "yml"], Method::Yaml),
    #[cfg(feature = "syntax")]
    tree("JSON with comments", &["jsonc", "code-workspace"], tree::Grammar::Json),
    #[cfg(feature = "syntax")]
    tree("TypeScript", &["ts", "mts", "cts"], tree::Grammar::TypeScript),
    #[cfg(feature = "syntax")]
    tree("TSX", &["tsx"], tree::Grammar::Tsx),
    #[cfg(feature = "syntax")]
    tree("JavaScript", &["js", "mjs", "cjs", "jsx"], tree::Grammar::JavaScript),
    #[cfg(feature = "syntax")]
    tree("Python", &["py", "pyi"], tree::Grammar::Python),
    #[cfg(feature = "syntax")]
    tree("Go", &["go"], tree::Grammar::Go),
    #[cfg(feature = "syntax")]
    tree("Rust", &["rs"], tree::Grammar::Rust),
    #[cfg(feature = "syntax")]
    tree("Java", &["java"], tree::Grammar::Java),
    #[cfg(feature = "syntax")]
    tree("C", &["c", "h"], tree::Grammar::C),
    #[cfg(feature = "syntax")]
    tree("CSS", &["css"], tree::Grammar::Css),
];

/// Returns the language of a file by its name, if it is one of [`LANGUAGES`].
pub fn language(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())?;
    let ending = if ending == "json" && has_comments(path, name) { "jsonc" } else { &*ending };
    LANGUAGES.iter().find(|language| language.endings.contains(&ending))
}

/// Returns `true` for `.json` files whose format permits comments.
fn has_comments(path: &str, name: &str) -> bool {
    const BEGINNINGS: &[&str] =
        &["tsconfig", "jsconfig", "tslint", "devcontainer", ".eslintrc", ".babelrc", "babel.config"];
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) || path.split('/').any(|part| part == ".vscode")
}

/// Returns the syntax errors of a text, whose language follows from its file name. Returns `None` if the text was not
/// judged: the language is unknown, or the text is too long, too deeply nested or too expensive to parse. An empty text
/// has no errors.
pub fn check(path: &str, text: &str) -> Option<Vec<Diagnostic>> {
    Reader::new().check_until(path, text, &|| false)
}

/// Checks texts incrementally: if the last version of a file had no errors, only the part that changed since is parsed.
/// The errors are those that [`check`] finds. The reader keeps the trees of a few texts without errors, a quarter of a
/// megabyte of text in all. Trees may take a hundred times as much memory.
#[derive(Debug, Default)]
pub struct Reader {
    #[cfg(feature = "syntax")]
    files: again::ParsedFiles,
}

impl Reader {
    /// Creates a reader without any texts.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Returns the errors as [`check`] does, or `None` if `give_up` returns `true`, which is called often.
    pub fn check_until(&self, path: &str, text: &str, give_up: &dyn Fn() -> bool) -> Option<Vec<Diagnostic>> {
        let language = language(path)?;
        // A byte order mark at the start of a file is not an error.
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        if text.trim().is_empty() {
            return Some(Vec::new());
        }
        if text.len() > MOST_BYTES || give_up() {
            return None;
        }
        match &language.method {
            Method::Json => Some(json(text)),
            Method::Toml => Some(toml(text)),
            #[cfg(feature = "syntax")]
            Method::Yaml => yaml::check(text, give_up),
            #[cfg(feature = "syntax")]
            Method::Tree(grammar) => {
                // Beyond these bounds a scanner drops its state, so a verdict would not be reliable.
                bounds::is_within(text).then(|| self.files.check(path, *grammar, text, give_up)).flatten()
            }
        }
    }
}

fn json(text: &str) -> Vec<Diagnostic> {
    let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) else { return Vec::new() };
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    // serde_json counts columns in bytes, and appends the location to its message.
    let column = String::from_utf8_lossy(&line.as_bytes()[..error.column().min(line.len())]).chars().count();
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
    vec![Diagnostic::syntax(error.line() as u64, column.max(1) as u64, message)]
}

fn toml(text: &str) -> Vec<Diagnostic> {
    let Err(error) = toml::de::DeTable::parse(text) else { return Vec::new() };
    let at = error.span().map_or(0, |span| span.start);
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    vec![Diagnostic::syntax(line as u64, column as u64, error.message())]
}
