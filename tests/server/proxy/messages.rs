//! Scripted clients of the Messages API: their requests, the answers that they need, and the requests to the upstream.

use super::support::*;
use serde_json::{Value, json};
use toolfence_protocol::parse::Reasoning;
use toolfence_server::proxy::ProxyOptions;

/// An answer that a client has collected from a stream.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Collected {
    pub(super) id: String,
    pub(super) content: Vec<Value>,
    pub(super) stop_reason: String,
    pub(super) usage: Value,
    pub(super) error: Option<Value>,
}

/// Collects a stream as a client does, and checks that each block begins and ends.
pub(super) fn collect(answer: &Answer) -> Collected {
    let mut got = Collected::default();
    let (mut open, mut json, mut is_over) = (false, String::new(), false);
    for (index, event) in named_events(answer).into_iter().enumerate() {
        assert!(!is_over && got.error.is_none(), "nothing follows the end: {event}");
        let kind = event["type"].as_str().unwrap();
        assert_eq!(kind == "message_start", index == 0, "{event}");
        match kind {
            "message_start" => got.id = event["message"]["id"].as_str().unwrap().to_owned(),
            "content_block_start" => {
                assert_eq!((open, &event["index"]), (false, &json!(got.content.len())));
                got.content.push(event["content_block"].clone());
                (open, json) = (true, String::new());
            }
            "content_block_delta" => {
                assert_eq!((open, &event["index"]), (true, &json!(got.content.len() - 1)));
                let (delta, block) = (&event["delta"], got.content.last_mut().unwrap());
                let (name, member) = match delta["type"].as_str().unwrap() {
                    "text_delta" => ("text", "text"),
                    "thinking_delta" => ("thinking", "thinking"),
                    _ => ("input", "partial_json"),
                };
                let more = delta[member].as_str().unwrap();
                if name == "input" {
                    json.push_str(more);
                } else {
                    block[name] = (block[name].as_str().unwrap().to_owned() + more).into();
                }
            }
            "content_block_stop" => {
                assert_eq!((open, &event["index"]), (true, &json!(got.content.len() - 1)));
                open = false;
                if !json.is_empty() {
                    got.content.last_mut().unwrap()["input"] = serde_json::from_str(&json).unwrap_or(json!(json));
                }
            }
            "message_delta" => {
                assert!(!open);
                got.stop_reason = event["delta"]["stop_reason"].as_str().unwrap().to_owned();
                got.usage = event["usage"].clone();
            }
            "message_stop" => is_over = true,
            "error" => got.error = Some(event["error"].clone()),
            kind => panic!("{kind}"),
        }
    }
    assert!(is_over || got.error.is_some());
    got
}

fn tool(name: &str, properties: &Value, required: &[&str]) -> Value {
    let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "properties": properties, "required": required, "additionalProperties": false});
    json!({"name": name, "description": format!("Does {name}."), "input_schema": schema})
}

/// Returns a request of an agent with tools, with all forms of instructions.
fn agent(messages: &Value) -> Value {
    let text = json!({"type": "string"});
    json!({
        "model": "m", "max_tokens": 32000, "stream": true, "thinking": {"type": "adaptive"}, "metadata": {"user_id": "u"},
        "context_management": {"edits": []}, "output_config": {"effort": "high"}, "messages": messages,
        "system": [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "Be brief."}],
        "tools": [
            tool("Read", &json!({"file_path": text, "offset": {"type": "integer"}}), &["file_path"]),
            tool("Bash", &json!({"command": text}), &["command"]),
            {"type": "web_search_20250305", "name": "web_search"},
        ],
    })
}

fn called(name: &str, args: &Value) -> String {
    format!("```tool\n{}\n```\n", json!({"name": name, "args": args}))
}

const PATH: &str = "/v1/messages?beta=true";

/// A whole turn of an agent that always streams and first probes the root path.
#[tokio::test]
async fn a_streaming_agent_gets_a_whole_turn() {
    let first = format!(
        "<think>hm</think>\n\nI look.\n\n{}{}",
        called("Read", &json!({"file_path": "a \"b\"", "offset": 2})),
        called("Bash", &json!({"command": "ls"}))
    );
    let stage = Stage::new(vec![reply(&first, 5, "stop"), reply("All done.", 4, "stop")]).await;
    let root = Answer::read(&mut stage.send("HEAD", "/", "", "").await).await;
    assert_eq!((root.status, root.body.as_str()), (200, ""));

    let mut messages = vec![
        json!({"role": "user", "content": [{"type": "text", "text": "env"}, {"type": "text", "text": "fix it", "cache_control": {"type": "ephemeral"}}]}),
        json!({"role": "system", "content": "In a sandbox."}),
    ];
    let got = collect(&stage.post(PATH, &agent(&json!(messages))).await);
    assert_eq!(got.content[0], json!({"type": "thinking", "thinking": "hm", "signature": ""}));
    assert_eq!(got.content[1], json!({"type": "text", "text": "I look."}));
    let (read, bash) = (&got.content[2], &got.content[3]);
    assert_eq!(
        (&read["type"], &read["name"], &read["input"]),
        (&json!("tool_use"), &json!("Read"), &json!({"file_path": "a \"b\"", "offset": 2}))
    );
    assert_eq!(bash["input"], json!({"command": "ls"}));
    assert!(read["id"].as_str().unwrap().starts_with("toolu_") && read["id"] != bash["id"]);
    assert_eq!(
        (got.stop_reason.as_str(), &got.usage["input_tokens"], &got.usage["output_tokens"]),
        ("tool_use", &json!(10), &json!(2))
    );

    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}});
    let results = json!([
        {"type": "tool_result", "tool_use_id": read["id"], "content": [{"type": "text", "text": "one"}, image], "cache_control": {"type": "ephemeral"}},
        {"type": "tool_result", "tool_use_id": bash["id"], "content": "no such file", "is_error": true},
    ]);
    messages.push(json!({"role": "assistant", "content": got.content}));
    messages.push(json!({"role": "user", "content": results}));
    let second = collect(&stage.post(PATH, &agent(&json!(messages))).await);
    assert_eq!((&second.content[0]["text"], second.stop_reason.as_str()), (&json!("All done."), "end_turn"));
    assert_ne!(second.id, got.id, "clients merge messages of one id");

    let asked = stage.requests();
    let mut keys: Vec<&String> = asked[1].as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["max_tokens", "messages", "model", "stream", "stream_options"]);
    let messages = asked[1]["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    let system = messages[0]["content"].as_str().unwrap();
    assert!(system.starts_with("You are an agent.\nBe brief.\n\nIn a sandbox.\n\n# Tools"), "{system}");
    assert!(!system.contains("web_search"), "{system}");
    assert_eq!(messages[1]["content"], "env\nfix it");
    let shown = messages[2]["content"].as_str().unwrap();
    assert!(shown.starts_with("I look.\n\n```tool\n") && !shown.contains("hm"), "{shown}");
    let parts = messages[3]["content"].as_array().unwrap();
    let results_text = parts[0]["text"].as_str().unwrap();
    assert!(
        results_text.contains("one\n[image]\n")
            && results_text.contains("no such file")
            && results_text.contains("\"success\":false"),
        "{results_text}"
    );
    assert_eq!(parts[1], json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}));
}

/// The client sends a small request without tools that requires a format of the answer.
#[tokio::test]
async fn a_required_answer_format_is_enforced_without_tools() {
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"], "additionalProperties": false});
    let request = json!({"model": "m", "max_tokens": 100, "stream": true, "tools": [], "system": "Give a title.",
        "messages": [{"role": "user", "content": "fix"}], "output_config": {"format": {"type": "json_schema", "schema": schema}}});
    let stage = Stage::new(vec![reply("<think>hm</think>\n\n```json\n{\"title\": \"Fix\"}\n```", 3, "stop")]).await;
    let mut got = collect(&stage.post(PATH, &request).await);
    assert_eq!(got.content.remove(0)["thinking"], "hm");
    assert_eq!(
        (&got.content, got.stop_reason.as_str()),
        (&vec![json!({"type": "text", "text": "{\"title\": \"Fix\"}"})], "end_turn")
    );
    let asked = stage.requests().remove(0);
    assert_eq!(asked["response_format"]["json_schema"]["schema"], schema);
    assert!(asked["messages"][0]["content"].as_str().unwrap().contains("Your whole reply is one JSON object"));
}

fn known(options: &mut ProxyOptions) {
    options.reasoning = Reasoning::Known;
}

/// After an error event, the client sends its request again without streaming. Then even a call that breaks in the
/// middle can be repaired.
#[tokio::test]
async fn a_call_that_broke_in_a_stream_is_repaired_without_streaming() {
    let broken = "```tool\n{\"name\": \"Bash\", \"args\": {\"command\": \"ls\" \"x\"]}\n```\n";
    let good = called("Bash", &json!({"command": "ls"}));
    let stage = Stage::with(vec![reply(broken, 3, "stop"), whole(broken, "stop"), whole(&good, "stop")], known).await;
    let mut request = agent(&json!([{"role": "user", "content": "go"}]));
    let got = collect(&stage.post(PATH, &request).await);
    let error = got.error.unwrap();
    assert_eq!((&error["type"], got.content.len()), (&json!("api_error"), 1));
    request["stream"] = json!(false);
    let got = stage.post(PATH, &request).await.json();
    assert_eq!(
        (&got["type"], &got["role"], &got["stop_reason"]),
        (&json!("message"), &json!("assistant"), &json!("tool_use"))
    );
    assert_eq!(got["content"][0]["input"], json!({"command": "ls"}));
    assert_eq!((&got["usage"]["input_tokens"], stage.requests().len()), (&json!(20), 3));
}

#[tokio::test]
async fn a_reply_that_is_cut_ends_its_blocks() {
    let cut = "So.\n```tool\n{\"name\": \"Bash\", \"args\": {\"command\": \"rm -r";
    let stage = Stage::with(vec![reply(cut, 3, "length")], known).await;
    let got = collect(&stage.post(PATH, &agent(&json!([{"role": "user", "content": "go"}]))).await);
    assert_eq!((got.stop_reason.as_str(), got.content.len()), ("max_tokens", 2));
}

/// The SDK's tool runner keeps its conversation on the server, unless this error code tells it to send the whole
/// conversation.
#[tokio::test]
async fn a_thread_is_refused_with_the_code_that_clients_know() {
    let stage = Stage::new(vec![whole("Yes.", "stop")]).await;
    let mut request = agent(&json!([{"role": "user", "content": "go"}]));
    request["stream"] = json!(false);
    for thread in [json!({"type": "create"}), json!({"type": "continue", "previous_message_id": "msg_1"})] {
        request["thread"] = thread;
        let answer = stage.post("/v1/messages", &request).await;
        let error = answer.json();
        assert_eq!(
            (answer.status, &error["type"], &error["error"]["type"]),
            (400, &json!("error"), &json!("invalid_request_error"))
        );
        assert_eq!(error["error"]["details"]["error_code"], "thread_unsupported_request");
        assert!(error["error"]["message"].as_str().unwrap().contains("Send all messages"), "{error}");
    }
    request["thread"] = Value::Null;
    assert_eq!(stage.post("/messages", &request).await.json()["content"][0]["text"], "Yes.");
    assert_eq!(stage.requests().len(), 1);
}

#[tokio::test]
async fn tokens_are_counted_without_the_model() {
    let stage = Stage::new(vec![whole("Yes.", "stop")]).await;
    let count = async |messages: Value| {
        let mut request = agent(&messages);
        request.as_object_mut().unwrap().remove("max_tokens");
        let answer = stage.post("/v1/messages/count_tokens", &request).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["input_tokens"].as_u64().unwrap()
    };
    let short = count(json!([{"role": "user", "content": "go"}])).await;
    let long = count(json!([{"role": "user", "content": "word ".repeat(4000)}])).await;
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(100_000)}});
    let image = count(json!([{"role": "user", "content": [image]}])).await;
    assert!(
        short > 200 && long - short > 4500 && long - short < 5500 && image - short < 2000,
        "{short} {long} {image}"
    );
    assert_eq!(stage.requests().len(), 0);
}

#[tokio::test]
async fn models_are_listed_in_the_form_of_the_api() {
    let list =
        "{\"object\": \"list\", \"data\": [{\"id\": \"a\", \"object\": \"model\", \"created\": 1}, {\"id\": \"b\"}]}";
    let stage = Stage::new(vec![answer("200 OK", "application/json", list)]).await;
    let headers = "anthropic-version: 2023-06-01\r\nx-api-key: k\r\n";
    let got = Answer::read(&mut stage.send("GET", "/v1/models?limit=20", headers, "").await).await.json();
    assert_eq!((&got["data"][1]["type"], &got["data"][1]["display_name"]), (&json!("model"), &json!("b")));
    assert_eq!((&got["first_id"], &got["last_id"], &got["has_more"]), (&json!("a"), &json!("b"), &json!(false)));
    let (head, _) = stage.seen.lock().unwrap().requests.remove(0);
    assert_eq!((header(&head, "authorization").as_deref(), header(&head, "x-api-key")), (Some("Bearer k"), None));
    assert!(head.starts_with("GET /v1/models HTTP"), "{head}");
    // Other clients get the upstream's list unchanged.
    let plain = Answer::read(&mut stage.send("GET", "/models", "", "").await).await;
    assert_eq!(plain.body, list);
}

#[tokio::test]
async fn errors_have_the_form_of_the_api() {
    let stage = Stage::with(vec![whole("Yes.", "stop")], |options| options.key = Some("secret".into())).await;
    let request = agent(&json!([{"role": "user", "content": "go"}])).to_string();
    let json = "content-type: application/json\r\n";
    for (headers, path, body, status, kind) in [
        (json.to_owned(), PATH, request.as_str(), 401, "authentication_error"),
        (format!("{json}x-api-key: secret\r\n"), PATH, "{", 400, "invalid_request_error"),
        (format!("{json}x-api-key: secret\r\n"), PATH, "{\"model\": \"m\"}", 400, "invalid_request_error"),
        (format!("{json}x-api-key: secret\r\nhost: evil.example\r\n"), PATH, request.as_str(), 403, "permission_error"),
        ("x-api-key: secret\r\n".to_owned(), PATH, request.as_str(), 415, "invalid_request_error"),
        (format!("{json}x-api-key: secret\r\nanthropic-version: 1\r\n"), "/v1/files", "", 404, "not_found_error"),
    ] {
        let answer = Answer::read(&mut stage.send("POST", path, &headers, body).await).await;
        assert_eq!((answer.status, answer.json()["error"]["type"].as_str()), (status, Some(kind)), "{}", answer.body);
        assert_eq!(answer.json()["type"], "error");
    }
    let headers = format!("{json}x-api-key: secret\r\n");
    let answer = Answer::read(&mut stage.send("POST", PATH, &headers, &request).await).await;
    assert_eq!(answer.status, 200);
    let (head, _) = stage.seen.lock().unwrap().requests.remove(0);
    assert_eq!((header(&head, "authorization"), header(&head, "x-api-key")), (None, None), "its key goes no further");
    // Refusals of the upstream are converted to the form of this API.
    for (upstream, status, kind) in [
        ("429 Too Many Requests", 429, "rate_limit_error"),
        ("400 Bad Request", 400, "invalid_request_error"),
        ("503 Busy", 503, "overloaded_error"),
    ] {
        let stage = Stage::new(vec![super::support::answer(
            upstream,
            "application/json",
            "{\"error\": {\"message\": \"slow down\"}}",
        )])
        .await;
        let answer = stage.post(PATH, &agent(&json!([{"role": "user", "content": "go"}]))).await;
        assert_eq!((answer.status, answer.json()["error"]["type"].as_str()), (status, Some(kind)), "{}", answer.body);
        assert!(answer.error().contains("slow down"), "{}", answer.body);
        assert_eq!(header(&answer.head, "x-should-retry").is_some(), status == 400);
    }
}

#[tokio::test]
async fn the_choice_of_tools_becomes_instructions_in_this_api_too() {
    for (choice, has, has_not) in [
        (json!({"type": "any"}), "must call a tool", "only one call"),
        (
            json!({"type": "tool", "name": "Bash", "disable_parallel_tool_use": true}),
            "must call the tool `Bash`",
            "`Read(",
        ),
        (json!({"type": "auto", "disable_parallel_tool_use": true}), "only one call a reply", "must call"),
    ] {
        let stage = Stage::new(vec![whole("No.", "stop")]).await;
        let mut request = agent(&json!([{"role": "user", "content": "go"}]));
        (request["tool_choice"], request["stream"]) = (choice, json!(false));
        stage.post(PATH, &request).await;
        let system = stage.requests()[0]["messages"][0]["content"].as_str().unwrap().to_owned();
        assert!(system.contains(has) && !system.contains(has_not), "{system}");
    }
    let stage = Stage::new(vec![whole("```tool\n{}\n```\n", "stop")]).await;
    let mut request = agent(&json!([{"role": "user", "content": "go"}]));
    (request["tool_choice"], request["stream"]) = (json!({"type": "none"}), json!(false));
    let got = stage.post(PATH, &request).await.json();
    assert_eq!(got["content"], json!([{"type": "text", "text": "```tool\n{}\n```\n"}]));
}

/// Reading deeply nested blocks must not cost more than the request itself.
#[tokio::test]
async fn nested_blocks_cost_no_more_than_the_request() {
    let nested = |kind: &str, depth: usize| {
        let open =
            format!("[{{\"type\":\"{kind}\",\"tool_use_id\":\"1\",\"source\":\"s\",\"title\":\"t\",\"content\":");
        format!("{}\"x\"{}", open.repeat(depth), "}]".repeat(depth))
    };
    let stage = Stage::new(vec![whole("Yes.", "stop")]).await;
    for kind in ["tool_result", "search_result", "other"] {
        for depth in [3, 100_000] {
            let body =
                format!("{{\"model\":\"m\",\"messages\":[{{\"role\":\"user\",\"content\":{}}}]}}", nested(kind, depth));
            let headers = "content-type: application/json\r\n";
            let answer = Answer::read(&mut stage.send("POST", PATH, headers, &body).await).await;
            assert!(matches!(answer.status, 200 | 400), "{kind}: {}", answer.body);
        }
    }
}
