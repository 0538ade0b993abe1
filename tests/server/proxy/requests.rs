//! Tests which request the upstream gets for a request of the client.

use super::support::*;
use serde_json::{Value, json};
use std::sync::Arc;
use toolfence_kit::Random;
use toolfence_protocol::format::read_back;
use toolfence_protocol::grammar::Form;
use toolfence_protocol::parse::{Event, Options, Reasoning, for_each, parse};
use toolfence_protocol::{Catalog, FinishReason, Learned, ToolSpec};
use toolfence_server::proxy::Profiles;

/// Returns the upstream's version of this request.
async fn asked(request: &Value) -> Value {
    let stage = Stage::new(vec![whole("Yes.", "stop")]).await;
    let answer = stage.ask(request).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    stage.requests().remove(0)
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut request = request(false);
    change(&mut request);
    request
}

#[tokio::test]
async fn tools_become_instructions() {
    let got = asked(&with(|request| {
        request["temperature"] = json!(0.5);
        request["tool_choice"] = json!("auto");
        request["response_format"] = json!({"type": "text"});
    }))
    .await;
    let mut keys: Vec<&String> = got.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["messages", "model", "response_format", "stream", "temperature"]);
    let system = got["messages"][0]["content"].as_str().unwrap();
    assert_eq!((&got["messages"][0]["role"], &got["messages"][1]["content"]), (&json!("system"), &json!("go")));
    assert!(system.contains("`weather(city)`: Tell it.") && system.contains("```tool\n{\"name\":"), "{system}");
    assert!(
        !system.contains("project root") && !system.contains("cancelled"),
        "the client runs its tools itself: {system}"
    );
}

#[tokio::test]
async fn instructions_are_at_the_end_of_the_system_message() {
    for (role, content) in [
        ("system", json!("Be brief.")),
        ("developer", json!([{"type": "text", "text": "Be brief."}])),
        ("system", json!("")),
        ("system", json!([])),
    ] {
        let got = asked(&with(|request| {
            request["messages"] =
                json!([{"role": role, "content": content, "name": "n"}, {"role": "user", "content": "go"}]);
        }))
        .await;
        let messages = got["messages"].as_array().unwrap();
        assert_eq!((messages.len(), &messages[0]["role"], &messages[0]["name"]), (2, &json!("system"), &json!("n")));
        let text = messages[0]["content"].as_str().unwrap();
        assert_eq!(text.starts_with("Be brief."), content.to_string().contains("brief"));
        assert!(text.contains("`weather(city)`"), "{text}");
    }
}

#[tokio::test]
async fn the_choice_of_tools_becomes_instructions() {
    let named = json!({"type": "function", "function": {"name": "write"}});
    for (choice, has, has_not) in [
        (json!("auto"), "`weather(city)`", "must call"),
        (json!("required"), "must call a tool", "only one call"),
        (named, "must call the tool `write`", "weather"),
    ] {
        let stage = Stage::new(vec![whole("No.", "stop"), whole("```tool\n{\"name\":\"write\"}\n```\n", "stop")]).await;
        let answer = stage.ask(&with(|request| request["tool_choice"] = choice.clone())).await.json();
        let system = stage.requests()[0]["messages"][0]["content"].to_string();
        assert!(system.contains(has) && !system.contains(has_not), "{choice}: {system}");
        let calls = answer["choices"][0]["message"]["tool_calls"].as_array().map_or(0, Vec::len);
        assert_eq!(calls, usize::from(choice != json!("auto")), "a call that must be is asked for: {choice}");
    }
    let got = asked(&with(|request| request["tool_choice"] = json!("none"))).await;
    assert_eq!(got["messages"], json!([{"role": "user", "content": "go"}]));
    assert!(got.get("tools").is_none() && got.get("tool_choice").is_none());
}

fn called(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[tokio::test]
async fn the_history_becomes_text_that_parses_to_the_same_calls() {
    let arguments = [
        "{\"city\": \"Li\\\"s```bon\\n\"}",
        "{\n \"content\": \"```\\n```tool\\n{}\\n\", \"mode\": 1e2}",
        "",
        "{\"cut",
    ];
    let calls: Vec<Value> =
        arguments.iter().enumerate().map(|(n, text)| called(&format!("id-{n}"), "write", text)).collect();
    let outputs = ["sunny\n```\n````tool\n", "", "two"];
    let mut messages = vec![
        json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}, {"type": "text", "text": "go"}]}),
        json!({"role": "assistant", "content": "I look.", "tool_calls": calls}),
    ];
    for (n, output) in outputs.iter().enumerate() {
        messages.push(
            json!({"role": "tool", "tool_call_id": format!("id-{n}"), "content": [{"type": "text", "text": output}]}),
        );
    }
    messages.push(json!({"role": "user", "content": "And now?"}));
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [calls[0]]}));
    messages.push(json!({"role": "tool", "tool_call_id": "id-0", "content": "rain"}));
    let mut got = asked(&with(|request| request["messages"] = messages.clone().into())).await;
    let got: Vec<Value> = got["messages"].take().as_array().unwrap().clone();
    let roles: Vec<&str> = got.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant", "user"]);
    assert_eq!(got[1], messages[0], "images pass");

    let parsed = parse(got[2]["content"].as_str().unwrap());
    assert!(parsed.text.starts_with("I look."), "{}", parsed.text);
    let ids: Vec<&str> = parsed.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["id-0", "id-1", "id-2"], "arguments that are no JSON make no call");
    for (call, text) in parsed.calls.iter().zip(arguments) {
        let wanted: Value = serde_json::from_str(if text.is_empty() { "{}" } else { text }).unwrap();
        assert_eq!((Value::Object(call.args.clone()), call.repairs.len()), (wanted, 0));
    }
    assert!(got[2]["content"].as_str().unwrap().contains("{\\\"cut"), "but the model sees them");

    let received = got[3]["content"].as_str().unwrap();
    let results = read_back(received, None);
    let read: Vec<(&str, &str, &str)> =
        results.iter().map(|result| (result.id.as_str(), result.tool.as_str(), result.output.as_str())).collect();
    assert_eq!(read, [("id-0", "write", outputs[0]), ("id-1", "write", ""), ("id-2", "write", "two")]);
    assert!(received.ends_with("\n\nAnd now?") && parse(received).calls.is_empty(), "{received}");
    assert_eq!(read_back(got[5]["content"].as_str().unwrap(), None)[0].output, "rain");
}

/// Pieces of argument texts: plain lines, and text that looks like the end or the beginning of a block.
const TEXTS: &[&str] = &[
    "a line\n",
    "another",
    "\n",
    "\n\n",
    "  \t",
    "EOF",
    "EOF\n",
    "  END  \n",
    "<<EOF",
    "<<EOF\n",
    "<<-'END'\n",
    "<<eof\nx\neof\n",
    "<EOF>",
    "<p>text</p>\n",
    "```\n",
    "`````tool\n",
    "```tool\n{\"name\": \"write\", \"args\": {}}\n```\n",
    "<tool_call>\n",
    "</think>\n",
    "\r\n",
    "\r",
    "\u{0}",
    "\u{1b}[31m",
    "\u{2028}",
    "\u{feff}",
    "\"quoted\" \\ back\\n\n",
    "é𐍈\n",
    "{\"name\": 1}\n",
];

/// A past call in the history, as the model sees it, parses to the same call, and its long texts have the form that the
/// instructions teach.
#[tokio::test]
async fn any_call_of_the_history_parses_to_the_same_call() {
    let mut random = Random::new(9);
    let text = |random: &mut Random| random.text(TEXTS, 5);
    let messages: Vec<(Value, Vec<Value>)> = (0..400)
        .map(|n| {
            let calls: Vec<Value> = (0..1 + random.below(3))
                .map(|_| match random.below(4) {
                    0 => json!({"path": text(&mut random)}),
                    1 => json!({"path": "a.md", "content": text(&mut random), "mode": 1}),
                    2 => json!({"content": text(&mut random), "path": text(&mut random)}),
                    _ => json!({"content": text(&mut random), "deep": [{"x": text(&mut random)}]}),
                })
                .collect();
            let past_call = |(at, args): (usize, &Value)| called(&format!("{n}-{at}"), "write", &args.to_string());
            let past_calls: Vec<Value> = calls.iter().enumerate().map(past_call).collect();
            (json!({"role": "assistant", "content": "So.", "tool_calls": past_calls}), calls)
        })
        .collect();
    let sent = messages.iter().flat_map(|(message, _)| [json!({"role": "user", "content": "go"}), message.clone()]);
    let got = asked(&with(|request| request["messages"] = sent.collect::<Vec<_>>().into())).await;
    let got = got["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant");
    let got: Vec<&str> = got.map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(got.len(), messages.len());
    let specs = tools().as_array().unwrap().clone().into_iter().map(|tool| {
        let function = &tool["function"];
        ToolSpec::from_json_schema(function["name"].as_str().unwrap().to_owned(), "", &function["parameters"])
    });
    let mut options = Options::default();
    options.catalog = Some(Arc::new(specs.collect::<Catalog>()));
    let mut bodies = 0;
    for (shown, (_, calls)) in got.iter().zip(&messages) {
        let mut read = Vec::new();
        for_each(shown, options.clone(), FinishReason::Stop, |event| {
            if let Event::Call { call, .. } = event {
                assert!(call.repairs.is_empty(), "{:?}: {shown}", call.repairs);
                read.push(Value::Object(call.args));
            }
        });
        assert_eq!(&read, calls, "{shown}");
        bodies += shown.matches("\"<<").count();
    }
    assert!(bodies > 50, "{bodies} texts are shown below the object");
}

/// Calls in the history have the form that the instructions teach.
#[tokio::test]
async fn long_texts_are_shown_below_the_object() {
    let file = "# One\n\"two\"\nEOF\n";
    let args = json!({"path": "a.md", "content": file}).to_string();
    let messages = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [called("1", "write", &args)]},
    ]);
    let shown = |tools: Value| {
        let messages = messages.clone();
        async move {
            let got = asked(&with(|request| (request["messages"], request["tools"]) = (messages, tools))).await;
            let content = |at: usize| got["messages"][at]["content"].as_str().unwrap().to_owned();
            (content(0), content(2))
        }
    };
    let (received, block) = shown(tools()).await;
    assert!(received.contains("<<EOF"), "{received}");
    let wanted = "```tool\n{\"id\": \"1\", \"name\": \"write\", \"args\": {\"path\":\"a.md\",\"content\":\"<<END\"}}\n\
                  # One\n\"two\"\nEOF\nEND\n```\n";
    assert_eq!(block, wanted);
    // If no tool takes a long text, neither the instructions nor the history use bodies.
    let (received, block) = shown(json!([tools()[0]])).await;
    assert!(!received.contains("<<EOF") && !block.contains("<<") && block.contains("# One\\n"), "{received}\n{block}");
}

#[tokio::test]
async fn a_history_with_calls_is_translated_without_tools_too() {
    let messages = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [called("1", "f", "{}")]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
    ]);
    let got = asked(&json!({"model": "m", "messages": messages})).await;
    assert_eq!(parse(got["messages"][1]["content"].as_str().unwrap()).calls[0].name, "f");
    assert!(!got.to_string().contains("tool_calls"));
}

#[tokio::test]
async fn requests_without_tools_pass_byte_for_byte() {
    let odd = "{ \"z\" : 1e400,\n \"messages\":[ {\"role\":\"user\",\"content\":\"\\u0041 ```tool\"} ] , \"tools\": [], \"model\":\"m\"}";
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"```tool\\n{\"}}]}\n\n: comment\n\nanything";
    let stage = Stage::new(vec![answer("200 OK", "text/event-stream", body)]).await;
    let headers = "content-type: application/json\r\nAuthorization: Bearer k\r\nx-mine: 2\r\nTE: trailers\r\n";
    let answer = Answer::read(&mut stage.send("POST", "/v1/chat/completions?a=b", headers, odd).await).await;
    assert_eq!((answer.status, answer.body.as_str(), answer.whole), (200, body, true));
    assert_eq!(header(&answer.head, "x-own").as_deref(), Some("1"));
    let (head, got) = stage.seen.lock().unwrap().requests.remove(0);
    assert_eq!(got, odd);
    assert!(head.starts_with("POST /v1/chat/completions?a=b "), "{head}");
    assert_eq!(header(&head, "authorization").as_deref(), Some("Bearer k"));
    assert_eq!((header(&head, "x-mine").as_deref(), header(&head, "te")), (Some("2"), None));
}

#[tokio::test]
async fn models_and_refusals_are_passed_on() {
    let stage = Stage::new(vec![answer("200 OK", "application/json", "{\"data\": []}")]).await;
    let models = Answer::read(&mut stage.send("GET", "/v1/models", "", "").await).await;
    assert_eq!((models.status, models.body.as_str()), (200, "{\"data\": []}"));
    let refusal = "{\"error\": {\"message\": \"slow down\"}}";
    for streamed in [true, false] {
        let stage = Stage::new(vec![answer("429 Too Many Requests", "application/json", refusal)]).await;
        let refused = stage.ask(&request(streamed)).await;
        assert_eq!((refused.status, refused.body.as_str()), (429, refusal));
        assert_eq!(header(&refused.head, "x-own").as_deref(), Some("1"));
    }
}

#[tokio::test]
async fn errors_in_requests_are_reported() {
    let stage = Stage::new(vec![]).await;
    for (case, request, wanted) in [
        ("n", with(|request| request["n"] = json!(2)), "n must be 1"),
        ("kind", with(|request| request["tools"][0]["type"] = json!("custom")), "only functions"),
        ("name", with(|request| request["tools"][0]["function"]["name"] = json!("a b")), "not a valid name"),
        ("choice", with(|request| request["tool_choice"] = json!("some")), "tool_choice must be"),
        ("named", with(|request| request["tool_choice"] = json!({"function": {"name": "x"}})), "not among"),
        ("messages", with(|request| request["messages"] = json!("go")), "an array"),
        ("message", with(|request| request["messages"] = json!([1])), "messages[0]"),
        (
            "large",
            with(|request| request["tools"][0]["function"]["description"] = json!("x".repeat(1 << 20))),
            "tools is larger",
        ),
    ] {
        let answer = stage.ask(&request).await;
        assert_eq!(answer.status, 400, "{case}");
        assert!(answer.error().contains(wanted), "{case}: {}", answer.body);
    }
    for body in ["", "[]", "{", "nonsense", "{\"a\":1,\"a\":2}"] {
        let answer = Answer::read(&mut stage.open(body).await).await;
        assert_eq!(
            (answer.status, answer.json()["error"]["type"].as_str()),
            (400, Some("invalid_request_error")),
            "{body}"
        );
    }
    assert_eq!(stage.requests().len(), 0);
}

/// Returns the schema that the SDKs send for nested pydantic models.
fn booking_schema() -> Value {
    let leg = json!({"type": "object", "title": "Leg", "properties": {
        "origin": {"type": "string", "pattern": "^[A-Z]{3}$"}, "date": {"type": "string", "format": "date"},
    }, "required": ["origin", "date"], "additionalProperties": false});
    let schema = json!({"$defs": {"Leg": leg}, "type": "object", "properties": {
        "legs": {"type": "array", "items": {"$ref": "#/$defs/Leg"}, "minItems": 1},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
    }, "required": ["legs", "count"], "additionalProperties": false});
    json!([{"type": "function", "function": {"name": "book", "description": "Book it.", "parameters": schema}}])
}

#[tokio::test]
async fn a_nested_model_is_described_checked_and_fitted() {
    let call = |args: &Value| format!("```tool\n{}\n```\n", json!({"name": "book", "args": args}));
    let leg = json!({"origin": "LIS", "date": "2024-05-17"});
    for streamed in [false, true] {
        // A string is fitted to a number, and a single element to a list, without a second request.
        let said = call(&json!({"legs": leg, "count": "3", "reason": "as asked"}));
        let script = if streamed { reply(&said, 3, "stop") } else { whole(&said, "stop") };
        let stage = Stage::new(vec![script]).await;
        let mut request = request(streamed);
        request["tools"] = booking_schema();
        let answer = stage.ask(&request).await;
        let calls = if streamed {
            ReceivedStream::of(&answer).named()
        } else {
            let function = &answer.json()["choices"][0]["message"]["tool_calls"][0]["function"];
            vec![("book".to_owned(), serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap())]
        };
        assert_eq!(calls, [("book".to_owned(), json!({"legs": [leg], "count": 3}))]);
        let asked = stage.requests();
        assert_eq!(asked.len(), 1);
        let system = asked[0]["messages"][0]["content"].as_str().unwrap();
        for expected in [
            "\"legs\": [{\"origin\":\"ABC\",\"date\":\"2024-05-17\"}], \"count\": 1",
            "`origin`: a string that matches the regular expression `^[A-Z]{3}$`",
            "`count`: a whole number from 1 to 9",
            "`note`: a string or null",
        ] {
            assert!(system.contains(expected), "{expected}: {system}");
        }
        assert!(!system.contains("$ref") && !system.contains("$defs"), "{system}");
    }
    // A nested value that the schema does not allow is requested again, with its path.
    let right = json!({"legs": [leg], "count": 1});
    for (args, why) in [
        (json!({"legs": "LIS-ORY", "count": 1}), "legs is the string"),
        (json!({"legs": [{"origin": "Lisbon", "date": "x"}], "count": 1}), "legs[0].origin is the string"),
        (json!({"legs": [leg], "count": 1, "note": 5}), "note is the number 5"),
        (json!({"legs": [{"origin": "LIS"}], "count": 1}), "legs[0].date is missing"),
    ] {
        let stage = Stage::new(vec![whole(&call(&args), "stop"), whole(&call(&right), "stop")]).await;
        let answer = stage.ask(&with(|request| request["tools"] = booking_schema())).await.json();
        let arguments = answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), right);
        let asked = stage.requests();
        assert!(asked.len() == 2 && asked[1]["messages"].to_string().contains(why), "{why}: {}", asked[1]);
    }
}

#[tokio::test]
async fn an_answer_with_a_required_format_is_held_back_until_it_is_valid() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": true}});
    let answered = "{\"city\": \"Lisbon\"}";
    let called = "Let me see.\n\n```tool\n{\"name\": \"weather\", \"args\": {\"city\": \"Lisbon\"}}\n```\n";
    for streamed in [false, true] {
        for (first, requests, content) in [
            (called, 1, "Let me see."),
            (answered, 1, answered),
            ("```json\n{\"city\": \"Lisbon\"}\n```", 1, answered),
            ("It is Lisbon.", 2, answered),
            ("{\"town\": 1}", 2, answered),
        ] {
            let script = |said: &str| if streamed { reply(said, 4, "stop") } else { whole(said, "stop") };
            let stage = Stage::new(vec![script(first), script(answered)]).await;
            let mut request = request(streamed);
            request["response_format"] = format.clone();
            let answer = stage.ask(&request).await;
            let (text, calls, finish) = if streamed {
                let received = ReceivedStream::of(&answer);
                (received.text.clone(), received.calls.len(), received.finish.clone().unwrap_or_default())
            } else {
                let choice = &answer.json()["choices"][0];
                let calls = choice["message"]["tool_calls"].as_array().map_or(0, Vec::len);
                let text = choice["message"]["content"].as_str().unwrap_or_default().to_owned();
                (text, calls, choice["finish_reason"].as_str().unwrap().to_owned())
            };
            assert_eq!(text.trim(), content, "{first}");
            let wanted = if first == called { (1, "tool_calls") } else { (0, "stop") };
            assert_eq!((calls, finish.as_str()), wanted, "{first}");
            let asked = stage.requests();
            assert_eq!(asked.len(), requests, "{first}");
            assert!(asked[0].get("response_format").is_none(), "the grammar would forbid a call");
            assert!(asked[0]["messages"][0]["content"].as_str().unwrap().contains("\"city\":{\"type\":\"string\"}"));
            if let Some(again) = asked.get(1) {
                assert_eq!(again["response_format"], format);
                let messages = again["messages"].as_array().unwrap();
                assert_eq!(messages[messages.len() - 2], json!({"role": "assistant", "content": first}));
            }
        }
    }
}

#[tokio::test]
async fn a_long_text_is_taught_without_escapes() {
    let got = asked(&with(|_| {})).await;
    let system = got["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("\"content\": \"<<EOF\"") && system.contains("\nEOF\n```"), "{system}");
    let got = asked(&with(|request| request["tools"] = json!([tools()[0]]))).await;
    assert!(!got["messages"][0]["content"].as_str().unwrap().contains("<<EOF"));
}

/// Strict function schemas require every argument and allow null for optional ones, so null must be passed on.
#[tokio::test]
async fn null_is_passed_on_if_the_schema_allows_it() {
    let schema = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"], "additionalProperties": false});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema, "strict": true}});
    let asked = with(|request| request["tools"] = json!([tool]));
    let stage = Stage::new(vec![whole("```tool\n{\"name\": \"f\", \"args\": {\"a\": null}}\n```\n", "stop")]).await;
    let answer = stage.ask(&asked).await.json();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], "{\"a\":null}");
}

/// A profile store whose models obey a grammar and whose templates open no reasoning.
struct Obeys(Form);

impl Profiles for Obeys {
    fn load(&self, _: &str) -> Learned {
        let mut learned = Learned::default();
        (learned.reasoning, learned.grammar) = (Reasoning::Known, Some(self.0));
        learned
    }

    fn store(&self, _: &str, _: Learned, _: Learned) {}
}

#[tokio::test]
async fn an_upstream_that_obeys_a_grammar_is_sent_one() {
    let sent = |form: Form, change: fn(&mut Value)| async move {
        let said = whole("```tool\n{\"name\": \"weather\", \"args\": {\"city\": \"Ulm\"}}\n```\n", "stop");
        let stage = Stage::with(vec![said], |options| options.profiles = Some(Arc::new(Obeys(form)))).await;
        stage.ask(&with(change)).await;
        stage.requests().remove(0)
    };
    let got = sent(Form::Grammar, |_| {}).await;
    let grammar = got["grammar"].as_str().unwrap();
    assert!(grammar.contains("weather") && grammar.contains("root ::= prose turn{0,32}"), "{grammar}");
    let got = sent(Form::Structured, |request| {
        (request["tool_choice"], request["parallel_tool_calls"]) = (json!("required"), json!(false));
    })
    .await;
    let grammar = got["structured_outputs"]["grammar"].as_str().unwrap();
    assert!(grammar.contains("root ::= prose turn{1,1}"), "{grammar}");
    // No grammar is added if the client itself constrains the answer, or if no tool may be called.
    for change in [
        |request: &mut Value| request["response_format"] = json!({"type": "json_object"}),
        |request: &mut Value| request["guided_regex"] = json!("a*"),
        |request: &mut Value| request["tool_choice"] = json!("none"),
    ] {
        assert!(sent(Form::Grammar, change).await.get("grammar").is_none());
    }
    let own = sent(Form::Grammar, |request| request["grammar"] = json!("root ::= \"x\"")).await;
    assert_eq!(own["grammar"], "root ::= \"x\"");
}

#[tokio::test]
async fn an_upstream_that_refuses_the_grammar_is_asked_without_it() {
    let refusal = "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    let refused = vec![Step::Send(refusal.as_bytes().to_vec())];
    let scripts = vec![refused, whole("Yes.", "stop"), whole("No.", "stop")];
    let stage = Stage::with(scripts, |options| options.profiles = Some(Arc::new(Obeys(Form::Grammar)))).await;
    for _ in 0..2 {
        assert_eq!(stage.ask(&request(false)).await.status, 200);
    }
    let sent: Vec<bool> = stage.requests().iter().map(|request| request.get("grammar").is_some()).collect();
    assert_eq!(sent, [true, false, false]);
}

/// Strict chat templates accept one system message at the beginning, and then user and assistant messages in turn.
#[tokio::test]
async fn messages_have_the_order_that_strict_templates_require() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
    let got = asked(&with(|request| {
        request["messages"] = json!([
            {"role": "user", "content": [{"type": "text", "text": "one"}, image]},
            {"role": "user", "content": "two"},
            {"role": "system", "content": "Late."},
            {"role": "assistant", "content": "I look.", "tool_calls": [called("1", "weather", "{}"), called("2", "write", "{}")]},
            {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "a picture"}, image]},
            {"role": "developer", "content": "Later."},
            {"role": "tool", "tool_call_id": "1", "content": "sun"},
            {"role": "assistant", "content": "So."},
            {"role": "assistant", "content": "And so."},
            {"role": "user", "content": "three"},
            {"role": "user", "content": "four"},
        ]);
    }))
    .await;
    let messages = got["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant", "user"]);
    assert!(messages[0]["content"].as_str().unwrap().starts_with("Late.\n\nLater.\n\n# Tools"));
    assert_eq!(
        messages[1]["content"],
        json!([{"type": "text", "text": "one"}, image, {"type": "text", "text": "two"}])
    );
    let results = messages[3]["content"].as_array().unwrap();
    let text = results[0]["text"].as_str().unwrap();
    let read = read_back(text, None);
    let read: Vec<(&str, &str)> = read.iter().map(|result| (result.tool.as_str(), result.output.as_str())).collect();
    assert_eq!((read, &results[1]), (vec![("write", "a picture\n[image]"), ("weather", "sun")], &image));
    assert!(!text.contains("base64") && results.len() == 2, "{text}");
    assert_eq!((&messages[4]["content"], &messages[5]["content"]), (&json!("So.\n\nAnd so."), &json!("three\n\nfour")));
}

#[tokio::test]
async fn functions_of_the_old_form_are_refused_with_advice() {
    let stage = Stage::new(vec![whole("Yes.", "stop")]).await;
    let messages = json!([{"role": "user", "content": "go"}]);
    let old = json!({"model": "m", "messages": messages, "functions": [{"name": "f", "parameters": {}}]});
    let answer = stage.ask(&old).await;
    assert_eq!(answer.status, 400);
    assert!(answer.error().contains("send each function in tools"), "{}", answer.body);
    let empty = json!({"model": "m", "messages": messages, "functions": [], "function_call": null});
    assert_eq!(stage.ask(&empty).await.status, 200);
}

/// Pages of allowed origins may use the proxy; their browsers send a preflight first.
#[tokio::test]
async fn pages_of_allowed_origins_may_send_requests() {
    let page = "https://chat.example";
    let named = |options: &mut toolfence_server::proxy::ProxyOptions| {
        (options.origins, options.key) = (vec!["https://chat.example".into()], Some("secret".into()));
    };
    let stage = Stage::with(vec![whole("Yes.", "stop")], named).await;
    let wish = "access-control-request-method: POST\r\naccess-control-request-headers: content-type,x-own\r\n";
    let asks =
        Answer::read(&mut stage.send("OPTIONS", "/v1/messages", &format!("origin: {page}\r\n{wish}"), "").await).await;
    assert_eq!((asks.status, header(&asks.head, "access-control-allow-origin").as_deref()), (204, Some(page)));
    assert_eq!(header(&asks.head, "access-control-allow-headers").as_deref(), Some("content-type,x-own"));
    assert!(header(&asks.head, "access-control-allow-methods").unwrap().contains("POST"));
    let headers = format!("content-type: application/json\r\nauthorization: Bearer secret\r\norigin: {page}\r\n");
    let body = request(false).to_string();
    let answer = Answer::read(&mut stage.send("POST", "/v1/chat/completions", &headers, &body).await).await;
    assert_eq!((answer.status, header(&answer.head, "access-control-allow-origin").as_deref()), (200, Some(page)));
    assert_eq!(header(&answer.head, "vary").as_deref(), Some("origin"));
    // Allowed pages can also read errors; other pages can neither send requests nor read answers.
    let headers = format!("content-type: application/json\r\norigin: {page}\r\n");
    let answer = Answer::read(&mut stage.send("POST", "/v1/chat/completions", &headers, &body).await).await;
    assert_eq!((answer.status, header(&answer.head, "access-control-allow-origin").as_deref()), (401, Some(page)));
    for (method, more) in
        [("OPTIONS", wish), ("POST", "content-type: application/json\r\nauthorization: Bearer secret\r\n")]
    {
        let headers = format!("origin: https://chat.example.evil\r\n{more}");
        let answer = Answer::read(&mut stage.send(method, "/v1/chat/completions", &headers, &body).await).await;
        assert_eq!((answer.status, header(&answer.head, "access-control-allow-origin")), (403, None));
    }
    assert_eq!(stage.requests().len(), 1);
}

#[tokio::test]
async fn health_needs_no_key_and_streams_no_buffer() {
    let stage = Stage::with(vec![reply("Yes.", 2, "stop")], |options| options.key = Some("secret".into())).await;
    for path in ["/health", "/v1/health", "/"] {
        let health = Answer::read(&mut stage.send("GET", path, "", "").await).await;
        assert_eq!((health.status, health.body.as_str()), (200, "{\"status\":\"ok\"}"), "{path}");
    }
    assert_eq!(
        Answer::read(&mut stage.send("POST", "/health", "authorization: Bearer secret\r\n", "").await).await.status,
        405
    );
    let stage = Stage::new(vec![reply("Yes.", 2, "stop")]).await;
    let plain = json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "stream": true});
    for (path, body) in [
        ("/v1/chat/completions", request(true)),
        ("/v1/chat/completions", plain.clone()),
        ("/v1/messages", plain),
        ("/v1/responses", json!({"model": "m", "input": "go", "stream": true})),
    ] {
        let answer = stage.post(path, &body).await;
        assert_eq!(header(&answer.head, "x-accel-buffering").as_deref(), Some("no"), "{path}");
    }
}
