//! Explains in the result of a command that failed for lack of a terminal that there is no terminal, and that stdin is
//! empty.

use toolfence_protocol::{Text, text};
use toolfence_sandbox::process::Outcome;

/// Messages that programs print last if they need a terminal.
const MISSED: &[&str] = &[
    "not a tty",
    "not a TTY",
    "not a terminal",
    "not to a terminal",
    "not from a terminal",
    "failed tty get",
    "no tty present",
    "a terminal is required",
    "connected to a terminal",
    "Error opening terminal",
    "error reading input, exiting",
    "Error reading input, exiting",
    "Inappropriate ioctl for device",
    "/dev/tty",
    "tty-output",
    "TERM environment variable",
    "Terminal is dumb",
    "terminal is dumb",
    "EOF when reading a line",
    "Aborted by user",
    "inquirer: no tty",
    "Host key verification failed",
    "terminal prompts disabled",
];

/// Programs that read a script from stdin if no argument names one.
const READERS: &[&str] = &[
    "bash", "bc", "cat", "dc", "deno", "ghci", "irb", "julia", "lua", "node", "octave", "perl", "php", "psql",
    "python", "python3", "R", "ruby", "sh", "sqlite3", "tee", "zsh",
];

/// Returns the note, if the command needed a terminal or an input.
pub(super) fn missing_input_note(command: &str, outcome: &Outcome) -> Option<Text> {
    /// Bytes at the end of the output that are searched.
    const LOOKED_AT: usize = 4000;
    let output = outcome.output.as_bytes();
    let end = &output[output.len().saturating_sub(LOOKED_AT)..];
    let says = |word: &&str| memchr::memmem::find(end, word.as_bytes()).is_some();
    if outcome.exit_code != 0 && MISSED.iter().any(says) {
        return Some(text!(
            "There is no terminal here, and no user can answer a question. Use options that ask nothing, such as \
             --yes, -m or --no-edit, and change files with the file tools instead of an editor."
        ));
    }
    (output.is_empty() && wants_input(command, outcome.exit_code)).then(|| {
        text!(
            "Its stdin is empty: nothing could be read. Give it a script, a file or a pipe, or run it with background: \
             true and write to it with job."
        )
    })
}

/// Returns `true` if the command probably read its stdin: `read` fails at the end of its input, and an interpreter
/// without a script succeeds.
fn wants_input(command: &str, status: i32) -> bool {
    let command = command.trim();
    let reads =
        || command.split(|c: char| c.is_whitespace() || c == ';').any(|word| word == "read" || word == "select");
    READERS.contains(&command) || status != 0 && reads()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;
    use std::time::Duration;

    /// Runs a command in a real bash and returns the note; `said` prints the last words of another program.
    fn note_for(command: &str) -> Option<Text> {
        let folder = std::fs::File::open("/").unwrap();
        let job = toolfence_sandbox::process::Job {
            program: "bash".as_ref(),
            args: &["--noprofile", "--norc", "-c", command].map(std::ffi::OsStr::new),
            folder: folder.as_fd(),
            environment: &[("PATH".into(), "/usr/bin:/bin".into()), ("TERM".into(), "dumb".into())],
            limit: Duration::from_secs(20),
            keep: 10_000,
            overflow: None,
            live: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        missing_input_note(command, &runtime.block_on(toolfence_sandbox::process::run(&job)).unwrap())
    }

    #[test]
    fn last_messages_of_programs_are_recognised() {
        for said in [
            "Vim: Warning: Output is not to a terminal",
            "Vim: Error reading input, exiting...",
            "top: failed tty get",
            "Error opening terminal: dumb.",
            "sudo: a terminal is required to read the password; either use the -S option to read from standard input",
            "error: Terminal is dumb, but EDITOR unset",
            "the input device is not a TTY",
            "Too many errors from stdin: Standard input is not a terminal",
            "must be connected to a terminal.",
            "EOFError: EOF when reading a line",
            "stty: 'standard input': Inappropriate ioctl for device",
            "gpg: cannot open '/dev/tty': No such device or address",
            "Host key verification failed.",
            "fatal: could not read Username for 'https://example.org': terminal prompts disabled",
        ] {
            let note = note_for(&format!("echo \"{said}\"; exit 1"));
            assert!(note.is_some_and(|note| note.to_string().starts_with("There is no terminal here")), "{said}");
            assert_eq!(note_for(&format!("echo \"{said}\"")), None, "what succeeds needs no word: {said}");
        }
    }

    #[test]
    fn commands_that_read_an_empty_stdin_get_a_note() {
        for command in [
            "read -r answer",
            "read -p 'Sure? ' x && echo yes",
            "select x in a b; do break; done >/dev/null 2>&1 || exit 1; exit 1",
            "cat",
            "bash",
            " sh ",
        ] {
            assert!(
                note_for(command).is_some_and(|note| note.to_string().starts_with("Its stdin is empty")),
                "{command}"
            );
        }
        for command in ["true", "false", "echo read; exit 1", "cat /dev/null", "while read -r x; do :; done"] {
            assert_eq!(note_for(command), None, "{command}");
        }
    }
}
