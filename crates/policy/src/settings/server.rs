//! A server of the Model Context Protocol, as a person writes it into the settings.

use super::super::shell::shown;
use super::messages;
use super::read::{kind, texts};
use std::fmt;
use toml::de::{DeTable, DeValue};
use toolfence_protocol::Text;

/// The longest name of a server, and the most words of its command and bytes of a word.
const LONGEST_NAME: usize = 32;
const MOST_WORDS: usize = 100;
const LONGEST_WORD: usize = 4096;
/// The most variables, paths and names of tools.
const MOST_ITEMS: usize = 100;
/// What the names of variables begin with that steer how a program is loaded. The program that sets up the sandbox gets the server's
/// variables too, and it stands outside.
const LOADED_BY: [&str; 6] = ["LD_", "DYLD_", "GLIBC_TUNABLES", "MALLOC_", "GCONV_PATH", "TOOLFENCE_"];
/// The most seconds that a call may take.
const MOST_SECONDS: u64 = 86_400;

/// A program whose tools join those of the session.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerRule {
    /// The name, which stands before those of its tools: `[a-z0-9_-]+`.
    pub name: String,
    /// The program, by its name in the PATH or its absolute path, and its arguments.
    pub command: Vec<String>,
    /// Variables that it gets beside those of every command. A value that is a `$` and a name stands for a variable of the person's.
    pub env: Vec<(String, String)>,
    /// Whether it may use the network.
    pub network: bool,
    /// Paths beside the project that it may read and write, from `/` or `~/`.
    pub paths: Vec<String>,
    /// Its tools that run without a question.
    pub allow: Vec<String>,
    /// How many seconds a call may take, where that is not the time of a command.
    pub seconds: Option<u64>,
}

/// The values of variables are not shown: they may be secrets.
impl fmt::Debug for ServerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.env.iter().map(|(name, _)| name).collect();
        let mut told = f.debug_struct("ServerRule");
        told.field("name", &self.name).field("command", &self.command).field("env", &names);
        told.field("network", &self.network).field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl ServerRule {
    /// A table of servers as it may be written.
    pub(super) const EXAMPLE: &str = "{ files = { command = [\"mcp-server-files\", \"/srv/data\"] } }";

    /// # Errors
    /// What is wrong with it, without the values of variables.
    pub(super) fn read(name: &str, value: &DeValue<'_>) -> Result<ServerRule, Text> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        // What stands before the name of a tool in some models' forms would be taken off it.
        let reserved = ["functions", "default_api", "mcp"].contains(&name);
        if name.is_empty() || name.len() > LONGEST_NAME || reserved || !name.chars().all(plain) {
            return Err(messages::is_no_server_name(shown(name, 64)));
        }
        let DeValue::Table(table) = value else {
            return Err(messages::wrong_kind(shown(name, 64), ServerRule::EXAMPLE, kind(value)));
        };
        let mut rule = ServerRule {
            name: name.to_owned(),
            command: Vec::new(),
            env: Vec::new(),
            network: false,
            paths: Vec::new(),
            allow: Vec::new(),
            seconds: None,
        };
        for (key, value) in table {
            let wrong = |wrong: Text| messages::in_server(key.get_ref().to_string(), wrong);
            match (&**key.get_ref(), value.get_ref()) {
                ("command", DeValue::String(line)) => {
                    rule.command = shell_words::split(line).map_err(|error| wrong(error.to_string().into()))?;
                }
                ("command", words) => rule.command = texts(words).map_err(wrong)?,
                ("env", DeValue::Table(table)) => rule.env = variables(table).map_err(wrong)?,
                ("network", DeValue::Boolean(network)) => rule.network = *network,
                ("paths", paths) => rule.paths = paths_of(texts(paths).map_err(wrong)?).map_err(wrong)?,
                ("allow", tools) => rule.allow = texts(tools).map_err(wrong)?,
                ("seconds", DeValue::Integer(number)) => {
                    let seconds = u64::from_str_radix(number.as_str(), number.radix()).ok();
                    let seconds = seconds.filter(|seconds| (1..=MOST_SECONDS).contains(seconds));
                    rule.seconds = Some(seconds.ok_or_else(|| wrong(messages::whole_number(1, MOST_SECONDS)))?);
                }
                ("env" | "network" | "seconds", other) => return Err(wrong(messages::server_takes(kind(other)))),
                (other, _) => return Err(messages::server_has_no(shown(other, 64))),
            }
        }
        let fits = |word: &String| word.len() <= LONGEST_WORD && !word.contains('\0');
        match rule.command.first() {
            None => return Err(messages::server_needs_command(ServerRule::EXAMPLE)),
            Some(program) if program.trim().is_empty() || program.contains('/') && !program.starts_with('/') => {
                return Err(messages::in_server("command", messages::not_a_program()));
            }
            Some(_) if rule.command.len() > MOST_WORDS || !rule.command.iter().all(fits) => {
                return Err(messages::in_server("command", messages::command_too_long(MOST_WORDS, LONGEST_WORD)));
            }
            Some(_) => {}
        }
        if [rule.env.len(), rule.paths.len(), rule.allow.len()].into_iter().any(|count| count > MOST_ITEMS) {
            return Err(messages::too_much_in_server(MOST_ITEMS));
        }
        Ok(rule)
    }
}

fn variables(table: &DeTable<'_>) -> Result<Vec<(String, String)>, Text> {
    let variable = |(name, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
        let name = name.get_ref().to_string();
        let is_name = !name.is_empty() && !name.contains(['=', '\0']) && name.len() <= 200;
        match value.get_ref() {
            DeValue::String(_) if is_name && LOADED_BY.iter().any(|begin| name.starts_with(begin)) => {
                Err(messages::variable_loads_code(shown(&name, 64)))
            }
            DeValue::String(value) if is_name && value.len() <= LONGEST_WORD && !value.contains('\0') => {
                Ok((name, value.to_string()))
            }
            _ => Err(messages::is_no_variable(shown(&name, 64))),
        }
    };
    table.iter().map(variable).collect()
}

fn paths_of(paths: Vec<String>) -> Result<Vec<String>, Text> {
    let absolute = |path: &String| (path.starts_with('/') || path.starts_with("~/")) && !path.contains('\0');
    match paths.iter().find(|path| !absolute(path)) {
        Some(path) => Err(messages::path_from_the_root(shown(path, 64))),
        None => Ok(paths),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{InProject, Key, Layer, Takes, Value, read};
    use super::*;

    static KEYS: [Key; 1] = [Key::new("mcp", Takes::Servers, InProject::Never, "{}", "")];

    fn read_all(text: &str) -> Result<Vec<ServerRule>, String> {
        let keys: Vec<&Key> = KEYS.iter().collect();
        let entries = read(text, "f", Layer::User, &keys).map_err(|mistake| mistake.to_string())?;
        let rule = |entry: super::super::Entry| match entry.value {
            Value::Server(rule) => rule,
            other => panic!("{other:?}"),
        };
        Ok(entries.into_iter().map(rule).collect())
    }

    #[test]
    fn servers_are_sections() {
        let text = "[mcp.files]\ncommand = [\"x\", \"a b\"]\nenv = { TOKEN = \"hidden\" }\npaths = [\"~/notes\", \"/srv\"]\n\
                    allow = [\"read\"]\nseconds = 90\n[mcp.web-2]\ncommand = \"npx -y 'a b'\"\nnetwork = true\n";
        let rules = read_all(text).unwrap();
        assert_eq!((rules[0].name.as_str(), &rules[0].command[..]), ("files", &["x".to_owned(), "a b".into()][..]));
        assert_eq!((&rules[0].allow[..], rules[0].seconds), (&["read".to_owned()][..], Some(90)));
        assert_eq!((rules[0].network, rules[1].network), (false, true));
        assert_eq!(rules[1].command, ["npx", "-y", "a b"]);
        let shown = format!("{rules:?} {}", Value::Server(rules[0].clone()));
        assert!(shown.contains("TOKEN") && !shown.contains("hidden"), "{shown}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, wanted) in [
            ("[mcp.Files]\ncommand = \"x\"", "line 1, column 1: Files is no name of a server"),
            ("[mcp.functions]\ncommand = \"x\"", "is no name of a server"),
            ("[mcp.a]\n", "needs command"),
            ("[mcp.a]\ncommand = []", "needs command"),
            ("[mcp.a]\ncommand = \"a 'b\"", "command of a server: "),
            ("[mcp.a]\ncommand = \"./x\"", "command of a server: it begins with the name of a program"),
            ("[mcp.a]\ncommand = [\"x\", 1]", "command of a server: "),
            ("[mcp.a]\ncommand = \"x\"\npath = []", "a server has no path"),
            (
                "[mcp.a]\ncommand = \"x\"\npaths = [\"data\"]",
                "paths of a server: a path begins with / or ~/, and data does not",
            ),
            ("[mcp.a]\ncommand = \"x\"\nnetwork = \"on\"", "network of a server: "),
            ("[mcp.a]\ncommand = \"x\"\nenv = { \"A=B\" = \"hidden\" }", "A=B is no variable"),
            (
                "[mcp.a]\ncommand = \"x\"\nenv = { LD_PRELOAD = \"hidden\" }",
                "LD_PRELOAD steers how programs are loaded",
            ),
            ("[mcp.a]\ncommand = \"x\"\nseconds = 0", "seconds of a server: a whole number from 1"),
            ("mcp = 1", "a table"),
        ] {
            let told = read_all(text).unwrap_err();
            assert!(told.contains(wanted) && !told.contains("hidden"), "{text}: {told}");
        }
    }
}
