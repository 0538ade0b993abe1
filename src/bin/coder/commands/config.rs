//! `coder config`: the files of settings, what they hold, and what counts of all of it.

use crate::args::{ConfigCommand, Options, ShowArguments, TrustArguments};
use crate::config::places::{self, Places};
use crate::config::{Config, Layers, Project, keys, trust};
use crate::failure::{Failure, UNSUCCESSFUL};
use crate::setup;
use crate::terminal::{Style, Terminal, set_colours};
use serde_json::{Value, json};
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::ExitCode;
use toolfence::program::settings::{Entry, Key, Layer, Origin, template};

/// Does what was asked.
pub(crate) fn run(options: &Options, command: &ConfigCommand) -> Result<ExitCode, Failure> {
    match command {
        ConfigCommand::Show(arguments) => show(options, arguments),
        ConfigCommand::Init => init(&Places::of(&options.root)?),
        ConfigCommand::Path => path(&Places::of(&options.root)?),
        ConfigCommand::Trust(arguments) => trust(options, &Places::of(&options.root)?, arguments),
    }
}

fn show(options: &Options, arguments: &ShowArguments) -> Result<ExitCode, Failure> {
    let (layers, _) = setup::with_persona(Layers::read(options)?)?;
    let config = layers.merged();
    set_colours(config.choice("color")?);
    let mut out = Terminal::stdout();
    if arguments.json {
        out.line(&told(&layers, &config).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    keys::all().iter().try_for_each(|key| shown(&config, key, &mut out))?;
    let places = &layers.places;
    let project = match layers.project {
        Project::Absent => "there is none",
        Project::Untrusted => "it can only tighten; `coder config trust` trusts it",
        Project::Trusted => "trusted as it is",
    };
    out.styled(Style::Dim, &format!("\nproject file  {}: {project}\n", places.project.display()))?;
    config.merged.notes().iter().try_for_each(|note| out.styled(Style::Bad, &format!("{note}\n")))?;
    Ok(ExitCode::SUCCESS)
}

/// A key with its value and the place of it; a list with one line an item.
fn shown(config: &Config, key: &Key, out: &mut Terminal) -> Result<(), Failure> {
    let mut row = |name: &str, value: &str, origin: &Origin| {
        out.write(&format!("{name:<16}{value:<28}  "))?;
        out.styled(Style::Dim, &format!("{origin}\n"))
    };
    if !key.takes.is_list() {
        return row(key.name, config.text(key.name).unwrap_or("-"), &config.merged.origin(key.name));
    }
    let mut entries = config.merged.entries(key.name).peekable();
    if entries.peek().is_none() {
        return row(key.name, "[]", &config.merged.origin(key.name));
    }
    let mut name = key.name;
    for Entry { value, origin, .. } in entries {
        row(name, &value.to_string(), origin)?;
        name = "";
    }
    if key.name == "commands.only" {
        let left = effective_only(config);
        out.styled(Style::Dim, &format!("{:<16}so that what may run begins with: {}\n", "", left.join(", ")))?;
    }
    Ok(())
}

/// The beginnings that every layer's list allows.
fn effective_only(config: &Config) -> Vec<String> {
    let rules = config.merged.only();
    let words = rules.iter().map(|rule| rule.words().join(" "));
    words.map(|words| if words.is_empty() { "nothing".to_owned() } else { words }).collect()
}

fn told(layers: &Layers, config: &Config) -> Value {
    let values: Vec<Value> = keys::all().iter().map(|key| told_of(config, key)).collect();
    let project = match layers.project {
        Project::Absent => "absent",
        Project::Untrusted => "untrusted",
        Project::Trusted => "trusted",
    };
    json!({
        "v": super::SCHEMA, "values": values, "notes": config.merged.notes(), "user_file": layers.places.user,
        "project_file": layers.places.project, "project": project,
    })
}

fn told_of(config: &Config, key: &Key) -> Value {
    if !key.takes.is_list() {
        let origin = place(&config.merged.origin(key.name));
        return json!({"key": key.name, "value": config.text(key.name), "origin": origin});
    }
    let item = |entry: &Entry| json!({"value": entry.value.to_string(), "origin": place(&entry.origin)});
    let items: Vec<Value> = config.merged.entries(key.name).map(item).collect();
    let mut told = json!({"key": key.name, "items": items});
    if key.name == "commands.only" && !items.is_empty() {
        told["effective"] = effective_only(config).into();
    }
    told
}

fn place(origin: &Origin) -> Value {
    let layer = match origin.layer {
        Layer::Default => "default",
        Layer::User => "user",
        Layer::Project { .. } => "project",
        Layer::Persona => "persona",
        _ => "command_line",
    };
    json!({"layer": layer, "name": *origin.name, "line": origin.line})
}

fn init(places: &Places) -> Result<ExitCode, Failure> {
    let path = own(places)?;
    let wrong = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::wrong_use(format!("{} is there already; it is left as it is", path.display()))
        }
        _ => Failure::broken(format!("cannot write {}: {error}", path.display())),
    };
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(wrong)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(wrong)?;
    file.write_all(documented().as_bytes()).map_err(wrong)?;
    Terminal::stdout().line(&format!("wrote {}", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The person's file with every key explained.
fn documented() -> String {
    let head = "\
# Settings of coder. What stands behind a # is a comment; take the # before a key away to set it.
# The command line counts over the persona, that over the project's .toolfence.toml, and that over this file; but a
# project or a persona can only make what may run stricter. `coder config show` tells what counts and why.

";
    format!("{head}{}", template(&keys::all()))
}

fn own(places: &Places) -> Result<&Path, Failure> {
    places.user.as_deref().ok_or_else(|| {
        Failure::wrong_use("there is no place for your own file: set HOME or XDG_CONFIG_HOME to an absolute path")
    })
}

fn path(places: &Places) -> Result<ExitCode, Failure> {
    let mut out = Terminal::stdout();
    let rows =
        [("user", places.user.as_deref()), ("project", Some(&*places.project)), ("state", places.state.as_deref())];
    for (name, path) in rows {
        let there = if path.is_some_and(Path::exists) { "" } else { "  (not there)" };
        let path = path.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        out.line(&format!("{name:<9}{path}{there}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn trust(options: &Options, places: &Places, arguments: &TrustArguments) -> Result<ExitCode, Failure> {
    let mut out = Terminal::stdout();
    let shown = places.project.display();
    if arguments.forget {
        trust::store(places, None)?;
        out.line(&format!("{shown} is trusted no more"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(text) = places::read_of_project(&places.project)? else {
        return Err(Failure::wrong_use(format!("there is no {shown} to trust")));
    };
    out.line(&format!("{shown}:\n"))?;
    text.lines().try_for_each(|line| out.line(&format!("  | {line}")))?;
    out.line("\nTrusted, it may also choose backend, server and model: whatever you say to the model goes there, with the key\nin TOOLFENCE_API_KEY. What may run it can only tighten.")?;
    if !options.yes && !agreed()? {
        out.line("It is not trusted.")?;
        return Ok(UNSUCCESSFUL.into());
    }
    let hash = trust::store(places, Some(&text))?.unwrap_or_default();
    out.line(&format!("{shown} is trusted as it is: sha256 {hash}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks on the terminal itself. Without one there is nobody to agree.
fn agreed() -> Result<bool, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| Failure::broken(format!("cannot start the runtime: {error}")))?;
    let line = runtime.block_on(crate::confirm::put("Trust it? [y/N] "));
    let nobody = "there is no terminal to ask on; read the file, then say `coder config trust --yes`";
    let line = line.map_err(|_| Failure::wrong_use(nobody))?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence::program::settings::read;

    #[test]
    fn the_documented_file_explains_every_key_and_sets_none() {
        let text = documented();
        assert!(read(&text, "config.toml", Layer::User, &keys::all()).is_ok_and(|entries| entries.is_empty()));
        for key in keys::all() {
            let name = key.name.rsplit('.').next().unwrap_or(key.name);
            assert!(text.contains(&format!("\n#{name} = ")), "{name} in {text}");
        }
    }
}
