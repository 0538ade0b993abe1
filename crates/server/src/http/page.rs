//! The page: files that are compiled into the program. They hold no secrets, so they need no token.
//!
//! A browser runs only these scripts, whatever the output of a model, a tool or a file contains.

use super::answer::with_headers;
use axum::body::Body;
use axum::response::Response;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};

/// The files: path, content type and content.
const FILES: [(&str, &str, &str); 12] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
    ("/markdown.js", "text/javascript; charset=utf-8", include_str!("page/markdown.js")),
    ("/calls.js", "text/javascript; charset=utf-8", include_str!("page/calls.js")),
    ("/composer.js", "text/javascript; charset=utf-8", include_str!("page/composer.js")),
    ("/diff.js", "text/javascript; charset=utf-8", include_str!("page/diff.js")),
    ("/question.js", "text/javascript; charset=utf-8", include_str!("page/question.js")),
    ("/sessions.js", "text/javascript; charset=utf-8", include_str!("page/sessions.js")),
    ("/nodes.js", "text/javascript; charset=utf-8", include_str!("page/nodes.js")),
    ("/server.js", "text/javascript; charset=utf-8", include_str!("page/server.js")),
    ("/words.js", "text/javascript; charset=utf-8", include_str!("page/words.js")),
];

/// The page may load its own files and send requests to this server. Only HTML that the server renders becomes HTML,
/// and no string becomes a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types markdown";

/// Returns the file at a path.
pub(super) fn file(path: &str) -> Option<Response> {
    let (_, kind, text) = FILES.iter().find(|(known, _, _)| *known == path)?;
    let mut answer = with_headers(200, kind, Body::from(*text));
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    Some(answer)
}

#[cfg(test)]
mod tests {
    use toolfence_protocol::invisible;

    /// The page has its own copy, in JavaScript, of the protocol's table of invisible characters.
    #[test]
    fn the_page_writes_out_what_cannot_be_seen() {
        let script = include_str!("page/nodes.js");
        let class = script.split("new RegExp(\"[").nth(1).and_then(|rest| rest.split("]\", \"gu\")").next()).unwrap();
        let class = class.replace("\" +\n  \"", "");
        let code = |text: &str| u32::from_str_radix(text.trim_matches(['{', '}']), 16).unwrap();
        let mut written = Vec::new();
        let mut ends = class.split("\\\\u").skip(1);
        while let Some(first) = ends.next() {
            let last = if first.ends_with('-') { ends.next().unwrap() } else { first };
            written.push(code(first.trim_end_matches('-'))..=code(last));
        }
        assert!(written.len() > 15, "{written:?}");
        for c in '\0'..=char::MAX {
            let unseen = invisible::kind(c).is_some() || c.is_control() && !matches!(c, '\t' | '\n');
            let is_written = written.iter().any(|range| range.contains(&u32::from(c)));
            assert_eq!(is_written, unseen, "U+{:04X}", u32::from(c));
        }
    }
}
