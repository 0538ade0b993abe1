//! Runs a program on a pseudo-terminal, with access to its keyboard and screen.

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use vt100::Parser;

/// How long a test waits for an event.
const PATIENCE: Duration = Duration::from_secs(30);

/// The request for a cursor position report (ECMA-48, DSR).
const WHERE: &[u8] = b"\x1b[6n";

/// A terminal with a program on it. It answers requests for the cursor position, as terminals do. Dropping it kills the
/// program.
pub struct Screen {
    child: Child,
    terminal: File,
    keys: Sender<Vec<u8>>,
    shown: Arc<Mutex<Shown>>,
}

struct Shown {
    parser: Parser,
    written: Vec<u8>,
    /// Whether the output has ended.
    over: bool,
}

impl Screen {
    /// Runs a program in a folder, on a terminal of `size` rows and columns. Its settings and state are below `home`,
    /// and it finds no local model server.
    ///
    /// # Panics
    ///
    /// Panics if no terminal is available, or the program cannot be started.
    pub fn start(
        path: &str,
        args: &[&str],
        env: &[(&str, &str)],
        folder: &Path,
        home: &Path,
        size: (u16, u16),
    ) -> Screen {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("it is ours");
        let program = ioctl_tiocgptpeer(&terminal, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
        let program = File::from(program.expect("the program's side of it"));
        tcsetwinsize(&terminal, winsize(size)).expect("it has a size");
        let end = || Stdio::from(program.try_clone().expect("it can be given away"));
        // Tests that a script runs in the background ignore Ctrl-C, and their child processes would inherit that.
        let mut command = Command::new("env");
        command
            .args(["--default-signal", "setsid", "--ctty", "--wait", path])
            .args(args)
            .current_dir(folder)
            .env("HOME", home);
        command.env("XDG_CONFIG_HOME", home.join("config")).env("XDG_STATE_HOME", home.join("state"));
        command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env("TOOLFENCE_LOCAL_SERVERS", "");
        command.env_remove("NO_COLOR").env_remove("VISUAL").env_remove("EDITOR").envs(env.iter().copied());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("the program can be started");
        drop((program, command));

        let terminal = File::from(terminal);
        let shown =
            Arc::new(Mutex::new(Shown { parser: Parser::new(size.0, size.1, 1000), written: Vec::new(), over: false }));
        let (keys, pressed) = channel::<Vec<u8>>();
        let mut writes = terminal.try_clone().expect("it can be written to");
        // A write fails only when the program has ended or is about to.
        thread::spawn(move || pressed.iter().try_for_each(|keys| writes.write_all(&keys)));
        let mut reads = terminal.try_clone().expect("it can be read");
        let (answers, screen) = (keys.clone(), shown.clone());
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reads.read(&mut buffer) {
                for byte in &buffer[..count] {
                    let mut shown = screen.lock().unwrap_or_else(PoisonError::into_inner);
                    shown.parser.process(std::slice::from_ref(byte));
                    shown.written.push(*byte);
                    if shown.written.ends_with(WHERE) {
                        let (row, column) = shown.parser.screen().cursor_position();
                        let _ = answers.send(format!("\x1b[{};{}R", row + 1, column + 1).into_bytes());
                    }
                }
            }
            screen.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        });
        Screen { child, terminal, keys, shown }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends key presses to the program.
    pub fn press(&self, keys: &str) {
        let _ = self.keys.send(keys.into());
    }

    /// Sends a signal, such as `TERM`, to the foreground process group of the terminal.
    ///
    /// # Panics
    ///
    /// Panics if the terminal has no foreground process group.
    pub fn signal(&self, name: &str) {
        let group = rustix::termios::tcgetpgrp(&self.terminal).expect("a program has the terminal");
        let line = format!("kill -s {name} -- -{}", group.as_raw_nonzero());
        let sent = Command::new("bash").args(["-c", &line]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{line}");
    }

    /// Pastes a text in bracketed paste mode, with CR between its lines.
    pub fn paste(&self, text: &str) {
        self.press(&format!("\x1b[200~{}\x1b[201~", text.replace('\n', "\r")));
    }

    /// Returns the text on the screen, row by row, without the spaces at the ends of rows.
    pub fn contents(&self) -> String {
        self.shown().parser.screen().contents()
    }

    /// Returns the row and the column of the cursor, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        self.shown().parser.screen().cursor_position()
    }

    /// Returns all output of the program.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.shown().written).into_owned()
    }

    /// Waits until the screen meets a condition, and returns its text.
    ///
    /// # Panics
    ///
    /// Panics after half a minute.
    #[track_caller]
    pub fn wait(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let contents = self.contents();
            if fits(&contents) {
                return contents;
            }
            assert!(begun.elapsed() < PATIENCE, "there is no {what} on this screen:\n{contents}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the screen contains this text.
    ///
    /// # Panics
    ///
    /// Panics after half a minute.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait(&format!("{text:?}"), |contents| contents.contains(text))
    }

    /// Waits until this is the last non-empty row.
    ///
    /// # Panics
    ///
    /// Panics after half a minute.
    #[track_caller]
    pub fn wait_for_last(&self, row: &str) -> String {
        self.wait(&format!("last row {row:?}"), |contents| contents.trim_end().lines().last() == Some(row.trim_end()))
    }

    /// Resizes the terminal.
    ///
    /// # Panics
    ///
    /// Panics if the terminal has closed.
    pub fn resize(&self, size: (u16, u16)) {
        self.shown().parser.screen_mut().set_size(size.0, size.1);
        tcsetwinsize(&self.terminal, winsize(size)).expect("the terminal is there");
    }

    /// Resizes the terminal and reflows its text, as most terminals do: long lines wrap anew, and the cursor keeps its
    /// position in the text. No text may follow the cursor, and styles are lost.
    ///
    /// # Panics
    ///
    /// Panics if the terminal has closed.
    pub fn rewrap(&self, size: (u16, u16)) {
        let mut shown = self.shown();
        let screen = shown.parser.screen();
        let ((last, column), columns) = (screen.cursor_position(), screen.size().1);
        let mut text = String::new();
        for row in 0..=last {
            let end = if row == last { column } else { columns };
            let mut line: String = (0..end)
                .filter_map(|at| screen.cell(row, at).filter(|cell| !cell.is_wide_continuation()))
                .map(|cell| if cell.has_contents() { cell.contents() } else { " " })
                .collect();
            if row < last && !screen.row_wrapped(row) {
                line.truncate(line.trim_end().len());
                line.push_str("\r\n");
            }
            text.push_str(&line);
        }
        let mut parser = Parser::new(size.0, size.1, 1000);
        parser.process(text.as_bytes());
        shown.parser = parser;
        tcsetwinsize(&self.terminal, winsize(size)).expect("the terminal is there");
    }

    /// Waits until the program ends, and returns all its output.
    ///
    /// # Panics
    ///
    /// Panics after half a minute.
    #[track_caller]
    pub fn ended(mut self) -> String {
        let begun = Instant::now();
        while self.child.try_wait().expect("it is our child").is_none() {
            assert!(begun.elapsed() < PATIENCE, "it does not end:\n{}", self.contents());
            thread::sleep(Duration::from_millis(10));
        }
        // The rest of the output is read until the last process closes the terminal.
        while !self.shown().over {
            assert!(begun.elapsed() < PATIENCE, "a process keeps the terminal open:\n{}", self.contents());
            thread::sleep(Duration::from_millis(10));
        }
        self.written()
    }

    /// Waits until the program ends, and returns its exit status.
    ///
    /// # Panics
    ///
    /// Panics after half a minute, or if a signal ends the program.
    #[track_caller]
    pub fn end(mut self) -> i32 {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status.code().expect("it ends by itself");
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end:\n{}", self.contents());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The program may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn winsize((rows, columns): (u16, u16)) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
