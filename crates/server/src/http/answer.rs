//! The JSON form of all answers: `{success, message, data, error}`.

use super::types::{Done, Failure, Is, Refusal};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use serde::Serialize;
use toolfence_protocol::{Language, Text, text};

/// The reason why a request fails.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trouble {
    pub(super) status: u16,
    code: &'static str,
    /// The field of the request that is wrong.
    field: Option<String>,
    message: Text,
}

impl Trouble {
    pub(super) fn new(status: u16, code: &'static str, message: Text) -> Trouble {
        Trouble { status, code, field: None, message }
    }

    /// Reports a field of the request that is wrong.
    pub(super) fn field(field: impl Into<String>, message: Text) -> Trouble {
        Trouble { field: Some(field.into()), ..Trouble::new(400, "invalid_argument", message) }
    }

    pub(super) fn forbidden(message: Text) -> Trouble {
        Trouble::new(403, "forbidden", message)
    }

    pub(super) fn unauthorized() -> Trouble {
        Trouble::new(
            401,
            "unauthorized",
            text!("This server needs its token: send the header Authorization: Bearer TOKEN."),
        )
    }

    pub(super) fn not_found(message: Text) -> Trouble {
        Trouble::new(404, "not_found", message)
    }

    pub(super) fn response(&self, language: Language) -> Response {
        let message = self.message.render(language);
        let error = Failure { code: self.code.into(), field: self.field.clone(), message: message.clone() };
        let mut response = json_response(self.status, &Refusal { success: Is, message, data: (), error });
        if self.status == 503 {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Returns an empty answer that carries the [`Trouble`]. The router replaces it, because only the router knows the
/// language to [write it](Trouble::response) in.
impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let mut answer = with_headers(self.status, "text/plain", Body::empty());
        answer.extensions_mut().insert(self);
        answer
    }
}

/// Returns the answer to a request that succeeded.
pub(super) fn success<T: Serialize>(message: &Text, data: T, language: Language) -> Response {
    json_response(200, &Done { success: Is, message: message.render(language), data, error: () })
}

/// Returns a complete JSON answer.
pub(super) fn json_response(status: u16, value: &impl Serialize) -> Response {
    // Serialization fails only for a map key that is not a string, and no type here has one.
    let (status, json) = serde_json::to_string(value).map_or((500, String::new()), |json| (status, json));
    text(status, "application/json", json)
}

/// Returns a complete answer.
pub(super) fn text(status: u16, kind: &'static str, text: impl Into<Body>) -> Response {
    with_headers(status, kind, text.into())
}

/// Returns an answer with headers that keep it from other sites and from caches, and that forbid scripts in it.
pub(super) fn with_headers(status: u16, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    );
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}
