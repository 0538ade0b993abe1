//! Access control: the token, the cookie that a page gets in exchange for it, and the checks against foreign pages.
//!
//! A page of any site can send requests to this machine, and a name that the site owns can point there (DNS rebinding).
//! So the Host header must be a name of this server, a request of a page must come from a page of this server, and a
//! request that changes something must be JSON, which a form cannot send. The cookie alone gives no access: browsers
//! send it to every port of a machine, so a program that listens on another port receives it. The page also sends a key
//! from its local storage, which browsers keep per port.

use super::answer::Trouble;
use super::{ApiOptions, random_token};
use crate::headers::{bearer, equal_bytes, host_name, is_json, is_loopback, named_origin};
use hyper::header::{COOKIE, HOST, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use std::net::{IpAddr, SocketAddr};
use toolfence_protocol::{Error, text};

/// The header in which a page sends its key.
const PAGE_KEY: &str = "x-page-key";

/// The credentials and host names that requests are checked against.
pub(super) struct Access {
    token: String,
    /// The value of the cookie. It is not the token, and is valid until the server ends.
    secret: String,
    /// The header value that a page sends with the cookie. Neither is accepted without the other.
    page_key: String,
    /// The name of the cookie. It has the port in it, because browsers share cookies between all ports of a machine.
    cookie: String,
    hosts: Vec<String>,
    origins: Vec<String>,
    loopback: bool,
}

impl Access {
    /// # Errors
    /// Fails if the operating system provides no random numbers.
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

    /// Returns the origin of a page of another server if the options allow that origin.
    pub(super) fn named_page(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        named_origin(headers, &self.origins)
    }

    /// Refuses a request to a foreign host name or from a foreign page.
    pub(super) fn check_origin(&self, head: &Parts) -> Result<(), Trouble> {
        let mut hosts = head.headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
        // A request line with a host name is meant for a proxy, and two Host headers are ambiguous.
        if hosts.next().is_some() || head.uri.authority().is_some() || !self.is_ours(host) {
            return Err(Trouble::forbidden(text!(
                "The Host header is {host}, which is not a name of this server; use http://127.0.0.1 or localhost, or \
                 allow the name with --host",
                host = format!("{host:.100?}")
            )));
        }
        // Check every occurrence of a repeated header: a reverse proxy may read a different one.
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

    /// Returns `true` if a host with an optional port is this server. An IP address is safe: DNS rebinding needs a
    /// name.
    fn is_ours(&self, host: &str) -> bool {
        let Some(name) = host_name(host) else { return false };
        is_loopback(host)
            || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
            || (!self.loopback && name.parse::<IpAddr>().is_ok())
    }

    /// Refuses a request with neither the token nor the cookie and its page key.
    pub(super) fn check_key(&self, head: &Parts) -> Result<(), Trouble> {
        if let Some(given) = bearer(&head.headers) {
            return if self.is_token(given) { Ok(()) } else { Err(Trouble::unauthorized()) };
        }
        let pairs = head.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = pairs.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let has_cookie = pairs
            .filter(|(name, _)| *name == self.cookie)
            .any(|(_, value)| equal_bytes(value.as_bytes(), self.secret.as_bytes()));
        // Browsers name the page in every POST request, and `check_origin` has compared that name. GET changes nothing.
        let named =
            head.headers.contains_key(ORIGIN) || header_text(&head.headers, "sec-fetch-site") == Some("same-origin");
        let key = header_text(&head.headers, PAGE_KEY).unwrap_or_default();
        let has_key = equal_bytes(key.as_bytes(), self.page_key.as_bytes());
        // Only this server's own page may use the cookie.
        let is_own = self.named_page(&head.headers).is_none();
        if is_own && has_cookie && has_key && (named || head.method == Method::GET) {
            return Ok(());
        }
        Err(Trouble::unauthorized())
    }

    /// Returns `true` if `given` is the token.
    pub(super) fn is_token(&self, given: &str) -> bool {
        equal_bytes(given.as_bytes(), self.token.as_bytes())
    }

    /// Returns the key that a page must send with its cookie.
    pub(super) fn page_key(&self) -> &str {
        &self.page_key
    }

    /// Returns the Set-Cookie value for a page. Scripts cannot read the cookie, and pages of other sites do not send
    /// it.
    pub(super) fn cookie(&self, headers: &HeaderMap) -> String {
        // A reverse proxy may serve the page over https.
        let secure = header_text(headers, "origin").is_some_and(|origin| origin.starts_with("https://"));
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
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), Trouble> {
    match is_json(headers) {
        true => Ok(()),
        false => Err(Trouble::new(
            415,
            "unsupported_media_type",
            text!("Send the body as JSON, with the header Content-Type: application/json."),
        )),
    }
}

/// Returns the first value of a header, if it is text.
pub(super) fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
