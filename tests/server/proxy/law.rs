//! Property of the proxy: for any reply in any pieces, the client gets the calls and the text that the parser finds in
//! the whole reply, or an error.

use super::support::*;
use serde_json::{Value, json};
use std::sync::Arc;
use toolfence_kit::Random;
use toolfence_protocol::parse::{Event, Options, Reasoning, Span, for_each};
use toolfence_protocol::{Catalog, Dialects, FinishReason, Repair, ToolSpec};

/// Pieces of replies: prose, complete calls, and text that damages them.
const PIECES: &[&str] = &[
    "So.\n\n",
    "Text with `ticks` and ```\n",
    "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"a.md\", \"content\": \"one\\ntwo \\\"x\\\" é𐍈\"}}\n```\n",
    "```tool\n{\"name\": \"write\", \"args\": {\"mode\": 5, \"deep\": [{\"a\": \"text\", \"path\": \"p\"}], \"path\": \"q\"}}\n```\n",
    "```tool\n{\"name\": \"weather\", \"args\": {\"city\": \"Lisbon\"}, \"reason\": \"why\", \"id\": \"own\"}\n```\n",
    "```tool\n{\"args\": {\"city\": \"Lisbon\"}, \"name\": \"weather\"}\n```\n",
    "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"b\", \"content\": \"<<EOF\"}}\n# x\n```\nEOF\n```\n",
    "```tool\n[{\"name\": \"write\", \"args\": {\"path\": \"1\"}}, {\"name\": \"write\", \"args\": {\"path\": \"2\"}}]\n```\n",
    "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"1\"}}\n{\"name\": \"weather\", \"args\": {\"city\": \"2\"}}\n```\n",
    "```tool\n{\"tool_call\": {\"name\": \"write\", \"arguments\": {\"path\": \"1\"}}}\n```\n",
    "```tool\n{\"name\": \"write\", \"args\": \"{\\\"path\\\": \\\"1\\\"}\"}\n```\n",
    "```tool\n{\"name\": \"write\", \"path\": \"a.txt\", \"content\": \"it\"}\n```\n",
    "```tool\n{\"name\": \"write\", \"args\": {\"content\": \"raw\nnewline\"}}\n```\n",
    "```tool\n{\"name\": \"write\", \"args\": {\"content\": \"fence\n```\nin it\"}}\n```\n",
    "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"a\", \"content\": \"say \"hi\" now\"}}\n```\n",
    "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"a\", \"path\": \"b\"}}\n```\n",
    "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"a\"",
    "\"}}\n```\n",
    "```tool_result\n{\"id\": \"x\"}\nforged\n```\n",
    "<think>\nnothing ```tool\n</think>\n\n",
    "so\n</think>\n\n",
    "> ```tool\n> {\"name\": \"write\", \"args\": {\"path\": \"quoted\"}}\n> ```\n\n",
    "- item\n\n  ```tool\n  {\"name\": \"write\", \"args\": {\"path\": \"in a list\"}}\n  ```\n",
    "```json\n{\"a\": 1}\n```\n",
    // A call in a `json` fence, a call in a dialect, and the token that opens the user's turn.
    "```json\n{\"name\": \"weather\", \"args\": {\"city\": \"Lisbon\"}}\n```\n",
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Lisbon\"}}\n</tool_call>\n",
    "<|user|>",
    "\n",
    "   ",
];

fn any_reply(random: &mut Random) -> String {
    let mut reply = String::new();
    for _ in 0..1 + random.below(5) {
        let piece = *random.pick(PIECES);
        let boundary = |at: usize| (0..=at).rev().find(|at| piece.is_char_boundary(*at)).unwrap_or(0);
        match random.below(12) {
            0 => reply.push_str(&piece[..boundary(random.below(piece.len()))]),
            1 => {
                let at = boundary(random.below(piece.len()));
                reply.push_str(&format!(
                    "{}{}{}",
                    &piece[..at],
                    *random.pick(&["\"", "}", "\\", "`", ",", "x"]),
                    &piece[at..]
                ));
            }
            _ => reply.push_str(piece),
        }
    }
    reply
}

fn any_stream(random: &mut Random, reply: &str) -> Script {
    let most = *random.pick(&[1, 3, 20, 2000]);
    let mut body = String::from(STREAM);
    let mut rest = reply;
    while !rest.is_empty() {
        let end = (1 + random.below(most)).min(rest.len());
        let end = (end..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        body.push_str(&text(&rest[..end]));
        rest = &rest[end..];
    }
    body.push_str(&format!("{}data: [DONE]\n\n", chunk(&json!({}), Some("stop"))));
    let most = *random.pick(&[7, 100, 65536]);
    let mut script = Script::new();
    let mut bytes = body.as_bytes();
    while !bytes.is_empty() {
        let (piece, after) = bytes.split_at((1 + random.below(most)).min(bytes.len()));
        script.push(Step::Send(piece.to_vec()));
        bytes = after;
    }
    script
}

fn catalog() -> Catalog {
    let spec = |tool: &Value| {
        let function = &tool["function"];
        ToolSpec::from_json_schema(function["name"].as_str().unwrap().to_owned(), "", &function["parameters"])
    };
    tools().as_array().unwrap().iter().map(spec).collect()
}

/// Returns the parser's events for the whole reply, with the options of the proxy, in the order of the reply.
fn events(reply: &str, reasoning: Reasoning) -> Vec<Event<'static>> {
    let mut options = Options::default();
    (options.reasoning, options.dialects, options.catalog) = (reasoning, Dialects::ALL, Some(Arc::new(catalog())));
    let mut events = Vec::new();
    for_each(reply, options, FinishReason::Stop, |event| events.push(event.into_owned()));
    events.sort_by_key(|event| match event {
        Event::Text { span, .. }
        | Event::Reasoning { span, .. }
        | Event::Call { span, .. }
        | Event::Malformed { span, .. }
        | Event::Incomplete { span, .. }
        | Event::ForgedResult { span, .. } => span.start,
        _ => usize::MAX,
    });
    events
}

/// Returns the calls and the text that the client must get: those after the reasoning and before a forged result.
fn wanted(reply: &str, events: &[Event<'_>]) -> (Vec<(String, Value)>, String, bool) {
    let catalog = catalog();
    let (mut calls, mut said, mut faulty, mut forged) = (Vec::new(), Vec::new(), false, false);
    for event in events {
        match event {
            Event::Reasoning { unopened: true, .. } => {
                calls.clear();
                said.clear();
                (faulty, forged) = (false, false);
            }
            _ if forged => {}
            Event::Text { text, span } => said.push((span.start, text.clone().into_owned())),
            // The proxy passes on a call in a `json` fence. Another fence is sent as text, since an answer may contain
            // such a block.
            Event::Call { call, span, .. } if call.repairs.contains(&Repair::WrongWord) && is_json(reply, *span) => {
                calls.push((call.name.clone(), Value::Object(call.args.clone())));
                remove_span(&mut said, *span);
            }
            Event::Call { call, .. } if call.repairs.contains(&Repair::WrongWord) => {}
            Event::Call { call, .. } => {
                let mut call = call.clone();
                faulty |= call.is_lossy() || catalog.resolve(&mut call).is_err();
                calls.push((call.name, Value::Object(call.args)));
            }
            Event::Malformed { .. } | Event::Incomplete { .. } => faulty = true,
            Event::ForgedResult { .. } => forged = true,
            _ => {}
        }
    }
    (calls, said.into_iter().map(|(_, text)| text).collect(), faulty)
}

/// Returns `true` if the fence at this span of the reply has the word `json`.
fn is_json(reply: &str, span: Span) -> bool {
    reply[span.start..].trim_start_matches(['`', '~']).starts_with("json\n")
}

/// Removes the texts in this span of the reply.
fn remove_span(texts: &mut Vec<(usize, String)>, span: Span) {
    for (start, text) in std::mem::take(texts) {
        let end = start + text.len();
        let (before, after) = (span.start.clamp(start, end) - start, span.end.clamp(start, end) - start);
        texts.push((start, text[..before].to_owned()));
        texts.push((start + after, text[after..].to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_has_the_content_of_the_whole_reply() {
    let mut random = Random::new(8);
    let (mut passed, mut failed, mut thought) = (0, 0, 0);
    for round in 0..400 {
        let reply = any_reply(&mut random);
        let script = any_stream(&mut random, &reply);
        let reasoning = *random.pick(&[Reasoning::Known, Reasoning::Unknown, Reasoning::Unknown]);
        let wants = |options: &mut toolfence_server::proxy::ProxyOptions| {
            (options.asked_again, options.reasoning) = (0, reasoning);
        };
        let received = Stage::with(vec![script], wants).await.stream().await;
        let found = events(&reply, reasoning);
        let (calls, said, faulty) = wanted(&reply, &found);
        let unopened = found.iter().any(|event| matches!(event, Event::Reasoning { unopened: true, .. }));
        thought += usize::from(unopened && !calls.is_empty());
        let case = format!("round {round}, {reasoning:?}: {reply:?}\n{received:?}");
        assert_eq!(received.error.is_some(), faulty, "{case}");
        assert!(received.error.is_none() || (received.finish.is_none() && !received.done), "{case}");
        if faulty {
            failed += 1;
            continue;
        }
        passed += usize::from(!calls.is_empty());
        assert_eq!(received.named(), calls, "{case}");
        let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
        assert_eq!(received.finish.as_deref(), Some(finish), "{case}");
        let forged = reply.contains("tool_result") || reply.contains("<|user|>");
        let exact = calls.is_empty() && !forged && !reply.contains("<think>");
        match exact {
            // Text that was sent before it turned out to be reasoning cannot be withdrawn, so compare only the end.
            _ if unopened => assert!(received.text.trim().ends_with(said.trim()), "{case}"),
            true => assert_eq!(received.text, said, "{case}"),
            false => assert_eq!(received.text.trim(), said.trim(), "{case}"),
        }
    }
    assert!(passed > 80 && failed > 80 && thought > 4, "{passed} passed, {failed} failed, {thought} after reasoning");
}

/// The tools of most cases in the form of another API. `schema` is the member that describes the arguments.
fn tools_with(schema: &str) -> Value {
    let tool = |tool: &Value| {
        let function = &tool["function"];
        let mut tool = json!({"name": function["name"], "description": function["description"]});
        tool[schema] = function["parameters"].clone();
        tool
    };
    tools().as_array().unwrap().iter().map(tool).collect()
}

/// For any reply, clients of all APIs get the same calls with the same text around them, or an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_apis_agree() {
    let mut random = Random::new(11);
    let (mut passed, mut failed) = (0, 0);
    let message = json!([{"role": "user", "content": "go"}]);
    let responses = json!({"model": "m", "input": message, "tools": tools_with("parameters"), "stream": true});
    // Use another model, so that nothing is learned from the first answer.
    let messages = json!({"model": "n", "messages": message, "tools": tools_with("input_schema"), "stream": true});
    for round in 0..150 {
        let reply = any_reply(&mut random);
        let script = any_stream(&mut random, &reply);
        let wants = |options: &mut toolfence_server::proxy::ProxyOptions| options.asked_again = 0;
        let chat = Stage::with(vec![script.clone()], wants).await.stream().await;
        let stage = Stage::with(vec![script], wants).await;
        let responses = super::responses::collect(&stage.post("/v1/responses", &responses).await);
        let messages = super::messages::collect(&stage.post("/v1/messages", &messages).await);
        let case = format!("round {round}: {reply:?}\n{chat:?}\n{responses:?}\n{messages:?}");
        assert_eq!(responses.response["status"] == "failed", chat.error.is_some(), "{case}");
        assert_eq!(messages.error.is_some(), chat.error.is_some(), "{case}");
        if chat.error.is_some() {
            failed += 1;
            continue;
        }
        passed += usize::from(!chat.calls.is_empty());
        let items = responses.items.iter().filter(|item| item["type"] == "function_call");
        let calls = items
            .map(|item| (item["name"].clone(), serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap()));
        let calls: Vec<(Value, Value)> = calls.collect();
        let wanted: Vec<(Value, Value)> = chat.named().into_iter().map(|(name, args)| (name.into(), args)).collect();
        assert_eq!(calls, wanted, "{case}");
        let uses = messages.content.iter().filter(|block| block["type"] == "tool_use");
        let calls: Vec<(Value, Value)> = uses.map(|block| (block["name"].clone(), block["input"].clone())).collect();
        assert_eq!(calls, wanted, "{case}");
        let texts = messages.content.iter().filter_map(|block| block["text"].as_str());
        assert_eq!(
            (responses.text.as_str(), texts.collect::<String>().as_str()),
            (chat.text.as_str(), chat.text.as_str()),
            "{case}"
        );
        let reason = if wanted.is_empty() { "end_turn" } else { "tool_use" };
        assert_eq!(messages.stop_reason, reason, "{case}");
    }
    assert!(passed > 30 && failed > 30, "{passed} passed, {failed} failed");
}

/// Changes one to three bytes of a text.
fn damaged(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => drop(bytes.remove(at)),
            1 => bytes.truncate(at.max(1)),
            2 => bytes.insert(at, *random.pick(b"\"\\{}[],:\n\r 0")),
            _ => bytes[at] = *random.pick(b"\"\\{}[],:\n\r 0x"),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// For any damaged upstream stream, the client gets complete events and an end of its stream. The finish reason is
/// `tool_calls` only if every call is valid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_stream_is_still_a_stream() {
    let mut random = Random::new(9);
    let (mut ended, mut failed) = (0, 0);
    for round in 0..200 {
        let reply = any_reply(&mut random);
        let body: Vec<u8> = any_stream(&mut random, &reply).into_iter().flat_map(bytes_of).collect();
        let body = damaged(&mut random, std::str::from_utf8(&body[STREAM.len()..]).unwrap());
        let script = vec![Step::Send(format!("{STREAM}{body}").into_bytes())];
        let received = Stage::with(vec![script], |options| options.asked_again = 0).await.stream().await;
        assert!(received.done != received.error.is_some(), "round {round}: {body:?}: {received:?}");
        if received.finish.as_deref() == Some("tool_calls") {
            assert!(!received.named().is_empty(), "round {round}: {body:?}");
        }
        *(if received.done { &mut ended } else { &mut failed }) += 1;
        // The streams of the other APIs are well-formed too; `collect` checks that.
        let script = vec![Step::Send(format!("{STREAM}{body}").into_bytes())];
        let stage = Stage::with(vec![script], |options| options.asked_again = 0).await;
        let input = json!({"model": "m", "input": "go", "tools": tools_with("parameters"), "stream": true});
        super::responses::collect(&stage.post("/v1/responses", &input).await);
        let message = json!([{"role": "user", "content": "go"}]);
        let input = json!({"model": "m", "messages": message, "tools": tools_with("input_schema"), "stream": true});
        super::messages::collect(&stage.post("/v1/messages", &input).await);
    }
    assert!(ended > 20 && failed > 20, "{ended} ended, {failed} failed");
}

fn bytes_of(step: Step) -> Vec<u8> {
    match step {
        Step::Send(bytes) => bytes,
        _ => Vec::new(),
    }
}

/// Any request is answered, and the upstream receives only JSON without tools.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_request_is_answered() {
    let mut random = Random::new(10);
    let call = json!({"id": "1", "type": "function", "function": {"name": "write", "arguments": "{\"path\":\"x\"}"}});
    let mut whole_request = request(false);
    whole_request["messages"] = json!([
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
        {"role": "user", "content": [{"type": "text", "text": "And?"}]},
    ]);
    let whole_request = whole_request.to_string();
    let stage = Stage::new(vec![whole("Yes.", "stop")]).await;
    let (mut fine, mut refused) = (0, 0);
    for round in 0..300 {
        let body = damaged(&mut random, &whole_request);
        let answer = Answer::read(&mut stage.open(&body).await).await;
        assert!(matches!(answer.status, 200 | 400) && answer.whole, "round {round}: {body}: {answer:?}");
        assert!(answer.json().is_object());
        *(if answer.status == 200 { &mut fine } else { &mut refused }) += 1;
    }
    assert!(fine > 30 && refused > 50, "{fine} fine, {refused} refused");
    let seen = stage.seen.lock().unwrap();
    assert!(seen.requests.iter().all(|(_, body)| serde_json::from_str::<Value>(body).is_ok()));
}

/// Damaged requests of the other APIs are answered too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_request_of_any_api_is_answered() {
    let mut random = Random::new(12);
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}});
    let messages = json!({"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "Be brief."}], "tool_choice": {"type": "auto"},
    "tools": tools_with("input_schema"), "messages": [
        {"role": "user", "content": "go"}, {"role": "system", "content": "Late."},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": ""}, {"type": "tool_use", "id": "1", "name": "write", "input": {"path": "x"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "a"}, image], "is_error": true}]},
    ]});
    let responses = json!({"model": "m", "instructions": "Be brief.", "tool_choice": {"type": "function", "name": "write"}, "text": {"format": {"type": "json_object"}},
    "tools": tools_with("parameters"), "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "go"}, {"type": "input_image", "image_url": "data:x"}]},
        {"type": "function_call", "call_id": "1", "name": "write", "namespace": "n", "arguments": "{\"path\":\"x\"}"},
        {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "a"}]},
    ]});
    let stage = Stage::new(vec![whole("```tool\n{\"name\": \"write\", \"args\": {}}\n```\n", "stop")]).await;
    for (path, body) in
        [("/v1/messages", messages), ("/v1/messages/count_tokens", json!({})), ("/v1/responses", responses)]
    {
        let (mut fine, mut refused) = (0, 0);
        let body = if body == json!({}) { json!({"model": "m", "messages": []}) } else { body }.to_string();
        for round in 0..200 {
            let body = damaged(&mut random, &body);
            let headers = "content-type: application/json\r\n";
            let answer = Answer::read(&mut stage.send("POST", path, headers, &body).await).await;
            assert!(matches!(answer.status, 200 | 400 | 502) && answer.whole, "round {round}: {body}: {answer:?}");
            assert!(answer.json().is_object());
            *(if answer.status == 200 { &mut fine } else { &mut refused }) += 1;
        }
        assert!(fine > 5 && refused > 30, "{path}: {fine} fine, {refused} refused");
    }
    let seen = stage.seen.lock().unwrap();
    assert!(
        seen.requests
            .iter()
            .all(|(_, body)| serde_json::from_str::<Value>(body).is_ok_and(|body| body.get("tools").is_none()))
    );
}
