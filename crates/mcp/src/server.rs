//! A server by its settings: started, asked for its tools, called, and started again where it has ended.

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

/// The version of MCP that is asked for, and those that are understood: what this client needs of them is the same.
const VERSION: &str = "2025-11-25";
const UNDERSTOOD: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", VERSION];
/// How long a server may take from its start until its tools are known: a package manager may fetch it first.
const STARTING: Duration = Duration::from_secs(30);
/// The most pages of a list of tools.
const MOST_PAGES: usize = 100;
/// Bytes of what a person has to trust, as it is shown: lists in lists take far more room in rows than in one line.
const MOST_TOLD: usize = 4 * MOST_BYTES;
/// Bytes of what a server says of a refusal that are told.
const SHOWN: usize = 1000;
/// The code of arguments that do not fit.
const INVALID_PARAMS: i64 = -32602;
/// How often a server is started anew where the project changes while its sandbox is set up.
const MOST_TRIES: u32 = 4;

/// Which program is a server, and what it may do.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The name, which stands before those of its tools.
    pub name: String,
    /// The program by its name in the PATH or its absolute path, and its arguments.
    pub command: Vec<String>,
    /// Variables that it gets beside those that every command has.
    pub env: Vec<(String, OsString)>,
    /// Whether it may use the network.
    pub network: bool,
    /// Absolute paths beside the project that it may read and write.
    pub paths: Vec<PathBuf>,
    /// How many seconds a call may take; the time of a command where it is not said.
    pub seconds: Option<u64>,
}

/// The values of variables may be secrets, and are not shown.
impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = f.debug_struct("ServerOptions");
        told.field("name", &self.name).field("command", &self.command).finish_non_exhaustive()
    }
}

impl ServerOptions {
    /// A server that gets nothing beside the project, which it may read.
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

/// A server whose tools are known.
#[derive(Debug)]
pub struct Server {
    options: ServerOptions,
    commands: Arc<CommandRunner>,
    /// The names that its tools must not take.
    taken: Catalog,
    offer: Offer,
    sandboxed: bool,
    running: Mutex<Running>,
    /// How many images its results have had.
    shown: Mutex<usize>,
}

#[derive(Debug, Default)]
struct Running {
    client: Option<Arc<Client>>,
    /// Whether the tools of this client have to be looked at before it is called.
    doubtful: bool,
    /// Whether it says something else of its tools than was told.
    differs: bool,
}

/// How a server is, for whoever asks between calls.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// Why it has ended; `None` while it runs.
    pub over: Option<Text>,
    /// Whether it says something else of its tools than [`Server::told`], so that its calls are refused.
    pub differs: bool,
    /// The last lines that it wrote to stderr, without control characters.
    pub errors: Vec<String>,
}

impl Server {
    /// Starts a server and asks for its tools, on the calling thread, for half a minute at most. No tool of it has a name that `taken`
    /// knows.
    ///
    /// # Errors
    /// It cannot be started, does not speak MCP, or does not answer in time: why, without the name of the server.
    pub fn start(options: ServerOptions, commands: Arc<CommandRunner>, taken: &Catalog) -> Result<Server, Text> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| text!("it cannot be started: {why}", why = Text::from(&error)))?;
        let (client, list) = runtime.block_on(connect(&options, &commands))?;
        let sandboxed = client.watch().is_some_and(ServiceWatch::is_sandboxed);
        let offer = Offer::read(&options, list, taken);
        if offer.told.len() > MOST_TOLD {
            return Err(text!("it says more than {kilobytes} KiB of its tools", kilobytes = (MOST_BYTES >> 10) as u64));
        }
        let running = Mutex::new(Running { client: Some(Arc::new(client)), ..Running::default() });
        Ok(Server { options, commands, taken: taken.clone(), offer, sandboxed, running, shown: Mutex::default() })
    }

    /// The name of the settings.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// What a person has to trust before a model is told of the tools: the command with what it may do, and everything that the server
    /// says of its tools, as JSON.
    pub fn told(&self) -> &str {
        &self.offer.told
    }

    /// What the server says of tools that cannot be offered, in sentences.
    pub fn notes(&self) -> &[Text] {
        &self.offer.notes
    }

    /// Whether a sandbox is around it.
    pub fn is_sandboxed(&self) -> bool {
        self.sandboxed
    }

    /// How it is now. Of one that is being called or started nothing is known but that.
    pub fn health(&self) -> Health {
        let Ok(running) = self.running.try_lock() else { return Health::default() };
        match &running.client {
            Some(client) => Health { over: client.over(), differs: running.differs, errors: client.last_lines() },
            None => Health { over: Some(text!("it has ended")), differs: running.differs, errors: Vec::new() },
        }
    }

    /// Ends the program, on the calling thread and within seconds, where it is not being called. The next call would start it again.
    pub fn stop(&self) {
        let client = self.running.try_lock().ok().and_then(|mut running| running.client.take());
        drop(client);
    }

    /// Its tools, for a toolbox.
    pub fn tools(self: &Arc<Server>) -> impl Iterator<Item = ServedTool> {
        let tools = self.offer.tools.iter();
        tools.map(|(name, spec)| ServedTool { server: Arc::clone(self), name: name.clone(), spec: spec.clone() })
    }

    /// Runs a call of the tool that has this name in the server.
    pub(crate) async fn call(
        &self,
        tool: &str,
        permit: &Permit<'_>,
        progress: &dyn Progress,
    ) -> Result<Output, ToolError> {
        let limits = permit.limits();
        let seconds = self.options.seconds.unwrap_or(limits.command_seconds);
        // The time of a call is none for a start, which has its own.
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
            *shown += images.len();
            drop(shown);
            let failed = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
            Ok(content::output(&text, images, failed, permit.language(), limits))
        };
        // Dropped at its deadline, the request is cancelled.
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

    /// A client whose tools are those that were told. One that has ended, or that may see what is blocked by now, is started again.
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
            if !client.take_changed() && !running.doubtful {
                return Ok(client);
            }
            running.doubtful = true;
            let listed = timeout(STARTING, list(&client)).await;
            let listed = listed.unwrap_or_else(|_| {
                Err(Fault::Over(text!("it has not listed its tools within {seconds} s", seconds = STARTING.as_secs())))
            });
            self.same(listed.map_err(|fault| self.failure(fault))?, &mut running)?;
            return Ok(client);
        }
        // Ended before the next one starts: it may hold a lock of its own. The wait for that blocks.
        if let Some(client) = running.client.take() {
            let ended = tokio::task::spawn_blocking(move || drop(client)).await;
            ended.map_err(|_| self.failure(Fault::Over(text!("it has ended"))))?;
        }
        let (client, list) =
            connect(&self.options, &self.commands).await.map_err(|why| self.failure(Fault::Over(why)))?;
        let client = running.client.insert(Arc::new(client)).clone();
        running.doubtful = true;
        self.same(list, &mut running)?;
        Ok(client)
    }

    /// Whether this is the list that was told. If so there is no doubt any more.
    fn same(&self, list: Vec<Value>, running: &mut Running) -> Result<(), ToolError> {
        running.differs = Offer::read(&self.options, list, &self.taken).told != self.offer.told;
        if !running.differs {
            running.doubtful = false;
            return Ok(());
        }
        Err(ToolFailure::new(
            ErrorCode::Denied,
            text!(
                "The MCP server {server} says something else of its tools than the user has trusted, so they cannot be \
                 called. Tell the user: `coder mcp trust {server}` shows what it says now.",
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

/// A client of a server that was greeted, and what the server says of its tools.
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
        let greeted = async {
            greet(&client).await?;
            list(&client).await.map_err(said)
        };
        match timeout_at(deadline, greeted).await {
            Ok(Ok(list)) => return Ok((client, list)),
            Ok(Err(_)) if client.was_disturbed() && tries < MOST_TRIES => {}
            Ok(Err(why)) => return Err(why),
            Err(_) => return Err(late(&client, options)),
        }
    }
}

/// Why a server that has not told its tools in time may not have. One that is to be fetched first waits for a network in silence.
fn late(client: &Client, options: &ServerOptions) -> Text {
    let mut why = text!("it has not listed its tools within {seconds} s", seconds = STARTING.as_secs());
    if let Some(said) = client.last_words() {
        why = text!("{why}; its stderr ends with: {said}", why, said);
    }
    match client.watch().is_some_and(ServiceWatch::is_sandboxed) && !options.network {
        true => text!("{why}. It has no network: where it has to fetch something first, set `network = true`", why),
        false => why,
    }
}

async fn greet(client: &Client) -> Result<(), Text> {
    let params = json!({
        "protocolVersion": VERSION, "capabilities": {},
        "clientInfo": {"name": "toolfence", "version": env!("CARGO_PKG_VERSION")},
    });
    let greeted = client.request("initialize", params, &|_| {}).await.map_err(said)?;
    let version = greeted.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    if !UNDERSTOOD.contains(&version) {
        return Err(text!(
            "it speaks the version {version} of MCP, and {understood} are understood here",
            version = clip::middle(version, 64).into_owned(),
            understood = UNDERSTOOD.join(", ")
        ));
    }
    client.tell("notifications/initialized");
    Ok(())
}

/// All pages of the list of tools.
async fn list(client: &Client) -> Result<Vec<Value>, Fault> {
    let (mut tools, mut bytes, mut cursor, mut seen) = (Vec::new(), 0, None::<String>, HashSet::new());
    for _ in 0..MOST_PAGES {
        let params = cursor.take().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let mut page = client.request("tools/list", params, &|_| {}).await?;
        if let Some(Value::Array(more)) = page.get_mut("tools").map(Value::take) {
            bytes += more.iter().map(|tool| tool.to_string().len()).sum::<usize>();
            tools.extend(more);
        }
        if bytes > MOST_BYTES {
            return Err(Fault::Over(text!(
                "it says more than {kilobytes} KiB of its tools",
                kilobytes = (MOST_BYTES >> 10) as u64
            )));
        }
        match page.get("nextCursor").and_then(Value::as_str) {
            // A cursor that comes again leads nowhere.
            Some(next) if seen.insert(next.to_owned()) => {
                bytes += next.len();
                cursor = Some(next.to_owned());
            }
            _ => return Ok(tools),
        }
    }
    Err(Fault::Over(text!("its list of tools has more than {pages} pages", pages = MOST_PAGES)))
}

fn said(fault: Fault) -> Text {
    match fault {
        Fault::Over(why) => why,
        Fault::Refused(refused) => text!(
            "it refused: {said} ({code})",
            said = clip::middle(&refused.message, SHOWN).into_owned(),
            code = refused.code
        ),
    }
}
