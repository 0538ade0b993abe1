//! Fuzzes the shell parser with any text. It takes linear time, and lists the same commands whatever surrounds the
//! text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolfence_policy::shell_parser::{ShellWord, SimpleCommand, parse, parse_counted};

/// Maximum number of steps per byte. Each level of here-documents and backquotes reads its text again.
const MAX_STEPS: usize = 40;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (result, steps) = parse_counted(&text);
    assert!(steps <= MAX_STEPS * (text.len() + 10), "{steps} steps: {text:?}");
    assert_eq!(result, parse(&text), "the same text, another result");
    assert_quoted(&text);
    let Ok(parsed) = result else { return };
    let commands = names_and_words(&parsed.commands);
    let joined = parse(&format!("{text}\nevil")).expect("another command after a readable text");
    assert_eq!(with_second_command(&commands), names_and_words(&joined.commands), "{text:?}");
    for around in around(&text) {
        // Some readable texts are unreadable in a frame: those with here-documents, and those at the limit of nesting.
        if let Ok(parsed) = parse(&around) {
            assert_eq!(with_second_command(&commands), names_and_words(&parsed.commands), "{around:?}");
        }
    }
});

/// A quoted text is parsed as one literal, unless it has a construct that is always unreadable.
fn assert_quoted(text: &str) {
    let quoted = format!("echo '{}'", text.replace('\'', r"'\''"));
    if let Ok(parsed) = parse(&quoted) {
        assert_eq!(parsed.commands.len(), 1, "{quoted:?}");
        assert_eq!(parsed.commands[0].words[1..], [ShellWord::Literal(text.to_owned())], "{quoted:?}");
    }
}

/// Returns the text with another command in several surrounding constructs.
fn around(text: &str) -> [String; 7] {
    [
        format!("evil\n{text}"),
        format!("{{ {text}\n}} | evil"),
        format!("evil && ( {text}\n)"),
        format!("if {text}\nthen evil; fi"),
        format!("evil $( {text}\n)"),
        format!("while evil; do {text}\ndone"),
        format!("case x in (a) {text}\n;; *) evil;; esac"),
    ]
}

/// Returns the first word and the assignments of each command, without data that depends on its position.
fn names_and_words(commands: &[SimpleCommand]) -> Vec<String> {
    let describe = |command: &SimpleCommand| match command.words.first().map(ShellWord::literal) {
        Some(Some("evil")) => "evil".to_owned(),
        _ => format!("{:?} {:?} {:?}", command.words, command.assignments, command.redirections),
    };
    let mut all: Vec<String> = commands.iter().map(describe).collect();
    all.sort();
    all
}

fn with_second_command(commands: &[String]) -> Vec<String> {
    let mut all = commands.to_vec();
    all.push("evil".to_owned());
    all.sort();
    all
}
