//! Reads and writes the JSON-RPC 2.0 messages of MCP, one per line. This module knows no methods except `ping`.

use serde_json::{Value, json};

/// The error code for an unknown method (JSON-RPC 2.0, section 5.1).
const METHOD_NOT_FOUND: i64 = -32601;
/// The maximum number of messages in one line. The version 2025-03-26 of MCP permits a batch of messages in a line.
const MOST_OF_A_LINE: usize = 64;

/// A message from a server.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    /// The response to one of our requests, by its id.
    Answer(u64, Result<Value, Refused>),
    /// A request from the server, which expects a response.
    Request { id: Value, method: String },
    /// A notification from the server, which expects no response.
    Notification { method: String, params: Value },
}

/// The error with which the server refused a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// Parses the messages of a line; `None` if it is not JSON-RPC.
pub(crate) fn read(line: &[u8]) -> Option<Vec<Message>> {
    match serde_json::from_slice(line).ok()? {
        // An empty batch is invalid (JSON-RPC 2.0, section 6), and one bad message makes the whole line invalid.
        Value::Array(all) if !all.is_empty() && all.len() <= MOST_OF_A_LINE => all.into_iter().map(message).collect(),
        one => Some(vec![message(one)?]),
    }
}

fn message(message: Value) -> Option<Message> {
    let Value::Object(mut message) = message else { return None };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return None;
    }
    // The id of an error is null if the server could not read the id of the request (JSON-RPC 2.0, section 5).
    let id = message.remove("id").filter(|id| !id.is_null());
    if let Some(Value::String(method)) = message.remove("method") {
        return Some(match id {
            Some(id) => Message::Request { id, method },
            None => Message::Notification { method, params: message.remove("params").unwrap_or_default() },
        });
    }
    // A response with an unusable id gets the id 0, which no request has. Servers in JavaScript or Lua may write 3 as
    // 3.0.
    let whole = |id: &Value| id.as_f64().filter(|id| *id >= 0.0 && id.fract() == 0.0).map(|id| id as u64);
    let id = id.and_then(|id| id.as_u64().or_else(|| whole(&id))).unwrap_or(0);
    if let Some(error) = message.remove("error") {
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        let message = error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        return Some(Message::Answer(id, Err(Refused { code, message })));
    }
    Some(Message::Answer(id, Ok(message.remove("result")?)))
}

/// Formats a request as a line.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// Formats a notification as a line.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// Formats the response to a request from the server. Only `ping` is supported.
pub(crate) fn answer(id: &Value, method: &str) -> String {
    match method {
        "ping" => line(&json!({"jsonrpc": "2.0", "id": id, "result": {}})),
        _ => {
            let error = json!({"code": METHOD_NOT_FOUND, "message": "This client does not have this method."});
            line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
        }
    }
}

fn line(message: &Value) -> String {
    message.to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_message_is_read() {
        let one = |line: &str| read(line.as_bytes()).map(|mut all| all.remove(0));
        let answer = |id, result| Some(Message::Answer(id, result));
        assert_eq!(one(r#"{"jsonrpc":"2.0","id":3,"result":{"a":1}}"#), answer(3, Ok(json!({"a": 1}))));
        assert_eq!(one(r#"{"jsonrpc":"2.0","id":3.0,"result":1}"#), answer(3, Ok(json!(1))));
        assert_eq!(one(r#"{"jsonrpc":"2.0","id":3.5,"result":1}"#), answer(0, Ok(json!(1))));
        let refused = Refused { code: -32602, message: "no".into() };
        assert_eq!(one(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"no"}}"#), answer(4, Err(refused)));
        let request = Message::Request { id: json!("a"), method: "ping".into() };
        assert_eq!(one(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#), Some(request));
        let notification = Message::Notification { method: "x".into(), params: Value::Null };
        assert_eq!(one("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\r"), Some(notification));
        assert_eq!(read(br#"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","method":"x"}]"#).unwrap().len(), 2);
    }

    #[test]
    fn other_lines_are_no_messages() {
        let deep = "[".repeat(1 << 20);
        let many = format!("[{}]", vec![r#"{"jsonrpc":"2.0","id":1,"result":1}"#; 65].join(","));
        for line in
            ["", "Server listening on stdio", "{}", "[]", "1", "\u{fffd}", r#"{"jsonrpc":"2.0","id":1}"#, &deep, &many]
        {
            assert_eq!(read(line.as_bytes()), None, "{line:.40}");
        }
        assert_eq!(read(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}"), None);
    }

    #[test]
    fn only_a_ping_gets_a_result() {
        assert_eq!(answer(&json!("a"), "ping"), "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n");
        for method in ["roots/list", "sampling/createMessage", "elicitation/create"] {
            assert!(answer(&json!(1), method).contains("-32601"), "{method}");
        }
    }
}
