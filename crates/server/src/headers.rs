//! What the servers of HTTP read of a request's headers before anything else: whose name it was sent to, the key, and the kind of
//! the body.
//!
//! It refuses nothing: each server has words of its own for that. It also writes the headers for pages of other origins (CORS).

use axum::body::Body;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, AUTHORIZATION, CONTENT_TYPE,
    HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::{HeaderMap, Response, StatusCode};
use std::hint::black_box;
use std::net::IpAddr;

/// The key that a client sends as a bearer token.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok())?;
    let (_, key) = given.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))?;
    Some(key.trim())
}

/// Whether the body says that it is JSON, which no page of another origin can without asking first.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// The name in a host that may have a port, without the dot that may end it; `None` for what is no host.
pub(crate) fn name_of(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    // What else stands behind the name may be a name to somebody else.
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then(|| name.strip_suffix('.').unwrap_or(name))
}

/// Whether `host`, perhaps with a port, names this machine and nothing else.
pub(crate) fn is_loopback(host: &str) -> bool {
    let Some(name) = name_of(host).map(str::to_ascii_lowercase) else { return false };
    name == "localhost" || name.ends_with(".localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The origin of the page that sends the request, if it is one of those that the host names.
pub(crate) fn named_origin(headers: &HeaderMap, named: &[String]) -> Option<HeaderValue> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = origins.next().filter(|_| origins.next().is_none())?;
    named.iter().any(|named| named.as_bytes() == origin.as_bytes()).then(|| origin.clone())
}

/// Lets a page of this origin read the answer.
pub(crate) fn allow_page(answer: &mut HeaderMap, page: HeaderValue) {
    answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
    answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("x-session"));
    answer.insert(VARY, HeaderValue::from_static("origin"));
}

/// The answer to a browser that asks whether a page may send a request.
pub(crate) fn preflight(asked: &HeaderMap) -> Response<Body> {
    let mut answer = Response::new(Body::from(""));
    *answer.status_mut() = StatusCode::NO_CONTENT;
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if let Some(wanted) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    // Browsers ask this before a page of the Internet sends a request to this machine.
    if asked.contains_key("access-control-request-private-network") {
        let allows = HeaderName::from_static("access-control-allow-private-network");
        headers.insert(allows, HeaderValue::from_static("true"));
    }
    answer
}

/// Compares in a time that tells nothing but the length.
pub(crate) fn same(given: &[u8], wanted: &[u8]) -> bool {
    let differs = given.iter().zip(wanted).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
    given.len() == wanted.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_this_machine() {
        for host in
            ["localhost", "LocalHost:80", "127.0.0.1:8080", "127.1.2.3", "[::1]:80", "a.localhost", "localhost."]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example:80", "10.0.0.1", "[::2]", "127.0.0.1.evil.example", "0.0.0.0"]
        {
            assert!(!is_loopback(host), "{host}");
        }
        for host in [
            "[::1].evil.example",
            "[::1]::80",
            "[::1]x",
            "[::1",
            "localhost:80x",
            "localhost:80:80",
            "localhost:.evil.example",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn keys_are_compared_whole() {
        assert!(same(b"abc", b"abc") && !same(b"abd", b"abc") && !same(b"ab", b"abc") && !same(b"", b"abc"));
    }
}
