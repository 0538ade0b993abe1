//! Tests on a real terminal that untrusted texts cannot add escape sequences to the output.

use crate::conversation::{ENTER, Place, answered};
use crate::terminal::{head_of_request, slow_model};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpListener;
use std::thread;
use toolfence_kit::Screen;

const CODER: &str = env!("CARGO_BIN_EXE_coder");

/// One sequence of each kind that affects a terminal: a colour that the program never uses, clearing the screen, the
/// clipboard, a link, a title, a device control string, C1 forms of two of them, a bell, a backspace, a carriage
/// return, and text direction. It has no slash, so that it can be a file name.
const HOSTILE: &str = "A\u{1b}[38;5;199mB\u{1b}[2JC\u{1b}]52;c;ZXZpbA==\u{7}D\u{1b}]8;;x:evil\u{1b}\\E\u{1b}]0;evil\u{7}F\u{1b}Pevil\u{1b}\\G\u{9b}31mH\u{9d}0;evil\u{9c}I\u{8}J\rK\u{202e}L\u{2066}M\u{2028}N\u{e0041}O";

/// Returns the hostile text with a prefix, as the name of a file, tool or persona.
fn hostile(before: &str) -> String {
    format!("{before}{HOSTILE}")
}

/// Panics if the terminal got a sequence that the program does not write itself.
#[track_caller]
fn assert_only_own_sequences(place: &str, written: &str) {
    let near =
        |at: usize| written[..at].chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect::<String>();
    let mut rest = written;
    while let Some(at) = rest.find('\u{1b}') {
        let behind = &rest[at + 1..];
        let sequence = behind.strip_prefix('[').map(|inner| {
            let end = inner.find(|c: char| !matches!(c, '0'..='9' | ';' | '?')).unwrap_or(inner.len());
            (&inner[..end], inner[end..].chars().next())
        });
        let is_own = match sequence {
            // Colours of the theme `auto`, attributes, and the resets of the line editor.
            Some((codes, Some('m'))) => codes.split(';').all(|code| code.len() <= 2),
            Some((_, Some('A' | 'B' | 'C' | 'D' | 'G' | 'H' | 'K' | 'n'))) => true,
            Some((codes, Some('J'))) => codes != "2",
            Some((codes, Some('h' | 'l'))) => ["?2004", "?25", "?1", "?7", "?12"].contains(&codes),
            Some((codes, Some('q'))) => codes.len() <= 1,
            // The output read so far may end within a sequence.
            Some((_, None)) => true,
            None => behind.is_empty() || behind.starts_with(['7', '8', '=', '>']),
            _ => false,
        };
        let at = written.len() - behind.len();
        assert!(is_own, "{place}: {:?} behind {:?}", behind.chars().take(20).collect::<String>(), near(at));
        rest = behind;
    }
    for (at, c) in written.char_indices() {
        let steers = matches!(c, '\u{7}' | '\u{8}' | '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{2028}' | '\u{e0041}');
        assert!(!steers, "{place}: {c:?} behind {:?}", near(at));
    }
    assert!(!written.contains("J\rK"), "{place}: a CR as it was");
}

fn call(name: &str, args: &Value) -> String {
    format!("```tool\n{}\n```\n", json!({"name": name, "args": args}))
}

/// Starts a conversation with these replies. It asks no questions unless `asks` is set.
fn talk(place: &Place, replies: Vec<Vec<(u64, String)>>, asks: bool) -> Screen {
    let url = slow_model(replies);
    let yes: &[&str] = if asks { &["--ask", "always"] } else { &["--yes"] };
    let args = [&["--backend", "http", "--base-url", &url, "--model", "m"], yes].concat();
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (50, 80));
    screen.wait_for_last(">");
    screen
}

#[test]
fn replies_cannot_send_escape_sequences() {
    let h = HOSTILE;
    let text = format!(
        "# {h}\n\n{h} **{h}** `{h}` [{h}](http://x/{h}) <http://x{h}> ![{h}](y)\n\n- {h}\n\n> {h}\n\n| {h} | b |\n|---|---|\n| c | {h} |\n\n```rust{h}\nlet x = \"{h}\"; // {h}\n```\n\n    {h}\n\n<b>{h}</b>\n\nThe end.\n"
    );
    let long: String = (0..20).map(|line| format!("thought {line} {h}\n")).collect();
    let place = Place::new(&[]);
    let replies = vec![
        vec![(0, text)],
        vec![(0, format!("<think>\n{h}\n</think>\nShort.\n"))],
        vec![(0, format!("<think>\n{long}")), (1500, "</think>\nLong.\n".to_owned())],
    ];
    let screen = talk(&place, replies, false);
    for end in ["The end.", "Short.", "Long."] {
        screen.press(&format!("go{ENTER}"));
        answered(&screen, end);
    }
    screen.press(&format!("/thoughts{ENTER}"));
    answered(&screen, "thought 19");
    assert_only_own_sequences("words", &screen.written());
    assert!(screen.written().contains("\\u{1b}[38;5;199m"), "it is shown as characters");
}

#[test]
fn calls_and_their_output_cannot_send_escape_sequences() {
    let place = Place::new(&[]);
    let name = hostile("file");
    std::fs::write(place.root.join(&name), "one\n").unwrap();
    std::fs::write(place.root.join("hostile.txt"), format!("{HOSTILE}\nold\n")).unwrap();
    std::fs::write(
        place.root.join("print.sh"),
        format!("cat hostile.txt; printf '\\x9b31m\\n'; sleep 1.5; cat hostile.txt {}\n", "hostile.txt ".repeat(8)),
    )
    .unwrap();
    let change = json!({"path": "hostile.txt", "old": "old", "new": HOSTILE});
    let calls = [
        call("bash", &json!({"command": "sh print.sh"})),
        call("list_files", &json!({})),
        call("read_file", &json!({"path": name})),
        call("read_file", &json!({"path": hostile("absent")})),
        call("search", &json!({"pattern": HOSTILE})),
        call("replace_text", &change),
        call(&hostile("tool"), &json!({"a": HOSTILE})),
        format!("```tool\n{{\"name\": \"bash\", {HOSTILE}\n```\n"),
    ];
    let replies = vec![vec![(0, calls.concat())], vec![(0, "Done.\n".to_owned())], vec![(0, "Done.\n".to_owned())]];
    let screen = talk(&place, replies, false);
    screen.press(&format!("go{ENTER}"));
    screen.wait_for("  │ ");
    answered(&screen, "Done.");
    for command in ["/last", "/diff", "/undo list", "/undo"] {
        screen.press(&format!("{command}{ENTER}"));
        screen.wait("prompt", |contents| {
            contents.contains(&format!("> {command}\n")) && contents.trim_end().ends_with("\n>")
        });
    }
    assert_only_own_sequences("calls", &screen.written());
}

#[test]
fn questions_cannot_send_escape_sequences() {
    let place = Place::new(&[]);
    std::fs::write(place.root.join("hostile.txt"), format!("{HOSTILE}\nold\n")).unwrap();
    let mut command = json!({"name": "bash", "args": {"command": format!("echo {HOSTILE}")}});
    command["reason"] = HOSTILE.into();
    let asks = [
        format!("```tool\n{command}\n```\n"),
        call("write_file", &json!({"path": hostile("new"), "content": HOSTILE})),
        call("replace_text", &json!({"path": "hostile.txt", "old": "old", "new": HOSTILE})),
    ];
    let mut replies: Vec<Vec<(u64, String)>> = asks.iter().map(|ask| vec![(0, ask.clone())]).collect();
    replies.insert(0, vec![(0, asks.concat())]);
    replies.push(vec![(0, "Done.\n".to_owned())]);
    let screen = talk(&place, replies, true);
    screen.press(&format!("go{ENTER}"));
    let question = |contents: &str| contents.trim_end().lines().last().is_some_and(|row| row.ends_with(']'));
    screen.wait("question about three", |contents| contents.contains("Run them? [") && question(contents));
    screen.press(&format!("one{ENTER}"));
    for _ in 0..3 {
        screen.wait("question", question);
        // The row of the question displays a typed or pasted answer.
        screen.paste(&format!("n {HOSTILE}"));
        screen.wait("answer", |contents| !question(contents));
        screen.press(ENTER);
        screen.wait("next", |contents| question(contents) || contents.contains("Done."));
    }
    // A half-drawn prompt would end within a sequence.
    screen.wait_for_last(">");
    assert_only_own_sequences("questions", &screen.written());
    let answered = place.written_down();
    assert!(answered.contains("The user said no: A"), "{answered}");
}

/// A server whose answers are all hostile: its model list, and errors instead of replies.
fn hostile_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut errors = 0;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = head_of_request(&stream);
            let is_list = head.starts_with("GET ");
            errors += usize::from(!is_list);
            let (status, body) = match errors {
                _ if is_list => ("200 OK", json!({"object": "list", "data": [{"id": hostile("model"), "object": "model"}, {"id": "plain", "object": "model"}]}).to_string()),
                1 => ("400 Bad Request", json!({"error": {"message": HOSTILE, "type": HOSTILE, "code": HOSTILE}}).to_string()),
                2 => ("403 Forbidden", HOSTILE.to_owned()),
                _ => ("404 Not Found", format!("<html><title>{HOSTILE}</title>{HOSTILE}</html>")),
            };
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    format!("http://{address}/v1")
}

#[test]
fn model_servers_cannot_send_escape_sequences() {
    let place = Place::new(&[]);
    let url = hostile_server();
    // Without `--model`, the first listed model is used.
    let args = ["--backend", "http", "--base-url", &url];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (50, 80));
    screen.wait_for_last(">");
    for round in 1..=3 {
        screen.press(&format!("go{ENTER}"));
        screen.wait("failure", |contents| {
            contents.matches("> go\n").count() == round && contents.trim_end().ends_with("\n>")
        });
    }
    screen.press(&format!("/model{ENTER}"));
    answered(&screen, "plain");
    screen.press("/model \t");
    screen.wait_for_last("> /model plain");
    assert_only_own_sequences("server", &screen.written());
}

/// An MCP server that answers each method with the content of the file of that name.
const MCP_SERVER: &str = r#"
cat "$1/stderr" >&2
while IFS= read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*) name=initialize ;;
    *'"method":"tools/list"'*) name=list ;;
    *'"name":"dies"'*) cat "$1/stderr" >&2; exit 3 ;;
    *'"name":"refuses"'*) name=refuses ;;
    *'"name":"large"'*) name=large ;;
    *'"method":"tools/call"'*)
        name=echo
        sed "s/ID/$id/" "$1/progress"
        sleep 1.5
        ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,' "$id"
    cat "$1/$name"
done
"#;

#[test]
fn mcp_servers_cannot_send_escape_sequences() {
    let place = Place::new(&[
        &call("test.echo", &json!({"text": HOSTILE})),
        &call("test.refuses", &json!({})),
        &call("test.dies", &json!({})),
        &call("test.large", &json!({})),
        &call(&hostile("test."), &json!({})),
        "Done.",
    ]);
    let folder = place.beside.join("shared");
    std::fs::create_dir(&folder).unwrap();
    let (with_nul, large) = (format!("{HOSTILE}\0P"), format!("{HOSTILE}\0").repeat(20_000));
    let schema = json!({"type": "object", "description": HOSTILE, "properties": {"text": {"type": "string", "description": HOSTILE}}});
    let tool = |name: &str| json!({"name": name, "title": HOSTILE, "description": with_nul, "inputSchema": schema});
    let odd = json!({"type": "object", "properties": {(HOSTILE): {"type": "string", "enum": [HOSTILE]}}});
    let tools = json!([
        tool("echo"), tool("refuses"), tool("dies"), tool("large"), tool(&hostile("x")),
        {"name": "odd", "inputSchema": odd}, {"name": "none", "inputSchema": HOSTILE},
    ]);
    let greeting = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": HOSTILE, "version": HOSTILE},
        "instructions": HOSTILE,
    });
    let text = |text: &str| json!({"type": "text", "text": text});
    let parts = json!([
        text(&with_nul), {"type": "image", "mimeType": HOSTILE, "data": "AAAA"}, {"type": "resource_link", "uri": HOSTILE, "name": HOSTILE},
        {"type": HOSTILE},
    ]);
    let progress = json!({"progressToken": "ID", "progress": 1, "message": with_nul});
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}).to_string();
    for (name, text) in [
        ("server.sh", MCP_SERVER.to_owned()),
        ("stderr", format!("{with_nul}\n{large}\n{with_nul}\n")),
        ("progress", progress.replace("\"ID\"", "ID") + "\n"),
        ("initialize", format!("\"result\":{greeting}}}\n")),
        ("list", format!("\"result\":{}}}\n", json!({"tools": tools}))),
        ("echo", format!("\"result\":{}}}\n", json!({"content": parts}))),
        ("refuses", format!("\"error\":{}}}\n", json!({"code": -1, "message": with_nul}))),
        ("large", format!("\"result\":{}}}\n", json!({"content": [text(&large)], "isError": true}))),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let script = folder.join("server.sh").display().to_string();
    let shared = folder.display().to_string();
    let section = format!("[mcp.test]\ncommand = {}\npaths = {}\n", json!(["bash", script, shared]), json!([shared]));
    place.file_at_home("config/toolfence/config.toml", section);
    let replies = place.home.join("replies");
    let args = ["--yes", "--backend", "replay", "--replies", replies.to_str().unwrap()];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (50, 80));
    screen.wait("question", |contents| contents.trim_end().ends_with("Trust it? [y/N]"));
    screen.press(&format!("y{ENTER}"));
    screen.wait_for_last(">");
    for command in ["/mcp", "/mcp test", "/tools"] {
        screen.press(&format!("{command}{ENTER}"));
        screen.wait("prompt", |contents| {
            contents.contains(&format!("> {command}\n")) && contents.trim_end().ends_with("\n>")
        });
    }
    screen.press(&format!("go{ENTER}"));
    screen.wait("end", |contents| contents.contains("Done.") && contents.trim_end().ends_with("\n>"));
    for command in ["/last", "/mcp test"] {
        // The previous prompt is still on the screen until the command is echoed.
        let shown = || screen.written().matches(command).count();
        let before = shown();
        screen.press(&format!("{command}{ENTER}"));
        screen.wait("prompt", |_| shown() > before && screen.contents().trim_end().ends_with("\n>"));
    }
    let written = screen.written();
    assert_only_own_sequences("mcp", &written);
    assert!(!written.contains('\0'), "a NUL");
    assert!(written.contains("\\u{1b}[38;5;199m"), "it is shown as characters");
    let answered = place.written_down().matches("\"tool_name\":\"test.").count();
    assert_eq!(answered, 5, "each call has an answer");
}

#[test]
fn personas_commands_and_titles_cannot_send_escape_sequences() {
    let place = Place::new(&["First."]);
    let hostile_toml = toml_string(HOSTILE);
    place.file_at_home(
        "config/toolfence/personas/odd.md",
        format!("+++\nname = \"odd\"\ndescription = {hostile_toml}\n+++\nYou are odd.\n"),
    );
    place.file_at_home(&format!("config/toolfence/personas/{}.md", hostile("name")), "+++\n+++\nYou are hostile.\n");
    place.file_at_home("config/toolfence/commands/odd.md", format!("# {HOSTILE}\n{HOSTILE}\n"));
    place.file_at_home(&format!("config/toolfence/commands/{}.md", hostile("c")), "text\n");
    place.file(".toolfence/commands/theirs.md", format!("# {HOSTILE}\n{HOSTILE}\n"));
    place.file("AGENTS.md", HOSTILE);
    place.file(&hostile("below"), "x");
    let screen = place.talk(&[], &[]);
    screen.paste(&format!("title {HOSTILE}"));
    screen.press(ENTER);
    answered(&screen, "First.");
    for (typed, shown) in [
        ("/help", "/theirs"),
        ("/sessions", "title"),
        ("/theirs", "Trust it? ["),
        ("n", "nothing was sent"),
        ("/persona odd", "odd"),
        ("/export x", "name a new file"),
        ("/nothing", "There is no command"),
    ] {
        let was_shown = screen.contents().contains(shown);
        screen.press(&format!("{typed}{ENTER}"));
        screen.wait(shown, |contents| {
            // If the answer is already on the screen, wait for the one that follows the typed line.
            (!was_shown || contents.lines().any(|row| row.ends_with(&format!(" {typed}"))))
                && contents.contains(shown)
                && contents.trim_end().lines().last().is_some_and(|row| row == ">" || row.ends_with(']'))
        });
    }
    // Open the completion lists.
    for typed in ["/\t", "/persona \t", "@\t", "/odd @b\t"] {
        screen.press(typed);
        thread::sleep(std::time::Duration::from_millis(500));
        screen.press("\u{3}");
        screen.wait_for_last(">");
    }
    assert_only_own_sequences("conversation", &screen.written());
    for args in [
        &["personas"][..],
        &["personas", "show", "odd"],
        &["personas", "check"],
        &["sessions"],
        &["sessions", "--search", "title"],
        &["config", "show"],
        &["--persona", HOSTILE],
        &["resume", HOSTILE],
        &["stats"],
        &["audit"],
        &["undo", "--list"],
        &["policy", "explain", HOSTILE],
        &["nothing", HOSTILE],
        &["parse", HOSTILE],
        &["-p", "x", "--model", HOSTILE, "--base-url", HOSTILE],
    ] {
        let screen = Screen::start(CODER, args, &[], &place.root, &place.home, (50, 80));
        let written = screen.ended();
        assert_only_own_sequences(&format!("{args:?}"), &written);
    }
}

fn toml_string(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_graphic() && c != '"' && c != '\\' {
                c.to_string()
            } else {
                format!("\\U{:08x}", u32::from(c))
            }
        })
        .collect();
    format!("\"{escaped}\"")
}

#[test]
fn the_folder_name_cannot_send_escape_sequences() {
    let place = Place::new(&["One."]);
    let folder = place.root.join(hostile("folder"));
    std::fs::create_dir(&folder).unwrap();
    let replies = place.home.join("replies");
    let args = ["--backend", "replay", "--replies", replies.to_str().unwrap()];
    let screen = Screen::start(CODER, &args, &[], &folder, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "One.");
    assert_only_own_sequences("folder", &screen.written());
}
