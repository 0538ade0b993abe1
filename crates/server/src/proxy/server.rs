//! Handles client requests: answers, refuses, or forwards them to the upstream unchanged.

use super::ProxyState;
use super::api::{Api, ApiRequest, Identity};
use super::guard;
use super::output::Writer;
use super::request::project;
use super::route::{self, Route};
use super::trouble::Trouble;
use super::turn::{EarlyEnd, Turn, readable, upstream_message};
use super::upstream::end_to_end;
use crate::body::{self, Body, BodyProblem, BrokeOff, Pieces};
use crate::headers::{allow_page, named_origin, preflight};
use axum::extract::State;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::time::timeout;
use toolfence_protocol::text;

/// The most pieces of an answer that wait for a slow reader; then the upstream waits too.
const MOST_WAITING: usize = 8;

/// The header that tells a reverse proxy such as nginx not to buffer a stream.
const ACCEL_BUFFERING: &str = "x-accel-buffering";

/// The most bytes of an upstream's error answer that are read.
const MOST_REFUSAL: usize = 64 << 10;

/// Answers one request.
pub(super) async fn answer(State(shared): State<Arc<ProxyState>>, request: Request<Body>) -> Response<Body> {
    let language = shared.options.language;
    let api = route::api(request.uri().path(), request.headers());
    let page = named_origin(request.headers(), &shared.options.origins);
    let answered = dispatch(shared, request, api, page.is_some()).await;
    let mut answer = answered.unwrap_or_else(|trouble| {
        let body = api.error(&trouble, language);
        tracing::info!(target: "toolfence", status = trouble.status, body, "refused");
        failed(&trouble, body)
    });
    if let Some(page) = page {
        allow_page(answer.headers_mut(), page);
    }
    answer
}

/// Answers a request that passed [`answer`]. `is_named`: it comes from a page that the options allow.
async fn dispatch(
    shared: Arc<ProxyState>,
    request: Request<Body>,
    api: Api,
    is_named: bool,
) -> Result<Response<Body>, Trouble> {
    if shared.loopback {
        guard::check_origin(request.headers(), is_named)?;
    }
    // Browsers send the CORS preflight without the key.
    if is_named && request.method() == Method::OPTIONS {
        return Ok(preflight(request.headers()));
    }
    let (path, query) = (request.uri().path().to_owned(), request.uri().query().map(str::to_owned));
    let route = route::route(&path);
    if route == Some(Route::Health) && matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(json_answer("{\"status\":\"ok\"}".to_owned()));
    }
    guard::check_key(request.headers(), shared.options.key.as_deref())?;
    match (route.ok_or_else(nowhere)?, request.method()) {
        (Route::Ask(api), &Method::POST) => ask(shared, request, api, query.as_deref()).await,
        (Route::CountTokens, &Method::POST) => count_tokens(&shared, request).await,
        (Route::Ask(_) | Route::CountTokens, _) => Err(Trouble::refused(405, text!("Use POST for this path"))),
        (Route::Models(segments), &Method::GET) => models(shared, request.headers(), api, &segments, query).await,
        (Route::Models(_) | Route::Health, _) => Err(Trouble::refused(405, text!("Use GET for the list of models"))),
    }
}

async fn models(
    shared: Arc<ProxyState>,
    headers: &HeaderMap,
    api: Api,
    segments: &[String],
    query: Option<String>,
) -> Result<Response<Body>, Trouble> {
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let query = query.filter(|_| api == Api::Chat);
    let url = shared.upstream.url(&segments, query.as_deref()).ok_or_else(nowhere)?;
    if api == Api::Chat {
        let headers = shared.upstream.headers(headers);
        let response = shared.upstream.send(Method::GET, url, headers, Bytes::new()).await?;
        return Ok(pass_on(shared, response));
    }
    let headers = shared.upstream.headers_to_read(&guard::only_key(headers));
    let response = shared.upstream.send(Method::GET, url, headers, Bytes::new()).await?;
    if !response.status().is_success() {
        return Err(refusal(&shared, response).await);
    }
    let answer = shared.upstream.read_all(response, shared.options.body).await?;
    let listed = super::messages::models::translated(&answer);
    listed.map(json_answer).ok_or_else(|| Trouble::upstream(502, text!("The upstream's list of models cannot be read")))
}

/// Answers with the estimated number of tokens of a request.
async fn count_tokens(shared: &ProxyState, request: Request<Body>) -> Result<Response<Body>, Trouble> {
    guard::require_json(request.headers())?;
    let body = read(request.into_body(), shared).await?;
    let text = std::str::from_utf8(&body).map_err(|_| Trouble::request(text!("The body is not UTF-8")))?;
    let projected =
        project(super::messages::reader::read(text)?, shared.options.language, shared.options.tool_details)?;
    Ok(json_answer(format!("{{\"input_tokens\":{}}}", projected.tokens)))
}

/// Converts the upstream's error answer, for a client whose API has another form of errors.
async fn refusal(shared: &ProxyState, response: reqwest::Response) -> Trouble {
    let status = response.status().as_u16();
    let error = shared.upstream.read_all(response, MOST_REFUSAL).await.unwrap_or_default();
    let message = upstream_message(&String::from_utf8_lossy(&error));
    let again = matches!(status, 408 | 409 | 429 | 500..);
    Trouble { again, ..Trouble::upstream(status, message) }
}

fn nowhere() -> Trouble {
    Trouble::refused(
        404,
        text!("There is no such path; the proxy answers POST /v1/chat/completions and GET /v1/models"),
    )
}

/// Answers a request with the model.
async fn ask(
    shared: Arc<ProxyState>,
    request: Request<Body>,
    api: Api,
    query: Option<&str>,
) -> Result<Response<Body>, Trouble> {
    guard::require_json(request.headers())?;
    let query = query.filter(|_| api == Api::Chat);
    // The query of another API has no meaning for the upstream, so it was left out.
    let url = shared.upstream.url(&["chat", "completions"], query).ok_or_else(nowhere)?;
    let (head, body) = request.into_parts();
    let body = read(body, &shared).await?;
    let text = std::str::from_utf8(&body).map_err(|_| Trouble::request(text!("The body is not UTF-8")))?;
    tracing::debug!(target: "toolfence", api = api.name(), request = text, "a client asks");
    // Clients merge answers that have the same id.
    let (language, identity) = (shared.options.language, Identity { digits: unique(), created: now() });
    let Some(ApiRequest { asked, mut writer }) = api.read(text, &identity, language, &shared.texts)? else {
        let headers = shared.upstream.headers(&head.headers);
        let response = shared.upstream.send(Method::POST, url, headers, body).await?;
        return Ok(pass_on(shared, response));
    };
    let projected = project(asked, language, shared.options.tool_details)?;
    // `projected` owns its text. The turn may take minutes, and the body may be large.
    drop(body);
    let headers = match api {
        Api::Chat => shared.upstream.headers_to_read(&head.headers),
        // Other headers of other APIs mean nothing to the upstream.
        Api::Responses | Api::Messages => shared.upstream.headers_to_read(&guard::only_key(&head.headers)),
    };
    // Without tools no reply is a call, and the client reads the upstream's form of answers itself.
    if projected.offer.is_empty() && api == Api::Chat {
        let response = shared.upstream.send(Method::POST, url, headers, projected.body).await?;
        return Ok(pass_on(shared, response));
    }
    writer.note_input(projected.tokens);
    let turn = Turn::new(shared, url, headers, projected, api.call_ids(&identity));
    translate(api, turn, writer).await
}

/// Answers a request with a translated reply.
async fn translate(api: Api, mut turn: Turn, writer: Box<dyn Writer>) -> Result<Response<Body>, Trouble> {
    let shared = turn.shared.clone();
    for (tool, pattern) in shared.reported.unchecked_patterns(&turn.offer) {
        tracing::warn!(
            target: "toolfence",
            tool,
            pattern,
            "arguments are not checked against this pattern: it is too large, or needs a lookaround or a backreference"
        );
    }
    let response = turn.begin().await?;
    // The errors of the other two APIs have the upstream's form and are passed on.
    if !response.status().is_success() && api == Api::Messages {
        return Err(refusal(&shared, response).await);
    }
    if !response.status().is_success() {
        return Ok(pass_on(shared, response));
    }
    readable(&response)?;
    let mut headers = if api == Api::Chat { end_to_end(response.headers()) } else { HeaderMap::new() };
    // The answer is written anew: uncompressed, and with another length.
    headers.remove(CONTENT_LENGTH);
    headers.remove(CONTENT_ENCODING);
    if turn.streamed {
        let (pieces, body) = body::pieces(MOST_WAITING);
        // If the client disconnects, the turn is dropped, which also ends the request to the upstream.
        let gone = pieces.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = turn.stream(response, writer, pieces) => {}
                () = gone.closed() => {}
            }
        });
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
        return Ok(with_headers(headers, body));
    }
    let whole = turn.read_complete(response, writer).await.map_err(|ended| match ended {
        EarlyEnd::Trouble(trouble) => trouble,
        EarlyEnd::Gone => Trouble::upstream(502, text!("The client closed the connection")),
    })?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(with_headers(headers, whole.into()))
}

fn json_answer(body: String) -> Response<Body> {
    let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    with_headers(headers.into_iter().collect(), body.into())
}

fn with_headers(headers: HeaderMap, body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    *answer.headers_mut() = headers;
    answer
}

/// Forwards the upstream's answer unchanged.
fn pass_on(shared: Arc<ProxyState>, response: reqwest::Response) -> Response<Body> {
    let (pieces, body) = body::pieces(MOST_WAITING);
    let mut answer = Response::new(body);
    *answer.status_mut() = response.status();
    *answer.headers_mut() = end_to_end(response.headers());
    let kind = answer.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let events = kind.starts_with(b"text/event-stream");
    if events {
        answer.headers_mut().insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    }
    let gone = pieces.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = copy(&shared, response, &pieces, events) => {}
            () = gone.closed() => {}
        }
    });
    answer
}

/// Copies the upstream's answer. If it breaks off between two events of a stream, an error event follows; otherwise the
/// connection is closed, so that the client does not mistake the answer for complete.
async fn copy(shared: &ProxyState, mut response: reqwest::Response, pieces: &Pieces, events: bool) {
    let mut between = true;
    loop {
        let piece = match shared.upstream.next(&mut response).await {
            Ok(Some(bytes)) => {
                between = bytes.ends_with(b"\n\n") || bytes.ends_with(b"\n\r\n");
                Ok(bytes)
            }
            Ok(None) => return,
            Err(trouble) if events && between => {
                let _ = pieces
                    .send(Ok(format!("data: {}\n\n", Api::Chat.error(&trouble, shared.options.language)).into()))
                    .await;
                return;
            }
            Err(_) => Err(BrokeOff),
        };
        let over = piece.is_err();
        let sent = timeout(shared.options.stalled, pieces.send(piece)).await;
        if over || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

/// Reads the body of a request.
async fn read(body: Body, shared: &ProxyState) -> Result<Bytes, Trouble> {
    let limit = shared.options.body;
    let within = shared.connections.patience(shared.options.between);
    body::read(body, limit, within).await.map_err(|problem| match problem {
        BodyProblem::TooLarge => {
            Trouble::refused(413, text!("The request is larger than {limit} bytes; send less", limit = limit as u64))
        }
        BodyProblem::TooSlow => Trouble::refused(408, text!("The request arrived too slowly")),
        BodyProblem::BrokeOff(why) => Trouble::request(text!("The request ended early: {error}", error = why)),
    })
}

fn failed(trouble: &Trouble, body: String) -> Response<Body> {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = StatusCode::from_u16(trouble.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if !trouble.again {
        answer.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    }
    answer
}

/// Returns sixteen unique hexadecimal digits for an answer.
///
/// They must be unique but may be guessable, so the standard library's random hasher keys suffice and no other source
/// of randomness is needed.
fn unique() -> String {
    format!("{:016x}", RandomState::new().hash_one(now()))
}

/// Returns the seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
