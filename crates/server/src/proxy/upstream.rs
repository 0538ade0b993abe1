//! Sends requests to the upstream, with headers and time limits.
//!
//! This module does not handle tools.

use super::ProxyOptions;
use super::guard::API_KEY;
use super::trouble::Trouble;
use hyper::HeaderMap;
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use reqwest::{Client, Response, Url};
use std::time::Duration;
use tokio::time::timeout;
use toolfence_agent::http::Route;
use toolfence_protocol::{Error, ErrorKind, Text, text};

/// Headers of a connection, which are not forwarded (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [HeaderName; 7] =
    [CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// The server of the model.
#[derive(Debug)]
pub(super) struct Upstream {
    client: Client,
    /// Its path ends without a slash.
    base: Url,
    /// The key that replaces the client's.
    key: Option<HeaderValue>,
    /// Whether the client's key is for the proxy and is not forwarded.
    keeps_key: bool,
    /// Headers of every request, which replace those of the client.
    more: HeaderMap,
    first_byte: Duration,
    between: Duration,
}

impl Upstream {
    pub(super) fn new(options: &ProxyOptions) -> Result<Upstream, Error> {
        let wrong = |why: Text| {
            let upstream = format!("{:?}", options.upstream);
            Error::with_kind(
                ErrorKind::InvalidInput,
                text!("The upstream {upstream} is not a server's URL: {why}", upstream, why),
            )
        };
        let url = options.upstream.parse::<Url>().map_err(|error| wrong(error.to_string().into()))?;
        if !matches!(url.scheme(), "http" | "https") || url.query().is_some() {
            return Err(wrong(text!("it begins with http:// or https:// and has no query")));
        }
        let mut base = url.clone();
        base.set_fragment(None);
        let path = if url.path() == "/" { "/v1" } else { url.path().trim_end_matches('/') };
        base.set_path(path);
        let route = Route {
            connect: Some(options.connect),
            proxy: options.proxy.clone(),
            authorities: options.authorities.clone(),
            identity: options.identity.clone(),
        };
        let client = toolfence_agent::http::client(&base, &route)?;
        let key = options.upstream_key.as_ref().map(|key| HeaderValue::from_str(&format!("Bearer {key}")));
        let mut key = key.transpose().map_err(|error| Error::because("send the upstream's key", error))?;
        // Sensitive values are left out of debug output.
        key.iter_mut().for_each(|key| key.set_sensitive(true));
        let (keeps_key, more) = (options.key.is_some(), more(&options.headers)?);
        Ok(Upstream { client, base, key, keeps_key, more, first_byte: options.first_byte, between: options.between })
    }

    /// Returns the URL of these segments below the base. The segments must not be percent-encoded. Returns `None` if
    /// the URL would not be below the base with exactly these segments.
    ///
    /// A URL parser treats `%2e%2e` as `..`, and a server may decode once more. So the URL is built from decoded
    /// segments and then compared with them: every request carries the upstream's key.
    pub(super) fn url(&self, segments: &[&str], query: Option<&str>) -> Option<Url> {
        let leads_away = |segment: &&&str| matches!(**segment, "" | "." | "..") || segment.contains(['%', '\\']);
        if segments.is_empty() || segments.iter().any(|segment| leads_away(&segment)) {
            return None;
        }
        let mut url = self.base.clone();
        url.path_segments_mut().ok()?.extend(segments);
        url.set_query(query);
        let below = url.path().strip_prefix(self.base.path().trim_end_matches('/'))?.strip_prefix('/')?;
        let same = below.split('/').count() == segments.len();
        let there =
            (url.scheme(), url.host_str(), url.port()) == (self.base.scheme(), self.base.host_str(), self.base.port());
        (same && there).then_some(url)
    }

    /// Sends a request, and returns the answer as soon as it begins.
    pub(super) async fn send(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<Response, Trouble> {
        let request = self.client.request(method, url).headers(headers).body(reqwest::Body::from(body.into()));
        match timeout(self.first_byte, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_timeout() => Err(Trouble::upstream(
                504,
                text!("The upstream was not reached in time{causes}", causes = causes(&error)),
            )),
            Ok(Err(error)) => {
                Err(Trouble::upstream(502, text!("The upstream cannot be reached{causes}", causes = causes(&error))))
            }
            Err(_) => Err(Trouble::upstream(
                504,
                text!("The upstream did not answer within {time}", time = format!("{:?}", self.first_byte)),
            )),
        }
    }

    /// Returns the next piece of an answer; `None` at its end.
    pub(super) async fn next(&self, response: &mut Response) -> Result<Option<Bytes>, Trouble> {
        match timeout(self.between, response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => Err(Trouble::upstream(
                502,
                text!("The upstream closed the connection{causes}", causes = causes(&error)),
            )),
            Err(_) => Err(Trouble::upstream(
                504,
                text!("The upstream sent nothing for {time}", time = format!("{:?}", self.between)),
            )),
        }
    }

    /// Reads a whole answer of at most `most` bytes.
    pub(super) async fn read_all(&self, mut response: Response, most: usize) -> Result<Vec<u8>, Trouble> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next(&mut response).await? {
            if whole.len() + bytes.len() > most {
                return Err(Trouble::upstream(
                    502,
                    text!("The upstream's answer is longer than {limit} bytes", limit = most as u64),
                ));
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole)
    }

    /// Returns the headers of the client's request as they are forwarded.
    pub(super) fn headers(&self, headers: &HeaderMap) -> HeaderMap {
        let mut on = end_to_end(headers);
        // These describe the connection to the proxy and the body before its translation.
        [HOST, CONTENT_LENGTH, EXPECT].iter().for_each(|name| while on.remove(name).is_some() {});
        if self.keeps_key {
            on.remove(AUTHORIZATION);
            on.remove(API_KEY);
        }
        if let Some(key) = self.key.as_ref().filter(|_| !on.contains_key(AUTHORIZATION)) {
            on.insert(AUTHORIZATION, key.clone());
        }
        for (name, value) in &self.more {
            on.insert(name, value.clone());
        }
        on
    }

    /// Returns the headers of a request whose answer the proxy reads: uncompressed JSON.
    pub(super) fn headers_to_read(&self, headers: &HeaderMap) -> HeaderMap {
        let mut on = self.headers(headers);
        on.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        on.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        on
    }
}

/// Parses the additional headers of the host.
fn more(headers: &[(String, String)]) -> Result<HeaderMap, Error> {
    let header = |(name, value): &(String, String)| {
        let wrong = || {
            Error::with_kind(
                ErrorKind::InvalidInput,
                text!(
                    "The header {name} cannot be sent: its name or its value has a forbidden character, or it controls \
                     how the request is sent.",
                    name = format!("{name:?}")
                ),
            )
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        // These determine where a request ends and which host it is for.
        if HOP_BY_HOP.contains(&name) || matches!(name, HOST | CONTENT_LENGTH | EXPECT) {
            return Err(wrong());
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    headers.iter().map(header).collect()
}

/// Removes the headers of the connection.
pub(super) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut named: Vec<String> = vec!["keep-alive".into(), "proxy-connection".into()];
    for value in headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok()) {
        named.extend(value.split(',').map(|name| name.trim().to_ascii_lowercase()));
    }
    let of_message =
        |name: &HeaderName| !HOP_BY_HOP.contains(name) && !named.iter().any(|known| known == name.as_str());
    headers.iter().filter(|(name, _)| of_message(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the causes of an error, each after a colon; `reqwest` displays only the first. The error itself is left out:
/// it names the URL, which may hold a password.
fn causes(error: &reqwest::Error) -> String {
    toolfence_agent::http::causes(error).skip(1).fold(String::new(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn connection_headers_are_not_forwarded() {
        let got = end_to_end(&map(&[
            ("connection", "x-own, close"),
            ("keep-alive", "5"),
            ("x-own", "1"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("x-request-id", "7"),
        ]));
        assert_eq!(got, map(&[("x-request-id", "7")]));
    }

    #[test]
    fn the_upstream_receives_the_right_key() {
        let sent = map(&[("authorization", "Bearer client"), ("host", "here"), ("content-length", "3")]);
        for (key, upstream_key, wanted) in [
            (None, None, Some("Bearer client")),
            (None, Some("up"), Some("Bearer client")),
            (Some("client"), Some("up"), Some("Bearer up")),
            (Some("client"), None, None),
        ] {
            let mut options = ProxyOptions::new("http://127.0.0.1:1");
            (options.key, options.upstream_key) = (key.map(str::to_owned), upstream_key.map(str::to_owned));
            let upstream = Upstream::new(&options).unwrap();
            assert_eq!(upstream.base.as_str(), "http://127.0.0.1:1/v1");
            let got = upstream.headers(&sent);
            assert_eq!(got.get(AUTHORIZATION).map(|value| value.to_str().unwrap()), wanted);
            assert!(!got.contains_key(HOST) && !got.contains_key(CONTENT_LENGTH));
        }
        for wrong in ["", "127.0.0.1:80", "ftp://x/", "http://x/v1?a=b", "/v1"] {
            assert!(Upstream::new(&ProxyOptions::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn headers_of_the_host_go_before_those_of_the_client() {
        let mut options = ProxyOptions::new("http://127.0.0.1:1");
        options.upstream_key = Some("up".to_owned());
        options.headers = vec![("X-Tenant".to_owned(), "blue".to_owned())];
        let got = Upstream::new(&options).unwrap().headers(&map(&[("x-tenant", "red"), ("x-other", "1")]));
        assert_eq!(got, map(&[("x-tenant", "blue"), ("x-other", "1"), ("authorization", "Bearer up")]));
        for (name, value) in [("Host", "x"), ("transfer-encoding", "chunked"), ("a b", ""), ("x", "a\nb")] {
            options.headers = vec![(name.to_owned(), value.to_owned())];
            let error = Upstream::new(&options).unwrap_err().to_string();
            assert!(error.contains("cannot be sent"), "{name}: {error}");
        }
    }

    #[test]
    fn a_url_stays_below_the_base() {
        for (base, segments, query, want) in [
            ("http://h:1/v1", &["models"][..], None, Some("http://h:1/v1/models")),
            ("http://h:1/v1/", &["models", "a"], Some("x=%2e%2e/&y"), Some("http://h:1/v1/models/a?x=%2e%2e/&y")),
            ("http://h:1", &["models", "org/a@b:c~-_."], None, Some("http://h:1/v1/models/org%2Fa@b:c~-_.")),
            ("http://u:p@h:1/x/y#z", &["chat", "completions"], Some(""), Some("http://u:p@h:1/x/y/chat/completions?")),
            ("http://h:1//", &["models"], None, Some("http://h:1/models")),
            ("http://h:1/v1", &["models", ".."], None, None),
            ("http://h:1/v1", &["models", "."], None, None),
            ("http://h:1/v1", &["models", "%2e%2e"], None, None),
            ("http://h:1/v1", &["models", ".%2E"], None, None),
            ("http://h:1/v1", &["models", "..\\.."], None, None),
            ("http://h:1/v1", &["models", ""], None, None),
            ("http://h:1/v1", &[], None, None),
        ] {
            let upstream = Upstream::new(&ProxyOptions::new(base)).unwrap();
            let got = upstream.url(segments, query);
            assert_eq!(got.as_ref().map(Url::as_str), want, "{base} {segments:?}");
        }
    }
}
