//! A terminal with a program on it: keys are pressed, and the screen is looked at.

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

/// How long something may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The question where the cursor is, which a terminal answers (ECMA-48, DSR).
const WHERE: &[u8] = b"\x1b[6n";

/// A terminal of so many rows and columns with a program on it. It answers where its cursor is, as terminals do. Whoever drops it
/// ends the program.
pub struct Screen {
    child: Child,
    terminal: File,
    keys: Sender<Vec<u8>>,
    shown: Arc<Mutex<Shown>>,
}

struct Shown {
    parser: Parser,
    written: Vec<u8>,
    /// Nothing more can be written.
    over: bool,
}

impl Screen {
    /// Runs a program in a folder. It finds its settings and its state below `home`, and no server of a model.
    ///
    /// # Panics
    ///
    /// If there is no terminal to be had, or the program cannot be started.
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
        // Tests that a script runs in the background ignore Ctrl-C, and so would all that they start.
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
        // A program that reads nothing more has ended, or is about to.
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

    /// Presses keys.
    pub fn press(&self, keys: &str) {
        let _ = self.keys.send(keys.into());
    }

    /// Sends a signal, `TERM` say, to the program that has the terminal.
    ///
    /// # Panics
    ///
    /// If no program has it.
    pub fn signal(&self, name: &str) {
        let group = rustix::termios::tcgetpgrp(&self.terminal).expect("a program has the terminal");
        let line = format!("kill -s {name} -- -{}", group.as_raw_nonzero());
        let sent = Command::new("bash").args(["-c", &line]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{line}");
    }

    /// Pastes a text as terminals do that mark it, with CR between its lines.
    pub fn paste(&self, text: &str) {
        self.press(&format!("\x1b[200~{}\x1b[201~", text.replace('\n', "\r")));
    }

    /// What stands on the screen, row by row, without the spaces at the ends of rows.
    pub fn contents(&self) -> String {
        self.shown().parser.screen().contents()
    }

    /// The row and the column of the cursor, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        self.shown().parser.screen().cursor_position()
    }

    /// All that the program wrote.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.shown().written).into_owned()
    }

    /// Waits until the screen fits, and gives what stands on it.
    ///
    /// # Panics
    ///
    /// If it does not come to that in half a minute.
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

    /// Waits until this stands on the screen.
    ///
    /// # Panics
    ///
    /// If it does not come in half a minute.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait(&format!("{text:?}"), |contents| contents.contains(text))
    }

    /// Waits until the last row that is not empty is this one.
    ///
    /// # Panics
    ///
    /// If it does not come to that in half a minute.
    #[track_caller]
    pub fn wait_for_last(&self, row: &str) -> String {
        self.wait(&format!("last row {row:?}"), |contents| contents.trim_end().lines().last() == Some(row.trim_end()))
    }

    /// Makes the terminal larger or smaller.
    ///
    /// # Panics
    ///
    /// If the terminal is gone.
    pub fn resize(&self, size: (u16, u16)) {
        self.shown().parser.screen_mut().set_size(size.0, size.1);
        tcsetwinsize(&self.terminal, winsize(size)).expect("the terminal is there");
    }

    /// Makes the terminal larger or smaller as most of them do: lines that do not fit any more take more rows, and the cursor stays
    /// behind the character that it stood behind. Nothing may stand behind the cursor; looks are forgotten.
    ///
    /// # Panics
    ///
    /// If the terminal is gone.
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

    /// Waits until the program ends, and gives all that it wrote.
    ///
    /// # Panics
    ///
    /// If it does not end in half a minute.
    #[track_caller]
    pub fn ended(mut self) -> String {
        let begun = Instant::now();
        while self.child.try_wait().expect("it is our child").is_none() {
            assert!(begun.elapsed() < PATIENCE, "it does not end:\n{}", self.contents());
            thread::sleep(Duration::from_millis(10));
        }
        // What it wrote last is read until the terminal says that nobody has it any more.
        while !self.shown().over {
            assert!(begun.elapsed() < PATIENCE, "somebody keeps the terminal:\n{}", self.contents());
            thread::sleep(Duration::from_millis(10));
        }
        self.written()
    }

    /// Waits until the program ends, and gives its status.
    ///
    /// # Panics
    ///
    /// If it does not end in half a minute, or a signal ends it.
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
