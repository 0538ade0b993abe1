//! A configured server: starting it, listing and calling its tools, and restarting it after it has ended.

use crate::client::{Client, Fault};
use crate::offer::{MOST_BYTES, Offer};
use crate::{ServedTool, content};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};
use toolfence_policy::toolbox::{Permit, Progress, ToolError};
use toolfence_protocol::{Catalog, ErrorCode, Output, Text, ToolFailure, clip, text};
use toolfence_tools::{CommandRunner, ServiceWatch, WantedService};

/// The version of MCP that the client requests, and those that it accepts. The parts that the client uses are the same
/// in all of them.
const VERSION: &str = "2025-11-25";
const SUPPORTED: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", VERSION];
/// How long a server may take to start and list its tools. A package manager may have to download the server first.
const STARTING: Duration = Duration::from_secs(30);
/// The maximum number of pages of a list of tools.
const MOST_PAGES: usize = 100;
/// The maximum length in bytes of the text that the user must trust. Indentation makes nested lists far longer than
/// they are on one line.
const MOST_TRUSTED: usize = 4 * MOST_BYTES;
/// The maximum number of bytes of the reason for a refusal that are shown.
const SHOWN: usize = 1000;
/// The error code for invalid parameters (JSON-RPC 2.0, section 5.1).
const INVALID_PARAMS: i64 = -32602;
/// The maximum number of attempts to start a server if files of the project change during the sandbox setup.
const MOST_TRIES: u32 = 4;

/// The program of a server and its permissions.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The name of the server, which is the prefix of its tools' names.
    pub name: String,
    /// The program, as a name in the PATH or an absolute path, and its arguments.
    pub command: Vec<String>,
    /// Environment variables that the server gets in addition to those of every command.
    pub env: Vec<(String, OsString)>,
    /// Whether the server may use the network.
    pub network: bool,
    /// Absolute paths outside the project that the server may read and write.
    pub paths: Vec<PathBuf>,
    /// The time limit of a call in seconds; by default that of a command.
    pub seconds: Option<u64>,
}

/// Omits the environment, whose values may be secrets.
impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("ServerOptions");
        fields.field("name", &self.name).field("command", &self.command).finish_non_exhaustive()
    }
}

impl ServerOptions {
    /// Creates a server that may read the project and has no other permissions.
    pub fn new<W: Into<String>>(name: impl Into<String>, command: impl IntoIterator<Item = W>) -> ServerOptions {
        ServerOptions {
            name: name.into(),
            command: command.into_iter().map(Into::into).collect(),
            env: Vec::new(),
            network: false,
            paths: Vec::new(),
            seconds: None,
        }
    }
}

/// A server that has listed its tools.
#[derive(Debug)]
pub struct Server {
    options: ServerOptions,
    commands: Arc<CommandRunner>,
    /// The tools whose names the server must not use.
    taken: Catalog,
    offer: Offer,
    sandboxed: bool,
    running: Mutex<Running>,
    /// The number of images in the server's results so far.
    shown: Mutex<usize>,
}

#[derive(Debug, Default)]
struct Running {
    client: Option<Arc<Client>>,
    /// Whether the list of tools must be compared before the next call.
    unverified: bool,
    /// Whether the server's list of tools differs from the trusted one.
    differs: bool,
}

/// The status of a server, for display between calls.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// The reason why the server has ended; `None` while it runs.
    pub over: Option<Text>,
    /// Whether the server's list of tools differs from the one that the user trusted. If so, its calls are refused.
    pub differs: bool,
    /// The last lines that the server wrote to stderr, without control characters.
    pub errors: Vec<String>,
}

impl Server {
    /// Starts a server and lists its tools, on the calling thread, for at most half a minute. Tools whose full names
    /// are in `taken` are left out.
    ///
    /// # Errors
    /// Fails if the server cannot be started, does not speak MCP, or does not answer in time. The error gives the
    /// reason without the name of the server.
    pub fn start(options: ServerOptions, commands: Arc<CommandRunner>, taken: &Catalog) -> Result<Server, Text> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| text!("it cannot be started: {why}", why = Text::from(&error)))?;
        let (client, list) = runtime.block_on(connect(&options, &commands))?;
        let sandboxed = client.watch().is_some_and(ServiceWatch::is_sandboxed);
        let offer = Offer::read(&options, list, taken);
        if offer.trusted_text.len() > MOST_TRUSTED {
            return Err(text!(
                "its list of tools is longer than {kilobytes} KiB",
                kilobytes = (MOST_TRUSTED >> 10) as u64
            ));
        }
        let running = Mutex::new(Running { client: Some(Arc::new(client)), ..Running::default() });
        Ok(Server { options, commands, taken: taken.clone(), offer, sandboxed, running, shown: Mutex::default() })
    }

    /// Returns the name of the server in the settings.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Returns the text that the user must trust before a model sees the tools, as JSON: the command with its
    /// permissions, and the server's list of tools.
    pub fn trusted_text(&self) -> &str {
        &self.offer.trusted_text
    }

    /// Returns notes about tools that were left out, and about patterns that arguments are not checked against.
    pub fn notes(&self) -> &[Text] {
        &self.offer.notes
    }

    /// Returns `true` if the server runs in a sandbox.
    pub fn is_sandboxed(&self) -> bool {
        self.sandboxed
    }

    /// Returns the current status, or the default status while the server is started or its list of tools is compared.
    pub fn health(&self) -> Health {
        // A restart holds the lock for up to half a minute. The display must not wait for it.
        let Ok(running) = self.running.try_lock() else { return Health::default() };
        match &running.client {
            Some(client) => Health { over: client.over(), differs: running.differs, errors: client.last_lines() },
            None => Health { over: Some(text!("it has ended")), differs: running.differs, errors: Vec::new() },
        }
    }

    /// Ends the program, or does nothing while it is being started. Blocks the calling thread for at most a few seconds.
    /// A call in progress keeps the program until the call ends. The next call starts the program again.
    pub fn stop(&self) {
        let client = self.running.try_lock().ok().and_then(|mut running| running.client.take());
        drop(client);
    }

    /// Returns the server's tools, for a toolbox.
    pub fn tools(self: &Arc<Server>) -> impl Iterator<Item = ServedTool> {
        let tools = self.offer.tools.iter();
        tools.map(|(name, spec)| ServedTool { server: Arc::clone(self), name: name.clone(), spec: spec.clone() })
    }

    /// Calls the tool that has this name on the server.
    pub(crate) async fn call(
        &self,
        tool: &str,
        permit: &Permit<'_>,
        progress: &dyn Progress,
    ) -> Result<Output, ToolError> {
        let limits = permit.limits();
        let seconds = self.options.seconds.unwrap_or(limits.command_seconds);
        // A restart has its own time limit, so it does not count as part of the call.
        let client = self.client().await?;
        let call = async {
            let params = json!({"name": tool, "arguments": permit.args()});
            let answered = client.request("tools/call", params, &|note| progress.note(note)).await;
            let result = match answered {
                Ok(result) => result,
                Err(fault) => return Err(self.failure(fault)),
            };
            let name = format!("{}.{tool}", self.options.name);
            let mut shown = self.shown.lock().await;
            let (text, images) = content::read(&result, &name, *shown, permit.language());
            // Counted under the same lock, so that parallel calls do not give two images the same name.
            *shown += images.len();
            drop(shown);
            let failed = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
            Ok(content::output(&text, images, failed, permit.language(), limits))
        };
        // The timeout drops the future, which cancels the request.
        timeout(Duration::from_secs(seconds), call).await.unwrap_or_else(|_| {
            let late = text!(
                "The MCP server {server} did not answer within {seconds} s. The call was cancelled; what it has done \
                 by then is not known.",
                server = &self.options.name,
                seconds
            );
            Err(ToolFailure::new(ErrorCode::Timeout, late).into())
        })
    }

    /// Returns a client whose tools are the trusted ones. It restarts a server that has ended or that may still see
    /// files that are blocked by now.
    async fn client(&self) -> Result<Arc<Client>, ToolError> {
        let mut running = self.running.lock().await;
        let usable = match &running.client {
            Some(client) if !client.is_over() => match client.watch() {
                Some(watch) => !watch.is_stale().await,
                None => true,
            },
            _ => false,
        };
        if let Some(client) = running.client.clone().filter(|_| usable) {
            if !client.take_changed() && !running.unverified {
                return Ok(client);
            }
            // Set before the request: if this future is dropped or the request fails, the next call compares the lists.
            running.unverified = true;
            let listed = timeout(STARTING, list(&client)).await;
            let listed = listed.unwrap_or_else(|_| {
                Err(Fault::Over(text!("it has not listed its tools within {seconds} s", seconds = STARTING.as_secs())))
            });
            self.verify(listed.map_err(|fault| self.failure(fault))?, &mut running)?;
            return Ok(client);
        }
        // The old process must end before the next one starts, because it may hold a lock. Dropping the client blocks.
        if let Some(client) = running.client.take() {
            let ended = tokio::task::spawn_blocking(move || drop(client)).await;
            ended.map_err(|_| self.failure(Fault::Over(text!("it has ended"))))?;
        }
        let (client, list) =
            connect(&self.options, &self.commands).await.map_err(|why| self.failure(Fault::Over(why)))?;
        let client = running.client.insert(Arc::new(client)).clone();
        // A server can offer other tools after a restart, also without announcing a change.
        running.unverified = true;
        self.verify(list, &mut running)?;
        Ok(client)
    }

    /// Fails if this list differs from the trusted one, and clears `unverified` otherwise.
    fn verify(&self, list: Vec<Value>, running: &mut Running) -> Result<(), ToolError> {
        running.differs = Offer::read(&self.options, list, &self.taken).trusted_text != self.offer.trusted_text;
        if !running.differs {
            running.unverified = false;
            return Ok(());
        }
        Err(ToolFailure::new(
            ErrorCode::Denied,
            text!(
                "The tools of the MCP server {server} differ from those that the user trusted, so they cannot be \
                 called. Tell the user: `coder mcp trust {server}` shows the current ones.",
                server = &self.options.name
            ),
        )
        .into())
    }

    fn failure(&self, fault: Fault) -> ToolError {
        let name = &self.options.name;
        let failure = match fault {
            Fault::Over(why) => ToolFailure::new(
                ErrorCode::IoError,
                text!(
                    "The MCP server {server} did not answer: {why}. It is started again with the next call of its \
                     tools.",
                    server = name,
                    why
                ),
            ),
            Fault::Refused(refused) => {
                let code = if refused.code == INVALID_PARAMS { ErrorCode::InvalidArgument } else { ErrorCode::IoError };
                let said = clip::middle(&refused.message, SHOWN).into_owned();
                ToolFailure::new(
                    code,
                    text!(
                        "The MCP server {server} refused the call: {said} ({code})",
                        server = name,
                        said,
                        code = refused.code
                    ),
                )
            }
        };
        failure.into()
    }
}

/// Starts a server, initializes the session, and returns the client with the list of tools.
async fn connect(options: &ServerOptions, commands: &Arc<CommandRunner>) -> Result<(Client, Vec<Value>), Text> {
    let wanted = WantedService {
        words: options.command.iter().map(OsString::from).collect(),
        environment: options.env.clone(),
        network: options.network,
        paths: options.paths.clone(),
    };
    let deadline = Instant::now() + STARTING;
    let mut tries = 0;
    loop {
        tries += 1;
        let client = Client::start(&options.name, wanted.clone(), Arc::clone(commands));
        let client = client.map_err(|error| text!("it cannot be started: {why}", why = Text::from(&error)))?;
        let initialized = async {
            initialize(&client).await?;
            list(&client).await.map_err(fault_text)
        };
        match timeout_at(deadline, initialized).await {
            Ok(Ok(list)) => return Ok((client, list)),
            // A file of the project was replaced during the sandbox setup, so the next attempt may succeed.
            Ok(Err(_)) if client.was_disturbed() && tries < MOST_TRIES => {}
            Ok(Err(why)) => return Err(why),
            Err(_) => return Err(late(&client, options)),
        }
    }
}

/// Explains why a server may not have listed its tools in time. A package manager waits silently for a network.
fn late(client: &Client, options: &ServerOptions) -> Text {
    let mut why = text!("it has not listed its tools within {seconds} s", seconds = STARTING.as_secs());
    if let Some(said) = client.last_words() {
        why = text!("{why}; its stderr ends with: {said}", why, said);
    }
    match client.watch().is_some_and(ServiceWatch::is_sandboxed) && !options.network {
        true => text!("{why}. It has no network: if it must download something first, set `network = true`", why),
        false => why,
    }
}

async fn initialize(client: &Client) -> Result<(), Text> {
    let params = json!({
        "protocolVersion": VERSION, "capabilities": {},
        "clientInfo": {"name": "toolfence", "version": env!("CARGO_PKG_VERSION")},
    });
    let initialized = client.request("initialize", params, &|_| {}).await.map_err(fault_text)?;
    let version = initialized.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    // MCP, version negotiation: a server may answer with another version than the requested one.
    if !SUPPORTED.contains(&version) {
        return Err(text!(
            "it uses version {version} of MCP; the supported versions are {supported}",
            version = clip::middle(version, 64).into_owned(),
            supported = SUPPORTED.join(", ")
        ));
    }
    client.notify("notifications/initialized");
    Ok(())
}

/// Fetches all pages of the list of tools.
async fn list(client: &Client) -> Result<Vec<Value>, Fault> {
    let (mut tools, mut bytes, mut cursor, mut seen) = (Vec::new(), 0, None::<String>, HashSet::new());
    for _ in 0..MOST_PAGES {
        let params = cursor.take().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let mut page = client.request("tools/list", params, &|_| {}).await?;
        if let Some(Value::Array(more)) = page.get_mut("tools").map(Value::take) {
            bytes += more.iter().map(|tool| tool.to_string().len()).sum::<usize>();
            tools.extend(more);
        }
        // Checked after each page, so that an endless list ends early.
        if bytes > MOST_BYTES {
            return Err(Fault::Over(text!(
                "its list of tools is longer than {kilobytes} KiB",
                kilobytes = (MOST_BYTES >> 10) as u64
            )));
        }
        match page.get("nextCursor").and_then(Value::as_str) {
            // A repeated cursor would lead to an endless loop.
            Some(next) if seen.insert(next.to_owned()) => {
                bytes += next.len();
                cursor = Some(next.to_owned());
            }
            _ => return Ok(tools),
        }
    }
    Err(Fault::Over(text!("its list of tools has more than {pages} pages", pages = MOST_PAGES)))
}

fn fault_text(fault: Fault) -> Text {
    match fault {
        Fault::Over(why) => why,
        Fault::Refused(refused) => text!(
            "it refused: {said} ({code})",
            said = clip::middle(&refused.message, SHOWN).into_owned(),
            code = refused.code
        ),
    }
}
