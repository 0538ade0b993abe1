//! The page: files that are part of the program, the same for everybody, so they want no token.
//!
//! A browser runs the scripts that are here and nothing else, whatever a model, a tool or a file says.

use super::answer::with_headers;
use crate::body::Body;
use hyper::Response;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};

/// The files by their paths, with their kinds.
const FILES: [(&str, &str, &str); 6] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
    ("/markdown.js", "text/javascript; charset=utf-8", include_str!("page/markdown.js")),
    ("/nodes.js", "text/javascript; charset=utf-8", include_str!("page/nodes.js")),
    ("/words.js", "text/javascript; charset=utf-8", include_str!("page/words.js")),
];

/// What the page may do: load its own files, and ask this server. No string becomes HTML or a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The file at a path, if one is there.
pub(super) fn file(path: &str) -> Option<Response<Body>> {
    let (_, kind, text) = FILES.iter().find(|(known, _, _)| *known == path)?;
    let mut answer = with_headers(200, kind, Body::from(*text));
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    Some(answer)
}
