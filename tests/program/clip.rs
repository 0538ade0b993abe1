//! Tests `coder clip`, which reads copied replies from a clipboard and writes results for pasting.

use crate::exec::{Sessions, block};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use toolfence_kit::Screen;

const CODER: &str = env!("CARGO_BIN_EXE_coder");
const SIZE: (u16, u16) = (40, 100);

/// A fake xclip that uses a file as its clipboard and counts reads. While a file `hang` exists next to the clipboard, a
/// read blocks.
const XCLIP: &str = r#"#!/bin/sh
case "$*" in
    *-in*) cat > "$CLIP.new" && mv "$CLIP.new" "$CLIP" ;;
    *)
        echo >> "$CLIP.reads"
        [ ! -e "$CLIP.hang" ] || exec sleep 98741
        cat "$CLIP"
        ;;
esac
"#;

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "timed out: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// `coder clip` on a terminal with the fake xclip.
struct Clip {
    screen: Screen,
    clipboard: PathBuf,
    place: Sessions,
}

impl Clip {
    fn new(options: &[&str]) -> Clip {
        let place = Sessions::new();
        place.0.file_at_home("bin/xclip", XCLIP);
        let bin = place.0.home.join("bin");
        fs::set_permissions(bin.join("xclip"), PermissionsExt::from_mode(0o755)).expect("it can be made executable");
        let clipboard = place.0.home.join("clipboard");
        // Text copied before the start is ignored.
        fs::write(&clipboard, block("write_file", &json!({"path": "before", "content": "x"})))
            .expect("it can be written");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("there is a PATH"));
        let env = [("PATH", &*path), ("CLIP", clipboard.to_str().expect("the path is UTF-8"))];
        let args = [&["clip", "--session", "s", "--clipboard", "x11"], options].concat();
        let screen = Screen::start(CODER, &args, &env, &place.0.root, &place.0.home, SIZE);
        screen.wait_for("watching the clipboard");
        Clip { screen, clipboard, place }
    }

    fn copy(&self, text: &str) {
        let new = self.clipboard.with_extension("copied");
        fs::write(&new, text).and_then(|()| fs::rename(&new, &self.clipboard)).expect("it can be written");
    }

    fn content(&self) -> String {
        fs::read_to_string(&self.clipboard).expect("it is there, and is text")
    }

    /// Waits until `coder clip` has polled the clipboard several more times.
    fn wait_for_polls(&self) {
        let reads = || fs::metadata(self.clipboard.with_extension("reads")).map_or(0, |file| file.len());
        let before = reads();
        wait_until("the clipboard is read", || reads() >= before + 3);
    }
}

#[test]
fn a_copied_reply_is_run_once_and_other_texts_are_left_alone() {
    let clip = Clip::new(&["--yes"]);
    clip.place.0.file("v.txt", "one\n");
    clip.wait_for_polls();
    clip.copy("my private note");
    clip.wait_for_polls();
    assert_eq!((clip.content(), clip.place.hosts()), ("my private note".into(), vec![]));

    clip.copy(&block("read_file", &json!({"path": "v.txt"})));
    clip.screen.wait_for("done: read_file v.txt");
    wait_until("the results are in the clipboard", || clip.content().contains("tool_result"));
    clip.wait_for_polls();
    clip.copy(&block("read_file", &json!({"path": "missing.txt"})));
    clip.screen.wait_for("failed: read_file missing.txt");
    wait_until("the results are in the clipboard", || clip.content().contains("not_found"));
    clip.wait_for_polls();

    let audit = clip.place.0.run(CODER, &["audit", "--json"], "").out;
    assert_eq!(audit.matches("\"event\":\"run\"").count(), 2, "{audit}");
    assert!(!clip.screen.written().contains("private note") && !clip.place.0.root.join("before").exists());
    assert!(clip.screen.written().contains('\u{7}'), "the bell rings");
    clip.screen.press("\u{3}");
    assert_eq!(clip.screen.end(), 0);
}

#[test]
fn questions_are_asked_in_the_terminal_of_clip() {
    let clip = Clip::new(&[]);
    clip.copy(&block("write_file", &json!({"path": "new.txt", "content": "x\n"})));
    clip.screen.wait("question", |contents| contents.trim_end().ends_with("a reason]"));
    clip.screen.press("y\r");
    clip.screen.wait_for("done: write_file new.txt");
    assert_eq!(clip.place.0.content("new.txt"), "x\n");
}

#[test]
fn long_results_are_copied_in_parts() {
    let clip = Clip::new(&["--yes", "--part", "300"]);
    let lines: String = (0..20).map(|line| format!("line {line} of the file\n")).collect();
    clip.place.0.file("long.txt", &lines);
    clip.copy(&block("read_file", &json!({"path": "long.txt"})));
    clip.screen.wait_for("Press Enter");
    let first = clip.content();
    assert!(first.starts_with("[part 1 of ") && first.chars().count() <= 300, "{first}");
    clip.screen.press("\r");
    wait_until("the next part", || clip.content().starts_with("[part 2 of "));
}

#[test]
fn a_clipboard_program_that_hangs_does_not_keep_clip_from_ending() {
    let clip = Clip::new(&["--yes"]);
    fs::write(clip.clipboard.with_extension("hang"), "").expect("it can be written");
    clip.screen.wait_for("xclip does not answer");
    clip.screen.press("\u{3}");
    assert_eq!(clip.screen.end(), 0);
}

/// A private tmux server.
struct Tmux(PathBuf);

impl Tmux {
    fn run(&self, args: &[&str], input: &str) -> Output {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.0).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut tmux = tmux.spawn().expect("tmux is installed");
        tmux.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        tmux.wait_with_output().expect("it ends")
    }

    fn shown(&self, args: &[&str]) -> String {
        String::from_utf8_lossy(&self.run(args, "").stdout).into_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"], "");
    }
}

#[test]
fn in_tmux_buffers_replace_the_clipboard() {
    let place = Sessions::new();
    place.0.file("v.txt", "one\n");
    let home = place.0.home.display();
    let tmux = Tmux(place.0.home.join("tmux"));
    let line = format!(
        "cd '{}' && env -u DISPLAY -u WAYLAND_DISPLAY HOME='{home}' XDG_CONFIG_HOME='{home}/config' \
         XDG_STATE_HOME='{home}/state' LC_ALL=C.UTF-8 TOOLFENCE_LOCAL_SERVERS= '{CODER}' clip --session s",
        place.0.root.display()
    );
    let started = tmux.run(&["-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40", &line], "");
    assert!(started.status.success(), "{started:?}");
    wait_until("clip watches", || tmux.shown(&["capture-pane", "-p"]).contains("watching the clipboard"));
    tmux.run(&["load-buffer", "-"], &block("read_file", &json!({"path": "v.txt"})));
    wait_until("the results are in the buffer", || tmux.shown(&["show-buffer"]).contains("1\tone"));
    assert!(tmux.shown(&["capture-pane", "-p"]).contains("done: read_file v.txt"));
    tmux.run(&["send-keys", "C-c"], "");
    wait_until("clip has ended", || !tmux.run(&["has-session"], "").status.success());
}
