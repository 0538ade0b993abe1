//! The paths of the proxy: maps a path to an API and a route.
//!
//! Clients of OpenAI's APIs expect `/v1` in their base URL, and others add it themselves. So it may occur once, twice
//! or not at all.

use super::api::Api;
use hyper::HeaderMap;

/// The route of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    /// A request that the model answers.
    Ask(Api),
    /// Counts the tokens of a Messages request.
    CountTokens,
    /// Reports that the proxy is running.
    Health,
    /// The models, or one of them: the segments of the upstream's path.
    Models(Vec<String>),
}

/// Returns the route of a path without its query.
pub(super) fn route(path: &str) -> Option<Route> {
    let path = without_version(path);
    match path {
        // Clients of the Messages API probe the root path.
        "/" | "/health" => Some(Route::Health),
        "/messages" => Some(Route::Ask(Api::Messages)),
        "/messages/count_tokens" => Some(Route::CountTokens),
        "/chat/completions" => Some(Route::Ask(Api::Chat)),
        "/responses" => Some(Route::Ask(Api::Responses)),
        _ => models(path).map(Route::Models),
    }
}

/// Returns the API whose error format a refused request gets.
pub(super) fn api(path: &str, headers: &HeaderMap) -> Api {
    match route(path) {
        Some(Route::Ask(api)) => api,
        Some(Route::CountTokens) => Api::Messages,
        // Both APIs list models at the same path; only Anthropic's clients send this header.
        _ if headers.contains_key("anthropic-version") => Api::Messages,
        _ => Api::Chat,
    }
}

fn without_version(path: &str) -> &str {
    let shorter = |path| str::strip_prefix(path, "/v1").filter(|rest| rest.starts_with('/'));
    let Some(once) = shorter(path) else { return path };
    shorter(once).unwrap_or(once)
}

/// Returns the decoded segments of the path `/models` or of one model; `None` for any other path.
///
/// The name of a model consists of letters, digits and `._~:/@-`. A slash in the name may be written as `%2F`. Other
/// escapes are refused, because programs that decode them differently could leave `/models`.
fn models(path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix("/models")?;
    let mut segments = vec!["models".to_owned()];
    if rest.is_empty() {
        return Some(segments);
    }
    for segment in rest.strip_prefix('/')?.split('/') {
        let segment = segment.replace("%2F", "/").replace("%2f", "/");
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._~:/@-".contains(&byte);
        // The upstream may decode `%2F` and see these parts.
        let leads_away = segment.split('/').any(|part| matches!(part, "" | "." | ".."));
        if leads_away || !segment.bytes().all(is_plain) {
            return None;
        }
        segments.push(segment);
    }
    Some(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_may_be_there_once_twice_or_not() {
        for (path, wanted) in [
            ("/v1/chat/completions", Some(Route::Ask(Api::Chat))),
            ("/chat/completions", Some(Route::Ask(Api::Chat))),
            ("/v1/v1/responses", Some(Route::Ask(Api::Responses))),
            ("/v1/v1/v1/responses", None),
            ("/v1responses", None),
            ("/v1", None),
            ("/v1/messages", Some(Route::Ask(Api::Messages))),
            ("/messages/count_tokens", Some(Route::CountTokens)),
            ("/", Some(Route::Health)),
            ("/v1/health", Some(Route::Health)),
            ("/models/a", Some(Route::Models(vec!["models".into(), "a".into()]))),
            ("/v1/models/a/..", None),
        ] {
            assert_eq!(route(path), wanted, "{path}");
        }
    }
}
