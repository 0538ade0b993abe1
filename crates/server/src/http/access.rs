//! Who may ask: the token, the cookie that a page gets for it, and pages of others, which must not.
//!
//! A page of any site can send requests to this machine, and a name that the site owns can point there (DNS rebinding). So the name
//! that a request was sent to has to be one of this server's own, a request of a page has to come from a page of this server, and
//! what changes something has to be JSON, which a form cannot send. A cookie alone opens nothing: browsers send it to every port of a
//! machine, so whoever listens on another one gets it. With it goes a key that the page stores, which browsers keep for one port alone.

use super::answer::Trouble;
use super::{ApiOptions, random_token};
use crate::headers::{bearer, is_json, is_loopback, name_of, named_origin, same};
use hyper::header::{COOKIE, HOST, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use std::net::{IpAddr, SocketAddr};
use toolfence_protocol::{Error, text};

/// The header in which a page sends its key.
const PAGE_KEY: &str = "x-page-key";

/// What clients are asked for.
pub(super) struct Access {
    token: String,
    /// The value of the cookie, which is not the token and ends with the server.
    secret: String,
    /// What a page sends with the cookie, as a header: neither is worth anything without the other.
    page_key: String,
    /// The name of the cookie. Browsers keep one jar for all ports of a machine.
    cookie: String,
    hosts: Vec<String>,
    origins: Vec<String>,
    loopback: bool,
}

impl Access {
    /// # Errors
    /// The system gives no random numbers.
    pub(super) fn new(options: &ApiOptions, address: SocketAddr) -> Result<Access, Error> {
        Ok(Access {
            token: options.token.clone(),
            secret: random_token()?,
            page_key: random_token()?,
            cookie: format!("toolfence_{}", address.port()),
            hosts: options.hosts.clone(),
            origins: options.origins.clone(),
            loopback: address.ip().is_loopback(),
        })
    }

    /// The origin of a page of another server, if the host lets it use this one.
    pub(super) fn named_page(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        named_origin(headers, &self.origins)
    }

    /// Refuses what was sent to a name that is not this server's, or by a page that is not.
    pub(super) fn place(&self, head: &Parts) -> Result<(), Trouble> {
        let mut hosts = head.headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
        // A request line with a name of its own is for proxies, and two names are for nobody.
        if hosts.next().is_some() || head.uri.authority().is_some() || !self.is_ours(host) {
            return Err(Trouble::forbidden(text!(
                "The Host header is {host}, which is not a name of this server; use http://127.0.0.1 or localhost, or \
                 allow the name with --host",
                host = format!("{host:.100?}")
            )));
        }
        // What stands twice has to be right twice: something on the way may read the other one.
        let own_site = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
        let own_page = |origin: &HeaderValue| {
            let page = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
            page.is_some_and(|(scheme, page)| matches!(scheme, "http" | "https") && page.eq_ignore_ascii_case(host))
        };
        // A userscript manager sends requests under the origin of its extension, which no page can use.
        let by_extension = head.headers.contains_key(ORIGIN)
            && head.headers.get_all(ORIGIN).iter().all(is_extension)
            && bearer(&head.headers).is_some_and(|given| self.is_token(given));
        let ours = by_extension
            || self.named_page(&head.headers).is_some()
            || head.headers.get_all("sec-fetch-site").iter().all(own_site)
                && head.headers.get_all(ORIGIN).iter().all(own_page);
        if ours { Ok(()) } else { Err(Trouble::forbidden(text!("Requests from pages of another origin are refused."))) }
    }

    /// Whether a host, perhaps with a port, is this server. An address is never a name that somebody else owns.
    fn is_ours(&self, host: &str) -> bool {
        let Some(name) = name_of(host) else { return false };
        is_loopback(host)
            || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
            || (!self.loopback && name.parse::<IpAddr>().is_ok())
    }

    /// Refuses whoever has neither the token nor the cookie with its key.
    pub(super) fn key(&self, head: &Parts) -> Result<(), Trouble> {
        if let Some(given) = bearer(&head.headers) {
            return if self.is_token(given) { Ok(()) } else { Err(Trouble::unauthorized()) };
        }
        let pairs = head.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = pairs.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let has_cookie = pairs
            .filter(|(name, _)| *name == self.cookie)
            .any(|(_, value)| same(value.as_bytes(), self.secret.as_bytes()));
        let named = head.headers.contains_key(ORIGIN) || text(&head.headers, "sec-fetch-site") == Some("same-origin");
        let key = text(&head.headers, PAGE_KEY).unwrap_or_default();
        let has_key = same(key.as_bytes(), self.page_key.as_bytes());
        // The cookie is for the page of this server.
        let is_own = self.named_page(&head.headers).is_none();
        if is_own && has_cookie && has_key && (named || head.method == Method::GET) {
            return Ok(());
        }
        Err(Trouble::unauthorized())
    }

    /// Whether this is the token.
    pub(super) fn is_token(&self, given: &str) -> bool {
        same(given.as_bytes(), self.token.as_bytes())
    }

    /// What a page has to send with its cookie.
    pub(super) fn page_key(&self) -> &str {
        &self.page_key
    }

    /// The cookie for a page, which no script can read and no page of another site sends.
    pub(super) fn cookie(&self, headers: &HeaderMap) -> String {
        // Behind a reverse proxy the page was asked for with https.
        let secure = text(headers, "origin").is_some_and(|origin| origin.starts_with("https://"));
        let secure = if secure { "; Secure" } else { "" };
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie, self.secret)
    }
}

/// Returns `true` if this is the origin of a browser extension.
fn is_extension(origin: &HeaderValue) -> bool {
    const SCHEMES: [&[u8]; 3] = [b"chrome-extension://", b"moz-extension://", b"safari-web-extension://"];
    SCHEMES.iter().any(|scheme| origin.as_bytes().starts_with(scheme))
}

/// Refuses a body that is not JSON.
pub(super) fn json(headers: &HeaderMap) -> Result<(), Trouble> {
    match is_json(headers) {
        true => Ok(()),
        false => Err(Trouble::new(
            415,
            "unsupported_media_type",
            text!("Send the body as JSON, with the header Content-Type: application/json."),
        )),
    }
}

/// A header that is there once and is text.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
