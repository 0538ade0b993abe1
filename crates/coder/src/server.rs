//! Chooses the model server: the one in the settings, a provider, or one found on this machine.
//!
//! Without a configured server, only this machine is searched. A server found there never receives a key.

use crate::choices::BackendKind;
use crate::config::{Config, places, redactor};
use crate::failure::Failure;
use crate::program;
use crate::runtime::cannot_start;
use crate::terminal::print_note;
use std::future::Future;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use toolfence_agent::backend::CommandOptions;
use toolfence_agent::backend::http::HttpOptions;
use toolfence_agent::backend::http::{LocalServer, Preset, choose_model, local_servers, models};
use toolfence_protocol::{Text, text};
use toolfence_server::proxy::ProxyOptions;
use toolfence_session::persona::Persona;

/// The variable with the key for this program, which is sent to any server that the user chose.
const KEY: &str = "TOOLFENCE_API_KEY";

/// The variable with the base URLs to search, separated by commas, in place of the usual ones. An empty value disables
/// the search.
const LOCAL_SERVERS: &str = "TOOLFENCE_LOCAL_SERVERS";

/// The variable that Ollama itself uses for its address.
const OLLAMA_HOST: &str = "OLLAMA_HOST";
const OLLAMA_PORT: &str = "11434";

/// Maximum wait for the first piece of a reply while the user watches. It equals the maximum of the setting.
const LONGEST_WAIT: Duration = Duration::from_secs(86_400);

/// Time limit for a command that prints the key. It may ask the user for a password.
const KEY_PATIENCE: Duration = Duration::from_secs(30);

/// Time between two requests to a server that is loading its model.
const LOOKS_AGAIN: Duration = Duration::from_millis(500);

/// Maximum number of bytes of a key.
const LONGEST_KEY: u64 = 64 << 10;

/// Maximum number of a server's models that a message lists.
const MOST_NAMED: usize = 3;

/// The name sent if neither the user nor the server names a model. A server with a single model accepts any name.
const ANY: &str = "default";

/// Returns the model that the settings, the options or the persona name.
pub(crate) fn model_of(config: &Config, persona: &Persona) -> Option<String> {
    config.model.get().cloned().or_else(|| persona.model.clone())
}

/// A model server and the options of requests to it.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// The address (unless the provider has its own), the model, and the request options. [`Server::with_key`] adds the
    /// key.
    options: HttpOptions,
    preset: Option<Preset>,
    /// A note about the choice, if the program made it.
    pub(crate) chosen: Option<Text>,
    /// Whether the user named no model, so that one must be chosen.
    any_model: bool,
}

impl Server {
    /// Returns the server of the settings, or one on this machine; `None` if the backend needs no server.
    ///
    /// # Errors
    /// No server is named and none answers. The message explains what to do.
    pub(crate) fn find(config: &Config, persona: &Persona) -> Result<Option<Server>, Failure> {
        let named = Server::settled(config, persona)?;
        let backend = config.backend.value();
        match named {
            None if backend == BackendKind::Http => find_local(config, persona).map(Some),
            Some(server) if backend == BackendKind::Command => Ok(Some(server)),
            Some(server) => {
                let server = server.with_key(config)?;
                if server.any_model { server.with_listed_model().map(Some) } else { Ok(Some(server)) }
            }
            None => Ok(None),
        }
    }

    /// Returns the base URL and the model of the server that would probably be chosen, without a key. It sends
    /// requests, but it does not wait for a model to load and runs no command of the settings. `known` returns the
    /// models that earlier runs have recorded for a server.
    ///
    /// # Errors
    /// The settings contradict each other.
    pub(crate) fn likely(
        config: &Config,
        persona: &Persona,
        known: impl Fn(&str) -> Vec<String>,
    ) -> Result<Option<(String, String)>, Failure> {
        let Some(server) = Server::settled(config, persona)? else {
            if config.backend.value() != BackendKind::Http {
                return Ok(None);
            }
            let servers = look()?;
            let chosen = choice(&servers, model_of(config, persona).as_deref());
            return Ok(chosen.map(|(at, model)| (servers[at].base_url.clone(), model)));
        };
        let (base_url, model) = server.profile_key();
        if !server.any_model {
            return Ok(Some((base_url, model)));
        }
        let listed = wait(models(server.options()))?.unwrap_or_default();
        let listed = choose_model(&listed).map(|model| model.name.clone());
        // A server may list its models only to clients with the key. With several recorded models, the choice would be
        // a guess.
        let model = listed.or_else(|| <[String; 1]>::try_from(known(&base_url)).ok().map(|[only]| only));
        Ok(Some((base_url, model.unwrap_or_else(|| ANY.to_owned()))))
    }

    /// Returns the server that the settings name, without contacting it.
    pub(crate) fn settled(config: &Config, persona: &Persona) -> Result<Option<Server>, Failure> {
        let base_url = config.base_url.get().cloned();
        let model = model_of(config, persona);
        let any_model = model.is_none();
        let server = |base_url, model: String, preset| {
            let mut options = options_of(config, model)?;
            options.base_url = base_url;
            Ok::<_, Failure>(Server { options, preset, chosen: None, any_model })
        };
        Ok(match config.backend.value() {
            BackendKind::Replay => None,
            // The program is not a server, but its profile is stored like that of one.
            BackendKind::Command => {
                let program = program::name(config)?;
                let place = Some(format!("{}{program}", program::PLACE));
                Some(Server { any_model: false, ..server(place, model.unwrap_or(program), None)? })
            }
            BackendKind::Http => {
                let Some(url) = base_url else { return Ok(None) };
                let model = model.unwrap_or_else(|| ANY.to_owned());
                // A provider with an address of its own is not at this URL, so its preset and key do not apply.
                let preset =
                    Preset::of_model(&model).map(|(preset, _)| preset).filter(|preset| preset.base_url.is_empty());
                Some(server(Some(url), model, preset)?)
            }
            BackendKind::Provider => {
                let model = model.ok_or_else(|| {
                    Failure::wrong_use(text!("the provider backend needs a model: give --model, such as gpt-4o-mini"))
                })?;
                let preset = Preset::of_model(&model).map(|(preset, _)| preset);
                // The provider's key is sent to this address, so the settings may set it only for a provider without an
                // address of its own.
                let own = preset.is_some_and(|preset| preset.base_url.is_empty());
                Some(server(base_url.filter(|_| own), model, preset)?)
            }
        })
    }

    /// Returns the name of the model as the backend uses it.
    pub(crate) fn model(&self) -> &str {
        &self.options.model
    }

    /// Returns the base URL and the model, which identify the stored profile of a backend.
    pub(crate) fn profile_key(&self) -> (String, String) {
        // The prefix that names a provider is removed, so that each of its models has one profile.
        let named = Preset::of_model(self.model()).filter(|_| self.preset.is_some());
        let (preset, model) = named.map_or((None, self.model()), |(preset, model)| (Some(preset), model));
        let base_url = self.options.base_url.clone().or_else(|| Some(preset?.base_url.to_owned()));
        (base_url.unwrap_or_default(), model.to_owned())
    }

    /// Returns the options of the HTTP backend.
    pub(crate) fn options(&self) -> HttpOptions {
        self.options.clone()
    }

    /// Returns the values that must never be displayed, each with the name that replaces it.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = (String, String)> {
        let key = self.options.key.iter();
        let values = key.chain(self.options.headers.iter().map(|(_, value)| value));
        values.map(|value| (KEY.to_owned(), value.clone()))
    }

    /// Adds the key: the one for this program, the one of the settings, or the one in the provider's usual variable. A
    /// server that was named only by its URL never receives the key of another service, such as OPENAI_API_KEY.
    ///
    /// # Errors
    /// The provider needs a key that is missing, or the key of the settings cannot be read.
    fn with_key(mut self, config: &Config) -> Result<Server, Failure> {
        let of_preset = || self.preset.and_then(|preset| variable(preset.key_variable));
        self.options.key = key_of(config)?.or_else(of_preset);
        if let Some(preset) = self.preset.filter(|preset| !preset.is_local() && self.options.key.is_none()) {
            let (name, variable) = (preset.name, preset.key_variable);
            return Err(Failure::wrong_use(text!(
                "{provider} needs a key: put it into the variable {variable}, or into TOOLFENCE_API_KEY",
                provider = name,
                variable
            )));
        }
        Ok(self)
    }

    /// Chooses one of the models that the server lists.
    fn with_listed_model(mut self) -> Result<Server, Failure> {
        let mut patience = Patience::new(self.options.first_byte);
        let listed = loop {
            match wait(models(self.options()))? {
                Some(listed) => break listed,
                None => patience.wait(&text!("an OpenAI-compatible server"), &self.profile_key().0)?,
            }
        };
        if let Some(model) = choose_model(&listed) {
            self.options.model.clone_from(&model.name);
            let several = listed.len() > 1;
            self.chosen = several.then(|| {
                text!(
                    "using the model {model}, one of {count}; choose with --model",
                    model = &model.name,
                    count = listed.len()
                )
            });
        }
        Ok(self)
    }
}

/// Returns the key for this program, or otherwise the one of the settings.
fn key_of(config: &Config) -> Result<Option<String>, Failure> {
    match (variable(KEY), config.api_key_env.text(), config.api_key_command.text()) {
        (Some(key), ..) => Ok(Some(key)),
        (None, Some(name), _) => {
            let missing = || {
                Failure::wrong_use(text!(
                    "api_key_env names the variable {variable}, which is not set or empty",
                    variable = name
                ))
            };
            variable(name).ok_or_else(missing).map(Some)
        }
        (None, None, Some(line)) => printed_key(line).map(Some),
        (None, None, None) => Ok(None),
    }
}

/// Sets the request options and the key for the upstream of the proxy. If the settings have a `base_url`, their
/// headers, certificate and key are sent only to that server.
///
/// # Errors
/// A file or key of the settings cannot be read.
pub(crate) fn reach_upstream(config: &Config, upstream: &str, wanted: &mut ProxyOptions) -> Result<(), Failure> {
    let options = options_of(config, String::new())?;
    (wanted.proxy, wanted.authorities) = (options.proxy, options.authorities);
    // The credentials belong to the server that the settings name. `TOOLFENCE_API_KEY` is for any server.
    let host = |url: &str| crate::config::profile::address(url).trim_end_matches("/v1").to_owned();
    let is_other = config.base_url.text().is_some_and(|named| host(named) != host(upstream));
    if is_other {
        wanted.upstream_key = variable(KEY);
        return Ok(());
    }
    wanted.upstream_key = key_of(config)?;
    (wanted.headers, wanted.identity) = (options.headers, options.identity);
    Ok(())
}

/// Builds the request options for a server from the settings.
fn options_of(config: &Config, model: String) -> Result<HttpOptions, Failure> {
    let mut options = HttpOptions::new(model);
    let http = &config.http;
    (options.temperature, options.top_p) = (config.temperature.get().copied(), config.top_p.get().copied());
    options.max_tokens = config.max_tokens.get().and_then(|most| u32::try_from(*most).ok());
    options.stop = config.stop.values().cloned().collect();
    options.first_byte = Duration::from_secs(http.first_byte.value());
    if !http.first_byte.is_set() && io::stdin().is_terminal() && io::stderr().is_terminal() {
        // The user sees that there is no reply yet and can press Ctrl-C, and a slow machine needs minutes for a long
        // prompt.
        options.connect = Some(options.first_byte);
        options.first_byte = LONGEST_WAIT;
    }
    options.between = Duration::from_secs(http.between.value());
    options.retries = u32::try_from(http.retries.value()).unwrap_or(u32::MAX);
    options.proxy = http.proxy.get().cloned();
    options.authorities = content(http.ca_file.file(), "http.ca_file")?;
    options.identity = content(http.client_certificate.file(), "http.client_certificate")?;
    options.headers.extend(http.headers.values().cloned());
    options.body.extend(http.body.values().cloned());
    Ok(options)
}

/// Reads a file that a setting names. It may follow links, because a project cannot set these settings.
fn content(path: Option<PathBuf>, key: &str) -> Result<Option<Vec<u8>>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let wrong = |why: Text| {
        Failure::wrong_use(text!(
            "{place}: {what}",
            place = key,
            what = text!("cannot read {path}: {error}", path = path.display().to_string(), error = why)
        ))
    };
    match places::read_own(&path) {
        Ok(Some(text)) => Ok(Some(text.into_bytes())),
        Ok(None) => Err(wrong(text!("there is no such file"))),
        Err(failure) => Err(failure),
    }
}

/// Returns the key that a command of the settings prints. The command runs without a shell and has a time limit. Its
/// standard error, such as a password prompt, goes to the user.
fn printed_key(line: &str) -> Result<String, Failure> {
    let wrong = |why: Text| Failure::wrong_use(text!("{place}: {what}", place = "api_key_command", what = why));
    let words = CommandOptions::parse(line).map_err(|error| wrong(error.text()))?.words;
    let Some((program, arguments)) = words.split_first() else { return Err(wrong(text!("it names no program"))) };
    // A relative path could run a program of the project.
    if program.contains('/') && !program.starts_with('/') {
        return Err(wrong(text!("it begins with the name of a program in the PATH, or with its absolute path")));
    }
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let ran = wait(async move {
        let mut child = command
            .spawn()
            .map_err(|error| text!("cannot run {program}: {error}", program, error = Text::from(&error)))?;
        let mut said = Vec::new();
        let all = async {
            if let Some(out) = child.stdout.take() {
                out.take(LONGEST_KEY).read_to_end(&mut said).await?;
            }
            child.wait().await
        };
        match tokio::time::timeout(KEY_PATIENCE, all).await {
            Err(_) => Err(text!("it printed no key within {seconds} s", seconds = KEY_PATIENCE.as_secs())),
            Ok(Err(error)) => Err(text!("cannot run {program}: {error}", program, error = Text::from(&error))),
            Ok(Ok(status)) if !status.success() => {
                Err(text!("{program} ended with {status}", program, status = status.to_string()))
            }
            Ok(Ok(_)) => Ok(said),
        }
    })?;
    let said = ran.map_err(wrong)?;
    let key = String::from_utf8_lossy(&said).trim().to_owned();
    if key.is_empty() || key.contains(char::is_control) {
        return Err(wrong(text!("{program} did not print a key: expected one line and nothing else", program)));
    }
    Ok(key)
}

/// Returns `true` if there is a key for this provider.
pub(crate) fn has_key(preset: &Preset) -> bool {
    variable(preset.key_variable).is_some()
}

/// Returns the servers that answer on this machine.
pub(crate) fn look() -> Result<Vec<LocalServer>, Failure> {
    wait(local_servers(&addresses()))
}

/// Summarizes a server's models.
pub(crate) fn described(server: &LocalServer) -> Text {
    let names: Vec<&str> = server.models.iter().take(MOST_NAMED).map(|model| model.name.as_str()).collect();
    let names = names.join(", ");
    match server.models.len().saturating_sub(MOST_NAMED) {
        _ if server.loads => text!("it is loading its model"),
        _ if server.models.is_empty() => text!("no model"),
        0 => names.into(),
        more => text!("{names} and {count} more", names, count = more),
    }
}

/// Finds a server on this machine that has the model. If the user named none, a server with a model in memory is
/// preferred.
fn find_local(config: &Config, persona: &Persona) -> Result<Server, Failure> {
    let mut servers = look()?;
    let wanted = model_of(config, persona);
    let mut patience = Patience::new(Duration::from_secs(config.http.first_byte.value()));
    let (at, model) = loop {
        if let Some(choice) = choice(&servers, wanted.as_deref()) {
            break choice;
        }
        // No server offers the model. One that is still loading may have it, so wait for that.
        let Some(loading) = servers.iter().find(|server| server.loads) else {
            return Err(Failure::wrong_use(no_server_found(&servers, wanted.as_deref())));
        };
        patience.wait(&kind(loading), &loading.base_url)?;
        servers = look()?;
    };
    let server = &servers[at];
    let mut chosen =
        text!("using {kind} at {url}, model {model}", kind = kind(server), url = &server.base_url, model = &model);
    for (_, other) in servers.iter().enumerate().filter(|(other, _)| *other != at) {
        chosen.push(text!(
            "\n  also {kind} at {url}: {models}",
            kind = kind(other),
            url = &other.base_url,
            models = described(other)
        ));
    }
    if servers.len() > 1 || wanted.is_none() && server.models.len() > 1 {
        chosen.push(text!("\n  choose with --base-url and --model, or in your settings"));
    }
    if variable(KEY).is_some() {
        chosen.push(text!(
            "\n  TOOLFENCE_API_KEY is not sent to a server that coder found by itself: name the server with --base-url"
        ));
    }
    let mut options = options_of(config, model)?;
    options.base_url = Some(server.base_url.clone());
    // The configured headers may contain secrets for another server.
    options.headers.clear();
    Ok(Server { options, preset: None, chosen: Some(chosen), any_model: false })
}

/// Waits for a server that is loading its model, at most as long as for the first piece of a reply.
struct Patience {
    begun: Instant,
    most: Duration,
    reported: bool,
}

impl Patience {
    fn new(most: Duration) -> Patience {
        Patience { begun: Instant::now(), most, reported: false }
    }

    /// Waits a moment. The first wait prints a note.
    ///
    /// # Errors
    /// The total wait is over.
    fn wait(&mut self, kind: &Text, base_url: &str) -> Result<(), Failure> {
        let (seconds, base_url) = (self.most.as_secs(), redactor().text(base_url).into_owned());
        if self.begun.elapsed() >= self.most {
            return Err(Failure::broken(text!(
                "{kind} at {url} is still loading its model after {seconds} s. Try again when its log reports that it \
                 is ready, or wait longer: `http.first_byte` in the settings",
                kind = kind.clone(),
                url = base_url,
                seconds
            )));
        }
        if !std::mem::replace(&mut self.reported, true) {
            print_note(&text!(
                "{kind} at {url} is loading its model; waiting for it up to {seconds} s",
                kind = kind.clone(),
                url = base_url,
                seconds
            ));
        }
        std::thread::sleep(LOOKS_AGAIN);
        Ok(())
    }
}

fn choice(servers: &[LocalServer], wanted: Option<&str>) -> Option<(usize, String)> {
    let Some(wanted) = wanted else {
        let with_models =
            || servers.iter().enumerate().filter_map(|(at, server)| Some((at, choose_model(&server.models)?)));
        let chosen = with_models().find(|(_, model)| model.loaded).or_else(|| with_models().next());
        return chosen.map(|(at, model)| (at, model.name.clone()));
    };
    let has = |server: &LocalServer| {
        // Ollama lists a model without a tag under the tag `latest`.
        let is = |name: &str| name == wanted || name.strip_suffix(":latest") == Some(wanted);
        server.models.iter().any(|model| is(&model.name))
    };
    // llama.cpp serves its single model under any name.
    let takes_any = |server: &LocalServer| server.kind == Some("llama.cpp") && server.models.len() == 1;
    let at = servers.iter().position(has).or_else(|| servers.iter().position(takes_any))?;
    Some((at, wanted.to_owned()))
}

fn kind(server: &LocalServer) -> Text {
    match server.kind {
        Some("llama.cpp") => "llama.cpp".into(),
        Some("vllm") => "vLLM".into(),
        Some("lmstudio") => "LM Studio".into(),
        Some("ollama") => "Ollama".into(),
        Some(other) => other.into(),
        None => text!("an OpenAI-compatible server"),
    }
}

/// Explains on one page what to do if no server on this machine is usable.
fn no_server_found(servers: &[LocalServer], wanted: Option<&str>) -> Text {
    let looked: Vec<String> = addresses();
    let mut page = match wanted {
        Some(model) if !servers.is_empty() => text!(
            "no model server on this machine has the model {model}; name one that is there, or get it first.",
            model = format!("{model:?}")
        ),
        _ if !servers.is_empty() => text!(
            "a model server answers on this machine, but it has no model; get one first, such as with `ollama pull \
             qwen2.5-coder`."
        ),
        _ if looked.is_empty() => {
            text!("no model server is configured, and the search on this machine is switched off.")
        }
        _ => {
            text!(
                "no model server is configured, and none answers on this machine ({places}).",
                places = looked.join(", ")
            )
        }
    };
    for server in servers {
        page.push(text!(
            "\n  also {kind} at {url}: {models}",
            kind = kind(server),
            url = &server.base_url,
            models = described(server)
        ));
    }
    if let Some((preset, name)) = wanted.and_then(Preset::of_model) {
        let model = if preset.models.is_empty() { format!("{}::{name}", preset.name) } else { name.to_owned() };
        page.push(text!(
            "\n  {model} is a model of {provider}: coder --backend provider --model {model}",
            model,
            provider = preset.name
        ));
    }
    if let Some(elsewhere) = variable(OLLAMA_HOST).and_then(|host| ollama(&host)).filter(|url| !looked.contains(url)) {
        page.push(text!(
            "\n  OLLAMA_HOST names another machine; to use it: coder --base-url {url} --model NAME",
            url = elsewhere
        ));
    }
    let set: Vec<String> = Preset::all()
        .iter()
        .filter(|preset| has_key(preset))
        .map(|preset| format!("{} ({}::MODEL)", preset.key_variable, preset.name))
        .collect();
    let keys = if set.is_empty() {
        text!("No key of a provider is set.")
    } else {
        text!("Set here: {keys}.", keys = set.join(", "))
    };
    page.push(text!(
        "\n\nStart a server on this machine, then `coder`:\n  llama-server -m MODEL.gguf --port 8080 -c \
         32768\n  ollama serve, and `ollama pull qwen2.5-coder`\nUse a provider, with its key in its \
         variable:\n  OPENAI_API_KEY=... coder --backend provider --model gpt-4o-mini\n  {keys} `coder config \
         backends` lists all providers.\nUse any other OpenAI-shaped server:\n  TOOLFENCE_API_KEY=... coder --base-url \
         https://HOST/v1 --model NAME\nUse a program that answers:\n  coder --backend command --command \"llm -m \
         NAME\"\nUse a web page to chat in:\n  `coder prompt` prints what to paste into it; `coder exec` runs what it \
         answers\nSee how it works without a model:\n  coder demo\nWhat you always use belongs into your settings: \
         `coder config init`.",
        keys
    ));
    page
}

/// Returns the base URLs to search. `OLLAMA_HOST` replaces Ollama's usual address if it is on this machine.
pub(crate) fn addresses() -> Vec<String> {
    if let Ok(list) = std::env::var(LOCAL_SERVERS) {
        let urls = list.split(',').map(|url| url.trim().trim_end_matches('/'));
        return urls.filter(|url| !url.is_empty()).map(str::to_owned).collect();
    }
    let mut urls = LocalServer::usual_addresses();
    let moved = variable(OLLAMA_HOST).and_then(|host| ollama(&host)).filter(|url| is_loopback(url));
    let usual = urls.iter_mut().find(|url| url.contains(OLLAMA_PORT));
    if let (Some(usual), Some(moved)) = (usual, moved) {
        *usual = moved;
    }
    urls
}

/// Parses a value of `OLLAMA_HOST` into a base URL: a host, a port, both, or a URL. For a server that listens on all
/// addresses, this is the loopback address.
fn ollama(host: &str) -> Option<String> {
    let host = host.trim().trim_end_matches('/');
    let (scheme, host) = host.split_once("://").unwrap_or(("http", host));
    let host = host.split('/').next().unwrap_or_default();
    // The colons in an IPv6 address do not begin a port.
    let bracketed = host.rfind(']').unwrap_or(0);
    let (name, port) = match host[bracketed..].rfind(':') {
        Some(at) => (&host[..bracketed + at], &host[bracketed + at + 1..]),
        None => (host, OLLAMA_PORT),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        name => name,
    };
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    (is_port && !name.contains(char::is_whitespace)).then(|| format!("{scheme}://{name}:{port}/v1"))
}

/// Returns `true` if the host of a URL names this machine. The library checks again before it connects.
fn is_loopback(url: &str) -> bool {
    let host = url.split_once("://").map_or("", |(_, rest)| rest);
    ["127.", "localhost:", "[::1]:"].iter().any(|own| host.starts_with(own))
}

fn variable(name: &str) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn wait<T>(what: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_start)?;
    Ok(runtime.block_on(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_says_where_it_is() {
        for (value, want) in [
            ("127.0.0.1:11500", Some("http://127.0.0.1:11500/v1")),
            ("0.0.0.0", Some("http://127.0.0.1:11434/v1")),
            (":11500", Some("http://127.0.0.1:11500/v1")),
            ("[::]:1", Some("http://[::1]:1/v1")),
            ("http://box.example:80/", Some("http://box.example:80/v1")),
            ("https://box.example/ollama", Some("https://box.example:11434/v1")),
            ("box:port", None),
            ("a b", None),
        ] {
            assert_eq!(ollama(value).as_deref(), want, "{value}");
        }
        assert!(is_loopback("http://127.0.0.1:1/v1") && is_loopback("http://[::1]:1/v1"));
        assert!(!is_loopback("http://127.example:1/v1") || ollama("127.example").is_some(), "the library looks again");
        assert!(!is_loopback("http://box.example:80/v1"));
    }
}
