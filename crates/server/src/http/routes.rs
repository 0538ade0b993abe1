//! The table of routes, and what each answers.

use super::Shared;
use super::access;
use super::answer::{self, Trouble, done, text};
use super::outputs;
use super::page;
use super::request::{self, Asked, Fields, Order};
use super::run;
use super::sessions::{self, Stretch};
use super::types::{
    AgentRequest, ApprovalRequest, Health, Login, LoginRequest, PersonaOfServer, Personas, Status, Tools, TurnRequest,
    Undo, UndoRequest,
};
use crate::body::Body;
use crate::messages;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, HeaderValue, SET_COOKIE};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use std::sync::Arc;
use toolfence_session::persona::Persona;

/// The description of the API in the form of OpenAPI 3.1, as text.
pub const OPENAPI: &str = include_str!("openapi.json");

/// Every route: the method, and the path with `{id}` for a name.
pub const ROUTES: &[(&str, &str)] = &[
    ("GET", "/api/health"),
    ("POST", "/api/login"),
    ("POST", "/api/agent"),
    ("POST", "/api/approvals/{id}"),
    ("GET", "/api/tools"),
    ("GET", "/api/personas"),
    ("GET", "/api/outputs/{id}"),
    ("GET", "/api/sessions"),
    ("GET", "/api/sessions/{id}"),
    ("GET", "/api/sessions/{id}/messages"),
    ("POST", "/api/sessions/{id}/turns"),
    ("POST", "/api/undo"),
    ("POST", "/api/redo"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
];

/// The name of a conversation that begins.
const NEW: &str = "new";

/// Characters of a name in a path.
pub(super) const MOST_OF_NAME: usize = 64;

/// Answers one request.
pub(super) async fn respond(shared: Arc<Shared>, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let mut route = "none";
    let answered = answer_at(&shared, &head, body, &mut route).await;
    let answer = answered.unwrap_or_else(|trouble| {
        tracing::info!(target: "toolfence", status = trouble.status, route, "refused");
        let mut answer = trouble.response(shared.options.language);
        if trouble.status == 405 {
            let allowed = ROUTES.iter().find(|(_, pattern)| fits(pattern, head.uri.path()).is_some());
            let allowed = allowed.map_or("GET", |(method, _)| method);
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        }
        answer
    });
    shared.counters.request(route, answer.status().as_u16());
    answer
}

async fn answer_at(
    shared: &Arc<Shared>,
    head: &Parts,
    incoming: Incoming,
    counted: &mut &'static str,
) -> Result<Response<Body>, Trouble> {
    shared.access.place(head)?;
    if let Some(file) = page::file(head.uri.path()).filter(|_| head.method == Method::GET) {
        *counted = "page";
        return Ok(file);
    }
    let found = find(head);
    let path = found.as_ref().map_or("none", |(path, _)| path);
    // Whoever has no token yet sends it with the body, and whoever asks for the health may have none.
    if !matches!(path, "/api/health" | "/api/login") {
        shared.access.key(head)?;
    }
    let (path, id) = found.map_err(|trouble| *trouble)?;
    *counted = path;
    let language = shared.options.language;
    let query = head.uri.query();
    Ok(match path {
        "/api/health" => {
            let data = Health { status: Status::Ok, version: env!("CARGO_PKG_VERSION") };
            done(&messages::server_is_well(), data, language)
        }
        "/api/login" => {
            let request = read(shared, head, incoming).await?;
            login(shared, head, request)?
        }
        "/api/agent" => {
            let request: AgentRequest = read(shared, head, incoming).await?;
            let order = ordered(head, request.order(shared)?);
            return run::turn(shared, order, None).await;
        }
        "/api/sessions/{id}/turns" => {
            let request: TurnRequest = read(shared, head, incoming).await?;
            let order = ordered(head, request.order(shared)?);
            let file = if id == NEW { None } else { Some(sessions::file(shared, id).await?) };
            return run::turn(shared, order, Some(file)).await;
        }
        "/api/approvals/{id}" => {
            let request: ApprovalRequest = read(shared, head, incoming).await?;
            return run::answered(shared, &id, request).await;
        }
        "/api/tools" => {
            let tools: Vec<_> = shared.catalog.specs().iter().map(Into::into).collect();
            done(&messages::tools_there_are(tools.len()), Tools { tools }, language)
        }
        "/api/personas" => {
            let personas = shared.personas.iter().map(|persona| answers_as(shared, persona)).collect();
            let chosen = shared.personas.first().map(|persona| persona.name.clone());
            done(&messages::here_they_are(), Personas { personas, chosen }, language)
        }
        "/api/outputs/{id}" => {
            let data = outputs::piece(shared, id, Stretch::of(query)?).await?;
            done(&messages::here_they_are(), data, language)
        }
        "/api/sessions" => {
            let data = sessions::list(shared, Stretch::of(query)?).await?;
            done(&messages::here_they_are(), data, language)
        }
        "/api/sessions/{id}" => done(&messages::here_they_are(), sessions::one(shared, id).await?, language),
        "/api/sessions/{id}/messages" => {
            let data = sessions::messages_of(shared, id, Stretch::of(query)?).await?;
            done(&messages::here_they_are(), data, language)
        }
        "/api/undo" | "/api/redo" => {
            let _: UndoRequest = read(shared, head, incoming).await?;
            undo(shared, path == "/api/redo").await?
        }
        "/metrics" => text(200, "text/plain; version=0.0.4; charset=utf-8", shared.counters.text()),
        "/openapi.json" => text(200, "application/json", OPENAPI.to_owned()),
        _ => return Err(Trouble::not_found(messages::no_such_path())),
    })
}

/// The path in the table, and the name that the request has in place of `{id}`. Nothing is decoded: what two programs on the way
/// decode differently leads nowhere.
fn find(head: &Parts) -> Result<(&'static str, String), Box<Trouble>> {
    let path = head.uri.path();
    let mut other = None;
    for (method, pattern) in ROUTES {
        let Some(id) = fits(pattern, path) else { continue };
        if head.method.as_str() == *method {
            return Ok((pattern, id.to_owned()));
        }
        other = Some(*method);
    }
    Err(Box::new(match other {
        Some(method) => Trouble::new(405, "method_not_allowed", messages::other_method(method)),
        None => Trouble::not_found(messages::no_such_path()),
    }))
}

fn fits<'a>(pattern: &str, path: &'a str) -> Option<&'a str> {
    let Some((before, behind)) = pattern.split_once("{id}") else { return (pattern == path).then_some("") };
    let id = path.strip_prefix(before)?.strip_suffix(behind)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (!id.is_empty() && id.len() <= MOST_OF_NAME && id.bytes().all(plain)).then_some(id)
}

/// Takes the last turn back, or the last undo, where no turn runs.
async fn undo(shared: &Arc<Shared>, redo: bool) -> Result<Response<Body>, Trouble> {
    let agents = shared.agents.clone();
    let done = shared.together.alone(move || agents.undo(redo)).await;
    let done = done.map_err(|_| Trouble::new(500, "internal", messages::request_failed()))?;
    let done = done.ok_or_else(|| Trouble::new(409, "conflict", messages::a_turn_runs()))?;
    let done = done.map_err(|why| Trouble::new(409, "conflict", why))?;
    let said = if done.is_some() { messages::files_were_put_back() } else { messages::nothing_to_put_back() };
    Ok(answer::done(&said, Undo { undone: done }, shared.options.language))
}

/// Reads what the body of a request says.
async fn read<T: Asked>(shared: &Shared, head: &Parts, incoming: Incoming) -> Result<T, Trouble> {
    access::json(head)?;
    T::read(&mut Fields::of(&request::body(incoming, shared).await?)?)
}

/// What a turn is asked for, by its body and by what the client accepts.
fn ordered(head: &Parts, mut order: Order) -> Order {
    order.stream |= access::text(&head.headers, ACCEPT.as_str()).is_some_and(wants_events);
    order
}

/// Whether the client asks for events alone.
fn wants_events(accept: &str) -> bool {
    accept
        .split(',')
        .next()
        .is_some_and(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/event-stream")
}

/// Gives a page its cookie for the token.
fn login(shared: &Shared, head: &Parts, request: LoginRequest) -> Result<Response<Body>, Trouble> {
    if !shared.access.is_token(&request.token) {
        return Err(Trouble::unauthorized());
    }
    let data = Login { page_key: shared.access.page_key().to_owned() };
    let mut answer = done(&messages::cookie_is_set(), data, shared.options.language);
    let cookie = HeaderValue::from_str(&shared.access.cookie(head));
    let cookie = cookie.map_err(|_| Trouble::new(500, "internal", messages::request_failed()))?;
    answer.headers_mut().insert(SET_COOKIE, cookie);
    Ok(answer)
}

/// A persona as a client needs it to choose one.
fn answers_as(shared: &Shared, persona: &Persona) -> PersonaOfServer {
    let tools = shared.catalog.specs().iter().map(|spec| spec.name.clone());
    let tools = tools.filter(|tool| request::has_tool(persona, tool)).collect();
    PersonaOfServer { name: persona.name.clone(), description: persona.description.clone(), tools }
}
