//! Parses the command line and translates its help. The English texts are the doc comments in `args`; the Portuguese
//! ones are in `locales/pt-help.toml`.

use crate::args::{BACKEND, CONVERSATION, Cli, GLOBAL, Options, PERMISSIONS, PROMPT, REPLIES};
use crate::argument_values::InvalidValue;
use crate::config::Layers;
use crate::failure::{Failure, WRONG_USE};
use crate::shown;
use crate::translations::translate;
use clap::builder::{PossibleValue, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Parser};
use std::io::Write;
use toolfence_protocol::{Language, Text, close_names, text};

/// Parses the command line. Exits the process after printing help or an error.
pub(crate) fn parse() -> Cli {
    // Building the description of all commands takes longer than the rest of the start, so `--version` alone skips it.
    let mut typed = std::env::args_os().skip(1);
    if let (Some(word), None) = (typed.next(), typed.next())
        && (word == "--version" || word == "-V")
    {
        let _ = writeln!(std::io::stdout(), "coder {}", env!("CARGO_PKG_VERSION"));
        std::process::exit(0);
    }
    Cli::try_parse().unwrap_or_else(|error| {
        let language = language_for_help();
        match error.kind() {
            // The parser accepts every global option in every command. The help is built separately, without the
            // options that do not apply.
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                described(language).get_matches();
            }
            ErrorKind::DisplayVersion | ErrorKind::Io => {}
            _ => {
                Failure::wrong_use(parse_error(&error, language)).report();
                std::process::exit(i32::from(WRONG_USE));
            }
        }
        error.exit()
    })
}

/// Describes a parse error and suggests close names. clap itself has only English messages.
fn parse_error(error: &clap::Error, language: Language) -> Text {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        Some(ContextValue::Strings(words)) => Some(words.join(", ")),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let mut message = match (error.kind(), context(ContextKind::InvalidValue)) {
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::TooManyValues, Some(value)) => {
            if value.is_empty() {
                text!("{argument} needs a value", argument)
            } else {
                text!("invalid value {value} for {argument}", argument, value = format!("{value:?}"))
            }
        }
        (ErrorKind::NoEquals | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues, _) => {
            text!("{argument} needs a value", argument)
        }
        (ErrorKind::InvalidSubcommand, _) => {
            text!(
                "there is no command {name}; to ask the model, use -p: coder -p \"...\"",
                name = context(ContextKind::InvalidSubcommand).unwrap_or_default()
            )
        }
        (ErrorKind::MissingRequiredArgument, _) => text!("missing arguments: {arguments}", arguments = argument),
        (ErrorKind::MissingSubcommand, _) => {
            text!("{name} needs a command", name = context(ContextKind::InvalidSubcommand).unwrap_or_default())
        }
        (ErrorKind::ArgumentConflict, _) => match context(ContextKind::PriorArg) {
            Some(prior) if prior != argument => {
                text!("{argument} cannot be combined with {other}", argument, other = prior)
            }
            _ => text!("{argument} can be given only once", argument),
        },
        (ErrorKind::InvalidUtf8, _) => text!("an argument is not UTF-8"),
        _ => text!("unexpected argument {argument}", argument),
    };
    if let Some(source) = std::error::Error::source(error) {
        let wrong = source.downcast_ref::<InvalidValue>().map(|wrong| wrong.0.clone());
        message.push(text!(": {wrong}", wrong = wrong.unwrap_or_else(|| source.to_string().into())));
    }
    let values = context(ContextKind::ValidValue).or_else(|| context(ContextKind::ValidSubcommand));
    if let Some(values) = values.filter(|values| !values.is_empty()) {
        message.push(text!("\n  possible values: {values}", values));
    }
    let suggested = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    if let Some(names) = suggested.into_iter().find_map(context) {
        message.push(text!("\n  did you mean {names}?", names));
    }
    message.push(match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => {
            let usage = usage.to_string();
            text!(
                "\n\nUsage: {usage}\n\nUse --help for more.",
                usage = translated_usage(usage.trim_start_matches("Usage:").trim(), language)
            )
        }
        _ => text!("\n\nUse --help for more."),
    });
    message
}

/// Returns the error for a word that is not a command, with suggestions of close names.
pub(crate) fn no_command(word: &str) -> Failure {
    let command = Cli::command();
    let close = close_names(word, command.get_subcommands().map(Command::get_name));
    let mut message = text!("there is no command {name}; to ask the model, use -p: coder -p \"...\"", name = word);
    if !close.is_empty() {
        message.push(text!("\n  did you mean {names}?", names = close.join(", ")));
    }
    message.push(text!("\n\nUse --help for more."));
    Failure::wrong_use(message)
}

/// Translates the placeholders in a usage line.
fn translated_usage(usage: &str, language: Language) -> String {
    match language {
        Language::Portuguese => usage.replace("[OPTIONS]", "[OPÇÕES]").replace("COMMAND", "COMANDO"),
        _ => usage.to_owned(),
    }
}

/// Returns the language from `--lang`, the settings files or the environment. The rest of the command line is ignored,
/// since it may be invalid.
pub(crate) fn language_for_help() -> Language {
    // An empty command line gives the default options.
    let Ok(Cli { options, .. }) = Cli::try_parse_from(["coder"]) else { return Language::English };
    let typed: Vec<String> = std::env::args().collect();
    let named = typed.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--lang") {
        Some("") => typed.get(at + 1).map(String::as_str),
        Some(value) => value.strip_prefix('='),
        None => None,
    });
    let lang = named.and_then(|name| <crate::choices::Lang as clap::ValueEnum>::from_str(name, true).ok());
    // Any other command reports invalid settings; help must work in spite of them.
    let _ = Layers::read(&Options { lang, ..options });
    shown::language()
}

/// The global options in the help of a command: the path of the command, headings, and names of single options. A
/// command without a row uses that of its parent. The options under [`GLOBAL`] appear in every command.
const VISIBLE: &[(&str, &[&str], &[&str])] = &[
    ("", &[BACKEND, PROMPT, REPLIES, CONVERSATION, PERMISSIONS], &[]),
    ("demo", &[], &[]),
    ("exec", &[REPLIES, PERMISSIONS], &[]),
    ("clip", &[REPLIES, PERMISSIONS], &[]),
    ("parse", &[REPLIES], &["limit"]),
    ("tools", &[], &["persona", "limit"]),
    ("prompt", &[], &["persona", "limit"]),
    ("grammar", &[], &[]),
    ("pipe", &[REPLIES, PERMISSIONS], &["persona"]),
    ("proxy", &[REPLIES], &["limit"]),
    ("policy", &[PERMISSIONS], &["persona"]),
    ("doctor", &[BACKEND, REPLIES], &["sandbox"]),
    ("sessions", &[], &[]),
    ("export", &[], &[]),
    ("stats", &[], &[]),
    ("audit", &[], &[]),
    ("keep", &[], &[]),
    ("undo", &[], &[]),
    ("redo", &[], &[]),
    ("diff", &[], &[]),
    ("commit", &[BACKEND], &["yes", "stats", "allow_path", "deny_path", "only_path", "dialects", "reasoning"]),
    ("personas", &[], &[]),
    ("config", &[], &[]),
    ("config show", &[BACKEND, PROMPT, REPLIES, CONVERSATION, PERMISSIONS], &[]),
    ("config trust", &[], &["yes"]),
    ("config profile", &[BACKEND], &[]),
    ("mcp", &[], &["sandbox"]),
    ("mcp trust", &[], &["sandbox", "yes"]),
    ("completions", &[], &[]),
    ("man", &[], &[]),
    ("help", &[], &[]),
];

/// The commands without a project, and the options under [`GLOBAL`] that their help hides.
const WITHOUT_PROJECT: (&[&str], &[&str]) = (&["completions", "man"], &["root", "debug"]);

/// Returns the command line in a language, for help, completions and manual pages. It must not be used for parsing.
pub(crate) fn described(language: Language) -> Command {
    let mut command = Cli::command();
    // The help flag, the help command, and the global options of subcommands exist only after the command is built.
    command.build();
    let command = without_meaningless(command, "");
    if language == Language::Portuguese { translated(command) } else { command }
}

/// Hides the options that do not apply to a command and its subcommands.
fn without_meaningless(command: Command, path: &str) -> Command {
    let (_, headings, names) = visible(path);
    let (without_project, project_options) = WITHOUT_PROJECT;
    let is_visible = |argument: &Arg| {
        let heading = argument.get_help_heading();
        if without_project.contains(&path) && project_options.contains(&argument.get_id().as_str()) {
            return false;
        }
        !argument.is_global_set()
            || heading == Some(GLOBAL)
            || headings.iter().any(|visible| heading == Some(visible))
            || names.contains(&argument.get_id().as_str())
    };
    command.mut_args(|argument| if is_visible(&argument) { argument } else { argument.hide(true) }).mut_subcommands(
        |inner| {
            let path = format!("{path} {}", inner.get_name());
            without_meaningless(inner, path.trim_start())
        },
    )
}

fn visible(path: &str) -> &'static (&'static str, &'static [&'static str], &'static [&'static str]) {
    let row = VISIBLE.iter().find(|(command, ..)| *command == path);
    row.unwrap_or_else(|| path.rsplit_once(' ').map_or(&VISIBLE[0], |(parent, _)| visible(parent)))
}

fn translated(mut command: Command) -> Command {
    const TEMPLATE: &str = "{before-help}{about-with-newline}\nUso: {usage}\n\n{all-args}{after-help}";
    if let Some(about) = command.get_about().map(portuguese) {
        command = command.about(about);
    }
    if let Some(about) = command.get_long_about().map(portuguese) {
        command = command.long_about(about);
    }
    if let Some(after) = command.get_after_help().map(portuguese) {
        command = command.after_help(after);
    }
    let usage = command.render_usage().to_string();
    let usage = translated_usage(usage.trim_start_matches("Usage:").trim(), Language::Portuguese);
    command
        .override_usage(usage)
        .help_template(TEMPLATE)
        .subcommand_help_heading("Comandos")
        .subcommand_value_name("COMANDO")
        .mut_args(translated_argument)
        .mut_subcommands(translated)
}

/// Translates the help of an argument. Possible values and the default become part of the text, because clap has only
/// English labels for them.
fn translated_argument(argument: Arg) -> Arg {
    let Some(help) = argument.get_help().map(portuguese) else { return argument };
    let long = argument.get_long_help().map_or_else(|| help.clone(), portuguese);
    let heading = match argument.get_help_heading() {
        Some(heading) => translate(heading).unwrap_or("Opções"),
        None if argument.is_positional() => "Argumentos",
        None => "Opções",
    };
    let values = if argument.is_hide_possible_values_set() { Vec::new() } else { argument.get_possible_values() };
    let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
    let defaults = argument.get_default_values().iter().filter_map(|value| value.to_str());
    let default =
        if argument.get_action().takes_values() { defaults.collect::<Vec<_>>().join(" ") } else { String::new() };
    let (mut short, mut long) = (help.to_string(), long.to_string());
    if !default.is_empty() {
        short += &format!(" [padrão: {default}]");
        long += &format!(" [padrão: {default}]");
    }
    if !names.is_empty() {
        short += &format!(" [valores possíveis: {}]", names.join(", "));
        long += "\n\nValores possíveis:";
        for value in &values {
            let help = value.get_help().map(portuguese).unwrap_or_default();
            long += &format!("\n- {}: {help}", value.get_name());
        }
    }
    argument.help(short).long_help(long).help_heading(heading).hide_possible_values(true).hide_default_value(true)
}

fn portuguese(english: &StyledStr) -> StyledStr {
    let english = english.to_string();
    let lines = || english.lines().map(|line| translate(line).unwrap_or(line)).collect::<Vec<_>>().join("\n");
    // A generated list of names after its sentence is not translated.
    translate(&english).map_or_else(|| lines().into(), StyledStr::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translations::PORTUGUESE;
    use std::collections::{BTreeMap, BTreeSet};
    use toolfence_policy::toolset;

    #[test]
    fn visible_options_and_headings_exist() {
        let mut command = Cli::command();
        command.build();
        let headings = [GLOBAL, BACKEND, PROMPT, REPLIES, CONVERSATION, PERMISSIONS];
        for argument in command.get_arguments().filter(|argument| argument.is_global_set()) {
            let heading = argument.get_help_heading().unwrap_or_default();
            assert!(headings.contains(&heading), "{} is below {heading:?}", argument.get_id());
        }
        for (path, _, names) in VISIBLE {
            let command = path.split_whitespace().try_fold(&command, |command, name| command.find_subcommand(name));
            let command = command.unwrap_or_else(|| panic!("there is a command {path}"));
            for name in *names {
                assert!(command.get_arguments().any(|argument| argument.get_id() == name), "{path} has {name}");
            }
        }
    }

    /// Returns all English texts of the help.
    fn english() -> BTreeSet<String> {
        fn collect(command: &Command, texts: &mut BTreeSet<String>) {
            let of_command = [command.get_about(), command.get_long_about()];
            texts.extend(of_command.into_iter().flatten().map(ToString::to_string));
            if let Some(after) = command.get_after_help().map(ToString::to_string) {
                // The sentences of a text with a generated list of names are translated one by one.
                match translate(&after) {
                    Some(_) => drop(texts.insert(after)),
                    None => {
                        let sentences = after.lines().filter(|line| !line.is_empty() && !line.starts_with("  "));
                        texts.extend(sentences.map(str::to_owned));
                    }
                }
            }
            for argument in command.get_arguments() {
                let of_argument = [argument.get_help(), argument.get_long_help()];
                texts.extend(of_argument.into_iter().flatten().map(ToString::to_string));
                texts.extend(argument.get_help_heading().map(str::to_owned));
                if argument.get_action().takes_values() {
                    let values = argument.get_possible_values();
                    texts.extend(values.iter().filter_map(PossibleValue::get_help).map(ToString::to_string));
                }
            }
            command.get_subcommands().for_each(|command| collect(command, texts));
        }
        let mut command = Cli::command();
        command.build();
        let mut texts = BTreeSet::new();
        collect(&command, &mut texts);
        texts
    }

    #[test]
    fn every_text_of_the_help_and_of_tools_is_translated() {
        let mut english = english();
        assert!(english.len() > 100, "the texts are found");
        for tool in toolset::builtins().iter().chain(&[toolset::edit_data(), toolset::plan()]) {
            let texts = tool.params.iter().map(|param| &param.help).chain([&tool.purpose]);
            english.extend(texts.map(ToString::to_string));
        }
        let translated: BTreeMap<String, String> = toml::from_str(PORTUGUESE).expect("pt-help.toml is valid TOML");
        let translated: BTreeSet<String> = translated.into_keys().collect();
        let missing: Vec<_> = english.difference(&translated).collect();
        assert!(missing.is_empty(), "locales/pt-help.toml lacks {missing:#?}");
        let unused: Vec<_> = translated.difference(&english).collect();
        assert!(unused.is_empty(), "no text of the help or of a tool is {unused:#?}");
    }

    /// clap wraps long rows of a table at any column and does not indent their continuation, so the rows must be short.
    #[test]
    fn rows_of_tables_below_the_help_fit_on_a_terminal() {
        fn check(command: &Command) {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for row in after.lines().filter(|row| row.trim_start().contains("  ")) {
                assert!(row.chars().count() <= 80, "{}: {row}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        for language in [Language::English, Language::Portuguese] {
            check(&described(language));
        }
    }

    #[test]
    fn no_help_in_portuguese_has_an_english_text() {
        fn check(command: &mut Command, english: &BTreeSet<String>) {
            let long = command.render_long_help().to_string();
            for help in [command.render_help().to_string(), long] {
                let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
                let left = english.iter().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
                let left: Vec<_> = left.filter(|text| text.len() > 20 && words.contains(text.as_str())).collect();
                assert!(left.is_empty(), "{}: {left:#?}", command.get_name());
                for word in
                    ["Usage:", "Options:", "Commands:", "Arguments:", "[default:", "[possible values:", "Possible"]
                {
                    assert!(!help.contains(word), "{}: {word}", command.get_name());
                }
            }
            command.get_subcommands_mut().for_each(|command| check(command, english));
        }
        check(&mut described(Language::Portuguese), &english());
    }
}
