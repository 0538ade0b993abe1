//! What is wrong with the syntax of a text, found in process: where the language's own checker is not at hand, and before
//! anything is written.
//!
//! Deterministic and bounded: texts over [`MOST_BYTES`], or nested deeper than any that a person writes, are not checked.
//! With the feature `syntax` there are grammars for the languages of [`LANGUAGES`]; without it JSON and TOML remain.
//!
//! HTML has no grammar here: whatever one writes is HTML to a browser, and most files of that name are templates. Nor has
//! the shell: where there are tools there is bash, and no grammar reads it as bash does.

#[cfg(feature = "syntax")]
mod again;
#[cfg(feature = "syntax")]
mod bounds;
#[cfg(feature = "syntax")]
mod tree;
#[cfg(feature = "syntax")]
mod yaml;

use super::{Diagnostic, Sight};

/// The longest text that is checked.
pub const MOST_BYTES: usize = 1 << 20;

/// A language whose syntax is checked in process.
#[derive(Debug)]
#[non_exhaustive]
pub struct Language {
    /// Its name.
    pub name: &'static str,
    /// How names of its files end, after a dot.
    pub endings: &'static [&'static str],
    /// How much the check sees.
    pub sight: Sight,
    how: How,
}

#[derive(Debug)]
enum How {
    Json,
    Toml,
    #[cfg(feature = "syntax")]
    Yaml,
    #[cfg(feature = "syntax")]
    Tree(tree::Grammar),
}

const fn own(name: &'static str, endings: &'static [&'static str], how: How) -> Language {
    Language { name, endings, sight: Sight::First, how }
}

#[cfg(feature = "syntax")]
const fn tree(name: &'static str, endings: &'static [&'static str], grammar: tree::Grammar) -> Language {
    Language { name, endings, sight: Sight::Guesses, how: How::Tree(grammar) }
}

/// All of them.
pub static LANGUAGES: &[Language] = &[
    own("JSON", &["json"], How::Json),
    own("TOML", &["toml"], How::Toml),
    #[cfg(feature = "syntax")]
    own("YAML", &["yaml", "yml"], How::Yaml),
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

/// The language of a file of this name, if it is one of [`LANGUAGES`].
pub fn language(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())?;
    let ending = if ending == "json" && has_comments(path, name) { "jsonc" } else { &*ending };
    LANGUAGES.iter().find(|language| language.endings.contains(&ending))
}

/// Files that are called JSON and are read with comments.
fn has_comments(path: &str, name: &str) -> bool {
    const BEGINNINGS: &[&str] =
        &["tsconfig", "jsconfig", "tslint", "devcontainer", ".eslintrc", ".babelrc", "babel.config"];
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) || path.split('/').any(|part| part == ".vscode")
}

/// What is wrong with the text of a file of this name; `None` where that is not known: another language, or a text that is
/// too long, too deep or too much work. An empty text is a beginning, and nothing is wrong with it.
pub fn check(path: &str, text: &str) -> Option<Vec<Diagnostic>> {
    Reader::new().check_until(path, text, &|| false)
}

/// Reads the texts of files that change: of one that was right the last time only what changed since is read. What is
/// found is what [`check`] finds. It keeps a few texts that were right, a quarter of a megabyte in all, and their trees,
/// which may take a hundred times as much.
#[derive(Debug, Default)]
pub struct Reader {
    #[cfg(feature = "syntax")]
    known: again::Known,
}

impl Reader {
    /// One that has read nothing.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// What is wrong, as [`check`] says it, as long as `give_up` does not say that it takes too long; it is asked often.
    pub fn check_until(&self, path: &str, text: &str, give_up: &dyn Fn() -> bool) -> Option<Vec<Diagnostic>> {
        let language = language(path)?;
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        if text.trim().is_empty() {
            return Some(Vec::new());
        }
        if text.len() > MOST_BYTES || give_up() {
            return None;
        }
        match &language.how {
            How::Json => Some(json(text)),
            How::Toml => Some(toml(text)),
            #[cfg(feature = "syntax")]
            How::Yaml => yaml::check(text, give_up),
            #[cfg(feature = "syntax")]
            How::Tree(grammar) => bounds::hold(text).then(|| self.known.check(path, *grammar, text, give_up)).flatten(),
        }
    }
}

fn json(text: &str) -> Vec<Diagnostic> {
    let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) else { return Vec::new() };
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
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
