//! Long lists of tools: the model gets one line for each, and the full description of a tool on demand.

use super::support::*;
use serde_json::{Value, json};
use toolfence_protocol::parse::Reasoning;
use toolfence_server::proxy::{ProxyOptions, ToolDetails};

fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    let schema =
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
}

/// Three tools. The first one makes a bad example.
fn three() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!([
        tool(
            "Agent",
            "Starts an agent. It works alone.",
            json!({"description": text("a few words"), "prompt": text("the task")}),
            &["description", "prompt"]
        ),
        tool(
            "Edit",
            "Edits a file.\n\nUsage:\n- Read the file before.",
            json!({"file_path": text("an absolute path"), "count": {"type": "integer", "minimum": 1, "description": "how often"}}),
            &["file_path", "count"]
        ),
        tool("Read", "Reads a file.", json!({"file_path": text("an absolute path")}), &["file_path"]),
    ])
}

fn asked(tools: Value, streamed: bool) -> Value {
    let mut request = request(streamed);
    request["tools"] = tools;
    request
}

fn short(options: &mut ProxyOptions) {
    (options.tool_details, options.reasoning) = (ToolDetails::Short, Reasoning::Known);
}

fn called(name: &str, args: &Value) -> String {
    format!("```tool\n{}\n```\n", json!({"name": name, "args": args}))
}

/// Returns the instructions for these tools.
async fn instructions(tools: Value, details: ToolDetails) -> String {
    let stage = Stage::with(vec![whole("Yes.", "stop")], |options| options.tool_details = details).await;
    stage.ask(&asked(tools, false)).await;
    stage.requests()[0]["messages"][0]["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn each_tool_of_a_short_list_has_one_line() {
    let text = instructions(three(), ToolDetails::Short).await;
    for line in [
        "- `Agent(description, prompt)`: Starts an agent.\n",
        "- `Edit(file_path, count)`: Edits a file.\n",
        "- `Read(file_path)`: Reads a file.\n",
        "- `tool_help(name)`: ",
        "Call `tool_help` with the name of a tool",
        "{\"name\": \"Read\", \"args\": {\"file_path\": ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("absolute path") && !text.contains("Usage"), "{text}");
    let text = instructions(three(), ToolDetails::Auto).await;
    assert!(text.contains("an absolute path") && !text.contains("tool_help"), "{text}");
    let many: Vec<Value> = (0..80).map(|n| tool(&format!("t{n}"), &"Does it. ".repeat(20), json!({}), &[])).collect();
    assert!(instructions(json!(many), ToolDetails::Auto).await.contains("tool_help"));
    assert!(!instructions(json!(many), ToolDetails::Full).await.contains("tool_help"));
}

/// Uses lists as large as those of real agents: 25 tools in 74 KB, and 12 tools in 11 KB.
#[tokio::test]
async fn long_lists_have_short_instructions() {
    let words = "Some words about what it does and when to use it, with examples and rules that fill a page. ";
    let list = |count: usize, description: usize, names: &[&str]| {
        let text = json!({"type": "string", "description": words.repeat(2)});
        let properties: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), text.clone())).collect();
        let properties = Value::Object(properties);
        let tools = (0..count)
            .map(|n| tool(&format!("LongToolName{n}"), &words.repeat(description), properties.clone(), &names[..2]));
        Value::Array(tools.collect())
    };
    let names = ["description", "prompt", "subagent_type", "model", "run_in_background", "isolation"];
    for (tools, least, most) in [(list(25, 20, &names), 74_000, 12_000), (list(12, 4, &names[..5]), 11_000, 6_000)] {
        assert!(tools.to_string().len() > least, "{} bytes of tools", tools.to_string().len());
        let text = instructions(tools, ToolDetails::Auto).await;
        assert!(text.len() <= most, "{} bytes of instructions", text.len());
    }
}

#[tokio::test]
async fn the_proxy_answers_a_question_about_a_tool_itself() {
    let question = format!("Let me look.\n\n{}", called("tool_help", &json!({"name": "Edit"})));
    let call = format!("Now.\n\n{}", called("Edit", &json!({"file_path": "a", "count": 1})));
    for streamed in [true, false] {
        let say = |text: &str| if streamed { reply(text, 3, "stop") } else { whole(text, "stop") };
        let stage = Stage::with(vec![say(&question), say(&call)], short).await;
        let answer = stage.ask(&asked(three(), streamed)).await;
        if streamed {
            let got = ReceivedStream::of(&answer);
            assert_eq!((got.text.as_str(), got.finish.as_deref()), ("Let me look.\n\nNow.", Some("tool_calls")));
            assert_eq!(got.named(), [("Edit".to_owned(), json!({"file_path": "a", "count": 1}))]);
        } else {
            let message = answer.json()["choices"][0]["message"].clone();
            let calls = message["tool_calls"].as_array().unwrap();
            assert_eq!(
                (calls.len(), &calls[0]["function"]["name"], &message["content"]),
                (1, &json!("Edit"), &json!("Now."))
            );
        }
        let requests = stage.requests();
        let messages = requests[1]["messages"].as_array().unwrap();
        assert_eq!(messages[messages.len() - 2]["content"], question);
        let described = messages.last().unwrap()["content"].as_str().unwrap();
        for wanted in
            ["\"tool\":\"tool_help\"", "Read the file before.", "`count`: a whole number of at least 1. how often"]
        {
            assert!(described.contains(wanted), "{wanted}: {described}");
        }
        assert!(!described.contains("Agent"), "{described}");
    }
}

#[tokio::test]
async fn a_question_before_another_call_holds_it_back_and_after_it_is_dropped() {
    let question = called("tool_help", &json!({"name": "Edit"}));
    let call = called("Read", &json!({"file_path": "a"}));
    // The model may change the call after reading the answer.
    let stage = Stage::with(vec![reply(&format!("{question}{call}"), 3, "stop"), reply(&call, 3, "stop")], short).await;
    let got = ReceivedStream::of(&stage.ask(&asked(three(), true)).await);
    assert_eq!((got.named().len(), got.finish.as_deref(), stage.requests().len()), (1, Some("tool_calls"), 2));
    let answers =
        stage.requests()[1]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(answers.contains("\"tool\":\"Read\"") && answers.contains("cancelled"), "{answers}");
    // A call that the client has received is not withdrawn.
    let stage = Stage::with(vec![reply(&format!("{call}{question}"), 3, "stop")], short).await;
    let got = ReceivedStream::of(&stage.ask(&asked(three(), true)).await);
    assert_eq!(
        (got.named(), got.finish.as_deref()),
        (vec![("Read".to_owned(), json!({"file_path": "a"}))], Some("tool_calls"))
    );
    assert_eq!(stage.requests().len(), 1);
}

#[tokio::test]
async fn the_proxy_gives_up_on_a_model_that_only_asks_about_tools() {
    let question = called("tool_help", &json!({"name": "Edit"}));
    let stage = Stage::with(vec![reply(&question, 3, "stop")], short).await;
    let got = ReceivedStream::of(&stage.ask(&asked(three(), true)).await);
    assert!(got.error.unwrap().contains("asked too often") && got.calls.is_empty());
    assert_eq!(stage.requests().len(), 9);
    let unknown = called("tool_help", &json!({"name": "Edits"}));
    let stage = Stage::with(vec![reply(&unknown, 3, "stop"), reply("Yes.", 3, "stop")], short).await;
    stage.ask(&asked(three(), true)).await;
    let answers =
        stage.requests()[1]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(answers.contains("Did you mean Edit?") && answers.contains("unknown_tool"), "{answers}");
}

/// The schema of a tool is sent when the model first calls it wrongly.
#[tokio::test]
async fn a_wrong_call_is_answered_with_the_description_of_its_tool() {
    let wrong = called("Edit", &json!({"file_path": "a", "count": 0}));
    let right = called("Edit", &json!({"file_path": "a", "count": 1}));
    for (details, described) in [(ToolDetails::Short, true), (ToolDetails::Full, false)] {
        let change = |options: &mut ProxyOptions| options.tool_details = details;
        let stage = Stage::with(vec![reply(&wrong, 3, "stop"), reply(&right, 3, "stop")], change).await;
        let got = ReceivedStream::of(&stage.ask(&asked(three(), true)).await);
        assert_eq!(got.named(), [("Edit".to_owned(), json!({"file_path": "a", "count": 1}))]);
        let answers =
            stage.requests()[1]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
        assert_eq!(answers.contains("Read the file before."), described, "{answers}");
    }
}

#[tokio::test]
async fn a_tool_of_the_client_with_the_same_name_stays_its_own() {
    let mut tools = three();
    tools.as_array_mut().unwrap().push(tool("tool_help", "Helps people.", json!({"topic": {"type": "string"}}), &[]));
    let own = called("tool_help", &json!({"topic": "x"}));
    let ours = called("tool_help_2", &json!({"name": "Edit"}));
    let stage = Stage::with(vec![reply(&ours, 3, "stop"), reply(&own, 3, "stop")], short).await;
    let got = ReceivedStream::of(&stage.ask(&asked(tools, true)).await);
    assert_eq!(got.named(), [("tool_help".to_owned(), json!({"topic": "x"}))]);
    assert_eq!(stage.requests().len(), 2);
}
