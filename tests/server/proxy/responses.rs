//! Scripted clients of the Responses API: their requests, the answers that they need, and the requests to the upstream.

use super::support::*;
use serde_json::{Value, json};

/// An answer that a client has collected, streamed or not.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Collected {
    pub(super) items: Vec<Value>,
    /// The deltas of texts and of arguments, joined.
    pub(super) text: String,
    pub(super) arguments: String,
    pub(super) response: Value,
}

/// Collects a stream as a client does that uses items and deltas, and checks that each item has all its events in
/// order.
pub(super) fn collect(answer: &Answer) -> Collected {
    let mut got = Collected::default();
    let mut open: Option<Value> = None;
    for (index, event) in named_events(answer).into_iter().enumerate() {
        assert_eq!(event["sequence_number"], index);
        assert_eq!(got.response, Value::Null, "nothing follows the end: {event}");
        let kind = event["type"].as_str().unwrap();
        match kind {
            "response.created" | "response.in_progress" => assert!(index < 2 && event["response"]["id"].is_string()),
            "response.output_item.added" => {
                assert_eq!((open.is_none(), &event["output_index"]), (true, &json!(got.items.len())));
                assert!(event["item"]["id"].is_string(), "{event}");
                open = Some(event["item"].clone());
            }
            "response.output_item.done" => {
                let opened = open.take().unwrap();
                assert_eq!((&opened["id"], &opened["type"]), (&event["item"]["id"], &event["item"]["type"]));
                got.items.push(event["item"].clone());
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let status = event["response"]["status"].as_str().unwrap();
                assert_eq!(kind.strip_prefix("response."), Some(status));
                assert_eq!(event["response"]["output"], json!(got.items));
                got.response = event["response"].clone();
            }
            _ => {
                assert_eq!(event["item_id"], open.as_ref().unwrap()["id"], "{event}");
                let delta = event["delta"].as_str().unwrap_or_default();
                match kind {
                    "response.output_text.delta" => got.text.push_str(delta),
                    "response.function_call_arguments.delta" => got.arguments.push_str(delta),
                    _ => {}
                }
            }
        }
    }
    got
}

fn function(name: &str, properties: &Value) -> Value {
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    json!({"type": "function", "name": name, "description": format!("Does {name}."), "strict": false, "parameters": schema})
}

/// Returns a request of an agent with a namespace of tools, a custom tool and a hosted tool.
fn agent(input: &Value) -> Value {
    let text = json!({"type": "string"});
    json!({
        "model": "m", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto"}, "parallel_tool_calls": true, "tool_choice": "auto", "prompt_cache_key": "k",
        "client_metadata": {"a": "b"}, "input": input,
        "tools": [
            function("run", &json!({"cmd": text, "wait": {"type": "number"}})),
            {"type": "namespace", "name": "agents", "description": "Agents.", "tools": [function("close", &json!({"target": text}))]},
            {"type": "custom", "name": "apply_patch", "description": "Patches files.", "format": {"type": "grammar", "syntax": "lark", "definition": "start: \"x\""}},
            {"type": "web_search"},
        ],
    })
}

fn said(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

fn called(name: &str, args: &Value) -> String {
    format!("```tool\n{}\n```\n", json!({"name": name, "args": args}))
}

/// A whole turn of an agent that always streams: a call, its result, and the answer.
#[tokio::test]
async fn a_streaming_agent_gets_a_whole_turn() {
    let first = format!("<think>hm</think>\n\nI look.\n\n{}", called("run", &json!({"cmd": "cat \"a\"", "wait": 1.5})));
    let stage = Stage::new(vec![reply(&first, 5, "stop"), reply("All done.", 4, "stop")]).await;
    let mut input = vec![
        said("developer", "Be brief."),
        said("developer", "In a sandbox."),
        said("user", "env"),
        said("user", "fix it"),
    ];
    let got = collect(&stage.post("/v1/responses", &agent(&json!(input))).await);
    let kinds: Vec<&str> = got.items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call"]);
    assert_eq!(got.items[0]["summary"], json!([{"type": "summary_text", "text": "hm"}]));
    assert_eq!((got.text.as_str(), &got.items[1]["content"][0]["text"]), ("I look.", &json!("I look.")));
    let call = &got.items[2];
    assert_eq!((&call["name"], &call["status"], call.get("namespace")), (&json!("run"), &json!("completed"), None));
    assert_eq!(call["arguments"].as_str(), Some(got.arguments.as_str()));
    let arguments: Value = serde_json::from_str(&got.arguments).unwrap();
    assert_eq!(arguments, json!({"cmd": "cat \"a\"", "wait": 1.5}));
    let usage = &got.response["usage"];
    assert_eq!(
        (&usage["input_tokens"], &usage["output_tokens"], &usage["total_tokens"]),
        (&json!(10), &json!(2), &json!(12))
    );

    // The client sends back all items unchanged.
    let id = call["call_id"].clone();
    input.extend(got.items);
    input.push(json!({"type": "function_call_output", "id": "fco_1", "call_id": id, "output": "text of a"}));
    let second = collect(&stage.post("/v1/responses", &agent(&json!(input))).await);
    assert_eq!((second.text.as_str(), &second.response["status"]), ("All done.", &json!("completed")));
    assert_ne!(second.response["id"], got.response["id"]);

    let asked = stage.requests();
    let mut keys: Vec<&String> = asked[1].as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["messages", "model", "stream", "stream_options"]);
    let messages = asked[1]["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    let content = |at: usize| messages[at]["content"].as_str().unwrap();
    assert!(content(0).starts_with("Be brief.\n\nIn a sandbox.\n\n# Tools"), "{}", content(0));
    assert_eq!(content(1), "env\n\nfix it");
    assert!(content(0).contains("<<EOF"), "a custom tool and a command take texts of several lines: {}", content(0));
    assert!(content(2).starts_with("I look.\n\n```tool\n") && !content(2).contains("hm"), "{}", content(2));
    assert!(content(3).contains("text of a") && content(3).contains("\"tool\":\"run\""), "{}", content(3));
}

#[tokio::test]
async fn calls_of_a_namespaced_tool_keep_its_namespace() {
    for name in ["agents__close", "close", "agents.close"] {
        let stage = Stage::new(vec![reply(&called(name, &json!({"target": "x"})), 3, "stop")]).await;
        let got = collect(&stage.post("/responses", &agent(&json!("go"))).await);
        let item = &got.items[0];
        assert_eq!((&item["name"], &item["namespace"]), (&json!("close"), &json!("agents")), "{name}");
    }
    let stage = Stage::new(vec![reply("Yes.", 3, "stop")]).await;
    let call = json!({"type": "function_call", "name": "close", "namespace": "agents", "call_id": "1", "arguments": "{\"target\":\"x\"}"});
    stage.post("/v1/responses", &agent(&json!([said("user", "go"), call]))).await;
    let asked = stage.requests().remove(0);
    let shown = asked["messages"][2]["content"].as_str().unwrap();
    assert!(shown.contains("\"name\": \"agents__close\""), "{shown}");
    let system = asked["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("`agents__close(target?)`") && !system.contains("web_search"), "{system}");
}

#[tokio::test]
async fn a_custom_tool_takes_a_verbatim_body() {
    let patch = "*** Begin Patch\n\"x\" \\ ```\n*** End Patch\n";
    let said = format!("```tool\n{{\"name\": \"apply_patch\", \"args\": {{\"text\": \"<<EOF\"}}}}\n{patch}EOF\n```\n");
    let stage = Stage::new(vec![reply(&said, 3, "stop")]).await;
    let got = collect(&stage.post("/v1/responses", &agent(&json!("go"))).await);
    let item = &got.items[0];
    assert_eq!(
        (&item["type"], &item["name"], &item["input"]),
        (&json!("custom_tool_call"), &json!("apply_patch"), &json!(patch))
    );
    let output = json!({"type": "custom_tool_call_output", "call_id": item["call_id"], "output": "Done."});
    stage.post("/v1/responses", &agent(&json!([super::responses::said("user", "go"), item, output]))).await;
    let asked = stage.requests();
    let system = asked[0]["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("start: \"x\"") && system.contains("\"text\": \"<<EOF\""), "{system}");
    let shown = asked[1]["messages"][2]["content"].as_str().unwrap();
    assert!(shown.contains(&format!("\n{patch}EOF\n")), "{shown}");
}

/// Without streaming, a client sends the received items back in its next request. It may omit the type of messages and
/// use either form of content.
#[tokio::test]
async fn a_client_without_streaming_gets_whole_answers() {
    let tools = json!([{"type": "function", "name": "look", "strict": true, "description": "Weather", "parameters":
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}}]);
    let request =
        |input: Value| json!({"model": "m", "include": [], "input": input, "tools": tools, "max_output_tokens": 50});
    let stage = Stage::new(vec![whole(&called("look", &json!({"city": "Lima"})), "stop"), whole("17", "stop")]).await;
    let first = stage.post("/v1/responses", &request(json!("w?"))).await.json();
    assert_eq!((&first["object"], &first["status"]), (&json!("response"), &json!("completed")));
    let call = first["output"][0].clone();
    assert_eq!((&call["type"], &call["arguments"]), (&json!("function_call"), &json!("{\"city\":\"Lima\"}")));
    let output = json!({"type": "function_call_output", "call_id": call["call_id"], "output": [{"type": "input_text", "text": "17"},
        {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"}]});
    let second =
        stage.post("/v1/responses", &request(json!([{"role": "user", "content": "w?"}, call, output]))).await.json();
    let message = &second["output"][0];
    assert_eq!((&message["role"], &message["content"][0]["text"]), (&json!("assistant"), &json!("17")));
    assert_eq!(second["usage"]["total_tokens"], 12);
    let asked = stage.requests();
    assert_eq!((&asked[0]["max_tokens"], &asked[0]["stream"]), (&json!(50), &json!(false)));
    let parts = asked[1]["messages"][3]["content"].as_array().unwrap();
    assert!(parts[0]["text"].as_str().unwrap().contains("17\n[image]"), "{}", parts[0]);
    assert_eq!(
        parts[1],
        json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}})
    );
}

#[tokio::test]
async fn a_plain_conversation_is_translated_and_its_text_is_not_read() {
    let said = "```tool\n{\"name\": \"run\"}\n```\n<think>x";
    let stage = Stage::new(vec![reply(said, 3, "stop"), whole(said, "length")]).await;
    let got = collect(
        &stage
            .post("/v1/responses", &json!({"model": "m", "input": "go", "instructions": "Be brief.", "stream": true}))
            .await,
    );
    assert_eq!((got.text.as_str(), got.items.len()), (said, 1));
    let got = stage.post("/v1/responses", &json!({"model": "m", "input": "go"})).await.json();
    assert_eq!(
        (&got["status"], &got["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("max_output_tokens"))
    );
    assert_eq!(
        stage.requests()[0]["messages"],
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "go"}])
    );
}

#[tokio::test]
async fn a_required_answer_format_is_enforced_with_and_without_tools() {
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]});
    let format = json!({"type": "json_schema", "name": "t", "schema": schema, "strict": true});
    let named = json!({"type": "json_schema", "json_schema": {"name": "t", "schema": schema, "strict": true}});
    for with_tools in [false, true] {
        let stage = Stage::new(vec![reply("A title", 3, "stop"), reply("{\"title\": \"x\"}", 3, "stop")]).await;
        let mut request = agent(&json!("go"));
        request["text"] = json!({"format": format, "verbosity": "low"});
        if !with_tools {
            request["tools"] = json!([]);
        }
        let got = collect(&stage.post("/v1/responses", &request).await);
        assert_eq!((got.text.as_str(), got.items.len()), ("{\"title\": \"x\"}", 1));
        let asked = stage.requests();
        assert_eq!(asked[0].get("response_format").is_some(), !with_tools, "a form would forbid the calls");
        assert_eq!(asked[1]["response_format"], named);
        assert!(asked[0]["messages"][0]["content"].as_str().unwrap().contains("\"title\":{\"type\":\"string\"}"));
    }
    // If the upstream does not accept the member, the request is sent without it.
    let refusal = answer("400 Bad Request", "application/json", "{}");
    let stage = Stage::new(vec![refusal, reply("{\"title\": \"x\"}", 3, "stop")]).await;
    let request = json!({"model": "m", "input": "go", "stream": true, "text": {"format": format}});
    assert_eq!(collect(&stage.post("/v1/responses", &request).await).text, "{\"title\": \"x\"}");
    assert!(stage.requests()[1].get("response_format").is_none());
}

#[tokio::test]
async fn a_failure_in_a_stream_is_a_failed_response() {
    let useless = "```tool\n{\"name\": \"run\" \"args\"]}\n```\n";
    let got =
        collect(&Stage::new(vec![reply(useless, 3, "stop")]).await.post("/v1/responses", &agent(&json!("go"))).await);
    assert_eq!(got.response["status"], "failed");
    assert!(got.response["error"]["message"].as_str().unwrap().contains("asked again"), "{}", got.response);
    // A call that was cut off is not marked as done, because the client would run it.
    let cut = "```tool\n{\"name\": \"run\", \"args\": {\"cmd\": \"rm -r";
    let known = |options: &mut toolfence_server::proxy::ProxyOptions| {
        options.reasoning = toolfence_protocol::parse::Reasoning::Known;
    };
    let stage = Stage::with(vec![reply(cut, 3, "length")], known).await;
    let events = named_events(&stage.post("/v1/responses", &agent(&json!("go"))).await);
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["response"]["output"]), (&json!("response.incomplete"), &json!([])));
    assert!(events.iter().any(|event| event["type"] == "response.function_call_arguments.delta"));
    assert!(!events.iter().any(|event| event["type"] == "response.output_item.done"));
}

#[tokio::test]
async fn requests_for_stored_conversations_are_refused_with_advice() {
    let stage = Stage::new(vec![whole("Yes.", "stop")]).await;
    for (request, wanted) in [
        (
            json!({"model": "m", "input": "go", "previous_response_id": "resp_1"}),
            "Send the whole conversation in input",
        ),
        (json!({"model": "m", "input": "go", "conversation": {"id": "c"}}), "keeps no conversations"),
        (json!({"model": "m", "input": [{"type": "item_reference", "id": "x"}]}), "Send the whole item"),
        (json!({"model": "m"}), "input is missing"),
        (json!({"model": "m", "input": [{"role": "x", "content": "a"}]}), "input[0].role is \"x\""),
        (json!({"model": "m", "input": [{"type": "function_call", "call_id": "1"}]}), "input[0].name is missing"),
        (json!({"model": "m", "input": [5]}), "input[0]"),
        (
            json!({"model": "m", "input": "go", "tools": [function("a b", &json!({}))]}),
            "tools[0].name is not a valid name",
        ),
    ] {
        let answer = stage.post("/v1/responses", &request).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["type"]),
            (400, &json!("invalid_request_error")),
            "{request}"
        );
        assert!(answer.error().contains(wanted), "{request}: {}", answer.body);
    }
    assert_eq!(stage.requests().len(), 0);
    let nulls = json!({"model": "m", "input": "go", "previous_response_id": null, "conversation": null});
    assert_eq!(stage.post("/v1/responses", &nulls).await.status, 200);
}

/// The AI SDK sends the ids of texts instead of the texts.
#[tokio::test]
async fn a_reference_to_a_text_of_an_earlier_answer_is_that_text() {
    let words = "<think>\nWhat is here?\n</think>\n\nI look.\n\n".to_owned() + &called("run", &json!({"cmd": "ls"}));
    for streamed in [true, false] {
        let stage = Stage::new(vec![reply(&words, 3, "stop"), reply("Done.", 3, "stop")]).await;
        let mut request = agent(&json!([said("user", "go")]));
        request["stream"] = true.into();
        let items = collect(&stage.post("/v1/responses", &request).await).items;
        let (thought, text, call) = (&items[0], &items[1], &items[2]);
        let result = json!({"type": "function_call_output", "call_id": call["call_id"], "output": "a.txt"});
        let reference = |item: &Value| json!({"type": "item_reference", "id": item["id"]});
        request["input"] = json!([said("user", "go"), reference(thought), reference(text), call, result]);
        request["stream"] = streamed.into();
        assert_eq!(stage.post("/v1/responses", &request).await.status, 200);
        let sent = stage.requests()[1]["messages"].to_string();
        assert!(sent.contains("I look.") && !sent.contains("What is here?"), "{sent}");
    }
}

/// A reference is short and its text may be long, so a request could grow by repeating references.
#[tokio::test]
async fn references_cannot_make_a_request_grow_without_end() {
    let stage = Stage::new(vec![reply(&"x".repeat(1 << 20), 1 << 16, "stop")]).await;
    let items = collect(&stage.post("/v1/responses", &agent(&json!([said("user", "go")]))).await).items;
    let reference = json!({"type": "item_reference", "id": items[0]["id"]});
    let mut request = agent(&json!([]));
    request["input"] = json!(vec![reference; 1000]);
    let answer = stage.post("/v1/responses", &request).await;
    assert!(answer.status == 400 && answer.error().contains("refers to"), "{}", answer.body);
    assert_eq!(stage.requests().len(), 1);
}

#[tokio::test]
async fn only_the_tools_that_a_choice_allows_are_offered() {
    let allowed = json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "close", "namespace": "agents"}]});
    for (choice, has, has_not) in [
        (allowed, "agents__close", "`run("),
        (json!({"type": "function", "name": "run"}), "must call the tool `run`", "agents__close"),
        (json!({"type": "custom", "name": "apply_patch"}), "must call the tool `apply_patch`", "`run("),
    ] {
        let stage = Stage::new(vec![reply("No.", 3, "stop")]).await;
        let mut request = agent(&json!("go"));
        request["tool_choice"] = choice;
        collect(&stage.post("/v1/responses", &request).await);
        let system = stage.requests()[0]["messages"][0]["content"].as_str().unwrap().to_owned();
        assert!(system.contains(has) && !system.contains(has_not), "{system}");
    }
}
