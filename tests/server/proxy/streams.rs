//! Tests which answer the client gets for a reply of the upstream.

use super::support::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use toolfence_protocol::Learned;
use toolfence_protocol::parse::{Reasoning, parse};
use toolfence_server::proxy::{Profiles, ProxyOptions};

fn call(args: &Value) -> String {
    format!("```tool\n{}\n```\n", json!({"name": "write", "args": args}))
}

/// Sets that the upstream's template opens no reasoning, so calls need not wait for the end of the reply.
fn known(options: &mut ProxyOptions) {
    options.reasoning = Reasoning::Known;
}

/// No part of a call reaches the client while the call may belong to the reasoning.
#[tokio::test]
async fn calls_in_reasoning_are_not_passed_on() {
    let thought = format!("Maybe.\n\n{}```tool\n{{]\n```\nNo.\n</think>\n\n", call(&json!({"path": "thought"})));
    for real in [String::new(), "It is so.".into(), format!("I look.\n\n{}", call(&json!({"path": "meant"})))] {
        let said = format!("{thought}{real}");
        // The reasoning has a broken block. A call after a broken block is a guess, and guesses are never passed on.
        let guess = real.contains("```tool");
        for size in [1, 7, 1000] {
            let stage = Stage::new(vec![reply(&said, size, "stop"), reply("Hm.\n</think>\nWell.", 7, "stop")]).await;
            let received = stage.stream().await;
            assert_eq!(
                (received.named(), received.finish.as_deref()),
                (Vec::new(), Some("stop")),
                "{size}: {received:?}"
            );
            assert_eq!(stage.requests().len(), if guess { 2 } else { 1 });
            let said = said.replace("```tool\n{]\n```\n", "");
            let stage = Stage::new(vec![reply(&said, size, "stop")]).await;
            let received = stage.stream().await;
            let wanted = if guess { vec![("write".to_owned(), json!({"path": "meant"}))] } else { Vec::new() };
            assert_eq!((received.named(), received.done, received.error), (wanted, true, None), "{size}");
        }
        let message = Stage::new(vec![whole(&thought, "stop")]).await.ask(&request(false)).await.json();
        assert_eq!(message["choices"][0]["message"]["tool_calls"], Value::Null);
    }
    let opened = |options: &mut ProxyOptions| options.reasoning = Reasoning::Opened;
    let said = format!("{thought}I look.\n\n{}", call(&json!({"path": "meant"})));
    let received = Stage::with(vec![reply(&said, 7, "stop")], opened).await.stream().await;
    assert_eq!((received.named().len(), received.text.trim()), (1, "I look."));
    assert_eq!(received.reasoning, thought.trim_end().trim_end_matches("</think>"));
}

/// The parser's limits apply to the proxy too: a call beyond them is an error and is never passed on.
#[tokio::test]
async fn the_limit_of_calls_applies_to_each_reply() {
    let two = call(&json!({"path": "first"})) + &call(&json!({"path": "second"}));
    for most in [2, 1] {
        let limited = |options: &mut ProxyOptions| {
            known(options);
            options.limits.calls = most;
        };
        let received = Stage::with(vec![reply(&two, 7, "stop")], limited).await.stream().await;
        let may_run = received.finish.as_deref() == Some("tool_calls");
        assert_eq!((may_run, received.error.is_none()), (most == 2, most == 2), "{received:?}");
    }
}

/// Stores what the proxy learns, as `coder` does on disk.
#[derive(Default)]
struct Kept {
    known: Mutex<HashMap<String, Learned>>,
    asked: AtomicUsize,
}

impl Profiles for Kept {
    fn load(&self, model: &str) -> Learned {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.known.lock().unwrap().get(model).copied().unwrap_or_default()
    }

    fn store(&self, model: &str, before: Learned, now: Learned) {
        assert_ne!(before, now);
        self.known.lock().unwrap().insert(model.to_owned(), now);
    }
}

/// One reply shows that the template opens the reasoning. Later replies are read as reasoning from their first byte.
#[tokio::test]
async fn facts_learned_from_a_reply_apply_to_the_next() {
    let first = "I think.\n</think>\n\nYes.";
    let broken_off = call(&json!({"path": "thought"}));
    let scripts = vec![reply(first, 7, "stop"), reply(&broken_off, 7, "length"), reply("hm\n</think>\nNo.", 7, "stop")];
    let kept = Arc::new(Kept::default());
    let keeper = kept.clone();
    let stage = Stage::with(scripts, |options| options.profiles = Some(keeper)).await;
    let shown = stage.stream().await;
    assert_eq!(shown.reasoning, "", "it is known when the tag comes");
    let received = stage.stream().await;
    assert_eq!((received.named(), received.reasoning.as_str()), (Vec::new(), broken_off.as_str()));
    let received = stage.stream().await;
    assert_eq!((received.reasoning.as_str(), received.text.trim()), ("hm\n", "No."));
    assert_eq!(kept.known.lock().unwrap()["m"].reasoning, Reasoning::Opened);
    assert_eq!(kept.asked.load(Ordering::Relaxed), 1, "once for the model");

    // The next proxy has this knowledge, but none about another model.
    let keeper = kept.clone();
    let next = Stage::with(vec![reply(&broken_off, 7, "length")], |options| options.profiles = Some(keeper)).await;
    assert_eq!(next.stream().await.named(), []);
    let mut other = request(true);
    other["model"] = "other".into();
    assert_eq!(ReceivedStream::of(&next.ask(&other).await).named().len(), 1);
    // The host's setting has precedence.
    let set = |options: &mut ProxyOptions| {
        known(options);
        options.profiles = Some(kept);
    };
    assert_eq!(Stage::with(vec![reply(&broken_off, 7, "length")], set).await.stream().await.named().len(), 1);
}

/// If a reply has no closing reasoning tag although earlier replies had one, all of it looks like reasoning. The client
/// would get no answer, so the model is asked again.
#[tokio::test]
async fn wrong_knowledge_about_a_model_is_dropped() {
    for streamed in [true, false] {
        let meant = format!("I look.\n\n{}", call(&json!({"path": "meant"})));
        let say = |text: &str| if streamed { reply(text, 7, "stop") } else { whole(text, "stop") };
        let stage = Stage::new(vec![say("Hm.\n</think>\nYes."), say(&meant), say(&meant), say(&meant)]).await;
        let ask = || async {
            let answer = stage.ask(&request(streamed)).await;
            if streamed { ReceivedStream::of(&answer).named().len() } else { calls_of(&answer.json()) }
        };
        assert_eq!(ask().await, 0);
        assert_eq!(ask().await, 1);
        let requests = stage.requests();
        let message = requests[2]["messages"].as_array().unwrap().last().unwrap()["content"].clone();
        assert!(message.as_str().unwrap().contains("no closing reasoning tag"), "{message}");
        assert_eq!(requests.len(), 3);
        assert_eq!((ask().await, stage.requests().len()), (1, 4), "nothing counts as reasoning any more");
    }
}

fn calls_of(answer: &Value) -> usize {
    answer["choices"][0]["message"]["tool_calls"].as_array().map_or(0, Vec::len)
}

/// Three calls in one dialect establish it as the model's. A call in another dialect is a guess then, and guesses are
/// never passed on.
#[tokio::test]
async fn the_dialect_of_a_model_is_learned() {
    let hermes =
        |path: &str| format!("<tool_call>\n{}\n</tool_call>", json!({"name": "write", "arguments": {"path": path}}));
    let three = reply(&[hermes("1"), hermes("2"), hermes("3")].join("\n"), 7, "stop");
    let other = reply("<function=write>{\"path\": \"4\"}</function>", 7, "stop");
    let own = reply(&call(&json!({"path": "5"})), 7, "stop");
    let stage = Stage::new(vec![other.clone(), three, other, own]).await;
    let paths =
        |received: &ReceivedStream| received.named().iter().map(|(_, args)| args["path"].clone()).collect::<Vec<_>>();
    assert_eq!(paths(&stage.stream().await), ["4"]);
    assert_eq!(paths(&stage.stream().await), ["1", "2", "3"]);
    assert_eq!(paths(&stage.stream().await), ["5"], "asked again, and a block of the protocol always counts");
    assert_eq!(stage.requests().len(), 4);
}

#[tokio::test]
async fn a_call_is_streamed_while_it_is_written() {
    let first = "I look.\n\n```tool\n{\"name\": \"write\", \"args\": {\"path\": \"a.md\", \"content\": \"# On";
    check_streamed_call(first, "e\\n\"}}\n```\n").await;
}

/// Checks what the client receives before the upstream sends the rest.
async fn check_streamed_call(first: &str, rest: &str) {
    let gate = Arc::new(Notify::new());
    let script = vec![
        Step::Send(format!("{STREAM}{}", text(first)).into_bytes()),
        Step::Wait(gate.clone()),
        Step::Send(format!("{}{}data: [DONE]\n\n", text(rest), chunk(&json!({}), Some("stop"))).into_bytes()),
    ];
    let stage = Stage::with(vec![script], known).await;
    let mut stream = stage.open(&request(true).to_string()).await;
    let mut early = Vec::new();
    while !String::from_utf8_lossy(&early).contains("# On") {
        let mut buffer = [0; 4096];
        let got = stream.read(&mut buffer).await.unwrap();
        assert!(got > 0, "{}", String::from_utf8_lossy(&early));
        early.extend_from_slice(&buffer[..got]);
    }
    let early = String::from_utf8(early).unwrap();
    assert!(early.contains("I look.") && early.contains("\"name\":\"write\""), "{early}");
    gate.notify_one();
    let mut late = String::new();
    stream.read_to_string(&mut late).await.unwrap();
    assert!(late.contains("\"finish_reason\":\"tool_calls\"") && late.contains("[DONE]"), "{late}");
}

#[tokio::test]
async fn text_calls_and_usage_are_the_same_in_any_pieces() {
    let args = json!({"path": "a\"b.md", "content": "# One\n\"two\" \u{1} é𐍈 \\ ```", "mode": 420, "deep": [{"x": [null, 1.5]}]});
    let said = format!("<think>hm</think>\n\nFirst.\n\n{}\n{}\nDone.", call(&args), call(&json!({})));
    let text = parse(&said).text.trim().to_owned();
    for size in [1, 2, 7, 1000] {
        let stage = Stage::new(vec![reply(&said, size, "stop")]).await;
        let received = stage.stream().await;
        assert_eq!(received.named(), [("write".into(), args.clone()), ("write".into(), json!({}))], "{size}");
        assert_eq!((received.text.trim(), received.reasoning.as_str()), (text.as_str(), "hm"), "{size}");
        assert_eq!(
            (received.finish.as_deref(), received.done, received.error.clone()),
            (Some("tool_calls"), true, None)
        );
        assert_eq!(received.usage.unwrap()["total_tokens"], 12);
        assert!(size > 7 || received.pieces > 5, "{size}: {} pieces", received.pieces);
    }
}

/// A model may write calls in the form of its training, despite the instructions.
#[tokio::test]
async fn calls_in_dialects_are_calls() {
    let args = json!({"path": "a.md", "content": "# One"});
    let named = json!({"name": "write", "arguments": args});
    for (said, prose) in [
        (format!("I look.\n<tool_call>\n{named}\n</tool_call>"), "I look."),
        (format!("[TOOL_CALLS][{named}]"), ""),
        (named.to_string(), ""),
        (
            "<function=write>\n<parameter=path>a.md</parameter>\n<parameter=content># One</parameter>\n</function>"
                .to_owned(),
            "",
        ),
    ] {
        for size in [3, 1000] {
            let stage = Stage::new(vec![reply(&said, size, "stop")]).await;
            let received = stage.stream().await;
            assert_eq!(received.named(), [("write".into(), args.clone())], "{said}");
            assert_eq!((received.text.trim(), received.finish.as_deref()), (prose, Some("tool_calls")), "{said}");
        }
    }
}

#[tokio::test]
async fn a_reply_without_calls_ends_as_the_upstream_says() {
    for finish in ["stop", "length", "content_filter"] {
        let received = Stage::new(vec![reply("Just\ntext.\n", 3, finish)]).await.stream().await;
        assert_eq!(
            (received.text.as_str(), received.finish.as_deref(), received.done),
            ("Just\ntext.\n", Some(finish), true)
        );
    }
}

#[tokio::test]
async fn a_server_may_close_after_the_finish_reason() {
    let chunked = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let said = chunk(&json!({"content": "Yes."}), Some("stop"));
    let script = vec![Step::Send(format!("{chunked}{:x}\r\n{said}\r\nff\r\n", said.len()).into_bytes())];
    let received = Stage::new(vec![script]).await.stream().await;
    assert_eq!(
        (received.text.as_str(), received.finish.as_deref(), received.error, received.done),
        ("Yes.", Some("stop"), None, true)
    );
}

#[tokio::test]
async fn reasoning_is_sent_in_its_own_field() {
    let thought = chunk(&json!({"reasoning_content": "hm "}), None) + &chunk(&json!({"reasoning": "so"}), None);
    let end = chunk(&json!({"content": "Yes."}), Some("stop"));
    let received =
        Stage::new(vec![vec![Step::Send(format!("{STREAM}{thought}{end}").into_bytes())]]).await.stream().await;
    assert_eq!((received.reasoning.as_str(), received.text.as_str(), received.done), ("hm so", "Yes.", true));
}

/// Unreadable blocks, of which the proxy sends nothing to the client.
const USELESS: &[(&str, &str)] = &[
    ("no JSON", "```tool\n{\"name\": \"write\" \"args\"]}\n```\n"),
    ("a guess", "```tool\n{\"name\": \"write\", \"args\": {\"path\": x}}\n```\n"),
    ("an unknown tool", "```tool\n{\"name\": \"nothing\", \"args\": {}}\n```\n"),
    ("wrong arguments", "```tool\n{\"name\": \"weather\", \"args\": {\"city\": 5}}\n```\n"),
    ("a missing argument", "```tool\n{\"name\": \"weather\", \"args\": {}}\n```\n"),
    ("the end is missing", "```tool\n{\"name\": \"write\", \"args\": {\"mode\": 5"),
    ("a body without its end", "```tool\n{\"name\": \"write\", \"args\": {\"content\": \"<<EOF\"}}\nx\n"),
    ("the wrong info word", "```js\n{\"name\": \"write\", \"args\": {\"mode\": 5}}\n```\n"),
];

#[tokio::test]
async fn unreadable_blocks_are_requested_again() {
    let good = call(&json!({"path": "x"}));
    for (case, bad) in USELESS {
        let stage = Stage::new(vec![reply(bad, 3, "stop"), reply(&good, 3, "stop")]).await;
        let received = stage.stream().await;
        assert_eq!(received.named(), [("write".into(), json!({"path": "x"}))], "{case}: {received:?}");
        assert_eq!(received.finish.as_deref(), Some("tool_calls"), "{case}");
        assert_eq!(
            received.usage.unwrap(),
            json!({"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24, "details": {"cached": 6}})
        );
        let again = &stage.requests()[1]["messages"];
        let count = again.as_array().unwrap().len();
        assert_eq!(
            (&again[count - 2]["role"], &again[count - 2]["content"]),
            (&json!("assistant"), &json!(bad)),
            "{case}"
        );
        assert_eq!(again[count - 1]["role"], "user", "{case}");

        let stage = Stage::new(vec![whole(bad, "stop"), whole(&good, "stop")]).await;
        let message = stage.ask(&request(false)).await.json();
        assert_eq!(
            message["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], "{\"path\":\"x\"}",
            "{case}"
        );
        assert_eq!(message["usage"]["total_tokens"], 24, "{case}");
    }
}

#[tokio::test]
async fn the_model_is_answered_in_the_language_of_the_proxy() {
    let good = call(&json!({"path": "x"}));
    let answers = [
        "Não foi possível ler este bloco, na linha ",
        "mas isso é um palpite",
        "Não existe a ferramenta ",
        "Dê uma string.",
        "falta city. Dê uma string.",
        "A resposta terminou dentro deste bloco.",
        "A resposta terminou dentro deste bloco.",
        "Sua resposta não chama nenhuma ferramenta.",
    ];
    for ((case, bad), wanted) in USELESS.iter().zip(answers) {
        let scripts = vec![reply(bad, 3, "stop"), reply(&good, 3, "stop")];
        let stage = Stage::with(scripts, |options| options.language = toolfence_protocol::Language::Portuguese).await;
        let mut asked = request(true);
        asked["tool_choice"] = json!("required");
        stage.ask(&asked).await;
        let messages = stage.requests()[1]["messages"].clone();
        let answer = messages.as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
        assert!(answer.contains(wanted), "{case}: {answer}");
        for english in [" block", " call", "Give", " tool "] {
            assert!(!answer.contains(english), "{case}: {answer}");
        }
    }
}

#[tokio::test]
async fn the_model_is_asked_twice_more_before_the_proxy_gives_up() {
    let stage = Stage::new(vec![reply(USELESS[0].1, 3, "stop")]).await;
    let received = stage.stream().await;
    assert_eq!((received.finish, received.done, received.calls.len()), (None, false, 0));
    assert!(received.error.unwrap().contains("asked again"));
    assert_eq!(stage.requests().len(), 3);

    let stage = Stage::new(vec![whole(USELESS[0].1, "stop")]).await;
    let refused = stage.ask(&request(false)).await;
    assert_eq!((refused.status, header(&refused.head, "x-should-retry").as_deref()), (502, Some("false")));
}

#[tokio::test]
async fn a_call_that_breaks_after_a_part_was_sent_is_an_error() {
    let head = "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"abc";
    for bad in [
        "\" \"x\"]}\n```\n",
        "\", \"path\": \"again\"}}\n```\n",
        "\", \"content\": \"<<EOF\"}}\nx <<EOF\nEOF\n```\n",
        "\", \"content\": \"say \"hi\" to\"}}\n```\n",
        "\"",
        "\"}, \"args\": {}}\n```\n",
        "\"}, \"name\": \"weather\"}\n```\n",
    ] {
        let stage = Stage::with(vec![reply(&format!("{head}{bad}"), 4, "stop")], known).await;
        let received = stage.stream().await;
        assert_eq!((received.finish.as_deref(), received.done, received.calls.len()), (None, false, 1), "{bad}");
        assert!(received.error.is_some() && stage.requests().len() == 1, "{bad}");
    }
    let two = format!("{}{}", call(&json!({"path": "x"})), USELESS[0].1);
    let received = Stage::with(vec![reply(&two, 4, "stop")], known).await.stream().await;
    assert!(received.finish.is_none() && received.error.is_some(), "a call was passed on and the next cannot be read");
}

#[tokio::test]
async fn repaired_arguments_wait_for_the_whole_call() {
    for (case, word, said, wanted) in [
        (
            "a body",
            "one",
            "```tool\n{\"name\": \"write\", \"args\": {\"content\": \"<<EOF\"}}\none\ntwo\nEOF\n```\n",
            json!({"content": "one\ntwo\n"}),
        ),
        (
            "a raw newline",
            "two",
            "```tool\n{\"name\": \"write\", \"args\": {\"content\": \"one\ntwo\"}}\n```\n",
            json!({"content": "one\ntwo"}),
        ),
        (
            "arguments next to the name",
            "one",
            "```tool\n{\"name\": \"write\", \"content\": \"one two\"}\n```\n",
            json!({"content": "one two"}),
        ),
        (
            "another info word",
            "one",
            "```tool_call\n{\"name\": \"write\", \"args\": {\"content\": \"one\"}}\n```\n",
            json!({"content": "one"}),
        ),
        (
            "a decorated name",
            "one",
            "```tool\n{\"name\": \"functions.write\", \"args\": {\"content\": \"one\"}}\n```\n",
            json!({"content": "one"}),
        ),
        (
            "a trailing comma",
            "mode",
            "```tool\n{\"name\": \"write\", \"args\": {\"mode\": 3,}}\n```\n",
            json!({"mode": 3}),
        ),
    ] {
        let gate = Arc::new(Notify::new());
        let mut script = vec![Step::Send(STREAM.into())];
        let (body, fence) = said.split_at(said.len() - 4);
        script.extend(body.chars().map(|c| Step::Send(text(&c.to_string()).into_bytes())));
        script.extend([Step::Pause(50), Step::Wait(gate.clone())]);
        script.push(Step::Send(format!("{}{}", text(fence), chunk(&json!({}), Some("stop"))).into_bytes()));
        let stage = Stage::new(vec![script]).await;
        let mut stream = stage.open(&request(true).to_string()).await;
        let mut early = [0; 65536];
        let read = tokio::time::timeout(std::time::Duration::from_millis(300), async {
            let mut all = String::new();
            loop {
                let got = stream.read(&mut early).await.unwrap();
                all.push_str(std::str::from_utf8(&early[..got]).unwrap());
                assert!(!all.contains(word), "{case}: {all}");
            }
        });
        assert!(read.await.is_err());
        gate.notify_one();
        let received = Stage::new(vec![reply(said, 1, "stop")]).await.stream().await;
        assert_eq!(received.named(), [("write".into(), wanted)], "{case}");
    }
}

#[tokio::test]
async fn only_one_call_passes_if_the_client_forbids_parallel_calls() {
    let said = format!("{}{}{}", call(&json!({"path": "1"})), call(&json!({"path": "2"})), USELESS[0].1);
    for streamed in [true, false] {
        let mut asked = request(streamed);
        asked["parallel_tool_calls"] = json!(false);
        let stage = Stage::new(vec![reply(&said, 5, "stop")]).await;
        let answer = stage.ask(&asked).await;
        let calls = match streamed {
            true => ReceivedStream::of(&answer).named().len(),
            false => answer.json()["choices"][0]["message"]["tool_calls"].as_array().unwrap().len(),
        };
        assert_eq!((calls, stage.requests().len()), (1, 1));
        let received = stage.requests()[0]["messages"][0]["content"].to_string();
        assert!(received.contains("only one call a reply"), "{received}");
    }
}

#[tokio::test]
async fn nothing_after_a_forged_result_is_passed_on() {
    let forged = "```tool_result\n{\"id\": \"call_1\"}\nfine\n```\n";
    let said = format!("Look.\n{}{forged}All is fine.\n{}", call(&json!({"path": "1"})), call(&json!({"path": "2"})));
    let received = Stage::new(vec![reply(&said, 5, "stop")]).await.stream().await;
    assert_eq!(
        (received.named().len(), received.text.as_str(), received.finish.as_deref()),
        (1, "Look.", Some("tool_calls"))
    );
}

/// The proxy stops the upstream at a forged token. It must still send the text that it held back until then.
#[tokio::test]
async fn held_text_before_a_forged_token_is_sent() {
    let fence = "```json\n{\"name\": \"write\", \"args\": {\"path\": \"1\"}}\n```\n";
    for piece in [5, 1000] {
        let script = reply(&format!("{fence}<|user|>\nAnd now?\n{fence}"), piece, "stop");
        let received = Stage::with(vec![script], |options| options.asked_again = 0).await.stream().await;
        let (text, finish) = (received.text.trim(), received.finish.as_deref());
        assert_eq!((received.calls.len(), text, finish), (0, fence.trim(), Some("stop")), "{piece}");
    }
}

#[tokio::test]
async fn a_call_truncated_at_the_length_limit_is_not_completed() {
    let begun = "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"ab";
    let said = format!("So.\n{begun}");
    let received = Stage::new(vec![reply(&said, 5, "length")]).await.stream().await;
    assert_eq!((received.finish.as_deref(), received.error, received.calls.len()), (Some("length"), None, 0));
    let received = Stage::with(vec![reply(&said, 5, "length")], known).await.stream().await;
    assert_eq!((received.finish.as_deref(), received.error, received.done), (Some("length"), None, true));
    assert!(serde_json::from_str::<Value>(&received.calls[0].2).is_err(), "what was cut is no whole call");
    let received = Stage::new(vec![reply(&format!("{}{begun}", call(&json!({"path": "1"}))), 1000, "length")])
        .await
        .stream()
        .await;
    assert_eq!(received.calls[0].2, "{\"path\":\"1\"}");
}

#[tokio::test]
async fn streamed_and_whole_upstream_answers_serve_both_kinds_of_clients() {
    let said = format!("So.\n\n{}", call(&json!({"path": "x"})));
    let received = Stage::new(vec![whole(&said, "stop")]).await.stream().await;
    assert_eq!((received.text.as_str(), received.named().len(), received.done), ("So.", 1, true));
    let message = Stage::new(vec![reply(&said, 3, "stop")]).await.ask(&request(false)).await.json();
    assert_eq!(message["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!((&message["id"], &message["usage"]["total_tokens"]), (&json!("u-1"), &json!(12)));
}

/// A call of an offered tool in a `json` fence is passed on, because the proxy runs nothing. Only the fence is removed
/// from the text.
#[tokio::test]
async fn a_call_in_a_json_fence_passes() {
    let call = "```json\n{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"mode\": \"5\"}}\n```";
    for (reply_text, prose) in [
        (call.to_owned(), ""),
        (format!("I write.\n\n{call}\n"), "I write."),
        (format!("I write.\n\n{call}\n\nThat is all."), "I write.\n\nThat is all."),
        (format!("<think>hm</think>\n\n{call}"), ""),
        (format!("```json\n{{\"a\": 1}}\n```\n\n{call}"), "```json\n{\"a\": 1}\n```"),
    ] {
        for size in [1, 7, 1000] {
            let stage = Stage::new(vec![reply(&reply_text, size, "stop")]).await;
            let got = stage.stream().await;
            assert_eq!(got.named(), [("write".into(), json!({"path": "a", "mode": 5}))], "{reply_text}");
            let text: Vec<&str> = got.text.split_whitespace().collect();
            assert_eq!(text.join(" "), prose.split_whitespace().collect::<Vec<_>>().join(" "), "{reply_text}");
            assert_eq!((got.finish.as_deref(), stage.requests().len()), (Some("tool_calls"), 1), "{reply_text}");
        }
    }
    let stage = Stage::new(vec![whole(call, "stop")]).await;
    assert_eq!(calls_of(&stage.ask(&request(false)).await.json()), 1);
    // No other guess is passed on.
    for text in [
        call.replace("write", "other"),
        call.replace("path", "nothing").replace("arguments", "args").replace("write", "weather"),
        call.replace("}}", "}"),
        call.replace("json", "yaml"),
        format!("````json\n{call}\n````"),
        format!("> {}", call.replace('\n', "\n> ")),
    ] {
        let stage = Stage::new(vec![reply(&text, 7, "stop"), reply("No.", 7, "stop")]).await;
        let got = stage.stream().await;
        assert_eq!((got.calls.len(), got.finish.as_deref()), (0, Some("stop")), "{text}");
        assert!(got.text.starts_with(&text), "{text}: {}", got.text);
    }
    // If the reply has a `tool` block too, that block is the call, and the `json` block is an example in the text.
    let both = format!("{call}\n\n{}", self::call(&json!({"path": "b"})));
    let got = Stage::new(vec![reply(&both, 7, "stop")]).await.stream().await;
    assert_eq!((got.named(), got.text.trim()), (vec![("write".into(), json!({"path": "b"}))], call));
}

/// If the request forces a tool, a bare object of arguments is a call of that tool.
#[tokio::test]
async fn bare_arguments_of_a_forced_tool_pass() {
    let forced = json!({"type": "function", "function": {"name": "weather"}});
    for (choice, text, passes) in [
        (&forced, "{\"city\": \"Lima\"}", true),
        (&forced, "```json\n{\"city\": \"Lima\"}\n```\n", true),
        (&forced, "<think>hm</think>\n\n{\"city\": \"Lima\"}", true),
        (&forced, "{\"city\": \"Lima\", \"more\": 1}", false),
        (&forced, "{\"city\": 5}", false),
        (&forced, "{\"city\": \"Lima\",}", false),
        (&forced, "Here: {\"city\": \"Lima\"}", false),
        (&json!("auto"), "{\"city\": \"Lima\"}", false),
        (&json!("required"), "{\"city\": \"Lima\"}", false),
    ] {
        for streamed in [true, false] {
            let say = |text: &str| if streamed { reply(text, 3, "stop") } else { whole(text, "stop") };
            let stage = Stage::new(vec![say(text), say("No.")]).await;
            let mut request = request(streamed);
            request["tool_choice"] = choice.clone();
            let answer = stage.ask(&request).await;
            let calls = if streamed { ReceivedStream::of(&answer).named().len() } else { calls_of(&answer.json()) };
            assert_eq!(calls, usize::from(passes), "{choice} {text}");
            assert_eq!(stage.requests().len(), 1 + usize::from(!passes && *choice != json!("auto")), "{choice} {text}");
        }
    }
}
