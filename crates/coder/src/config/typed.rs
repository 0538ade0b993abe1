//! The command line as a layer of settings.

use super::keys;
use crate::args::Options;
use crate::choices::{AskMode, BackendKind};
use crate::failure::Failure;
use crate::messages;
use clap::ValueEnum;
use toolfence_policy::rules::PathRules;
use toolfence_policy::settings::{CommandRule, Entry, Layer, Origin, Value};
use toolfence_protocol::{Limits, Text};

/// What was typed, as values of keys.
pub(crate) fn entries(options: &Options) -> Result<Vec<Entry>, Failure> {
    let rules = &options.rules;
    let ask = rules.ask.or(options.yes.then_some(AskMode::Never));
    let mut entries = Vec::new();
    // Who types a program wants it to answer.
    let of_command = options.command.is_some() && options.backend.flatten().is_none();
    let backend = if of_command { Some(BackendKind::Command) } else { options.backend.flatten() };
    for (key, option, text) in [
        ("backend", if of_command { "--command" } else { "--backend" }, word(backend)),
        ("command", "--command", options.command.clone()),
        ("command_conversation", "--command-conversation", word(options.command_conversation)),
        ("command_format", "--command-format", word(options.command_format)),
        ("base_url", "--base-url", options.base_url.clone()),
        ("model", "--model", options.model.clone()),
        ("persona", "--persona", options.persona.clone()),
        ("replies", "--replies", options.replies.clone()),
        ("lang", "--lang", word(options.lang)),
        ("instructions", "--instructions", word(options.instructions)),
        ("dialects", "--dialects", options.dialects.clone()),
        ("reasoning", "--reasoning", word(options.reasoning)),
        ("agents_files", "--no-agents-files", options.no_agents_files.then(|| "off".to_owned())),
        ("grammar", "--grammar", word(options.grammar)),
        ("color", "--color", word(options.color)),
        ("sandbox.mode", "--sandbox", word(rules.sandbox)),
        ("sandbox.network", "--network", rules.network.then(|| "on".to_owned())),
        ("ask", if options.yes { "--yes" } else { "--ask" }, word(ask)),
    ] {
        entries.extend(text.map(|text| entry(key, option, Value::Text(text))));
    }
    for (key, option, number) in [
        ("temperature", "--temperature", options.temperature.map(|number| number.to_string())),
        ("max_tokens", "--max-tokens", options.max_tokens.map(|number| number.to_string())),
    ] {
        entries.extend(number.map(|number| entry(key, option, Value::Text(number))));
    }
    let window = options.window.map(|window| Value::Text(window.to_string()));
    entries.extend(window.map(|window| entry("window", "--window", window)));
    for (key, option, lines) in [
        ("commands.allow", "--allow", &rules.allow),
        ("commands.deny", "--deny", &rules.deny),
        ("commands.only", "--only", &rules.only),
    ] {
        for line in lines {
            let rule = CommandRule::line(line)
                .map_err(|wrong| Failure::wrong_use(messages::bad_rule(option, format!("{line:?}"), wrong)))?;
            entries.push(entry(key, option, Value::Command(rule)));
        }
    }
    for (key, option, globs) in [
        ("paths.allow", "--allow-path", &rules.allow_path),
        ("paths.deny", "--deny-path", &rules.deny_path),
        ("paths.only", "--only-path", &rules.only_path),
    ] {
        PathRules::new(&[], globs).map_err(|wrong| Failure::wrong_use(messages::located(option, wrong.text())))?;
        entries.extend(globs.iter().map(|glob| entry(key, option, Value::Glob(glob.clone()))));
    }
    for typed in &options.results {
        let wrong = |why: Text| Failure::wrong_use(messages::located(format!("--results {typed}"), why));
        let (key, word) = typed.split_once('=').unwrap_or(("format", typed));
        let key = keys::named(&format!("results.{key}")).ok_or_else(|| wrong(messages::results_form()))?;
        entries.push(entry(key.name, "--results", key.word(word).map_err(wrong)?));
    }
    let mut limits = Limits::default();
    for typed in &rules.limit {
        let wrong = |why: Text| Failure::wrong_use(messages::located(format!("--limit {typed}"), why));
        let (key, number) = typed.split_once('=').ok_or_else(|| wrong(messages::limit_form()))?;
        limits.set(key, number).map_err(|error| wrong(error.text()))?;
        entries.push(entry(&format!("limits.{key}"), "--limit", Value::Text(number.to_owned())));
    }
    Ok(entries.into_iter().flatten().collect())
}

fn word<T: ValueEnum>(value: Option<T>) -> Option<String> {
    Some(value?.to_possible_value()?.get_name().to_owned())
}

fn entry(key: &str, option: &str, value: Value) -> Option<Entry> {
    Some(Entry::new(keys::named(key)?, value, Origin::new(Layer::CommandLine, option)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{
        BackendKind, Color, CommandFormat, Conversation, Grammar, Instructions, Lang, Reasoning, Sandbox,
    };
    use toolfence_policy::settings::Takes;

    /// The words a file may hold and those that can be typed are the same.
    #[test]
    fn the_words_of_the_keys_can_be_typed() {
        fn words<T: ValueEnum>() -> Vec<String> {
            T::value_variants().iter().filter_map(|variant| word(Some(variant.clone()))).collect()
        }
        for (key, typed) in [
            ("backend", words::<BackendKind>()),
            ("command_conversation", words::<Conversation>()),
            ("command_format", words::<CommandFormat>()),
            ("lang", words::<Lang>()),
            ("instructions", words::<Instructions>()),
            ("reasoning", words::<Reasoning>()),
            ("grammar", words::<Grammar>()),
            ("color", words::<Color>()),
            ("ask", words::<AskMode>()),
            ("sandbox.mode", words::<Sandbox>()),
        ] {
            let Some(Takes::Choice(known)) = keys::named(key).map(|key| key.takes) else { panic!("{key} takes words") };
            let (mut known, mut typed) = (known.to_vec(), typed);
            known.sort_unstable();
            typed.sort_unstable();
            assert_eq!(known, typed, "{key}");
        }
    }
}
