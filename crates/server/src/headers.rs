//! Request headers that both HTTP servers check first: the host name, the key, and the content type.
//!
//! This module does not refuse requests; each server does, with its own messages. It also writes the headers for pages
//! of other origins (CORS).

use axum::body::Body;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, AUTHORIZATION, CONTENT_TYPE,
    HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::{HeaderMap, Response, StatusCode};
use std::hint::black_box;
use std::net::IpAddr;

/// Returns the key that the client sends as a bearer token.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok())?;
    let (_, key) = given.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))?;
    Some(key.trim())
}

/// Returns `true` if the content type is JSON. A page of another origin cannot send that without a CORS preflight.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Returns the name in a host with an optional port, without a trailing dot. Returns `None` if `host` is malformed.
pub(crate) fn host_name(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    // Another program may read anything else after the name as part of the name.
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then(|| name.strip_suffix('.').unwrap_or(name))
}

/// Returns `true` if `host`, with an optional port, is a loopback name or address.
pub(crate) fn is_loopback(host: &str) -> bool {
    let Some(name) = host_name(host).map(str::to_ascii_lowercase) else { return false };
    name == "localhost" || name.ends_with(".localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Returns the Origin header if it occurs once and is in `named`.
pub(crate) fn named_origin(headers: &HeaderMap, named: &[String]) -> Option<HeaderValue> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = origins.next().filter(|_| origins.next().is_none())?;
    named.iter().any(|named| named.as_bytes() == origin.as_bytes()).then(|| origin.clone())
}

/// Adds the CORS headers that let a page of this origin read the answer.
pub(crate) fn allow_page(answer: &mut HeaderMap, page: HeaderValue) {
    answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
    answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("x-session"));
    // A cache must not give this answer to a page of another origin.
    answer.insert(VARY, HeaderValue::from_static("origin"));
}

/// Returns the answer to a CORS preflight.
pub(crate) fn preflight(asked: &HeaderMap) -> Response<Body> {
    let mut answer = Response::new(Body::from(""));
    *answer.status_mut() = StatusCode::NO_CONTENT;
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if let Some(wanted) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    // Browsers ask for this before a public page sends a request to a private address (Private Network Access).
    if asked.contains_key("access-control-request-private-network") {
        let allows = HeaderName::from_static("access-control-allow-private-network");
        headers.insert(allows, HeaderValue::from_static("true"));
    }
    answer
}

/// Compares two byte strings in a time that depends only on their lengths.
pub(crate) fn equal_bytes(given: &[u8], wanted: &[u8]) -> bool {
    // `black_box` keeps the compiler from ending the loop at the first difference.
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
        assert!(
            equal_bytes(b"abc", b"abc")
                && !equal_bytes(b"abd", b"abc")
                && !equal_bytes(b"ab", b"abc")
                && !equal_bytes(b"", b"abc")
        );
    }
}
