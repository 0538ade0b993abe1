//! The table of routes and their handlers.

use super::ApiState;
use super::access;
use super::answer::{self, Trouble, success};
use super::outputs;
use super::page;
use super::project::{self, Prefix};
use super::replies;
use super::request::{self, JsonBody, Order};
use super::run;
use super::sessions::{self, Start, Stretch};
use super::types::{
    AgentRequest, ApprovalRequest, Cancel, CancelRequest, Health, Html, Instructions, Login, LoginRequest,
    MarkdownRequest, PersonaOfServer, Personas, ReplyRequest, Status, Tools, TurnRequest, Undo, UndoRequest,
};
use crate::headers::{allow_page, preflight};
use axum::Router;
use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use hyper::header::{ACCEPT, ALLOW, HeaderValue, SET_COOKIE};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::spawn_blocking;
use toolfence_agent::transcript::export::reply_html;
use toolfence_protocol::text;
use toolfence_session::persona::Persona;

/// The description of the API in the form of OpenAPI 3.1, as text.
pub const OPENAPI: &str = include_str!("openapi.json");

/// A constructor of the handler at a path.
type Route = fn() -> MethodRouter<Arc<ApiState>>;

/// Every route: the method, the path with `{id}` for a name, and the handler.
const TABLE: [(&str, &str, Route); 21] = [
    ("GET", "/api/health", || get(health)),
    ("POST", "/api/login", || post(login)),
    ("POST", "/api/agent", || post(run_turn)),
    ("POST", "/api/approvals/{id}", || post(answer_approval)),
    ("GET", "/api/project", || get(describe_project)),
    ("GET", "/api/files", || get(complete_path)),
    ("GET", "/api/tools", || get(list_tools)),
    ("GET", "/api/personas", || get(list_personas)),
    ("GET", "/api/outputs/{id}", || get(read_output)),
    ("GET", "/api/sessions", || get(list_sessions)),
    ("GET", "/api/sessions/{id}", || get(get_session)),
    ("GET", "/api/sessions/{id}/messages", || get(list_messages)),
    ("POST", "/api/sessions/{id}/turns", || post(run_session_turn)),
    ("GET", "/api/sessions/{id}/events", || get(follow_turn)),
    ("POST", "/api/sessions/{id}/cancel", || post(cancel_turn)),
    ("POST", "/api/sessions/{id}/replies", || post(read_reply)),
    ("GET", "/api/sessions/{id}/instructions", || get(show_instructions)),
    ("POST", "/api/undo", || post(undo)),
    ("POST", "/api/redo", || post(redo)),
    ("POST", "/api/markdown", || post(render_markdown)),
    ("GET", "/openapi.json", || get(description)),
];

/// Every route: the method, and the path with `{id}` for a name.
pub const ROUTES: &[(&str, &str)] = &{
    let mut routes = [("", ""); TABLE.len()];
    let mut at = 0;
    while at < routes.len() {
        routes[at] = (TABLE[at].0, TABLE[at].1);
        at += 1;
    }
    routes
};

/// The name in a path that begins a new conversation.
pub(super) const NEW: &str = "new";

/// The most characters of a name in a path.
pub(super) const MOST_OF_NAME: usize = 64;

/// Returns the router of the API.
pub(super) fn router(shared: Arc<ApiState>) -> Router {
    // axum's GET handlers answer HEAD as well, which the table does not list.
    let routes =
        TABLE.iter().fold(Router::new(), |router, (_, path, route)| router.route(path, route().head(other_method)));
    routes
        .method_not_allowed_fallback(other_method)
        .fallback(|| async { Trouble::not_found(text!("There is no such path; GET /openapi.json lists them.")) })
        .layer(from_fn_with_state(shared.clone(), guard))
        .with_state(shared)
}

/// Refuses requests without access before any other check, and logs refused requests.
async fn guard(
    State(shared): State<Arc<ApiState>>,
    path: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let (head, body) = request.into_parts();
    let page = shared.access.named_page(&head.headers);
    let path = path.as_ref().map_or("none", MatchedPath::as_str);
    let file = page::file(head.uri.path()).filter(|_| head.method == Method::GET);
    // The origin is checked on every path: foreign pages are refused even where no token is needed.
    let allowed = shared.access.check_origin(&head).and_then(|()| match path {
        // The login sends the token in the body, and the health needs no token.
        "/api/health" | "/api/login" => Ok(()),
        // Browsers send the CORS preflight without credentials.
        _ if page.is_some() && head.method == Method::OPTIONS => Ok(()),
        _ if file.is_some() => Ok(()),
        _ => shared.access.check_key(&head),
    });
    let (route, mut answer) = match (allowed, file) {
        (Err(trouble), _) => ("none", trouble.into_response()),
        (Ok(()), _) if page.is_some() && head.method == Method::OPTIONS => ("preflight", preflight(&head.headers)),
        (Ok(()), Some(file)) => ("page", file),
        (Ok(()), None) => (path, next.run(Request::from_parts(head, body)).await),
    };
    if let Some(trouble) = answer.extensions_mut().remove::<Trouble>() {
        tracing::info!(target: "toolfence", status = trouble.status, route, "refused");
        let mut replacement = trouble.response(shared.options.language);
        // RFC 9110, section 15.5.6: a 405 response must have the Allow header.
        replacement.headers_mut().extend(answer.headers_mut().remove(ALLOW).map(|method| (ALLOW, method)));
        answer = replacement;
    }
    page.into_iter().for_each(|page| allow_page(answer.headers_mut(), page));
    answer
}

/// Answers a request with the wrong method.
async fn other_method(path: MatchedPath) -> impl IntoResponse {
    let known = ROUTES.iter().find(|(_, known)| *known == path.as_str());
    let method = known.map_or("GET", |(method, _)| method);
    ([(ALLOW, method)], Trouble::new(405, "method_not_allowed", text!("Use {method} for this path.", method)))
}

/// A name in a path. Percent-encoding is refused, because a reverse proxy may decode it differently.
struct Name(String);

impl FromRequestParts<Arc<ApiState>> for Name {
    type Rejection = Trouble;

    async fn from_request_parts(head: &mut Parts, shared: &Arc<ApiState>) -> Result<Name, Trouble> {
        let params = RawPathParams::from_request_parts(head, shared).await.ok();
        let name = params.and_then(|params| params.iter().next().map(|(_, name)| name.to_owned()));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_plain = |name: &String| name.len() <= MOST_OF_NAME && name.bytes().all(plain);
        let name = name.filter(|name| is_plain(name) && !head.uri.path().contains('%'));
        name.map(Name).ok_or_else(|| Trouble::not_found(text!("There is no such path; GET /openapi.json lists them.")))
    }
}

async fn health(State(shared): State<Arc<ApiState>>) -> Response {
    let data = Health { status: Status::Ok, version: env!("CARGO_PKG_VERSION") };
    success(&text!("The server is running."), data, shared.options.language)
}

/// Exchanges the token for the cookie of a page.
async fn login(
    State(shared): State<Arc<ApiState>>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<LoginRequest>,
) -> Result<Response, Trouble> {
    if !shared.access.is_token(&request.token) {
        return Err(Trouble::unauthorized());
    }
    let data = Login { page_key: shared.access.page_key().to_owned() };
    let mut answer = success(&text!("The cookie is set."), data, shared.options.language);
    let cookie = HeaderValue::from_str(&shared.access.cookie(&headers));
    let cookie = cookie.map_err(|_| {
        Trouble::new(500, "internal", text!("The server could not answer; its own output may say why."))
    })?;
    answer.headers_mut().insert(SET_COOKIE, cookie);
    Ok(answer)
}

async fn run_turn(
    State(shared): State<Arc<ApiState>>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<AgentRequest>,
) -> Result<Response, Trouble> {
    let order = ordered(&headers, request.order(&shared).await?);
    run::turn(&shared, order, None).await
}

async fn run_session_turn(
    State(shared): State<Arc<ApiState>>,
    Name(id): Name,
    headers: HeaderMap,
    JsonBody(request): JsonBody<TurnRequest>,
) -> Result<Response, Trouble> {
    let order = ordered(&headers, request.order(&shared).await?);
    let file = file(&shared, id).await?;
    run::turn(&shared, order, Some(file)).await
}

/// Returns the file of a conversation; `None` for a new one.
async fn file(shared: &Arc<ApiState>, id: String) -> Result<Option<PathBuf>, Trouble> {
    if id == NEW { Ok(None) } else { sessions::file(shared, id).await.map(Some) }
}

async fn read_reply(
    State(shared): State<Arc<ApiState>>,
    Name(id): Name,
    headers: HeaderMap,
    JsonBody(request): JsonBody<ReplyRequest>,
) -> Result<Response, Trouble> {
    let stream = request.stream || access::header_text(&headers, ACCEPT.as_str()).is_some_and(wants_events);
    replies::reply(&shared, id, request, stream).await
}

async fn show_instructions(State(shared): State<Arc<ApiState>>, Name(id): Name) -> Result<Response, Trouble> {
    if id != NEW {
        sessions::full_id(&shared, id).await?;
    }
    let agents = shared.agents.clone();
    let text = spawn_blocking(move || agents.instructions()).await;
    let text = text.map_err(|_| {
        Trouble::new(500, "internal", text!("The server could not answer; its own output may say why."))
    })?;
    Ok(success(&text!("The request succeeded."), Instructions { text }, shared.options.language))
}

async fn follow_turn(State(shared): State<Arc<ApiState>>, Name(id): Name, start: Start) -> Result<Response, Trouble> {
    run::events(&shared, &sessions::full_id(&shared, id).await?, start.after)
}

async fn cancel_turn(
    State(shared): State<Arc<ApiState>>,
    Name(id): Name,
    _: JsonBody<CancelRequest>,
) -> Result<Response, Trouble> {
    let cancelled = run::cancel(&shared, &sessions::full_id(&shared, id).await?).await;
    let message =
        if cancelled { text!("The turn has ended.") } else { text!("No turn of this conversation was running.") };
    Ok(success(&message, Cancel { cancelled }, shared.options.language))
}

async fn answer_approval(
    State(shared): State<Arc<ApiState>>,
    Name(id): Name,
    JsonBody(request): JsonBody<ApprovalRequest>,
) -> Result<Response, Trouble> {
    run::take_answer(&shared, &id, request).await
}

async fn describe_project(State(shared): State<Arc<ApiState>>) -> Result<Response, Trouble> {
    let project = project::overview(&shared).await?;
    Ok(success(&text!("The request succeeded."), project, shared.options.language))
}

async fn complete_path(State(shared): State<Arc<ApiState>>, prefix: Prefix) -> Result<Response, Trouble> {
    let files = project::files(&shared, prefix).await?;
    Ok(success(&text!("The request succeeded."), files, shared.options.language))
}

async fn list_tools(State(shared): State<Arc<ApiState>>) -> Response {
    let tools: Vec<_> = shared.catalog.specs().iter().map(Into::into).collect();
    success(
        &text!("There {count|is|are} {count} {count|tool|tools}.", count = tools.len()),
        Tools { tools },
        shared.options.language,
    )
}

async fn list_personas(State(shared): State<Arc<ApiState>>) -> Result<Response, Trouble> {
    let known = shared.personas().await?;
    let personas = known.iter().map(|persona| answers_as(&shared, persona)).collect();
    let chosen = known.first().map(|persona| persona.name.clone());
    Ok(success(&text!("The request succeeded."), Personas { personas, chosen }, shared.options.language))
}

async fn read_output(
    State(shared): State<Arc<ApiState>>,
    Name(id): Name,
    stretch: Stretch,
) -> Result<Response, Trouble> {
    let piece = outputs::piece(&shared, id, stretch).await?;
    Ok(success(&text!("The request succeeded."), piece, shared.options.language))
}

async fn list_sessions(State(shared): State<Arc<ApiState>>, stretch: Stretch) -> Result<Response, Trouble> {
    let sessions = sessions::list(&shared, stretch).await?;
    Ok(success(&text!("The request succeeded."), sessions, shared.options.language))
}

async fn get_session(State(shared): State<Arc<ApiState>>, Name(id): Name) -> Result<Response, Trouble> {
    let session = sessions::one(&shared, id).await?;
    Ok(success(&text!("The request succeeded."), session, shared.options.language))
}

async fn list_messages(
    State(shared): State<Arc<ApiState>>,
    Name(id): Name,
    stretch: Stretch,
) -> Result<Response, Trouble> {
    let records = sessions::messages_of(&shared, id, stretch).await?;
    Ok(success(&text!("The request succeeded."), records, shared.options.language))
}

async fn undo(State(shared): State<Arc<ApiState>>, _: JsonBody<UndoRequest>) -> Result<Response, Trouble> {
    put_back(&shared, false).await
}

async fn redo(State(shared): State<Arc<ApiState>>, _: JsonBody<UndoRequest>) -> Result<Response, Trouble> {
    put_back(&shared, true).await
}

/// Renders Markdown for the page. A long text takes a while, and other requests must not wait for it.
async fn render_markdown(
    State(shared): State<Arc<ApiState>>,
    JsonBody(request): JsonBody<MarkdownRequest>,
) -> Result<Response, Trouble> {
    let html = spawn_blocking(move || reply_html(&request.text)).await;
    let html = html.map_err(|_| {
        Trouble::new(500, "internal", text!("The server could not answer; its own output may say why."))
    })?;
    Ok(success(&text!("The request succeeded."), Html { html }, shared.options.language))
}

async fn description() -> Response {
    answer::text(200, "application/json", OPENAPI)
}

/// Undoes the last turn or redoes the last undo, unless a turn is running.
async fn put_back(shared: &Arc<ApiState>, redo: bool) -> Result<Response, Trouble> {
    let agents = shared.agents.clone();
    let done = shared.together.run_exclusively(move || agents.undo(redo)).await;
    let done = done.map_err(|_| {
        Trouble::new(500, "internal", text!("The server could not answer; its own output may say why."))
    })?;
    let done =
        done.ok_or_else(|| Trouble::new(409, "conflict", text!("A turn is running; try again when it has ended.")))?;
    let undone = done.map_err(|why| Trouble::new(409, "conflict", why))?;
    if undone.is_some() {
        let note = text!(
            "The user has undone changes: files may have their earlier content. Read them again before you edit them."
        );
        shared.seats.note(&note.render(shared.options.language));
    }
    let said = if undone.is_some() {
        text!("The turn was undone or redone, except for files that have changed since.")
    } else {
        text!("There is nothing to undo.")
    };
    Ok(self::success(&said, Undo { undone }, shared.options.language))
}

/// Applies the Accept header to a task.
fn ordered(headers: &HeaderMap, mut order: Order) -> Order {
    order.stream |= access::header_text(headers, ACCEPT.as_str()).is_some_and(wants_events);
    order
}

/// Returns `true` if the client accepts only events.
fn wants_events(accept: &str) -> bool {
    accept
        .split(',')
        .next()
        .is_some_and(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/event-stream")
}

/// Describes a persona to a client that chooses one.
fn answers_as(shared: &ApiState, persona: &Persona) -> PersonaOfServer {
    let tools = shared.catalog.specs().iter().map(|spec| spec.name.clone());
    let tools = tools.filter(|tool| request::has_tool(persona, tool)).collect();
    PersonaOfServer { name: persona.name.clone(), description: persona.description.clone(), tools }
}
