//! What the servers of HTTP read of a request's headers before anything else: whose name it was sent to, the key, and the kind of
//! the body.
//!
//! It refuses nothing: each server has words of its own for that.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
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
