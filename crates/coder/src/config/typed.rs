//! The command line as a layer of settings.

use super::kinds::{Word, wrong_value};
use super::settings::Settings;
use super::value::Kind;
use crate::args::Options;
use crate::choices::{AskMode, BackendKind, Switch};
use crate::failure::Failure;
use clap::ValueEnum;
use toolfence_policy::rules::PathRules;
use toolfence_policy::settings::CommandRule;
use toolfence_protocol::limits::LIMITS;
use toolfence_protocol::{Limits, Text, text};

/// Returns the settings of the command line.
pub(crate) fn settings(options: &Options) -> Result<Settings, Failure> {
    let mut typed = Settings::default();
    // `--command` without `--backend` selects the command backend.
    match (options.backend.flatten(), &options.command) {
        (None, Some(_)) => typed.backend.type_in("--command", Some(BackendKind::Command)),
        (backend, _) => typed.backend.type_in("--backend", backend),
    }
    typed.command.type_in("--command", options.command.clone());
    typed.command_conversation.type_in("--command-conversation", options.command_conversation);
    typed.command_format.type_in("--command-format", options.command_format);
    typed.base_url.type_in("--base-url", options.base_url.clone());
    typed.model.type_in("--model", options.model.clone());
    typed.persona.type_in("--persona", options.persona.clone());
    typed.replies.type_in("--replies", options.replies.clone());
    typed.lang.type_in("--lang", options.lang);
    typed.instructions.type_in("--instructions", options.instructions);
    typed.dialects.type_in("--dialects", options.dialects.clone());
    typed.reasoning.type_in("--reasoning", options.reasoning);
    typed.agents_files.type_in("--no-agents-files", options.no_agents_files.then_some(Switch::Off));
    typed.grammar.type_in("--grammar", options.grammar);
    typed.color.type_in("--color", options.color);
    typed.temperature.type_in("--temperature", options.temperature);
    typed.max_tokens.type_in("--max-tokens", options.max_tokens.map(u64::from));
    typed.window.type_in("--window", options.window.map(u64::from));

    let rules = &options.rules;
    match rules.ask {
        Some(ask) => typed.ask.type_in("--ask", Some(ask)),
        None => typed.ask.type_in("--yes", options.yes.then_some(AskMode::Never)),
    }
    typed.sandbox.mode.type_in("--sandbox", rules.sandbox);
    typed.sandbox.network.type_in("--network", rules.network.then_some(Switch::On));
    let commands = &mut typed.commands;
    for (list, option, lines) in [
        (&mut commands.allow, "--allow", &rules.allow),
        (&mut commands.deny, "--deny", &rules.deny),
        (&mut commands.only, "--only", &rules.only),
    ] {
        for line in lines {
            let rule = CommandRule::line(line).map_err(|wrong| {
                Failure::wrong_use(text!("{option} {line}: {wrong}", option, line = format!("{line:?}"), wrong))
            })?;
            list.type_in(option, Some(rule));
        }
    }
    let paths = &mut typed.paths;
    for (list, option, globs) in [
        (&mut paths.allow, "--allow-path", &rules.allow_path),
        (&mut paths.deny, "--deny-path", &rules.deny_path),
        (&mut paths.only, "--only-path", &rules.only_path),
    ] {
        // Check the globs here, where the error can name the option.
        PathRules::new(&[], globs)
            .map_err(|wrong| Failure::wrong_use(text!("{place}: {what}", place = option, what = wrong.text())))?;
        globs.iter().for_each(|glob| list.type_in(option, Some(glob.clone())));
    }
    for written in &options.results {
        let wrong = |why: Text| {
            Failure::wrong_use(text!("{place}: {what}", place = format!("--results {written}"), what = why))
        };
        let (key, value) = written.split_once('=').unwrap_or(("format", written));
        let results = &mut typed.results;
        match key {
            "format" => results.format.type_in("--results", Some(word(key, value).map_err(wrong)?)),
            "data" => results.data.type_in("--results", Some(word(key, value).map_err(wrong)?)),
            "nonce" => results.nonce.type_in("--results", Some(word(key, value).map_err(wrong)?)),
            "break_tokens" => results.break_tokens.type_in("--results", Some(word(key, value).map_err(wrong)?)),
            _ => {
                return Err(wrong(text!(
                    "results are text or json, or a key and its value: data=on, nonce=on, break_tokens=on"
                )));
            }
        }
    }
    for written in &rules.limit {
        let wrong =
            |why: Text| Failure::wrong_use(text!("{place}: {what}", place = format!("--limit {written}"), what = why));
        let (key, number) =
            written.split_once('=').ok_or_else(|| wrong(text!("a limit is written KEY=NUMBER, such as rounds=40")))?;
        // `set` checks the key and the range of the number.
        let mut limits = Limits::default();
        limits.set(key, number).map_err(|error| wrong(error.text()))?;
        if let (Some(limit), Some(number)) = (LIMITS.iter().find(|limit| limit.key == key), limits.get(key)) {
            typed.limits.type_in("--limit", limit, number);
        }
    }
    Ok(typed)
}

fn word<T: ValueEnum + Clone>(key: &str, value: &str) -> Result<T, Text> {
    let takes = |hint| wrong_value(&format!("results.{key}"), Word::<T>::describe_values(), hint);
    Word::<T>::read(value.to_owned(), "").map_err(takes)
}
