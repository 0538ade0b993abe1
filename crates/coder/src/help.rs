//! The command line as it was typed, and its help in Portuguese. The English texts are the comments in `args`; the Portuguese ones
//! are in `locales/pt-help.toml`.

use crate::args::{CONVERSATION, Cli, EVERYWHERE, Options, REPLIES, RULES, TOLD, WHO_ANSWERS, Wrong};
use crate::config::Layers;
use crate::failure::{Failure, WRONG_USE};
use crate::shown;
use crate::translations::translate;
use clap::builder::{PossibleValue, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Parser};
use std::io::Write;
use toolfence_protocol::{Language, Text, close_names, text};

/// The command line as it was typed. Ends the program where it asked for help or cannot be understood.
pub(crate) fn parse() -> Cli {
    // All commands and options take longer to describe than the program takes to start, so who asks for the version alone does
    // not wait for that.
    let mut typed = std::env::args_os().skip(1);
    if let (Some(word), None) = (typed.next(), typed.next())
        && (word == "--version" || word == "-V")
    {
        let _ = writeln!(std::io::stdout(), "coder {}", env!("CARGO_PKG_VERSION"));
        std::process::exit(0);
    }
    Cli::try_parse().unwrap_or_else(|error| {
        let language = settled_language();
        match error.kind() {
            // What is parsed has every option in every command, the help of a command what has a meaning there.
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                described(language).get_matches();
            }
            ErrorKind::DisplayVersion | ErrorKind::Io => {}
            _ => {
                Failure::wrong_use(misread(&error, language)).report();
                std::process::exit(i32::from(WRONG_USE));
            }
        }
        error.exit()
    })
}

/// Why the command line cannot be read, and what was meant. clap has words for it in English alone.
fn misread(error: &clap::Error, language: Language) -> Text {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        Some(ContextValue::Strings(words)) => Some(words.join(", ")),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let mut told = match (error.kind(), context(ContextKind::InvalidValue)) {
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::TooManyValues, Some(value)) => {
            if value.is_empty() {
                text!("{argument} needs a value", argument)
            } else {
                text!("{value} is not a value of {argument}", argument, value = format!("{value:?}"))
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
        (ErrorKind::MissingRequiredArgument, _) => text!("missing: {arguments}", arguments = argument),
        (ErrorKind::MissingSubcommand, _) => {
            text!("{name} needs a command", name = context(ContextKind::InvalidSubcommand).unwrap_or_default())
        }
        (ErrorKind::ArgumentConflict, _) => match context(ContextKind::PriorArg) {
            Some(prior) if prior != argument => {
                text!("{argument} cannot be given together with {other}", argument, other = prior)
            }
            _ => text!("{argument} can be given only once", argument),
        },
        (ErrorKind::InvalidUtf8, _) => text!("an argument is not UTF-8"),
        _ => text!("unexpected argument {argument}", argument),
    };
    if let Some(source) = std::error::Error::source(error) {
        let wrong = source.downcast_ref::<Wrong>().map(|wrong| wrong.0.clone());
        told.push(text!(": {wrong}", wrong = wrong.unwrap_or_else(|| source.to_string().into())));
    }
    let values = context(ContextKind::ValidValue).or_else(|| context(ContextKind::ValidSubcommand));
    if let Some(values) = values.filter(|values| !values.is_empty()) {
        told.push(text!("\n  possible values: {values}", values));
    }
    let suggested = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    if let Some(names) = suggested.into_iter().find_map(context) {
        told.push(text!("\n  did you mean {names}?", names));
    }
    told.push(match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => {
            let usage = usage.to_string();
            text!(
                "\n\nUsage: {usage}\n\n--help says more.",
                usage = in_words(usage.trim_start_matches("Usage:").trim(), language)
            )
        }
        _ => text!("\n\n--help says more."),
    });
    told
}

/// What is said of a word that is no command, with those that are close.
pub(crate) fn no_command(word: &str) -> Failure {
    let command = Cli::command();
    let close = close_names(word, command.get_subcommands().map(Command::get_name));
    let mut told = text!("there is no command {name}; to ask the model, use -p: coder -p \"...\"", name = word);
    if !close.is_empty() {
        told.push(text!("\n  did you mean {names}?", names = close.join(", ")));
    }
    told.push(text!("\n\n--help says more."));
    Failure::wrong_use(told)
}

/// How a command is written, with the words for what may stand in it in this language.
fn in_words(usage: &str, language: Language) -> String {
    match language {
        Language::Portuguese => usage.replace("[OPTIONS]", "[OPÇÕES]").replace("COMMAND", "COMANDO"),
        _ => usage.to_owned(),
    }
}

/// The language that `--lang`, the files of settings or the environment name. Whoever asks for help may have typed anything beside it, so
/// nothing else of the command line is read.
pub(crate) fn settled_language() -> Language {
    let Ok(Cli { options, .. }) = Cli::try_parse_from(["coder"]) else { return Language::English };
    let typed: Vec<String> = std::env::args().collect();
    let named = typed.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--lang") {
        Some("") => typed.get(at + 1).map(String::as_str),
        Some(value) => value.strip_prefix('='),
        None => None,
    });
    let lang = named.and_then(|name| <crate::choices::Lang as clap::ValueEnum>::from_str(name, true).ok());
    // Settings that cannot be read are told of by every command but this.
    let _ = Layers::read(&Options { lang, ..options });
    shown::language()
}

/// Which of the options that every command understands have a meaning in a command: those below a heading, and some by their names.
/// A command that is not here has what its parent has; [`EVERYWHERE`] stands in each.
const MEANT: &[(&str, &[&str], &[&str])] = &[
    ("", &[WHO_ANSWERS, TOLD, REPLIES, CONVERSATION, RULES], &[]),
    ("demo", &[], &[]),
    ("exec", &[REPLIES, RULES], &[]),
    ("clip", &[REPLIES, RULES], &[]),
    ("parse", &[REPLIES], &["limit"]),
    ("tools", &[], &["persona", "limit"]),
    ("prompt", &[], &["persona", "limit"]),
    ("grammar", &[], &[]),
    ("pipe", &[REPLIES, RULES], &["persona"]),
    ("proxy", &[REPLIES], &["limit"]),
    ("policy", &[RULES], &["persona"]),
    ("doctor", &[WHO_ANSWERS, REPLIES], &["sandbox"]),
    ("sessions", &[], &[]),
    ("export", &[], &[]),
    ("stats", &[], &[]),
    ("audit", &[], &[]),
    ("keep", &[], &[]),
    ("undo", &[], &[]),
    ("redo", &[], &[]),
    ("diff", &[], &[]),
    ("commit", &[WHO_ANSWERS], &["yes", "stats", "allow_path", "deny_path", "only_path", "dialects", "reasoning"]),
    ("personas", &[], &[]),
    ("config", &[], &[]),
    ("config show", &[WHO_ANSWERS, TOLD, REPLIES, CONVERSATION, RULES], &[]),
    ("config trust", &[], &["yes"]),
    ("config profile", &[WHO_ANSWERS], &[]),
    ("mcp", &[], &["sandbox"]),
    ("mcp trust", &[], &["sandbox", "yes"]),
    ("completions", &[], &[]),
    ("man", &[], &[]),
    ("help", &[], &[]),
];

/// Options that [`EVERYWHERE`] has and that have no meaning in commands which look at no project.
const WITHOUT_PROJECT: (&[&str], &[&str]) = (&["completions", "man"], &["root", "debug"]);

/// The command line as its help, its completions and its manual describe it, in this language. What it parses is of no use.
pub(crate) fn described(language: Language) -> Command {
    let mut command = Cli::command();
    // The help flag, the help command and the options that every command understands are in each command only then.
    command.build();
    let command = without_meaningless(command, "");
    if language == Language::Portuguese { translated(command) } else { command }
}

/// Hides the options that have no meaning in a command, and in those below it.
fn without_meaningless(command: Command, path: &str) -> Command {
    let (_, headings, names) = meant(path);
    let (without_project, of_a_project) = WITHOUT_PROJECT;
    let shown = |argument: &Arg| {
        let heading = argument.get_help_heading();
        if without_project.contains(&path) && of_a_project.contains(&argument.get_id().as_str()) {
            return false;
        }
        !argument.is_global_set()
            || heading == Some(EVERYWHERE)
            || headings.iter().any(|meant| heading == Some(meant))
            || names.contains(&argument.get_id().as_str())
    };
    command.mut_args(|argument| if shown(&argument) { argument } else { argument.hide(true) }).mut_subcommands(
        |inner| {
            let path = format!("{path} {}", inner.get_name());
            without_meaningless(inner, path.trim_start())
        },
    )
}

fn meant(path: &str) -> &'static (&'static str, &'static [&'static str], &'static [&'static str]) {
    let row = MEANT.iter().find(|(command, ..)| *command == path);
    row.unwrap_or_else(|| path.rsplit_once(' ').map_or(&MEANT[0], |(parent, _)| meant(parent)))
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
    let usage = in_words(usage.trim_start_matches("Usage:").trim(), Language::Portuguese);
    command
        .override_usage(usage)
        .help_template(TEMPLATE)
        .subcommand_help_heading("Comandos")
        .subcommand_value_name("COMANDO")
        .mut_args(translated_argument)
        .mut_subcommands(translated)
}

/// The lists of values and the default are part of the text, for clap has words for them in English alone.
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
            let said = value.get_help().map(portuguese).unwrap_or_default();
            long += &format!("\n- {}: {said}", value.get_name());
        }
    }
    argument.help(short).long_help(long).help_heading(heading).hide_possible_values(true).hide_default_value(true)
}

fn portuguese(english: &StyledStr) -> StyledStr {
    let english = english.to_string();
    let lines = || english.lines().map(|line| translate(line).unwrap_or(line)).collect::<Vec<_>>().join("\n");
    // A list of names that the program makes stands below a sentence and has no words.
    translate(&english).map_or_else(|| lines().into(), StyledStr::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translations::PORTUGUESE;
    use std::collections::{BTreeMap, BTreeSet};
    use toolfence_policy::toolset;

    #[test]
    fn the_options_of_each_command_are_chosen() {
        let mut command = Cli::command();
        command.build();
        let headings = [EVERYWHERE, WHO_ANSWERS, TOLD, REPLIES, CONVERSATION, RULES];
        for argument in command.get_arguments().filter(|argument| argument.is_global_set()) {
            let heading = argument.get_help_heading().unwrap_or_default();
            assert!(headings.contains(&heading), "{} stands below {heading:?}", argument.get_id());
        }
        for (path, _, names) in MEANT {
            let command = path.split_whitespace().try_fold(&command, |command, name| command.find_subcommand(name));
            let command = command.unwrap_or_else(|| panic!("there is a command {path}"));
            for name in *names {
                assert!(command.get_arguments().any(|argument| argument.get_id() == name), "{path} has {name}");
            }
        }
    }

    /// Every English text of the help.
    fn english() -> BTreeSet<String> {
        fn collect(command: &Command, texts: &mut BTreeSet<String>) {
            let of_command = [command.get_about(), command.get_long_about()];
            texts.extend(of_command.into_iter().flatten().map(ToString::to_string));
            if let Some(after) = command.get_after_help().map(ToString::to_string) {
                // Where the program makes lists of names, which are set in, the sentences above them are the texts.
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
        let translated: BTreeMap<String, String> = toml::from_str(PORTUGUESE).expect("it is TOML");
        let translated: BTreeSet<String> = translated.into_keys().collect();
        let missing: Vec<_> = english.difference(&translated).collect();
        assert!(missing.is_empty(), "locales/pt-help.toml lacks {missing:#?}");
        let unused: Vec<_> = translated.difference(&english).collect();
        assert!(unused.is_empty(), "no text of the help or of a tool is {unused:#?}");
    }

    /// clap breaks a row that is too long for the terminal anywhere and begins the next one at the left: rows of a table are short.
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
