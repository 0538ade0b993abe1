//! Access control: the key, and checks against foreign pages in a browser.
//!
//! A page of any site can send requests to a server on the same machine, and a name that the site owns can point there
//! (DNS rebinding). So on a loopback address the Host header must be a loopback name, requests of other origins are
//! refused, and a body must have the content type JSON, which a page of another origin cannot send without a CORS
//! preflight.

use super::trouble::Trouble;
use crate::headers::{bearer, equal_bytes, is_json, is_loopback};
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use toolfence_protocol::text;

/// Refuses a request that a page of another site may have sent. `named`: the options allow the page.
pub(super) fn check_origin(headers: &HeaderMap, named: bool) -> Result<(), Trouble> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().filter(|_| hosts.next().is_none()).and_then(|host| host.to_str().ok());
    if !host.is_some_and(is_loopback) {
        return Err(Trouble::refused(
            403,
            text!("The Host header is not a loopback name; use http://127.0.0.1 or localhost"),
        ));
    }
    if !named && !headers.get_all(ORIGIN).iter().all(is_loopback_origin) {
        return Err(Trouble::refused(403, text!("Requests from pages of another origin are refused")));
    }
    Ok(())
}

fn is_loopback_origin(origin: &HeaderValue) -> bool {
    let host = origin.to_str().ok().map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
    host.is_some_and(is_loopback)
}

/// The header in which clients of the API Messages send their key.
pub(super) const API_KEY: &str = "x-api-key";

/// Refuses a client that does not have the key.
pub(super) fn check_key(headers: &HeaderMap, wanted: Option<&str>) -> Result<(), Trouble> {
    let Some(wanted) = wanted else { return Ok(()) };
    let given = [bearer(headers), headers.get(API_KEY).and_then(|value| value.to_str().ok())];
    if given.into_iter().flatten().any(|given| equal_bytes(given.as_bytes(), wanted.as_bytes())) {
        return Ok(());
    }
    Err(Trouble::refused(401, text!("This proxy needs its key: send the header Authorization: Bearer KEY")))
}

/// Returns the key of a request as the only header, in the form that the upstream expects.
pub(super) fn only_key(headers: &HeaderMap) -> HeaderMap {
    let own = headers.get(AUTHORIZATION).cloned();
    let key = own.or_else(|| {
        let key = headers.get(API_KEY)?.to_str().ok()?;
        HeaderValue::from_str(&format!("Bearer {key}")).ok()
    });
    key.into_iter().map(|key| (AUTHORIZATION, key)).collect()
}

/// Refuses a body that is not JSON.
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), Trouble> {
    if is_json(headers) {
        return Ok(());
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Err(Trouble::refused(
        415,
        text!("The content type is {kind}; send application/json", kind = format!("{kind:.64?}")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    #[test]
    fn only_requests_of_this_machine_pass() {
        let headers = |pairs: &[(HeaderName, &[u8])]| -> HeaderMap {
            pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_bytes(value).unwrap())).collect()
        };
        let host = (HOST, b"localhost:1".as_slice());
        let local = (ORIGIN, b"http://127.0.0.1:5".as_slice());
        for allowed in [headers(std::slice::from_ref(&host)), headers(&[host.clone(), local.clone()])] {
            assert!(check_origin(&allowed, false).is_ok(), "{allowed:?}");
        }
        let mut two_hosts = headers(std::slice::from_ref(&host));
        two_hosts.append(HOST, HeaderValue::from_static("evil.example"));
        let mut two_origins = headers(&[host.clone(), local]);
        two_origins.append(ORIGIN, HeaderValue::from_static("https://evil.example"));
        let no_text = headers(&[host, (ORIGIN, b"https://evil.\xff".as_slice())]);
        for refused in [HeaderMap::new(), two_hosts, two_origins, no_text] {
            assert!(check_origin(&refused, false).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn keys() {
        let with = |value: &'static str| [(AUTHORIZATION, value.parse().unwrap())].into_iter().collect::<HeaderMap>();
        assert!(check_key(&with("bearer  k"), Some("k")).is_ok() && check_key(&HeaderMap::new(), None).is_ok());
        for wrong in [with("k"), with("Basic k"), with("Bearer kk"), HeaderMap::new()] {
            assert!(check_key(&wrong, Some("k")).is_err(), "{wrong:?}");
        }
    }
}
