//! The keys that settings files may hold, as one table: reading, merging, the documented file and the help come from it.

use super::{Value, messages};
use std::fmt::Write as _;
use std::sync::LazyLock;
use toolfence_protocol::limits::{LIMITS, Limit};
use toolfence_protocol::{Language, Text, close_names};

/// What may be written for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Takes {
    /// One of these words; where a project may set it, from the loosest to the strictest.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// Any text.
    Text,
    /// A whole number from the first to the second; where a project may set it, it may only lower it.
    Whole(u64, u64),
    /// A number from 0 to this, with decimals.
    Number(u32),
    /// A list of command rules.
    Commands,
    /// A list of globs.
    Globs,
    /// A list of texts.
    Texts,
    /// A list of commands that check the whole project.
    Checks,
    /// A list of programs that check files.
    Checkers,
    /// A table of what models cost.
    Prices,
    /// A table of headers.
    Headers,
    /// A table of members of a request.
    Members,
    /// A table of servers of the Model Context Protocol.
    Servers,
}

impl Takes {
    /// Whether it is a list or a table, whose items each have an origin.
    pub fn is_list(self) -> bool {
        match self {
            Takes::Choice(_) | Takes::Flag | Takes::Text | Takes::Whole(..) | Takes::Number(_) => false,
            Takes::Commands
            | Takes::Globs
            | Takes::Texts
            | Takes::Checks
            | Takes::Checkers
            | Takes::Prices
            | Takes::Headers
            | Takes::Members
            | Takes::Servers => true,
        }
    }

    /// Whether its items stand in a table.
    pub fn is_table(self) -> bool {
        matches!(self, Takes::Prices | Takes::Headers | Takes::Members | Takes::Servers)
    }
}

/// What a project's file, or a persona, may do with a key: nothing that loosens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InProject {
    /// The stricter of its value and the person's counts; of numbers, the smaller one.
    Stricter,
    /// Its items are added; more of them are stricter.
    Adds,
    /// What both lists allow stays allowed.
    Narrows,
    /// It is an error: it could only loosen, or is none of a project's business.
    Never,
    /// It is an error until the person has trusted this very content: it names a program, a place, a model or a text that
    /// the model is told.
    Trusted,
}

/// One key.
#[derive(Debug)]
#[non_exhaustive]
pub struct Key {
    /// With its table: `commands.allow`.
    pub name: &'static str,
    /// What may be written.
    pub takes: Takes,
    /// What a project's file may do with it.
    pub project: InProject,
    /// What counts where nothing is written, as TOML; empty where there is nothing.
    pub default: &'static str,
    /// What it means, in lines for the documented file.
    pub help: &'static str,
    /// What the key means in Portuguese; empty where nobody has written it.
    pub portuguese: &'static str,
}

impl Key {
    /// A key of the host's own.
    pub const fn new(
        name: &'static str,
        takes: Takes,
        project: InProject,
        default: &'static str,
        help: &'static str,
    ) -> Key {
        Key { name, takes, project, default, help, portuguese: "" }
    }

    /// Sets what the key means, in Portuguese.
    #[must_use]
    pub const fn in_portuguese(mut self, words: &'static str) -> Key {
        self.portuguese = words;
        self
    }

    /// A word for a key that takes one of some words.
    ///
    /// # Errors
    /// It is none of them, or the key takes no word.
    pub fn word(&self, word: &str) -> Result<Value, Text> {
        let words = if let Takes::Choice(words) = self.takes { words } else { &[] };
        if words.contains(&word) {
            return Ok(Value::Text(word.to_owned()));
        }
        let message = messages::is_one_of(self.name, words.join(", "));
        Err(match close_names(word, words.iter().copied()).first() {
            Some(close) => message.then(messages::did_you_mean(close)),
            None => message,
        })
    }
}

/// The keys of the table of limits. A project can only lower them: none of them makes it do more than the person wants.
pub fn limit_keys() -> &'static [Key] {
    static LIMIT_KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let key = |limit: &Limit| Key {
            portuguese: limit.portuguese,
            ..Key::new(
                limit.setting,
                Takes::Whole(limit.least, limit.most),
                InProject::Stricter,
                limit.written,
                limit.english,
            )
        };
        LIMITS.iter().map(key).collect()
    });
    &LIMIT_KEYS
}

/// The keys of the policy.
pub const KEYS: &[Key] = &[
    Key::new(
        "ask",
        Takes::Choice(&["never", "sandboxed", "risky", "always"]),
        InProject::Stricter,
        "\"risky\"",
        "When you are asked. What is denied is denied with every setting.\n\
         risky: commands run on a private copy of the project, and you are asked about changes.\n\
         always: everything asks.\n\
         sandboxed: changes are kept too; network, git and what leaves the sandbox still ask.\n\
         never: nothing asks, and whatever is not denied runs; what leaves the sandbox is refused, unless outside is true.",
    ).in_portuguese("Quando você é consultado. O que é negado é negado com qualquer configuração.\n\
         risky: os comandos rodam em uma cópia privada do projeto, e você é consultado sobre as mudanças.\n\
         always: tudo pergunta.\n\
         sandboxed: as mudanças também são mantidas; rede, git e o que sai do sandbox ainda perguntam.\n\
         never: nada pergunta, e o que não é negado roda; o que sai do sandbox é recusado, a não ser que outside seja true."),
    Key::new(
        "outside",
        Takes::Flag,
        InProject::Never,
        "false",
        "Whether ask = \"never\" (--yes) lets a command run outside the sandbox that asks for it. Such a command can read, change and\n\
         send whatever you can. With the other values of ask you are asked.",
    ).in_portuguese("Se ask = \"never\" (--yes) deixa rodar fora do sandbox um comando que pede isso. Um comando assim pode ler, alterar e enviar\n\
         tudo o que você pode. Com os outros valores de ask, você é consultado."),
    Key::new(
        "commands.allow",
        Takes::Commands,
        InProject::Never,
        "[]",
        "Commands that run without a question, where nothing else about them asks: a redirect to a file still does.\n\
         A rule is the first words of a command: \"cargo test\", or [\"echo\", \"a b\"] where a word has blanks.",
    ).in_portuguese("Comandos que rodam sem pergunta, se nada mais neles pergunta: um redirecionamento para um arquivo ainda pergunta.\n\
         Uma regra são as primeiras palavras de um comando: \"cargo test\", ou [\"echo\", \"a b\"] se uma palavra tem espaços."),
    Key::new(
        "commands.deny",
        Takes::Commands,
        InProject::Adds,
        "[]",
        "Commands that never run, with any setting of ask.",
    ).in_portuguese("Comandos que nunca rodam, com nenhum valor de ask."),
    Key::new(
        "commands.only",
        Takes::Commands,
        InProject::Narrows,
        "[]",
        "Where there is any, every command that begins with none of these is denied.",
    ).in_portuguese("Se há alguma, todo comando que não começa com uma destas é negado."),
    Key::new(
        "paths.allow",
        Takes::Globs,
        InProject::Never,
        "[]",
        "Exceptions from the built-in list of names that tools never open, such as .env and *.pem.\n\
         A glob matches at any depth below the root, ignores case, and stands for all below it.",
    ).in_portuguese("Exceções à lista embutida de nomes que as ferramentas nunca abrem, como .env e *.pem.\n\
         Um glob vale em qualquer profundidade abaixo da raiz, ignora maiúsculas e minúsculas e inclui tudo abaixo dele."),
    Key::new("paths.deny", Takes::Globs, InProject::Adds, "[]", "More names that tools never open.").in_portuguese("Mais nomes que as ferramentas nunca abrem."),
    Key::new(
        "paths.only",
        Takes::Globs,
        InProject::Narrows,
        "[]",
        "Where there is any, tools open no file that matches none of these. Folders can still be listed.",
    ).in_portuguese("Se há algum, as ferramentas não abrem nenhum arquivo que não corresponda a um destes. As pastas ainda podem ser listadas."),
];

/// A settings file with every key explained and none set.
pub fn template(keys: &[&'static Key], language: Language) -> String {
    let mut out = String::new();
    keys.iter().filter(|key| !key.name.contains('.')).for_each(|key| explain(&mut out, key.name, key, language));
    let mut tables: Vec<&str> =
        keys.iter().filter_map(|key| key.name.split_once('.')).map(|(table, _)| table).collect();
    tables.dedup();
    for table in tables {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "[{table}]");
        let inside = keys.iter().filter_map(|key| Some((key.name.strip_prefix(table)?.strip_prefix('.')?, key)));
        inside.for_each(|(name, key)| explain(&mut out, name, key, language));
    }
    out
}

fn explain(out: &mut String, name: &str, key: &Key, language: Language) {
    let project = match key.project {
        InProject::Stricter if matches!(key.takes, Takes::Whole(..)) => messages::project_lowers(),
        InProject::Stricter => messages::project_tightens(),
        InProject::Adds => messages::project_adds(),
        InProject::Narrows => messages::project_narrows(),
        InProject::Never => messages::project_never(),
        InProject::Trusted => messages::project_trusted(),
    };
    let help = if language == Language::Portuguese && !key.portuguese.is_empty() { key.portuguese } else { key.help };
    let range = match key.takes {
        Takes::Whole(least, most) => Some(messages::range(least, most)),
        _ => None,
    };
    let said: Vec<String> = range.into_iter().chain([project]).map(|text| text.render(language)).collect();
    for line in help.lines().chain([said.join(" ").as_str()]) {
        let _ = writeln!(out, "# {line}");
    }
    let example = if key.default.is_empty() { "\"...\"" } else { key.default };
    let _ = writeln!(out, "#{name} = {example}\n");
}
