//! Facts about the project for the page, and the names of its files for completion.
//!
//! Architecture invariant: this module reads no file contents. Names come from the listing of the workspace, without
//! ignored and blocked files.

use super::ApiState;
use super::answer::Trouble;
use super::types::{Files, ProjectOverview, TokenPrice};
use axum::extract::FromRequestParts;
use hyper::http::request::Parts;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use toolfence_protocol::text;
use toolfence_workspace::Workspace;

#[cfg(test)]
use schemars::JsonSchema;

/// The time limit for asking git for the branch, and the most bytes of its output.
const GIT_LIMIT: Duration = Duration::from_secs(2);
const MOST_OF_BRANCH: u64 = 1000;

/// Paths that a completion returns.
const MOST_FILES: usize = 50;

/// The model that answers if a request names no persona. Unknown facts are `None`.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelFacts {
    /// Its name.
    pub name: Option<String>,
    /// The base URL of its server.
    pub server: Option<String>,
    /// The size of its context window in tokens, if the settings specify one.
    pub window: Option<u64>,
    /// The price of a million tokens: of input, of cached input, and of output.
    pub price: Option<[f64; 3]>,
}

/// The query of a completion.
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Prefix {
    /// The beginning of a path relative to the folder of the project.
    prefix: String,
}

impl<S: Sync> FromRequestParts<S> for Prefix {
    type Rejection = Trouble;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Prefix, Trouble> {
        let mut prefix = String::new();
        for pair in head.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("prefix", value)) => {
                    let decoded = percent_decoded(value);
                    prefix = decoded.ok_or_else(|| Trouble::field("prefix", text!("Expected a string.")))?;
                }
                _ => {
                    let name: String = pair.chars().take(100).take_while(|c| *c != '=').collect();
                    return Err(Trouble::field(name, text!("There is no field with this name.")));
                }
            }
        }
        Ok(Prefix { prefix })
    }
}

/// A value of a query as a browser's `encodeURIComponent` writes it; `None` if it is not UTF-8.
fn percent_decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut parts = value.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        // The check of the digits is needed because `from_str_radix` also accepts a sign.
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

/// Describes the project.
pub(super) async fn overview(shared: &Arc<ApiState>) -> Result<ProjectOverview, Trouble> {
    let agents = shared.agents.clone();
    blocking(move || {
        let (workspace, model) = (agents.workspace(), agents.model());
        ProjectOverview {
            folder: workspace.root_path().to_string_lossy().into_owned(),
            branch: branch(&workspace),
            model: model.name,
            server: model.server.as_deref().map(without_password),
            window: model.window,
            price: model.price.map(|[input, cached, output]| TokenPrice { input, cached, output }),
        }
    })
    .await
}

/// Lists the paths that begin with a prefix.
pub(super) async fn files(shared: &Arc<ApiState>, wanted: Prefix) -> Result<Files, Trouble> {
    let workspace = shared.agents.workspace();
    blocking(move || {
        let mut files = workspace.files().complete(&wanted.prefix);
        files.truncate(MOST_FILES);
        Files { files }
    })
    .await
}

/// Removes the user name, the password and the query from a URL: the query may hold a key.
fn without_password(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // A password may contain an `@`, so the host follows the last one.
    format!("{scheme}://{}{path}", host.rsplit('@').next().unwrap_or(host))
}

/// Returns the branch that is checked out in the folder of the project.
fn branch(workspace: &Workspace) -> Option<String> {
    let git = workspace.root().programs().git()?;
    let ask = ["symbolic-ref", "--quiet", "--short", "HEAD"];
    let printed = git.ask(workspace.root_path(), &ask, &[], GIT_LIMIT, MOST_OF_BRANCH).ok()?;
    let name = String::from_utf8_lossy(&printed).trim().to_owned();
    Some(name).filter(|name| !name.is_empty())
}

/// Runs work on files on a thread that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Trouble> {
    spawn_blocking(work)
        .await
        .map_err(|_| Trouble::new(500, "internal", text!("The server could not answer; its own output may say why.")))
}

#[cfg(test)]
mod tests {
    use super::{percent_decoded, without_password};

    #[test]
    fn urls_are_shown_without_passwords() {
        assert_eq!(without_password("https://me:secret@host.example:1/v1/@x"), "https://host.example:1/v1/@x");
        assert_eq!(without_password("command:model"), "command:model");
    }

    #[test]
    fn values_of_a_query_are_decoded() {
        for (value, text) in [("src/ma", Some("src/ma")), ("a%20b%2F%C3%A9+", Some("a b/é+")), ("", Some(""))] {
            assert_eq!(percent_decoded(value).as_deref(), text, "{value}");
        }
        for broken in ["%", "%2", "%zz", "%+1", "%é", "%ff"] {
            assert_eq!(percent_decoded(broken), None, "{broken}");
        }
    }
}
