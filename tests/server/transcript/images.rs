//! Tests images for the model: the requests, the records, and models without image support.

use super::program::{Place, has_nothing_active};
use super::{agent, instructed, records, resumed, without_instructions};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use toolfence_agent::agent::{Host, Nobody};
use toolfence_agent::backend::{Backend, Replay, Sink};
use toolfence_agent::transcript::Transcript;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Error, FinishReason, Image, Message, Role};
use toolfence_session::Compacted;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02";
const PNG_URL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAI=";
const GIF: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,";

/// The error of llama.cpp without a projector for images.
const REFUSAL: &str = r#"{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}"#;

/// Starts a server with these replies, and returns its requests. If it is `blind`, it refuses requests with images.
fn server(blind: bool, replies: &'static [&'static str]) -> (String, Arc<Mutex<Vec<Value>>>) {
    refusing(if blind { Some(REFUSAL) } else { None }, replies)
}

/// Starts a server with these replies. It answers requests with images with `refusal`, if present.
fn refusing(refusal: Option<&'static str>, replies: &'static [&'static str]) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = asked.clone();
    std::thread::spawn(move || {
        let mut replies = replies.iter();
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut length, mut is_post) = (0, false);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                is_post |= line.starts_with("POST ");
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            if !is_post {
                // This server does not report its window.
                stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
                continue;
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            let shows = body["messages"].as_array().unwrap().iter().any(|message| message["content"].is_array());
            seen.lock().unwrap().push(body);
            let answer = if let Some(refusal) = refusal.filter(|_| shows) {
                let status = if refusal == REFUSAL { 500 } else { 400 };
                let length = refusal.len();
                format!("HTTP/1.1 {status} Error\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{refusal}")
            } else {
                let Some(reply) = replies.next() else { return };
                let delta = json!({"choices": [{"delta": {"content": reply}, "finish_reason": "stop"}]});
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
                format!("{head}data: {delta}\n\ndata: [DONE]\n\n")
            };
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, asked)
}

fn place() -> Place {
    let place = Place::new();
    std::fs::write(place.root.join("shot.png"), PNG).unwrap();
    std::fs::write(place.home.join("next.jpg"), GIF).unwrap();
    place
}

fn with<'a>(url: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    [&["--base-url", url, "--model", "sees"], args].concat()
}

#[test]
fn an_image_reaches_the_server_and_stays_in_the_conversation() {
    let place = place();
    let (url, asked) = server(false, &["A dot.", "Still a dot."]);
    let next = place.home.join("next.jpg");
    let shown = ["-p", "What is it?", "--image", "shot.png", "--image", next.to_str().unwrap()];
    let ran = place.coder(&with(&url, &shown), "");
    assert_eq!((ran.status, ran.out.trim()), (0, "A dot."), "{}", ran.err);
    let ran = place.coder(&with(&url, &["--continue", "-p", "And now?"]), "");
    assert_eq!((ran.status, ran.out.trim()), (0, "Still a dot."), "{}", ran.err);

    let asked = asked.lock().unwrap();
    let said = json!({"role": "user", "content": [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": PNG_URL}},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yw="}},
    ]});
    assert_eq!(asked[0]["messages"][1], said, "what a file is, its bytes say");
    assert_eq!(asked[1]["messages"][1], said, "a resumed conversation has it");
    assert!(asked[1]["messages"][3]["content"].as_str().unwrap().ends_with("And now?"), "a text is no list");
    let records = records(&place.newest());
    let names: Vec<&Value> = records[1]["images"].as_array().unwrap().iter().map(|image| &image["name"]).collect();
    assert_eq!(names, ["shot.png", "next.jpg"]);

    let id = place.sessions()[0]["id"].as_str().unwrap().to_owned();
    let page = place.coder(&["export", &id, "--format", "html"], "").out;
    has_nothing_active(&page);
    assert_eq!(page.matches("<img ").count(), 2);
    assert!(page.contains(&format!("<img alt=\"shot.png\" src=\"{PNG_URL}\">")), "{page}");
    assert!(
        page.contains("default-src 'none'; style-src 'unsafe-inline'; img-src data:"),
        "nothing comes from elsewhere"
    );
    let text = place.coder(&["export", &id], "").out;
    assert!(text.contains("Image: shot.png (image/png, 1 KiB)") && !text.contains("iVBORw0KGgo"), "{text}");
    let lines = place.coder(&["export", &id, "--format", "json"], "").out;
    let first: Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
    assert_eq!(first["images"], records[1]["images"], "no part of an image is redacted as a secret");
}

#[test]
fn a_refusal_of_images_is_remembered_and_loses_nothing() {
    let place = place();
    let (url, asked) = server(true, &["Hi.", "I cannot see it."]);
    assert_eq!(place.coder(&with(&url, &["-p", "Hello."]), "").status, 0);
    let ran = place.coder(&with(&url, &["--continue", "-p", "What is it?", "--image", "shot.png"]), "");
    let received = "it refused with HTTP 500: image input is not supported - hint: if this is unexpected, you may need to provide \
                the mmproj. The model accepts no images: send the message again without the image, or choose another model.";
    assert!(ran.status == 3 && ran.err.contains(received), "{}", ran.said());
    assert_eq!(asked.lock().unwrap().len(), 2, "it is not asked the same again");
    let records = records(&place.newest());
    let mut shown = records.iter().filter_map(|record| record["images"][0]["name"].as_str());
    assert_eq!(shown.next(), Some("shot.png"), "another model can be asked");

    let ran = place.coder(&with(&url, &["--continue", "-p", "Never mind."]), "");
    assert_eq!((ran.status, ran.out.trim()), (0, "I cannot see it."), "{}", ran.err);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 4, "with the old image, and without it");
    let said = asked[3]["messages"][3]["content"].as_str().unwrap();
    assert!(said.contains("What is it?") && said.contains("Never mind."), "{said}");
    assert!(said.contains("[The image shot.png is not shown: this backend takes no images.]"), "{said}");
}

/// A request that also fails without images fails for another reason, so it is not sent a third time.
#[test]
fn a_request_that_also_fails_without_images_is_not_sent_again() {
    let place = place();
    let (url, asked) = server(true, &["Hi."]);
    assert_eq!(place.coder(&with(&url, &["-p", "Hello."]), "").status, 0);
    let ran = place.coder(&with(&url, &["--continue", "-p", "What is it?", "--image", "shot.png"]), "");
    assert_eq!(ran.status, 3, "{}", ran.said());
    // The server closes after reading the request without images.
    let ran = place.coder(&with(&url, &["--continue", "-p", "Never mind."]), "");
    assert_eq!(ran.status, 3, "{}", ran.said());
    assert_eq!(asked.lock().unwrap().len(), 4, "once with the image, twice in the second turn");
}

#[test]
fn models_without_image_support_fail_before_the_prompt_is_sent() {
    let place = place();
    let ran = place.replayed(&["x"], &["-p", "What is it?", "--image", "shot.png"], "");
    assert!(ran.status == 2 && ran.err.contains("this backend takes no images"), "{}", ran.said());
    let command = ["--backend", "command", "--command", "cat", "--lang", "pt", "-p", "O que é?", "--image", "shot.png"];
    let ran = place.coder(&command, "");
    assert!(ran.status == 2 && ran.err.contains("este backend não aceita imagens"), "{}", ran.said());
    assert!(place.sessions().is_empty());
    let ran = place.coder(&["--image", "shot.png"], "");
    assert!(ran.status == 2 && ran.err.contains("--prompt"), "{}", ran.said());
}

#[test]
fn invalid_and_blocked_images_are_not_sent() {
    let place = place();
    let (url, asked) = server(false, &["x"]);
    let root = &place.root;
    std::fs::write(root.join("page.png"), "<svg onload=\"alert(1)\"/>").unwrap();
    std::fs::write(root.join("large.png"), [PNG, &vec![0; Image::MOST_BYTES]].concat()).unwrap();
    std::fs::write(root.join(".env"), PNG).unwrap();
    std::fs::write(place.home.join(".env"), PNG).unwrap();
    std::os::unix::fs::symlink("/dev/zero", root.join("zero.png")).unwrap();
    let env = place.home.join(".env");
    let ssh = place.home.join(".ssh/shot.png");
    std::fs::create_dir(ssh.parent().unwrap()).unwrap();
    std::fs::write(&ssh, PNG).unwrap();
    let many = ["--image", "shot.png"].repeat(Image::MOST + 1);
    let cases: &[(&[&str], &str)] = &[
        (&["--image", "page.png"], "page.png is no image that can be sent"),
        (&["--image", "large.png"], "has more than 10 MiB"),
        (&["--image", "missing.png"], "cannot read missing.png"),
        (&["--image", "."], "cannot read ."),
        (&["--image", "zero.png"], "cannot read zero.png"),
        (&["--image", ".env"], "cannot read .env"),
        (&["--image", env.to_str().unwrap()], ".env"),
        (&["--image", ssh.to_str().unwrap()], "names like .ssh are blocked"),
        (&["--image", "shot.png", "--deny-path", "*.png"], "cannot read shot.png"),
        (&["--image", "shot.png", "--image", "page.png"], "page.png is no image"),
        (&many, "at most 8 images"),
    ];
    for (args, received) in cases {
        let ran = place.coder(&with(&url, &[&["-p", "What is it?"], *args].concat()), "");
        assert!(ran.status == 2 && ran.err.contains(received), "{args:?}: {}", ran.said());
    }
    assert!(asked.lock().unwrap().is_empty() && place.sessions().is_empty());
}

const LOOK: &str = "```tool\n{\"name\": \"test.echo\", \"args\": {\"text\": \"hi\"}}\n```\n";

/// Creates a project with an MCP server that returns images as tool results.
fn with_image_server() -> Place {
    let place = place();
    let script = place.home.join("shared/server.sh");
    std::fs::create_dir_all(script.parent().unwrap()).unwrap();
    std::fs::write(&script, include_str!("../../data/mcp/server.sh")).unwrap();
    let config = place.home.join("config/toolfence/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    let (command, paths) = (json!(["bash", script, "picture"]), json!([script.parent()]));
    std::fs::write(config, format!("[mcp.test]\ncommand = {command}\npaths = {paths}\nallow = [\"*\"]\n")).unwrap();
    let ran = place.coder(&["mcp", "trust", "--yes"], "");
    assert_eq!(ran.status, 0, "{}", ran.said());
    place
}

#[test]
fn an_image_of_a_tool_is_shown_with_the_results() {
    let place = with_image_server();
    let (url, asked) = server(false, &[LOOK, "A dot.", "Still a dot."]);
    let ran = place.coder(&with(&url, &["-p", "Look."]), "");
    assert_eq!((ran.status, ran.out.trim()), (0, "A dot."), "{}", ran.err);
    let ran = place.coder(&with(&url, &["--continue", "-p", "And now?"]), "");
    assert_eq!((ran.status, ran.out.trim()), (0, "Still a dot."), "{}", ran.err);
    let asked = asked.lock().unwrap();
    let received = &asked[1]["messages"][3];
    let text = received["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("[The image test.echo-1: image/gif, 42 bytes]"), "{received}");
    let url = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
    assert_eq!(received["content"][1], json!({"type": "image_url", "image_url": {"url": url}}));
    assert_eq!(asked[2]["messages"][3], *received, "a resumed conversation has it");
    let records = records(&place.newest());
    let shown = records.iter().find(|record| record["role"] == "tool").unwrap();
    assert_eq!(shown["images"][0]["name"], "test.echo-1");
}

#[test]
fn a_line_replaces_a_tool_image_if_the_model_takes_no_images() {
    let place = with_image_server();
    let (url, asked) = server(true, &[LOOK, "I cannot see it."]);
    let ran = place.coder(&with(&url, &["-p", "Look."]), "");
    assert_eq!((ran.status, ran.out.trim()), (0, "I cannot see it."), "{}", ran.err);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 3, "with the image, and without it");
    let text = asked[2]["messages"][3]["content"].as_str().unwrap();
    assert!(text.contains("[The image test.echo-1 is not shown"), "{text}");
}

/// If the refused image stayed in the conversation, the server would refuse every later request too.
#[test]
fn a_line_replaces_a_tool_image_that_the_server_refuses() {
    const BROKEN: &str = r#"{"error":{"code":400,"message":"Failed to load image or audio file"}}"#;
    let place = with_image_server();
    let (url, asked) = refusing(Some(BROKEN), &[LOOK, "I cannot see it.", "Nor now."]);
    let ran = place.coder(&with(&url, &["-p", "Look."]), "");
    assert_eq!((ran.status, ran.out.trim()), (0, "I cannot see it."), "{}", ran.err);
    let ran = place.coder(&with(&url, &["--continue", "-p", "And now?"]), "");
    assert_eq!((ran.status, ran.out.trim()), (0, "Nor now."), "{}", ran.err);
    let asked = asked.lock().unwrap();
    let text = asked[2]["messages"][3]["content"].as_str().unwrap();
    assert!(text.contains("[The image test.echo-1 is not shown: the server refused"), "{text}");
}

#[test]
fn images_of_a_message_have_unique_names_and_a_limit() {
    let place = with_image_server();
    let looks: String = (0..=Image::MOST).map(|at| LOOK.replace("hi", &format!("hi {at}"))).collect();
    let replies: &'static [&'static str] = vec![&*looks.leak(), "Dots."].leak();
    let (url, asked) = server(false, replies);
    let ran = place.coder(&with(&url, &["-p", "Look."]), "");
    assert_eq!((ran.status, ran.out.trim()), (0, "Dots."), "{}", ran.err);
    let asked = asked.lock().unwrap();
    let received = &asked[1]["messages"][3]["content"];
    assert_eq!(received.as_array().unwrap().len(), 1 + Image::MOST);
    let text = received[0]["text"].as_str().unwrap();
    for at in 1..=Image::MOST + 1 {
        assert_eq!(text.matches(&format!("[The image test.echo-{at}: ")).count(), 1, "{text}");
    }
    assert!(text.contains("1 image is not shown, because a message shows 8 at most: test.echo-"), "{text}");
}

#[tokio::test]
async fn old_images_are_dropped_beyond_a_total_size() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let mut first = agent(Seeing(Replay::new(["1", "2", "3", "4"])), instructed(), transcript);
    let mut host = Watching::default();
    let large = [PNG, &vec![0; 9 << 20]].concat();
    for name in ["a.png", "b.png", "c.png", "d.png"] {
        first.attach_image(Image::new(name, &large).unwrap()).unwrap();
        first.run("See.", &mut host).await.unwrap();
    }
    let shown: Vec<usize> =
        host.sent.iter().filter(|said| said.role == Role::User).map(|said| said.images.len()).collect();
    assert_eq!(shown, [0, 0, 1, 1]);
    let received = host.sent.iter().find(|said| said.role == Role::User).unwrap();
    assert!(received.content.starts_with("See.\n\n[The image a.png is not shown any more"), "{}", received.content);
    assert_eq!(without_instructions(&first)[0].images.len(), 1, "nothing is lost");
}

/// The client of a pipe sends only text to its model, so a line replaces the image.
#[test]
fn pipe_clients_get_a_line_for_an_image() {
    let place = with_image_server();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_coder"));
    command.arg("pipe").current_dir(&place.root).env("HOME", &place.home);
    command.env("XDG_CONFIG_HOME", place.home.join("config")).env("XDG_STATE_HOME", place.home.join("state"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    for line in [json!({"type": "chunk", "text": LOOK}), json!({"type": "end"})] {
        writeln!(keys, "{line}").unwrap();
    }
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (send, received) = std::sync::mpsc::channel();
    std::thread::spawn(move || lines.for_each(|line| drop(send.send(line))));
    let results = loop {
        let line = received.recv_timeout(Duration::from_secs(60)).expect("the results");
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["event"] == "results" {
            break line["text"].as_str().unwrap().to_owned();
        }
    };
    let words = "[The image test.echo-1: image/gif, 42 bytes]\n[The image test.echo-1 is not shown: only text is passed on here.]";
    assert!(results.contains(words) && !results.contains("R0lGOD"), "{results}");
    drop(keys);
    child.wait().unwrap();
}

/// A recorded backend that accepts images.
struct Seeing(Replay);

impl Backend for Seeing {
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        self.0.stream(messages, sink)
    }

    fn takes_images(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn images_are_recorded_once() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let path = transcript.path().to_owned();
    let mut first = agent(Seeing(Replay::new(["One.", "Two.", "Other."])), instructed(), transcript);
    let (dot, other) = (Image::new("dot.png", PNG).unwrap(), Image::new("other.gif", GIF).unwrap());
    first.attach_image(dot.clone()).unwrap();
    first.run("First.", &mut Nobody).await.unwrap();
    first.attach_image(other.clone()).unwrap();
    first.run("Second.", &mut Nobody).await.unwrap();
    let said = first.take_back().unwrap();
    first.run(&said, &mut Nobody).await.unwrap();
    // The recording has ended, so this message stays the last one, and the next one is added to it.
    first.attach_image(other.clone()).unwrap();
    first.run("Third.", &mut Nobody).await.unwrap_err();
    first.attach_image(dot.clone()).unwrap();
    first.run("Fourth.", &mut Nobody).await.unwrap_err();
    let history = without_instructions(&first);
    let shown: Vec<Vec<&str>> =
        history.iter().map(|message| message.images.iter().map(Image::name).collect()).collect();
    let want: [&[&str]; 5] = [&["dot.png"], &[], &["other.gif"], &[], &["other.gif", "dot.png"]];
    assert_eq!(shown, want);
    assert_eq!(first.take_back().as_deref(), Some("Fourth."));
    first.run("Fifth.", &mut Nobody).await.unwrap_err();
    let last = without_instructions(&first).pop().unwrap();
    assert_eq!(last.images, [other, dot], "what was taken back is shown again");
    let history = without_instructions(&first);
    drop(first);
    assert_eq!(resumed(&path), history);
    let records = records(&path);
    let taken_back = records.iter().filter(|record| record["kind"] == "taken_back").count();
    assert_eq!(taken_back, 2);
    let written = records.iter().map(|record| record.to_string().matches("iVBOR").count());
    assert_eq!(written.sum::<usize>(), 3, "each image is written once for each message that shows it");
}

/// A host that records compactions and the messages that were sent last.
#[derive(Default)]
struct Watching {
    images: usize,
    sent: Vec<Message>,
}

impl Host for Watching {
    fn compacted(&mut self, done: &Compacted) {
        self.images = done.images;
    }

    fn calling(&mut self, sent: &[Message]) {
        self.sent = sent.to_vec();
    }
}

#[tokio::test]
async fn the_oldest_image_gives_way_visibly_and_stays_in_the_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let path = transcript.path().to_owned();
    let mut options = instructed();
    // Two images do not fit the window.
    options.window = Some(3000);
    let mut first = agent(Seeing(Replay::new(["1", "2", "3", "4", "5", "6"])), options, transcript);
    let mut host = Watching::default();
    let (dot, other) = (Image::new("dot.png", PNG).unwrap(), Image::new("other.gif", GIF).unwrap());
    for turn in 0..6 {
        match turn {
            0 => first.attach_image(dot.clone()).unwrap(),
            4 => first.attach_image(other.clone()).unwrap(),
            _ => {}
        }
        first.run("Again.", &mut host).await.unwrap();
        assert_eq!(host.images, usize::from(turn >= 4), "{turn}");
    }
    let line = "Again.\n\n[COMPACTED: the image dot.png was here and did not fit any more; if you need it, call again the \
                tool that gave it, or ask the user to show it again]";
    assert_eq!((host.sent[1].content.as_str(), host.sent[1].images.len()), (line, 0));
    assert_eq!(host.sent[9].images, [other]);
    let history = without_instructions(&first);
    assert_eq!(history[0].images, [dot], "nothing is lost");
    drop(first);
    assert_eq!(resumed(&path), history);
}
