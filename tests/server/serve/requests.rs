//! Valid and invalid requests, and the code, field and message of the errors.

use super::support::*;
use serde_json::{Value, json};
use toolfence_server::http::{OPENAPI, ROUTES};

/// An invalid request is answered with 400 and the name of the wrong field.
#[tokio::test]
async fn each_field_has_its_error() {
    let stage = Stage::new([says("Yes.")]).await;
    let entry = json!({"timestamp": "t", "prompt": "p", "result": "r"});
    let with = |name: &str, value: Value| {
        let mut entry = entry.clone();
        entry[name] = value;
        entry
    };
    let without = |name: &str| {
        let mut entry = entry.clone();
        entry.as_object_mut().unwrap().remove(name);
        entry
    };
    for (body, field, words) in [
        (json!({}), "prompt", "prompt is missing"),
        (json!({"prompt": null}), "prompt", "prompt is missing"),
        (json!({"prompt": ""}), "prompt", "blank"),
        (json!({"prompt": " \n\t "}), "prompt", "blank"),
        (json!({"prompt": 5}), "prompt", "Expected a string"),
        (json!({"prompt": "é".repeat(200_001)}), "prompt", "200001 characters; at most 200000 are allowed"),
        (json!({"prompt": "x", "toolType": "read"}), "toolType", "There is no tool \"read\"; did you mean read_file?"),
        (json!({"prompt": "x", "tool_type": "zzz"}), "tool_type", "use auto or one of read_file, list_files"),
        (json!({"prompt": "x", "toolType": ["auto"]}), "toolType", "Expected a string"),
        (json!({"prompt": "x", "toolType": "auto", "tool_type": "auto"}), "toolType", "Both tool_type and toolType"),
        (json!({"prompt": "x", "contextHistory": {}}), "contextHistory", "Expected a list"),
        (json!({"prompt": "x", "context_history": ["a"]}), "context_history[0]", "Expected an object"),
        (
            json!({"prompt": "x", "contextHistory": [entry, with("result", json!(1))]}),
            "contextHistory[1].result",
            "string",
        ),
        (json!({"prompt": "x", "contextHistory": [without("timestamp")]}), "contextHistory[0].timestamp", "missing"),
        (json!({"prompt": "x", "contextHistory": [without("prompt")]}), "contextHistory[0].prompt", "missing"),
        (json!({"prompt": "x", "contextHistory": [with("more", json!("x"))]}), "contextHistory[0].more", "no field"),
        (json!({"prompt": "x", "direct": "yes"}), "direct", "true or false"),
        (json!({"prompt": "x", "stream": 1}), "stream", "true or false"),
        (json!({"prompt": "x", "args": {}}), "args", "without direct the model writes them"),
        (json!({"direct": true}), "tool_type", "direct runs one tool"),
        (json!({"direct": true, "toolType": "auto"}), "toolType", "direct runs one tool"),
        (json!({"direct": true, "toolType": "bash", "args": []}), "args", "Expected an object"),
        (json!({"direct": true, "toolType": "bash", "prompt": ""}), "prompt", "blank"),
        (json!({"prompt": "x", "promt": "y"}), "promt", "no field with this name"),
    ] {
        let answer = stage.turn(&body).await;
        let received = answer.json();
        assert_eq!(
            (answer.status, &received["error"]["code"]),
            (400, &json!("invalid_argument")),
            "{body}: {received}"
        );
        assert_eq!(received["error"]["field"], field, "{received}");
        assert!(received["message"].as_str().unwrap().contains(words), "{field}: {received}");
        assert_eq!((&received["data"], &received["message"]), (&Value::Null, &received["error"]["message"]));
    }
    assert!(stage.seen.lock().unwrap().messages.is_empty(), "no model was asked");
}

#[tokio::test]
async fn a_body_that_is_no_object_is_refused() {
    let stage = Stage::new([says("Yes.")]).await;
    for (body, words) in [
        ("", "not a JSON object"),
        ("[]", "a different value"),
        ("{\"prompt\": \"x\"", "not a JSON object"),
        ("{\"prompt\": \"x\", \"prompt\": \"y\"}", "prompt"),
        (&"[".repeat(100_000), "not a JSON object"),
        ("{\"prompt\": \"\\ud800\"}", "not a JSON object"),
    ] {
        let answer = stage.ask_with("POST", "/api/agent", &stage.headers(), body).await;
        let received = answer.json();
        assert_eq!((answer.status, &received["error"]["code"]), (400, &json!("invalid_body")), "{received}");
        assert!(received["message"].as_str().unwrap().contains(words), "{received}");
    }
    let mut stream = stage.send("POST", "/api/agent", &stage.headers(), b"{\"prompt\": \"\xff\"}").await;
    assert_eq!(crate::proxy::support::Answer::read(&mut stream).await.status, 400);
}

/// No route accepts a request that an HTML form can send.
#[tokio::test]
async fn a_body_that_does_not_say_that_it_is_json_is_refused_everywhere() {
    let stage = Stage::new([says("Yes.")]).await;
    let host = format!("host: {}\r\nauthorization: Bearer {TOKEN}\r\n", stage.address);
    let mut routes = 0;
    for (method, path) in ROUTES.iter().filter(|(method, _)| *method != "GET") {
        let path = path.replace("{id}", "new");
        for kind in [
            "",
            "content-type: text/plain\r\n",
            "content-type: application/x-www-form-urlencoded\r\n",
            "content-type: multipart/form-data; boundary=x\r\n",
            "content-type: text/plain; application/json\r\n",
            "content-type: application/jsonx\r\n",
            "content-type: \u{ff}\r\n",
        ] {
            let answer = stage.ask_with(method, &path, &format!("{host}{kind}"), "{\"prompt\": \"x\"}").await;
            let received = answer.json();
            assert_eq!(
                (answer.status, &received["error"]["code"]),
                (415, &json!("unsupported_media_type")),
                "{path} {kind}"
            );
        }
        for kind in ["application/json", "Application/JSON ; charset=utf-8"] {
            let headers = format!("{host}content-type: {kind}\r\n");
            let answer = stage.ask_with(method, &path, &headers, "{\"nothing\": 1}").await;
            assert_eq!((answer.status, &answer.json()["error"]["field"]), (400, &json!("nothing")), "{path} {kind}");
        }
        routes += 1;
    }
    assert_eq!(routes, 9);
    assert!(stage.seen.lock().unwrap().messages.is_empty());
}

/// The newest twenty entries of the client's context precede its prompt.
#[tokio::test]
async fn the_model_gets_the_context() {
    let stage = Stage::new([says("Yes.")]).await;
    let said = |at: usize| stage.seen.lock().unwrap().messages[at].last().unwrap().content.clone();
    let answer = stage.turn(&json!({"prompt": "go", "contextHistory": []})).await.json();
    assert_eq!((said(0).as_str(), &answer["data"]["context_dropped"]), ("User Request:\ngo", &json!(0)));
    let entry = |n: usize| json!({"timestamp": format!("t{n}"), "prompt": format!("p{n}"), "result": format!("r{n}")});
    let all: Vec<Value> = (0..23).map(entry).collect();
    let answer = stage.turn(&json!({"prompt": "go", "context_history": all})).await.json();
    assert_eq!(answer["data"]["context_dropped"], 3);
    let received = said(1);
    assert!(received.starts_with("Context History:\n[t3] p3 -> r3\n[t4] p4 -> r4\n"), "{received}");
    assert!(received.ends_with("[t22] p22 -> r22\n\nUser Request:\ngo"), "{received}");
    let all: Vec<Value> = (0..23).map(entry).collect();
    let events = stage.events(json!({"prompt": "go", "contextHistory": all})).await;
    assert_eq!(events.last().unwrap()["context_dropped"], 3);
    assert!(events.last().unwrap()["window"]["tokens"].as_u64().is_some_and(|tokens| tokens > 0));
}

#[tokio::test]
async fn a_tool_type_limits_the_model_to_that_tool() {
    let stage = Stage::new([says("Yes.")]).await;
    let system = |at: usize| stage.seen.lock().unwrap().messages[at][0].content.clone();
    for (tool, received) in [("auto", 10), ("readFile", 1), ("read_file", 1)] {
        let answer = stage.turn(&json!({"prompt": "go", "toolType": tool})).await;
        assert_eq!(answer.status, 200);
        let at = stage.seen.lock().unwrap().messages.len() - 1;
        assert_eq!(system(at).split(' ').count(), received, "{tool}: {}", system(at));
    }
}

/// A request chooses the persona that answers, and one of its tools.
#[tokio::test]
async fn a_persona_is_chosen_by_its_name() {
    let stage = Stage::new([says("Yes.")]).await;
    let received = stage.get("/api/personas").await.json()["data"].clone();
    assert_eq!((&received["chosen"], &received["personas"][1]["name"]), (&json!("maker"), &json!("reader")));
    assert_eq!(received["personas"][1]["tools"], json!(["read_file", "search"]));
    for (body, tools) in [
        (json!({"prompt": "go", "persona": "reader"}), "read_file search"),
        (json!({"prompt": "go", "persona": "reader", "toolType": "search"}), "search"),
    ] {
        assert_eq!(stage.turn(&body).await.status, 200);
        assert_eq!(stage.seen.lock().unwrap().messages.last().unwrap()[0].content, tools);
    }
    for (body, field) in [
        (json!({"prompt": "go", "persona": "missing"}), "persona"),
        (json!({"prompt": "go", "persona": 1}), "persona"),
        (json!({"prompt": "go", "persona": "reader", "toolType": "bash"}), "toolType"),
        (json!({"direct": true, "persona": "reader", "tool_type": "bash", "args": {}}), "tool_type"),
    ] {
        let answer = stage.turn(&body).await;
        assert_eq!((answer.status, &answer.json()["error"]["field"]), (400, &json!(field)), "{body}");
    }
}

/// The route returns only saved outputs, and the client can read them to the end.
#[tokio::test]
async fn a_long_output_is_read_in_pieces() {
    let stage = Stage::unasked().await;
    let body = json!({"direct": true, "toolType": "bash", "args": {"command": "seq 1 60000"}});
    let ran = stage.turn(&body).await.json()["data"]["calls"][0].clone();
    assert_eq!(ran["truncated"], true, "{ran}");
    let said = ran["output"].as_str().unwrap();
    let name = ran["data"]["output_id"].as_str().unwrap();
    assert!(said.contains(&format!(".toolfence/output/{name}.txt")), "{name}");
    let (mut all, mut from) = (String::new(), Some(0));
    while let Some(at) = from {
        let piece = stage.get(&format!("/api/outputs/{name}?offset={at}")).await.json()["data"].clone();
        all += piece["text"].as_str().unwrap();
        from = piece["next"].as_u64();
    }
    let numbers: String = (1..=60_000).map(|number| format!("{number}\n")).collect();
    assert!(all == numbers, "{}", all.len());
    for name in ["0", "a.txt", "..", "..%2fa", "%2e%2e/a.txt", "a"] {
        assert_eq!(stage.get(&format!("/api/outputs/{name}")).await.status, 404, "{name}");
    }
    let headers = format!("host: {}\r\n", stage.address);
    assert_eq!(stage.ask_with("GET", &format!("/api/outputs/{name}"), &headers, "").await.status, 401);
}

/// The description of the API has exactly the paths of the table.
#[tokio::test]
async fn the_description_has_every_route() {
    let described: Value = serde_json::from_str(OPENAPI).unwrap();
    let mut found: Vec<(String, String)> = Vec::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        found.extend(methods.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone())));
    }
    let mut known: Vec<(String, String)> =
        ROUTES.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    found.sort();
    known.sort();
    assert_eq!(found, known);
    assert_eq!(described["info"]["version"], env!("CARGO_PKG_VERSION"));
    let stage = Stage::new([says("Yes.")]).await;
    assert_eq!(stage.get("/openapi.json").await.json(), described);
}

#[tokio::test]
async fn the_tools_are_listed() {
    let stage = Stage::new([]).await;
    let tools = stage.get("/api/tools").await.json();
    let named: Vec<&str> =
        tools["data"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(named.contains(&"read_file") && named.len() == 10, "{named:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_are_completed_within_the_project() {
    let stage = Stage::new([says("Yes.")]).await;
    let root = stage.folder.path();
    for (name, text) in
        [("src/main.rs", ""), ("src/a b.rs", ""), ("src/out.rs", ""), (".gitignore", "out.rs\n"), (".env", "A=b\n")]
    {
        std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        std::fs::write(root.join(name), text).unwrap();
    }
    let complete =
        async |prefix: &str| stage.get(&format!("/api/files?prefix={prefix}")).await.json()["data"]["files"].clone();
    assert_eq!(complete("sr").await, json!(["src/"]));
    assert_eq!(complete("src/").await, json!(["src/a b.rs", "src/main.rs"]));
    assert_eq!(complete("src%2Fa%20").await, json!(["src/a b.rs"]));
    assert_eq!(complete(".g").await, json!([".gitignore"]));
    for nothing in [".e", "../", "/etc/", "src/../../", "*/", "src/out"] {
        assert_eq!(complete(nothing).await, json!([]), "{nothing}");
    }
    for number in 0..200 {
        std::fs::write(root.join(format!("src/f{number}")), "").unwrap();
    }
    assert_eq!(complete("src/f").await.as_array().unwrap().len(), 50);
    for (query, field) in [("prefix=%zz", "prefix"), ("prefix=%ff", "prefix"), ("path=a", "path")] {
        let answer = stage.get(&format!("/api/files?{query}")).await;
        assert_eq!((answer.status, &answer.json()["error"]["field"]), (400, &json!(field)), "{query}");
    }
}
