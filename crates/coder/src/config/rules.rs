//! Settings that are tables: prices, headers and members of requests, checks, checkers and MCP servers.

use super::kinds::short;
use super::value::Kind;
use serde::Deserialize;
use std::collections::BTreeMap;
use toolfence_policy::settings::check_glob;
use toolfence_protocol::{Text, text};

/// The price of a million tokens of a model, in the user's currency.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Price {
    /// The model, by the name that the backend uses.
    #[serde(skip)]
    pub(crate) model: String,
    pub(crate) input: f64,
    /// Tokens that the server still knew; as much as others if it is not set.
    pub(crate) cached: Option<f64>,
    pub(crate) output: f64,
}

#[derive(Clone)]
pub(crate) struct Prices;

impl Kind for Prices {
    type Value = Price;
    type Toml = Price;
    const IS_TABLE: bool = true;

    fn describe_values() -> Text {
        text!("a model such as {example}", example = "\"qwen3-coder\" = { input = 0.5, output = 1.5 }")
    }

    fn read(written: Price, name: &str) -> Result<Price, Text> {
        let numbers = [Some(written.input), written.cached, Some(written.output)];
        if numbers.into_iter().flatten().all(|number| (0.0..=1e9).contains(&number)) {
            return Ok(Price { model: name.to_owned(), ..written });
        }
        Err(text!("a price is a number: what a million tokens cost, such as 0.5."))
    }

    fn show(price: &Price) -> String {
        let cached = price.cached.map(|cached| format!(", cached {cached}")).unwrap_or_default();
        format!("{}: {}{cached}, {}", short(&price.model), price.input, price.output)
    }
}

/// Headers of requests. Their values may be secrets and are never shown.
#[derive(Clone)]
pub(crate) struct Headers;

impl Kind for Headers {
    type Value = (String, String);
    type Toml = String;
    const IS_TABLE: bool = true;

    fn describe_values() -> Text {
        text!("a header such as {example}", example = "\"X-Tenant\" = \"blue\"")
    }

    fn read(value: String, name: &str) -> Result<(String, String), Text> {
        // The characters of a token of HTTP (RFC 9110, 5.6.2).
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let is_name = !name.is_empty() && name.len() <= 200 && name.chars().all(is_token);
        if !is_name || value.len() > 8192 || value.chars().any(char::is_control) {
            return Err(text!(
                "{name} is not a valid header: a name has letters, digits and marks such as -, a value no control \
                 characters.",
                name = short(name)
            ));
        }
        Ok((name.to_owned(), value))
    }

    fn show((name, _): &(String, String)) -> String {
        format!("{name}: ...")
    }
}

/// Members of the body of requests.
#[derive(Clone)]
pub(crate) struct Members;

impl Kind for Members {
    type Value = (String, serde_json::Value);
    type Toml = serde_json::Value;
    const IS_TABLE: bool = true;

    fn describe_values() -> Text {
        text!("a member such as {example}", example = "seed = 7")
    }

    fn read(value: serde_json::Value, name: &str) -> Result<(String, serde_json::Value), Text> {
        match name {
            "model" | "messages" | "stream" => {
                Err(text!("{name} is set by the program or by a setting of its own.", name))
            }
            // TOML has no null, so a null here was `nan` or `inf`, which JSON lacks.
            _ if has_null(&value) => Err(text!("{name} has a number that JSON cannot represent, such as nan.", name)),
            _ => Ok((name.to_owned(), value)),
        }
    }

    fn show((name, value): &(String, serde_json::Value)) -> String {
        format!("{}: {}", short(name), short(&value.to_string()))
    }
}

fn has_null(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => true,
        serde_json::Value::Array(items) => items.iter().any(has_null),
        serde_json::Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

/// A command that checks the whole project.
#[derive(Clone)]
pub(crate) struct Check {
    pub(crate) command: String,
    /// Whether the changes of a reply that causes new errors are rolled back. Otherwise the errors are only reported.
    pub(crate) rolls_back: bool,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "check")] // `explain` has the sentence
pub(crate) enum WrittenCheck {
    Line(String),
    Table { command: String, new_errors: Option<NewErrors> },
}

#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NewErrors {
    Report,
    RollBack,
}

#[derive(Clone)]
pub(crate) struct Checks;

impl Kind for Checks {
    type Value = Check;
    type Toml = WrittenCheck;

    fn describe_values() -> Text {
        text!("a command line such as {example}", example = "\"cargo check\"")
    }

    fn read(written: WrittenCheck, _: &str) -> Result<Check, Text> {
        let check = match written {
            WrittenCheck::Line(command) => Check { command, rolls_back: false },
            WrittenCheck::Table { command, new_errors } => {
                Check { command, rolls_back: new_errors == Some(NewErrors::RollBack) }
            }
        };
        if check.command.trim().is_empty() { Err(text!("this command line is empty.")) } else { Ok(check) }
    }

    fn show(check: &Check) -> String {
        let new_errors = if check.rolls_back { " (new_errors = \"roll_back\")" } else { "" };
        format!("{}{new_errors}", check.command)
    }
}

/// A program that checks files.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckerRule {
    /// Globs for its files. Each matches at any depth below the root and ignores case.
    pub(crate) files: Vec<String>,
    /// The program, by its name in the PATH or its absolute path, and its arguments.
    pub(crate) command: Vec<String>,
    /// `text`, or `project:` and a name.
    reads: Option<String>,
}

impl CheckerRule {
    /// Returns the name of the file that marks the folder of a project, if the checker reads the files on disk; `None`
    /// if it reads the new text on its stdin.
    pub(crate) fn project(&self) -> Option<&str> {
        self.reads.as_deref()?.strip_prefix("project:").map(str::trim)
    }
}

#[derive(Clone)]
pub(crate) struct Checkers;

impl Kind for Checkers {
    type Value = CheckerRule;
    type Toml = CheckerRule;

    fn describe_values() -> Text {
        text!("a checker such as {example}", example = "{ files = [\"*.lua\"], command = [\"luac\", \"-p\", \"-\"] }")
    }

    fn read(rule: CheckerRule, _: &str) -> Result<CheckerRule, Text> {
        if rule.files.is_empty() {
            return Err(text!("a checker needs a glob in files."));
        }
        for glob in &rule.files {
            if glob.contains(['{', '}']) {
                return Err(text!("a glob here has no {{a,b}}; write one glob for each: [\"*.a\", \"*.b\"]."));
            }
            check_glob(glob)?;
        }
        check_command(&rule.command)?;
        let is_name = |name: &str| !matches!(name, "" | "." | "..") && name.len() <= 255 && !name.contains(['/', '\0']);
        match rule.project() {
            Some(name) if is_name(name) => Ok(rule),
            None if matches!(rule.reads.as_deref(), None | Some("text")) => Ok(rule),
            _ => Err(text!(
                "reads of a checker is \"text\", for the new text on its stdin, or \"project:tsconfig.json\", for the \
                 files on disk below a folder with this file."
            )),
        }
    }

    fn show(rule: &CheckerRule) -> String {
        format!("{}: {}", rule.files.join(" "), short(&rule.command.join(" ")))
    }
}

fn check_command(words: &[String]) -> Result<(), Text> {
    let is_program = |word: &String| !word.trim().is_empty() && (!word.contains('/') || word.starts_with('/'));
    if !words.first().is_some_and(is_program) {
        return Err(text!("command begins with the name of a program in the PATH, or its absolute path."));
    }
    Ok(())
}

/// A server of the Model Context Protocol, a program whose tools join those of the session.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerRule {
    /// The name, which precedes those of its tools: `[a-z0-9_-]+`.
    #[serde(skip)]
    pub(crate) name: String,
    /// The program, by its name in the PATH or its absolute path, and its arguments.
    pub(crate) command: CommandLine,
    /// Variables that it gets in addition to those of every command. `$` and a name is a variable of the user. The values are never
    /// shown, because they may be secrets.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) network: bool,
    /// Paths outside the project that it may read and write, from `/` or `~/`.
    #[serde(default)]
    pub(crate) paths: Vec<String>,
    /// Its tools that run without a question.
    #[serde(default)]
    pub(crate) allow: Vec<String>,
    /// The most seconds of a call, if that is not the time of a command.
    pub(crate) seconds: Option<u64>,
}

/// The words of a command, written as a list or as a line.
#[derive(Clone, Deserialize)]
#[serde(try_from = "WrittenCommand")]
pub(crate) struct CommandLine(pub(crate) Vec<String>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "command")] // `explain` has the sentence
enum WrittenCommand {
    Line(String),
    Words(Vec<String>),
}

impl TryFrom<WrittenCommand> for CommandLine {
    type Error = shell_words::ParseError;

    fn try_from(written: WrittenCommand) -> Result<CommandLine, shell_words::ParseError> {
        match written {
            WrittenCommand::Line(line) => shell_words::split(&line).map(CommandLine),
            WrittenCommand::Words(words) => Ok(CommandLine(words)),
        }
    }
}

/// Prefixes of variables that control how a program is loaded. The program that sets up the sandbox also gets the
/// server's variables, and it runs outside of the sandbox.
const LOADED_BY: [&str; 6] = ["LD_", "DYLD_", "GLIBC_TUNABLES", "MALLOC_", "GCONV_PATH", "TOOLFENCE_"];

#[derive(Clone)]
pub(crate) struct Servers;

impl Kind for Servers {
    type Value = ServerRule;
    type Toml = ServerRule;
    const IS_TABLE: bool = true;

    fn describe_values() -> Text {
        text!("a server such as {example}", example = "files = { command = [\"mcp-server-files\", \"/srv/data\"] }")
    }

    fn read(rule: ServerRule, name: &str) -> Result<ServerRule, Text> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        // Some models write these words before the name of a tool, and they are removed from it.
        let is_reserved = ["functions", "default_api", "mcp"].contains(&name);
        if name.is_empty() || name.len() > 32 || is_reserved || !name.chars().all(is_plain) {
            return Err(text!(
                "{name} is not a valid server name: use up to 32 of a to z, 0 to 9, _ and -, but not functions, \
                 default_api or mcp.",
                name = short(name)
            ));
        }
        check_command(&rule.command.0)?;
        for name in rule.env.keys() {
            if LOADED_BY.iter().any(|beginning| name.starts_with(beginning)) {
                return Err(text!(
                    "{name} controls how programs are loaded and is not passed to servers; set it in a script that \
                     starts the server.",
                    name = short(name)
                ));
            }
            if name.is_empty() || name.contains('=') {
                return Err(text!("{name} is not a valid variable name.", name = short(name)));
            }
        }
        let is_absolute = |path: &&String| path.starts_with('/') || path.starts_with("~/");
        if let Some(path) = rule.paths.iter().find(|path| !is_absolute(path)) {
            return Err(text!("a path begins with / or ~/, and {path} does not.", path = short(path)));
        }
        if rule.seconds.is_some_and(|seconds| !(1..=86_400).contains(&seconds)) {
            return Err(text!("seconds of a server is a whole number from 1 to 86400."));
        }
        Ok(ServerRule { name: name.to_owned(), ..rule })
    }

    fn show(rule: &ServerRule) -> String {
        format!("{}: {}", rule.name, short(&rule.command.0.join(" ")))
    }
}
