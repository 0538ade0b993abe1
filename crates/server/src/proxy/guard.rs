//! Who may ask: keys, and pages in a browser that must not.
//!
//! A page of any site can send requests to a server on the same machine, and a name it owns can point there. So on a
//! loopback address only loopback names are answered, requests of other origins are refused, and a body must say that it is
//! JSON, which no page of another origin can without asking first.

use super::trouble::Trouble;
use crate::messages;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use std::hint::black_box;
use std::net::IpAddr;

/// Refuses what a page of another site may have sent.
pub(super) fn origin(headers: &HeaderMap) -> Result<(), Trouble> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if !text(HOST).is_some_and(is_loopback) {
        return Err(Trouble::refused(403, messages::no_loopback_name()));
    }
    match text(ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host)) {
        Some(host) if !is_loopback(host) => Err(Trouble::refused(403, messages::another_origin())),
        _ => Ok(()),
    }
}

/// Refuses whoever does not have the key.
pub(super) fn key(headers: &HeaderMap, wanted: Option<&str>) -> Result<(), Trouble> {
    let Some(wanted) = wanted else { return Ok(()) };
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let given = given.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    if same(given.map_or("", |(_, key)| key.trim()).as_bytes(), wanted.as_bytes()) {
        return Ok(());
    }
    Err(Trouble::refused(401, messages::wants_its_key()))
}

/// Refuses a body that is not JSON.
pub(super) fn json(headers: &HeaderMap) -> Result<(), Trouble> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Trouble::refused(415, messages::content_type(format!("{kind:.64?}"))))
}

/// Whether `host`, perhaps with a port, names this machine and nothing else.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Compares in a time that tells nothing but the length.
fn same(given: &[u8], wanted: &[u8]) -> bool {
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
    }

    #[test]
    fn keys() {
        assert!(same(b"abc", b"abc") && !same(b"abd", b"abc") && !same(b"ab", b"abc") && !same(b"", b"abc"));
        let with = |value: &'static str| [(AUTHORIZATION, value.parse().unwrap())].into_iter().collect::<HeaderMap>();
        assert!(key(&with("bearer  k"), Some("k")).is_ok() && key(&HeaderMap::new(), None).is_ok());
        for wrong in [with("k"), with("Basic k"), with("Bearer kk"), HeaderMap::new()] {
            assert!(key(&wrong, Some("k")).is_err(), "{wrong:?}");
        }
    }
}
