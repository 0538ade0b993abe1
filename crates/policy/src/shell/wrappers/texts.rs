//! Command lines inside the arguments of programs that are no wrappers: the value of an option, code of another language.
//!
//! Whoever holds one asks anyway; it is only looked at for what is refused.

use super::table::has;
use crate::shell::words::Word;

/// Programs, with the options whose value is a command line.
const OPTIONS: &[(&str, &str)] = &[
    (
        "git",
        "-x --exec --extcmd --tree-filter --index-filter --msg-filter --env-filter --upload-pack --receive-pack -O --open-files-in-pager -c",
    ),
    ("tar bsdtar", "--to-command -I --use-compress-program -F --info-script --rsh-command --checkpoint-action"),
    ("rsync", "-e --rsh --rsync-path"),
    ("ssh scp sftp", "-o -S"),
    ("sort", "--compress-program"),
    ("man", "-P --pager -H"),
    ("zip", "-TT --unzip-command"),
    ("npx npm pnpm yarn", "-c --call"),
    ("nix-shell nix", "--run --command -c"),
    ("vim vi nvim ex view gvim less more", "-c --cmd"),
    ("gdb lldb", "-ex -eval-command -o"),
    ("rg", "--pre --hostname-bin"),
    ("bat", "--pager"),
    ("fzf", "--preview --bind"),
    ("split", "--filter"),
    ("nc ncat socat", "-c -e --exec --sh-exec"),
    ("flock", "-c --command"),
    ("expect", "-c"),
    ("fish csh tcsh pwsh elvish nu xonsh", "-c -Command"),
    ("make gmake", "--eval -E"),
    ("emacs", "--eval"),
    ("go", "-exec -toolexec -vettool"),
    ("cargo", "-x --exec"),
    ("docker podman", "--entrypoint --health-cmd"),
    ("tmux screen", "-c -dm"),
    ("wget", "--use-askpass"),
    ("curl", "-K"),
    ("perf", "-e"),
];

/// Programs every operand of which may be a command line.
const OPERANDS: &str = "hyperfine parallel watch tmux screen sqlite3 xterm expect entr nodemon";

/// Subcommands of git whose operands may be one.
const GIT_OPERANDS: &str = "submodule bisect config";

/// Interpreters, with the options whose value is code.
const CODE: &[(&str, &str)] = &[
    ("python python2 python3 pypy3", "-c"),
    ("perl", "-e -E -ne -pe -nE -pE -le -lne -lpe"),
    ("ruby", "-e -ne -pe"),
    ("node bun deno nodejs", "-e -p -pe --eval --print"),
    ("php", "-r"),
    ("lua luajit", "-e"),
    ("osascript", "-e"),
    ("Rscript", "-e"),
];

/// Programs whose operands are code.
const CODE_OPERANDS: &str = "awk gawk mawk nawk sed gsed ed ex vim vi nvim view gdb mysql psql sqlite3 dc";

/// What stands before a string that is run.
const CALLS: &[&str] = &[
    "system",
    "exec",
    "execl",
    "execv",
    "execve",
    "popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "Popen",
    "spawn",
    "spawnl",
    "passthru",
    "shell_exec",
    "execute",
    "execSync",
    "spawnSync",
    "getoutput",
    "proc_open",
    "open",
    "e",
];

/// Variables that hold a command line.
const VARIABLES: &str = "PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND \
    GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS PROMPT_COMMAND LESSOPEN LESSCLOSE BROWSER RUSTC_WRAPPER RSYNC_RSH SHELL \
    GIT_PROXY_COMMAND CC CXX LD MAKEFLAGS";

/// The most command lines of one command, and the most bytes of code that are searched for them.
const MOST: usize = 16;
const LONGEST_CODE: usize = 4096;

/// Whether the value of the variable is run.
pub(in crate::shell) fn is_command_line(variable: &str) -> bool {
    has(VARIABLES, variable)
}

/// Every text among the arguments that may be a command line.
pub(in crate::shell) fn texts(program: &str, argv: &[Word]) -> Vec<String> {
    let values = OPTIONS.iter().find(|(names, _)| has(names, program)).map_or("", |(_, options)| *options);
    let codes = CODE.iter().find(|(names, _)| has(names, program)).map_or("", |(_, options)| *options);
    // Options may stand before the subcommand, and which of them take a value does not matter here.
    let mut verbs = argv.iter().skip(1).filter_map(Word::guess);
    let operands = has(OPERANDS, program) || program == "git" && verbs.any(|verb| has(GIT_OPERANDS, verb));
    let code_operands = has(CODE_OPERANDS, program);
    if values.is_empty() && codes.is_empty() && !operands && !code_operands {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut words = argv.iter().skip(1).map(|word| word.guess().unwrap_or_default()).peekable();
    while let Some(word) = words.next() {
        let next = words.peek().copied();
        out.extend(value(values, word, next).map(bare));
        value(codes, word, next).into_iter().for_each(|code| strings(code, &mut out));
        if !word.starts_with('-') {
            out.extend(Some(word).filter(|text| operands && text.contains(' ')).map(bare));
            if code_operands {
                strings(word, &mut out);
                out.extend(word.split_once(['!', 'e']).map(|(_, text)| text.trim().to_owned()));
            }
        }
        if out.len() >= MOST {
            break;
        }
    }
    out
}

/// The value that an option has here: attached, behind `=`, or the next word.
fn value<'a>(options: &str, word: &'a str, next: Option<&'a str>) -> Option<&'a str> {
    for option in options.split_ascii_whitespace() {
        let Some(rest) = word.strip_prefix(option) else { continue };
        match (rest, option.starts_with("--")) {
            ("", _) => return next,
            (rest, _) if rest.starts_with('=') => return rest.get(1..),
            (rest, false) if option.len() == 2 => return Some(rest),
            _ => {}
        }
    }
    None
}

/// A command line without what marks it as one: `exec=CMD`, `!CMD`, `key=!CMD`.
fn bare(text: &str) -> String {
    let name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let value = text.split_once('=').filter(|(key, _)| key.chars().all(name)).map_or(text, |(_, value)| value);
    value.trim_start_matches(['!', '|', '+', '.']).trim_start_matches("shell ").to_owned()
}

/// The strings of a code that it hands to something that runs them; and those of a list that is run, joined.
fn strings(code: &str, out: &mut Vec<String>) {
    let code = code.get(..LONGEST_CODE).unwrap_or(code);
    let mut list = Vec::new();
    let mut rest = code;
    let mut called = false;
    while let Some(at) = rest.find(['\'', '"', '`']).filter(|_| out.len() < MOST) {
        let mark = rest.as_bytes()[at];
        let before = &rest[..at];
        let Some(length) = rest[at + 1..].find(char::from(mark)) else { break };
        let text = &rest[at + 1..at + 1 + length];
        let behind = rest[at + length + 2..].trim_start();
        let continued = called && before.trim().trim_matches(['[', ']', '(']) == ",";
        called = continued || mark == b'`' || calls(before) || behind.starts_with('|');
        if called {
            out.push(text.to_owned());
            list.push(text);
        }
        rest = &rest[at + length + 2..];
    }
    if list.len() > 1 {
        out.push(list.join(" "));
    }
}

/// Whether what stands before a string runs it.
fn calls(before: &str) -> bool {
    let before = before.trim_end_matches(|c: char| " ([{\t".contains(c));
    let before = before.strip_suffix(['r', 'f', 'b', 'u']).filter(|rest| rest.ends_with('(')).unwrap_or(before);
    let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    before.ends_with('|') || CALLS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Vec<String> {
        let argv: Vec<Word> = words.iter().map(|word| Word::text(word)).collect();
        texts(words[0], &argv)
    }

    #[test]
    fn command_lines_are_found_in_arguments() {
        assert_eq!(of(&["git", "-c", "alias.x=!rm x", "x"]), ["rm x"]);
        assert_eq!(of(&["tar", "cf", "x", "--checkpoint-action=exec=rm x"]), ["rm x"]);
        assert_eq!(of(&["python3", "-c", "import os; os.system('rm x')"]), ["rm x"]);
        assert_eq!(of(&["python3", "-c", "subprocess.run(['rm', '-rf', '/'])"]), ["rm", "-rf", "/", "rm -rf /"]);
        assert_eq!(of(&["python3", "-c", "print('rm -rf /')"]), [""; 0]);
        assert_eq!(of(&["git", "commit", "-m", "rm"]), [""; 0]);
        assert!(of(&["awk", "BEGIN{system(\"rm x\")}"]).contains(&"rm x".to_owned()));
    }
}
