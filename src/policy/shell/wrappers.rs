//! Programs whose arguments are a command: what they would run.

use super::words::Word;

/// How a program leads to the command it runs.
struct Wrapper {
    names: &'static [&'static str],
    /// Short options without a value.
    short: &'static str,
    /// Short options with one, attached or next.
    short_value: &'static str,
    long: &'static [&'static str],
    long_value: &'static [&'static str],
    /// Words between the options and the command.
    operands: usize,
    /// Whether `NAME=value` may stand before the command.
    assigns: bool,
    /// Whether it adds nothing to what the command does.
    transparent: bool,
}

const PLAIN: Wrapper = Wrapper {
    names: &[],
    short: "",
    short_value: "",
    long: &[],
    long_value: &[],
    operands: 0,
    assigns: false,
    transparent: false,
};

const WRAPPERS: &[Wrapper] = &[
    Wrapper { names: &["command", "builtin"], short: "p", transparent: true, ..PLAIN },
    Wrapper { names: &["exec"], short: "cl", short_value: "a", ..PLAIN },
    Wrapper { names: &["nohup", "setsid", "catchsegv", "fakeroot"], short: "wfct", ..PLAIN },
    Wrapper {
        names: &["ionice"],
        short: "t",
        short_value: "cnpPu",
        long: &["ignore"],
        long_value: &["class", "classdata", "pid", "pgid", "uid"],
        ..PLAIN
    },
    Wrapper { names: &["nice"], short_value: "n", long_value: &["adjustment"], transparent: true, ..PLAIN },
    Wrapper {
        names: &["timeout"],
        short: "v",
        short_value: "sk",
        long: &["preserve-status", "foreground", "verbose"],
        long_value: &["signal", "kill-after"],
        operands: 1,
        transparent: true,
        ..PLAIN
    },
    Wrapper {
        names: &["env"],
        short: "i0v",
        short_value: "uC",
        long: &["ignore-environment", "null", "debug"],
        long_value: &["unset", "chdir"],
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        names: &["sudo"],
        short: "AbBEHiKknPSs",
        short_value: "CDghpRrTtuU",
        long: &["background", "preserve-env", "set-home", "login", "non-interactive", "shell", "stdin"],
        long_value: &["user", "group", "host", "prompt", "chdir", "chroot", "role", "type", "close-from"],
        assigns: true,
        ..PLAIN
    },
    Wrapper { names: &["doas"], short: "Lns", short_value: "Cu", ..PLAIN },
    Wrapper { names: &["chroot"], long_value: &["groups", "userspec"], operands: 1, ..PLAIN },
    Wrapper { names: &["stdbuf"], short_value: "ioe", long_value: &["input", "output", "error"], ..PLAIN },
    Wrapper {
        names: &["time"],
        short: "pvaqV",
        short_value: "fo",
        long: &["portability", "verbose", "append", "quiet"],
        long_value: &["format", "output"],
        ..PLAIN
    },
    Wrapper {
        names: &["xargs"],
        short: "0rtxpo",
        short_value: "adEILnPs",
        long: &["null", "no-run-if-empty", "verbose", "exit", "interactive", "open-tty"],
        long_value: &["arg-file", "delimiter", "max-lines", "max-args", "max-procs", "max-chars", "replace"],
        ..PLAIN
    },
    Wrapper {
        names: &["strace", "ltrace"],
        short: "cCdDfhiknqrtTvVwxyzZ",
        short_value: "abeEIoOpPsSuUX",
        long: &["follow-forks", "quiet"],
        long_value: &["output", "trace"],
        ..PLAIN
    },
    Wrapper { names: &["busybox", "toybox"], ..PLAIN },
    Wrapper { names: &["unshare", "nsenter"], short: "mUipnufrCT", long: &["map-root-user", "fork"], ..PLAIN },
    Wrapper { names: &["taskset", "chrt", "flock"], short: "acpbfior", operands: 1, ..PLAIN },
];

/// Programs that read a script: from `-c`, from an operand, or from their input.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash"];

/// Programs that hand their arguments to a shell, joined by blanks; with the options of theirs that take a value.
const JOINERS: &[(&str, &str)] = &[("eval", ""), ("watch", "nq"), ("ssh", "BbcDEeFIiJLlmOopQRSWw")];

/// What a program would run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// The words from this place on are a command; whether the program adds nothing of its own.
    Command { from: usize, transparent: bool },
    /// These words of `find -exec` are one.
    Range { from: usize, to: usize },
    /// This text is a script; whether the program adds nothing of its own.
    Script { text: String, transparent: bool },
    /// Its input is a script.
    Input,
    /// Something that cannot be told.
    Untold,
}

/// What the program of `argv` would run, if it is one that runs others.
pub(super) fn inner(program: &str, argv: &[Word]) -> Vec<Inner> {
    if SHELLS.contains(&program) {
        return vec![shell(argv)];
    }
    if let Some((_, values)) = JOINERS.iter().find(|(name, _)| *name == program) {
        return vec![joined(program, values, argv)];
    }
    match program {
        "find" => return executed(argv),
        "trap" => return trapped(argv),
        "alias" => return aliases(argv),
        "env" if let Some(text) = split_string(argv) => return vec![Inner::Script { text, transparent: false }],
        "su" | "script" | "runuser" => return option_c(argv),
        _ => {}
    }
    let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&program)) else { return Vec::new() };
    vec![wrapper.command(argv)]
}

impl Wrapper {
    fn command(&self, argv: &[Word]) -> Inner {
        let mut at = 1;
        while let Some(word) = argv.get(at) {
            let Some(text) = word.guess() else { break };
            match self.option(text) {
                Step::End => break,
                Step::Last => {
                    at += 1;
                    break;
                }
                Step::Over(count) => at += count,
                Step::Unknown => return Inner::Untold,
            }
        }
        at += self.operands;
        while self.assigns && argv.get(at).and_then(Word::guess).is_some_and(is_assignment) {
            at += 1;
        }
        if at < argv.len() { Inner::Command { from: at, transparent: self.transparent } } else { Inner::Untold }
    }

    fn option(&self, text: &str) -> Step {
        if text == "--" {
            return Step::Last;
        }
        if let Some(long) = text.strip_prefix("--") {
            return match long.split_once('=') {
                Some((name, _)) if self.long_value.contains(&name) || self.long.contains(&name) => Step::Over(1),
                None if self.long.contains(&long) => Step::Over(1),
                None if self.long_value.contains(&long) => Step::Over(2),
                _ => Step::Unknown,
            };
        }
        let Some(cluster) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) else { return Step::End };
        for (at, c) in cluster.char_indices() {
            if self.short_value.contains(c) {
                return Step::Over(if at + c.len_utf8() == cluster.len() { 2 } else { 1 });
            }
            if !self.short.contains(c) {
                return Step::Unknown;
            }
        }
        Step::Over(1)
    }
}

/// What an option means for where the command begins.
enum Step {
    End,
    Last,
    Over(usize),
    Unknown,
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.starts_with('-'))
}

/// `sh -c TEXT`, `sh FILE`, or `sh` alone.
fn shell(argv: &[Word]) -> Inner {
    let mut reads_text = false;
    let mut at = 1;
    while let Some(word) = argv.get(at) {
        let Some(text) = word.guess() else { return Inner::Untold };
        let plain = text.strip_prefix(['-', '+']).filter(|rest| !rest.is_empty() && !text.starts_with("--"));
        match plain {
            _ if matches!(text, "--norc" | "--noprofile" | "--posix" | "--login" | "--restricted") => at += 1,
            Some(cluster) if cluster.chars().all(|c| "acefhilnprstuvxBCEHPTO o".contains(c)) => {
                reads_text |= cluster.contains('c') && text.starts_with('-');
                at += 1 + usize::from(cluster.ends_with(['o', 'O']));
            }
            Some(_) => return Inner::Untold,
            None if text == "--" || text == "-" => {
                at += 1;
                break;
            }
            None if text.starts_with("--") => return Inner::Untold,
            None => break,
        }
    }
    match argv.get(at) {
        Some(word) if reads_text => match word.guess() {
            Some(text) => Inner::Script { text: text.to_owned(), transparent: word.literal().is_some() },
            None => Inner::Untold,
        },
        Some(_) => Inner::Untold,
        None => Inner::Input,
    }
}

fn joined(program: &str, values: &str, argv: &[Word]) -> Inner {
    let mut at = 1;
    while let Some(option) = argv.get(at).and_then(Word::guess).filter(|text| text.starts_with('-')) {
        let takes_next = option.len() == 2 && option.ends_with(|c| values.contains(c));
        at += 1 + usize::from(takes_next);
    }
    // The first word of ssh is a host.
    at += usize::from(program == "ssh");
    let words: Option<Vec<&str>> = argv.iter().skip(at).map(Word::guess).collect();
    match words {
        Some(words) => Inner::Script { text: words.join(" "), transparent: false },
        None => Inner::Untold,
    }
}

/// The commands of `find -exec` and its kin, each up to `;` or `+`.
fn executed(argv: &[Word]) -> Vec<Inner> {
    let starts = ["-exec", "-execdir", "-ok", "-okdir"];
    let mut out = Vec::new();
    let mut at = 1;
    while at < argv.len() {
        if argv[at].guess().is_some_and(|text| starts.contains(&text)) {
            let ends = |word: &Word| matches!(word.guess(), Some(";" | "+"));
            let to = argv[at + 1..].iter().position(ends).map_or(argv.len(), |end| at + 1 + end);
            out.push(Inner::Range { from: at + 1, to });
            at = to;
        }
        at += 1;
    }
    out
}

/// The text behind the names that `alias` gives: it runs when the name is met.
fn aliases(argv: &[Word]) -> Vec<Inner> {
    let texts = argv.iter().skip(1).filter_map(|word| word.guess()?.split_once('='));
    texts.map(|(_, text)| Inner::Script { text: text.to_owned(), transparent: false }).collect()
}

/// What `env -S TEXT` would run: the text stands for arguments of `env` itself, and the rest follows.
fn split_string(argv: &[Word]) -> Option<String> {
    let options = argv.iter().skip(1).map_while(Word::guess).take_while(|text| text.starts_with('-'));
    let (at, text) = options.enumerate().find_map(|(at, text)| Some((at, split_option(text)?)))?;
    let rest = argv.iter().skip(at + 2).map(|word| word.guess().unwrap_or("\"$unknown\""));
    let words: Vec<&str> = ["env", text].into_iter().chain(rest).collect();
    Some(words.join(" "))
}

/// The text that is attached to `-S`, which may be none: then it is the next word.
fn split_option(text: &str) -> Option<&str> {
    if let Some(long) = text.strip_prefix("--split-string") {
        return Some(long.strip_prefix('=').unwrap_or(long));
    }
    let (flags, attached) = text.strip_prefix('-')?.split_once('S')?;
    flags.chars().all(|c| "i0v".contains(c)).then_some(attached)
}

fn trapped(argv: &[Word]) -> Vec<Inner> {
    let action = argv.iter().skip(1).find(|word| word.guess() != Some("--"));
    match action.map(Word::guess) {
        Some(Some(text)) => vec![Inner::Script { text: text.to_owned(), transparent: false }],
        Some(None) => vec![Inner::Untold],
        None => Vec::new(),
    }
}

/// `su -c TEXT`.
fn option_c(argv: &[Word]) -> Vec<Inner> {
    let at = argv.iter().position(|word| matches!(word.guess(), Some("-c" | "--command" | "-qc" | "-lc")));
    match at.and_then(|at| argv.get(at + 1)).map(Word::guess) {
        Some(Some(text)) => vec![Inner::Script { text: text.to_owned(), transparent: false }],
        _ => vec![Inner::Untold],
    }
}
