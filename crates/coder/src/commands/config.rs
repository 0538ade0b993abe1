//! `coder config`: prints the effective settings, and manages the files that define them.

use crate::args::{BackendsArguments, ConfigCommand, Options, ProfileArguments, ShowArguments, TrustArguments};
use crate::commands::undo::age;
use crate::config::places::{self, Places};
use crate::config::profile::{Profiles, StoredProfile, counting};
use crate::config::value::{Layer, Origin, Row, Shape};
use crate::config::{Config, Layers, ProjectFile, documented, profile, redactor, trust};
use crate::failure::{Failure, INTERRUPTED, UNSUCCESSFUL};
use crate::proposals;
use crate::rules;
use crate::server::{self, Server};
use crate::shown::{Words, language};
use crate::slash;
use crate::terminal::{Style, Terminal};
use serde_json::{Value, json};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use toolfence_agent::agent::Canceller;
use toolfence_agent::backend::http::{LocalModel, LocalServer, Preset};
use toolfence_protocol::Text;
use toolfence_protocol::parse::Reasoning;
use toolfence_protocol::text;
use toolfence_session::persona::Persona;

/// Runs a subcommand of `coder config`.
pub(crate) fn run(options: &Options, command: &ConfigCommand) -> Result<ExitCode, Failure> {
    match command {
        ConfigCommand::Show(arguments) => show(options, arguments),
        ConfigCommand::Init => init(&read_places(options)?),
        ConfigCommand::Path => path(&read_places(options)?),
        ConfigCommand::Trust(arguments) => trust(options, &read_places(options)?, arguments),
        ConfigCommand::Profile(arguments) => profile(options, arguments),
        ConfigCommand::Backends(arguments) => backends(options, arguments),
    }
}

/// Sets the language from the settings and returns the paths of the files. Unreadable files are no error here: these
/// commands help to repair them.
fn read_places(options: &Options) -> Result<Places, Failure> {
    match Layers::read(options) {
        Ok(layers) => Ok(layers.places),
        Err(_) => Places::find(&options.root),
    }
}

fn show(options: &Options, arguments: &ShowArguments) -> Result<ExitCode, Failure> {
    let (layers, persona) = rules::with_persona(Layers::read(options)?)?;
    let config = layers.merged();
    config.settle_looks();
    let mut out = Terminal::stdout();
    if arguments.json {
        let mut report = config_as_json(&layers, &config);
        report["profile"] =
            profile_values(&layers, &config, &persona)?.into_iter().map(|(key, value)| (key, json!(value))).collect();
        out.line(&report.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    config.rows().iter().try_for_each(|row| print_row(&config, &persona, row, &mut out))?;
    let places = &layers.places;
    let project = match layers.project {
        ProjectFile::Absent => text!("it does not exist"),
        ProjectFile::Untrusted => text!("it can only make rules stricter; `coder config trust` trusts it"),
        ProjectFile::Trusted => text!("trusted in its present form"),
    };
    out.write("\n")?;
    out.styled_line(
        Style::Dim,
        &text!("project file  {path}: {state}", path = places.project.display().to_string(), state = project),
    )?;
    for (key, value) in profile_values(&layers, &config, &persona)? {
        out.styled_line(
            Style::Dim,
            &text!(
                "{key} is not set; learned from replies of this backend: {value} (coder config profile)",
                key,
                value
            ),
        )?;
    }
    config.notes.iter().try_for_each(|note| out.styled_line(Style::Bad, note))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a setting with its value and origin. A list has one line per item.
fn print_row(config: &Config, persona: &Persona, row: &Row, out: &mut Terminal) -> Result<(), Failure> {
    let width = config.rows().iter().map(|row| row.key.len()).max().unwrap_or_default() + 1;
    let mut print = |name: &str, value: &str, origin: &Origin| {
        out.write(&format!("{name:<width$}{value:<28}  "))?;
        out.styled_line(Style::Dim, &origin_text(origin, persona))
    };
    if row.values.is_empty() {
        return print(row.key, if row.shape == Shape::One { "-" } else { "[]" }, &Origin::default());
    }
    let names = std::iter::once(row.key).chain(std::iter::repeat(""));
    for ((value, origin), name) in row.values.iter().zip(names) {
        print(name, &without_secrets(value), origin)?;
    }
    if row.key == "commands.only" {
        let left = Text::join(effective_only(config), ", ");
        out.styled_line(
            Style::Dim,
            &format!("{:<width$}{}", "", text!("allowed commands begin with: {beginnings}", beginnings = left).words()),
        )?;
    }
    Ok(())
}

/// Redacts a value: a URL may contain a password, and a field of a request body may contain a key.
fn without_secrets(value: &str) -> String {
    redactor().text(value).into_owned()
}

/// Returns the origin of a value in the user's language.
fn origin_text(origin: &Origin, persona: &Persona) -> Text {
    match origin.layer {
        Layer::Default => text!("default"),
        Layer::Persona => text!("the persona {name}", name = &persona.name),
        _ => origin.to_string().into(),
    }
}

/// Returns the beginnings of commands that the lists of all layers allow.
fn effective_only(config: &Config) -> Vec<Text> {
    let settings = config.policy();
    let words = settings.only_commands().iter().map(|rule| rule.words().join(" "));
    words.map(|words| if words.is_empty() { text!("nothing") } else { words.into() }).collect()
}

fn config_as_json(layers: &Layers, config: &Config) -> Value {
    let values: Vec<Value> = config.rows().iter().map(|row| row_as_json(config, row)).collect();
    let project = match layers.project {
        ProjectFile::Absent => "absent",
        ProjectFile::Untrusted => "untrusted",
        ProjectFile::Trusted => "trusted",
    };
    json!({
        "v": super::SCHEMA, "values": values, "notes": config.notes, "user_file": layers.places.user,
        "project_file": layers.places.project, "project": project,
    })
}

fn row_as_json(config: &Config, row: &Row) -> Value {
    let item =
        |(value, origin): &(String, Origin)| json!({"value": without_secrets(value), "origin": origin_as_json(origin)});
    let mut items: Vec<Value> = row.values.iter().map(item).collect();
    if row.shape == Shape::One {
        let mut row_json =
            items.pop().unwrap_or_else(|| json!({"value": null, "origin": origin_as_json(&Origin::default())}));
        row_json["key"] = json!(row.key);
        return row_json;
    }
    let mut row_json = json!({"key": row.key, "items": items});
    if row.key == "commands.only" && !items.is_empty() {
        row_json["effective"] = json!(effective_only(config));
    }
    row_json
}

fn origin_as_json(origin: &Origin) -> Value {
    json!({"layer": origin.layer, "name": *origin.name, "line": origin.line})
}

fn init(places: &Places) -> Result<ExitCode, Failure> {
    let path = user_file(places)?;
    let wrong = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::wrong_use(text!("{path} exists already and is left unchanged", path = path.display().to_string()))
        }
        _ => Failure::broken(text!(
            "cannot write {path}: {error}",
            path = path.display().to_string(),
            error = Text::from(&error)
        )),
    };
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(wrong)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(wrong)?;
    file.write_all(with_proposals(own_file(), &proposals::for_project(places.root())).as_bytes()).map_err(wrong)?;
    Terminal::stdout().line(&text!("wrote {path}", path = path.display().to_string()))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the content of a new user file, with every setting explained.
fn own_file() -> String {
    format!(
        "{}{}",
        text!(
            "# Settings of coder. Lines that begin with # are comments; remove the # before a key to set it.\n# The \
             command line overrides the persona, which overrides the project's .toolfence.toml, which overrides this \
             file; but\n# a project or a persona can only make rules stricter. `coder config show` prints each value \
             and its origin.\n\n"
        )
        .words(),
        documented(language())
    )
}

/// Adds the checks that the current project suggests to the documented file, commented out like every other value.
fn with_proposals(documented: String, lines: &[String]) -> String {
    if lines.is_empty() {
        return documented;
    }
    let note = text!("Proposed for the project in which this file was written:").render(language());
    documented.replacen("\n#commands = []\n", &format!("\n# {note}\n#{}\n", proposals::as_setting(lines)), 1)
}

fn user_file(places: &Places) -> Result<&Path, Failure> {
    places.user.as_deref().ok_or_else(|| {
        Failure::wrong_use(text!(
            "there is no folder for your own file: set HOME or XDG_CONFIG_HOME to an absolute path"
        ))
    })
}

fn path(places: &Places) -> Result<ExitCode, Failure> {
    let mut out = Terminal::stdout();
    for (name, path) in [
        (text!("user"), places.user.as_deref()),
        (text!("project"), Some(&*places.project)),
        (text!("state"), places.state.as_deref()),
    ] {
        let name_of_path = path.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        let line = if path.is_some_and(Path::exists) {
            name_of_path.into()
        } else {
            text!("{path}  (missing)", path = name_of_path)
        };
        out.line(&format!("{:<9}{}", name.words(), line.words()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the values from the profile of the configured backend that apply because no setting overrides them, by the
/// key of the setting.
fn profile_values(
    layers: &Layers,
    config: &Config,
    persona: &Persona,
) -> Result<Vec<(&'static str, &'static str)>, Failure> {
    let Some(profiles) = Profiles::open_folder(&layers.places) else { return Ok(Vec::new()) };
    let Some((base_url, model)) = Server::likely(config, persona, |base_url| profiles.models(base_url))? else {
        return Ok(Vec::new());
    };
    let counts = counting(profiles.learned(&base_url, &model), config);
    let dialect = counts.dialect.map(|dialect| ("dialects", dialect.name()));
    let reasoning = match counts.reasoning {
        Reasoning::Opened => Some("opened"),
        Reasoning::Known => Some("known"),
        _ => None,
    };
    // With `grammar = "on"`, `counting` returns a form that the setting demands and no reply has shown.
    let grammar = counts.grammar.filter(|_| !config.grammar.is_set()).map(|form| ("grammar", form.name()));
    Ok(dialect.into_iter().chain(reasoning.map(|value| ("reasoning", value))).chain(grammar).collect())
}

fn profile(options: &Options, arguments: &ProfileArguments) -> Result<ExitCode, Failure> {
    let (layers, persona) = rules::with_persona(Layers::read(options)?)?;
    let config = layers.merged();
    config.settle_looks();
    let mut out = Terminal::stdout();
    let no_folder = || Failure::wrong_use(text!("there is no folder for profiles: set HOME or XDG_STATE_HOME"));
    let profiles = Profiles::open_folder(&layers.places).ok_or_else(no_folder)?;
    let server = match arguments.all {
        true => None,
        false => Server::find(&config, &persona)?.as_ref().map(Server::profile_key),
    };
    let known: Vec<StoredProfile> = match &server {
        _ if arguments.all => profiles.all(),
        Some((base_url, model)) => profiles.read_profile(base_url, model).into_iter().collect(),
        None => {
            return Err(Failure::wrong_use(text!(
                "a recording has no profile; --all shows the profiles of all backends"
            )));
        }
    };
    if arguments.json {
        out.line(&json!({"v": super::SCHEMA, "profiles": known}).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    if known.is_empty() {
        out.line(&match server {
            Some((base_url, model)) => {
                text!("there is no profile of {model} at {server}", server = profile::address(&base_url), model)
            }
            None => text!("there is no profile of any backend"),
        })?;
    }
    for known in &known {
        if arguments.forget {
            profiles.forget(&known.base_url, &known.model)?;
            out.line(&text!(
                "deleted the profile of {model} at {server}",
                server = &known.base_url,
                model = &known.model
            ))?;
            continue;
        }
        out.line(&format!("{}  {}", known.base_url, known.model))?;
        for (key, fact) in known.facts() {
            out.write(&format!("  {key:<22} {:<22} ", fact.value))?;
            out.styled_line(Style::Dim, &text!("{shown_by}, {age}", shown_by = fact.shown_by(), age = age(fact.at)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn backends(options: &Options, arguments: &BackendsArguments) -> Result<ExitCode, Failure> {
    read_places(options)?;
    let found = server::look()?;
    let providers = Preset::all().iter().filter(|preset| !preset.is_local());
    let mut out = Terminal::stdout();
    if arguments.json {
        let providers: Vec<Value> = providers.map(provider_as_json).collect();
        let model = |model: &LocalModel| json!({"name": model.name, "loaded": model.loaded});
        let server = |server: &LocalServer| {
            let models: Vec<Value> = server.models.iter().map(model).collect();
            json!({"kind": server.kind, "base_url": server.base_url, "models": models, "loads": server.loads})
        };
        let local: Vec<Value> = found.iter().map(server).collect();
        out.line(&json!({"v": super::SCHEMA, "providers": providers, "local": local}).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    out.line(&text!("Providers, and the variables of their keys:"))?;
    for preset in providers {
        let (style, state) = match server::has_key(preset) {
            true => (Style::Good, text!("set")),
            false => (Style::Dim, text!("-")),
        };
        out.write(&format!("  {:<13}{:<21}", preset.name, preset.key_variable))?;
        out.styled(style, &format!("{:<9}", state.words()))?;
        let place = if preset.base_url.is_empty() {
            text!("an address of your own: --base-url")
        } else {
            preset.base_url.into()
        };
        out.styled_line(Style::Dim, &place)?;
    }
    out.line(&text!("\nServers on this machine:"))?;
    for url in server::addresses() {
        let running = found.iter().find(|server| server.base_url == url);
        let usual = Preset::all().iter().find(|preset| preset.base_url == url).map(|preset| preset.name);
        out.write(&format!("  {:<13}{url:<30}", running.and_then(|server| server.kind).or(usual).unwrap_or("-")))?;
        match running {
            Some(server) => out.styled_line(Style::Good, &server::described(server))?,
            None => out.styled_line(Style::Dim, &text!("does not answer"))?,
        }
    }
    out.line(&text!(
        "\nUse a provider: coder --backend provider --model NAME::MODEL. Use a server: coder --base-url URL --model \
         MODEL."
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn provider_as_json(preset: &Preset) -> Value {
    let base_url = Some(preset.base_url).filter(|url| !url.is_empty());
    json!({
        "name": preset.name, "base_url": base_url, "key_variable": preset.key_variable,
        "key_set": server::has_key(preset), "models": preset.models,
    })
}

fn trust(options: &Options, places: &Places, arguments: &TrustArguments) -> Result<ExitCode, Failure> {
    let mut out = Terminal::stdout();
    let project_file = places.project.display().to_string();
    if arguments.forget {
        trust::forget(places)?;
        out.line(&text!("{path} is no longer trusted", path = project_file))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (commands, mut failures) = slash::of_project(places);
    // All files are read once here, so the text that is stored as trusted is the text that the user has seen.
    let settings = places::read_of_project(&places.project).unwrap_or_else(|failure| {
        failures.insert(0, failure);
        None
    });
    let settings = settings.map(|text| (places.project.clone(), text));
    let has_settings = settings.is_some();
    // Files that cannot be read, such as links, are reported and not trusted; the others can be.
    let mut err = Terminal::stderr();
    for failure in &failures {
        err.line(failure.message())?;
    }
    let status = if failures.is_empty() { ExitCode::SUCCESS } else { UNSUCCESSFUL.into() };
    let has_commands = !commands.is_empty();
    let files: Vec<(PathBuf, String)> = settings.into_iter().chain(commands).collect();
    if files.is_empty() {
        if !failures.is_empty() {
            return Ok(status);
        }
        return Err(Failure::wrong_use(text!(
            "there is no {path} to trust, and no command in {commands}",
            path = project_file,
            commands = places.commands().display().to_string()
        )));
    }
    let mut allows = Vec::new();
    if has_settings {
        allows.push(text!(
            "If you trust it, it may also choose the backend, server and model: your messages go there, with the key \
             in TOOLFENCE_API_KEY. Its rules can only be stricter than yours."
        ));
    }
    if has_commands {
        allows.push(text!("If you trust it, a command is sent to the model as your message when you type its name."));
    }
    // Without a question on a terminal, the output is the only record of the text that was trusted or refused.
    if options.yes || !std::io::stdout().is_terminal() {
        for (file, text) in &files {
            out.line(&format!("{}:\n", file.display()))?;
            text.lines().try_for_each(|line| out.line(&format!("  | {line}")))?;
        }
        allows.iter().try_for_each(|allows| out.line(allows))?;
    }
    if !options.yes && !ask_for_trust(&files, &allows)? {
        out.line(&text!("It is not trusted."))?;
        return Ok(UNSUCCESSFUL.into());
    }
    trust::store(places, &files)?;
    for (file, text) in &files {
        out.line(&text!(
            "{path} is now trusted: sha256 {hash}",
            path = file.display().to_string(),
            hash = trust::hash(text)
        ))?;
    }
    Ok(status)
}

/// Displays the files and asks on the terminal whether to trust them.
///
/// # Errors
/// There is no terminal.
pub(crate) fn ask_for_trust(files: &[(PathBuf, String)], allows: &[Text]) -> Result<bool, Failure> {
    let question = crate::confirm::trust_of(files, |file| format!("{file}:").into(), &crate::confirm::allowing(allows));
    let canceller = Canceller::default();
    let line = match crate::runtime::run(canceller.clone(), crate::confirm::put_until(&question, &canceller))? {
        Err(error) if error.kind() == ErrorKind::Interrupted => return Err(Failure::signalled(INTERRUPTED)),
        answer => answer.map_err(|_| {
            Failure::wrong_use(text!(
                "there is no terminal to ask on; read the file, then run `coder config trust --yes`"
            ))
        })?,
    };
    Ok(crate::confirm::is_yes(&line, language()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposed_checks_are_commented_out() {
        let lines = ["cargo check".to_owned(), "npm run lint".to_owned()];
        let text = with_proposals(own_file(), &lines);
        let setting = "#commands = [\"cargo check\", \"npm run lint\"]\n";
        assert!(text.split_once("\n[checks]\n").is_some_and(|(_, checks)| checks.contains(setting)), "{text}");
        assert_eq!(with_proposals(own_file(), &[]), own_file());
    }
}
