//! Clients that violate the protocol, are slow, or disconnect.

use super::client::{Client, Schema, fixture, served};
use super::{answer, bash, end};
use serde_json::{Value, json};
use std::time::Duration;
use toolfence_kit::Random;
use toolfence_policy::AskMode;

#[test]
fn an_invalid_line_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut pipe = fixture(folder.path());
    pipe.line_bytes = 1000;
    served(pipe, async |client: &mut Client| {
        client.until("ready").await;
        let long = format!("{{\"type\": \"chunk\", \"text\": \"{}\"}}", "x".repeat(1000));
        for (line, word) in [
            ("nonsense", "cannot be read"),
            ("{\"type\": \"chunk\"}", "missing field `text`"),
            ("{\"type\": \"chunk\", \"text\": \"x\", \"txet\": 1}", "unknown field `txet`"),
            ("{\"type\": \"sing\"}", "unknown variant `sing`"),
            ("[]", "cannot be read"),
            (&format!("{{\"type\": \"{}\"}}", "y".repeat(900)), "cannot be read"),
            (&long, "more than 1000 bytes"),
            ("{\"type\": \"approve\", \"id\": \"call_1\"}", "there is no question about \"call_1\""),
            ("{\"type\": \"tool_result\", \"id\": \"call_1\"}", "is waiting for a result"),
            ("{\"type\": \"tools\", \"tools\": [{\"name\": \"a b\"}]}", "is not a valid tool name"),
        ] {
            client.say_raw(format!("\n{line}\r\n").as_bytes()).await;
            let error = client.until("error").await;
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(word) && message.len() < 500, "{line}: {error}");
        }
        client.say_raw(b"\xff\n").await;
        client.until("error").await;
        client.say(bash("touch one")).await;
        client.say(end()).await;
        client.until("ask").await;
        for line in [answer(), end(), json!({"type": "tools", "tools": []})] {
            client.say(line).await;
            client.until("error").await;
        }
        client.say(json!({"type": "deny", "id": "call_1"})).await;
        client.until("results").await;
        client.say(answer()).await;
        client.say_raw(b"{\"type\": \"end\"}").await;
        client.say_raw(b"\n").await;
        assert_eq!(client.until("stop").await["reason"], "answered");
    });
}

#[test]
fn the_pipe_reads_nothing_while_its_output_is_unread() {
    let folder = tempfile::tempdir().unwrap();
    served(fixture(folder.path()), async |client: &mut Client| {
        let chunk = json!({"type": "chunk", "text": "word ".repeat(2000)});
        let mut said = 0;
        while tokio::time::timeout(Duration::from_millis(300), client.say(chunk.clone())).await.is_ok() {
            said += 1;
            assert!(said < 1000, "all of it is kept somewhere");
        }
        // A future that is dropped in the middle of a write loses its line. The pipe answers the complete lines.
        let mut heard = 0;
        while heard + 10_000 < said * 10_000 {
            let line = client.hear().await;
            heard += line["text"].as_str().map_or(0, str::len);
        }
    });
}

#[test]
fn a_command_keeps_its_deadline_while_the_client_does_not_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("big"), "0123456789012345678901234567890123456789\n".repeat(1000)).unwrap();
    let mut pipe = fixture(folder.path());
    pipe.policy = pipe.policy.ask(AskMode::Never);
    let read = json!({"name": "read_file", "args": {"path": "big"}});
    let command = json!({"command": "touch begun; sleep 3; touch late", "timeout": 1});
    let run = json!({"name": "bash", "args": command});
    served(pipe, async |client: &mut Client| {
        client.until("ready").await;
        let block = |call: &Value| format!("```tool\n{call}\n```\n");
        let reply = block(&read).repeat(2) + &block(&run);
        client.say(json!({"type": "chunk", "text": reply})).await;
        client.say(end()).await;
        // Two results exceed the stream buffers, so the command runs before its `running` line can be written.
        tokio::time::sleep(Duration::from_millis(4500)).await;
        assert!(folder.path().join("begun").exists() && !folder.path().join("late").exists());
        let results = client.until("results").await;
        assert!(results["text"].as_str().unwrap().contains("\"code\":\"timeout\""), "{results}");
    });
}

/// Sends every kind of line in random order, some of them damaged. The pipe's lines match the schema, and a turn can
/// always be ended and another one begun.
#[test]
fn no_sequence_of_lines_breaks_the_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(7);
    let schema = Schema::new();
    served(fixture(folder.path()), async |client: &mut Client| {
        client.until("ready").await;
        for round in 0..400 {
            for _ in 0..random.below(6) {
                let line = line(&mut random);
                client.say_raw(broken(&line.to_string(), &mut random).as_bytes()).await;
                assert!(schema.knows(&line), "{line}");
            }
            // Ends anything that is open: a reply with `end`, its calls with `cancel`.
            client.say(end()).await;
            client.say(json!({"type": "cancel"})).await;
            let mark = format!("mark{round}");
            client.say_raw(format!("{{\"type\": \"{mark}\"}}\n").as_bytes()).await;
            while !client.hear().await["message"].as_str().is_some_and(|message| message.contains(&mark)) {}
            client.say(answer()).await;
            client.say(end()).await;
            assert_eq!(client.until("stop").await["reason"], "answered");
        }
    });
}

fn line(random: &mut Random) -> Value {
    let id = *random.pick(&["call_1", "call_2", "x"]);
    let text = *random.pick(&[
        "a",
        "```tool\n",
        "{\"name\": \"list_files\"}\n",
        "```\n",
        "```tool_result\n",
        "<<EOF",
        "\u{e9}\0",
    ]);
    match random.below(9) {
        0 => end(),
        1 => json!({"type": "end", "reason": random.pick(&["stop", "length", "cut"])}),
        2 => json!({"type": "approve", "id": id, "always": random.below(2) == 0}),
        3 => json!({"type": "deny", "id": id}),
        4 => json!({"type": "tool_result", "id": id, "output": text}),
        5 => json!({"type": "tools", "tools": [{"name": "list_files", "effect": "read"}]}),
        _ => json!({"type": "chunk", "text": text}),
    }
}

/// Damages a line by removing or inserting a character.
fn broken(line: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = line.chars().collect();
    if random.below(3) == 0 {
        let at = random.below(chars.len());
        match random.below(2) {
            0 => drop(chars.remove(at)),
            _ => chars.insert(at, *random.pick(&['"', '{', '}', '\\', ',', '\u{1f980}'])),
        }
    }
    chars.into_iter().collect::<String>() + "\n"
}
