//! Finds the commands that a command runs: under wrappers (`env`, `sudo`, `xargs`, `find -exec`, ..) and in literal
//! scripts (`sh -c`, `eval`, `trap`, a here-document of a shell).

use super::block_list::resolve;
use super::parse::{ShellWord, SimpleCommand, is_plain_assignment};

/// Maximum number of positions at which to look for the command of a wrapper with unknown options.
const MAX_PLACES: usize = 4;

/// Returns the last part of a program's name.
pub(super) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// A command or script that a command runs.
pub(super) enum Inner {
    Command(Vec<ShellWord>),
    Script(String),
    Unknown,
}

/// The options of some programs.
pub(super) struct Options {
    pub(super) programs: &'static str,
    /// Short options without a value. A letter before a `:` is an option with an optional value, which is the rest of
    /// its word.
    pub(super) flags: &'static str,
    /// Short options with a value, which is the rest of the word or else the next word.
    pub(super) values: &'static str,
    /// Long options with a value in the next word; all others are flags or have a `=`.
    pub(super) long_values: &'static str,
    pub(super) long_flags: &'static str,
    /// How many operands precede the command.
    operands: usize,
}

impl Options {
    pub(super) const NONE: Options = options("", "", "", "", "", 0);
}

pub(super) const fn options(
    programs: &'static str,
    flags: &'static str,
    values: &'static str,
    long_flags: &'static str,
    long_values: &'static str,
    operands: usize,
) -> Options {
    Options { programs, flags, values, long_values, long_flags, operands }
}

/// Programs that run a command in a way that this module does not read.
const UNREAD_WRAPPERS: &str = "watch su script runuser parallel unshare nsenter at batch setarch linux32 linux64 prlimit setpriv \
    numactl runcon choom systemd-run run0 xvfb-run dbus-run-session ssh-agent valgrind perf sg newgrp fish csh tcsh pwsh yash";

/// Programs that run the command after their own options.
const WRAPPERS: &[Options] = &[
    options("command builtin", "p", "", "", "", 0),
    options("exec", "cl", "a", "", "", 0),
    options(
        "nohup setsid busybox toybox fakeroot unbuffer caffeinate chronic eatmydata",
        "wfc",
        "",
        "fork wait ctty",
        "",
        0,
    ),
    options("nice", "", "n", "", "adjustment", 0),
    options("ionice", "t", "cnpPu", "ignore", "class classdata pid pgid uid", 0),
    options("timeout", "v", "sk", "preserve-status foreground verbose", "signal kill-after", 1),
    options("env", "i0v-", "uC", "ignore-environment null debug", "unset chdir", 0),
    options(
        "sudo",
        "AbBEHiKknPSs",
        "CDghpRrTtuU",
        "background preserve-env set-home login non-interactive shell stdin reset-timestamp",
        "user group host prompt chdir chroot role type close-from other-user command-timeout",
        0,
    ),
    options("doas", "Lns", "Cu", "", "", 0),
    options("pkexec", "", "", "disable-internal-agent keep-cwd", "user", 0),
    options("gosu su-exec", "", "", "", "", 1),
    options("stdbuf", "", "ioe", "", "input output error", 0),
    options("time", "pvaqV", "fo", "portability verbose append quiet", "format output", 0),
    options(
        "xargs",
        "0rtxpoi:e:l:",
        "adEILnPs",
        "null no-run-if-empty verbose exit interactive open-tty replace",
        "arg-file delimiter max-args max-procs max-chars",
        0,
    ),
    options("chroot", "", "", "", "groups userspec", 1),
    options("strace ltrace", "cCdDfhiknqrtTvVwxyzZ", "abeEIoOpPsSuUX", "follow-forks quiet", "output trace", 0),
    options("flock", "nsxuoF", "wE", "nonblock shared exclusive close", "timeout wait", 1),
    options("taskset chrt", "acpbfior", "", "", "", 1),
];

pub(super) fn find_options(table: &'static [Options], name: &str) -> Option<&'static Options> {
    table.iter().find(|row| row.programs.split(' ').any(|program| program == name))
}

/// Returns the positions where the words after the options can begin: several, because an unknown option may or may not
/// take a value.
pub(super) fn skip_options(words: &[ShellWord], options: &Options) -> Vec<usize> {
    let has = |list: &str, name: &str| list.split(' ').any(|one| one == name);
    let (mut at, mut unknown, mut places) = (0, 0, Vec::new());
    loop {
        match words.get(at).and_then(ShellWord::literal) {
            Some("--") => {
                places.push(at + 1);
                return places;
            }
            Some(text) if text.starts_with("--") => {
                let name = text[2..].split('=').next().unwrap_or("");
                let takes_next = has(options.long_values, name) && !text.contains('=');
                at += if takes_next { 2 } else { 1 };
                unknown += usize::from(!text.contains('=') && !takes_next && !has(options.long_flags, name));
            }
            // `env -` clears the environment.
            Some("-") if options.flags.contains('-') => at += 1,
            Some(text) if text.len() > 1 && text.starts_with('-') => {
                at += 1;
                for (index, letter) in text.char_indices().skip(1) {
                    if options.values.contains(letter) {
                        // Without a rest in its word, the value is the next word: `-n 5` and `-n5`.
                        at += usize::from(index + letter.len_utf8() == text.len());
                        break;
                    }
                    if options.flags.contains(&format!("{letter}:")) {
                        break;
                    }
                    // A number has no value in the next word: `nice -5 command`.
                    unknown += usize::from(!options.flags.contains(letter) && !letter.is_ascii_digit());
                }
            }
            _ => {
                places.push(at);
                if unknown == 0 || at >= words.len() {
                    return places;
                }
                // The word may be the value of an unknown option.
                unknown -= 1;
                at += 1;
            }
        }
    }
}

/// Lists what a command runs.
pub(super) fn list_inner(words: &[ShellWord], command: &SimpleCommand) -> Vec<Inner> {
    let Some((name, arguments)) = words.split_first() else { return Vec::new() };
    let Some(name) = name.literal().map(base_name) else { return vec![Inner::Unknown] };
    match name {
        "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" | "rbash" | "mksh" | "." | "source" => {
            let inner = read_shell(arguments, command);
            // The script is listed even if another shell may read it differently: deny rules still match what bash
            // would run.
            let is_certain = !matches!(&inner, Inner::Script(text) if differs_from_bash(name, text));
            if is_certain { vec![inner] } else { vec![inner, Inner::Unknown] }
        }
        // `command -v` only looks the name up.
        "command" if matches!(arguments.first().and_then(ShellWord::literal), Some("-v" | "-V")) => Vec::new(),
        "eval" => vec![join_script(arguments)],
        "trap" => match arguments.first() {
            Some(ShellWord::Literal(text)) if text == "-" => Vec::new(),
            Some(ShellWord::Literal(text)) if text.starts_with('-') && arguments.len() > 1 => vec![Inner::Unknown],
            Some(ShellWord::Literal(text)) => vec![Inner::Script(text.clone())],
            Some(_) => vec![Inner::Unknown],
            None => Vec::new(),
        },
        _ if UNREAD_WRAPPERS.split_ascii_whitespace().any(|one| one == name) => vec![Inner::Unknown],
        _ if runs_by_option(name, arguments) => vec![Inner::Unknown],
        "find" => list_executed(arguments),
        _ => match find_options(WRAPPERS, name) {
            Some(options) => list_wrapped(name, arguments, options),
            None => Vec::new(),
        },
    }
}

/// Reports whether an option or a subcommand of a program makes it run a command.
fn runs_by_option(name: &str, arguments: &[ShellWord]) -> bool {
    let literals = || arguments.iter().filter_map(ShellWord::literal);
    let has = |options: &[&str]| literals().any(|word| options.iter().any(|option| word.starts_with(option)));
    match name {
        "flock" => has(&["-c", "--command"]),
        "fd" | "fdfind" => has(&["-x", "-X", "--exec"]),
        "npx" => has(&["-c", "--call"]),
        // The output goes to a command: `strace -o '|command'`.
        "strace" => has(&["|", "!", "-o|", "-o!"]),
        "git" => {
            let names = |word: &str| literals().any(|one| one == word);
            names("submodule") && names("foreach")
                || names("bisect") && names("run")
                || names("rebase") && has(&["-x", "--ex"])
        }
        _ => false,
    }
}

/// Reports whether a text is a cluster of short options with a letter in it.
fn is_cluster_with(text: &str, letter: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}

/// Lists the commands that a wrapper can run.
fn list_wrapped(name: &str, arguments: &[ShellWord], options: &Options) -> Vec<Inner> {
    let mut all = Vec::new();
    let places = skip_options(arguments, options);
    let skipped = &arguments[..places.last().map_or(0, |&at| at.min(arguments.len()))];
    let has_option = |is_meant: &dyn Fn(&str) -> bool| skipped.iter().filter_map(ShellWord::literal).any(is_meant);
    // `env -S text` splits the text by rules of its own.
    if name == "env" && has_option(&|text| is_cluster_with(text, 'S') || text.starts_with("--s")) {
        return vec![Inner::Unknown];
    }
    // The command can begin at a place that is not looked at.
    if places.len() > MAX_PLACES {
        all.push(Inner::Unknown);
    }
    for at in places.into_iter().take(MAX_PLACES) {
        let mut words = arguments.get(at + options.operands..).unwrap_or(&[]);
        let operands = arguments.get(at..at + options.operands).unwrap_or(&[]);
        // The command begins elsewhere if one of these words is an option, or expands to no word or to several.
        if may_move_words(&arguments[..at.min(arguments.len())]) || operands.iter().any(|word| word.literal().is_none())
        {
            all.push(Inner::Unknown);
        }
        if matches!(name, "env" | "sudo" | "doas") {
            while let Some((first, rest)) = words.split_first()
                && let ShellWord::Literal(text) | ShellWord::Unknown { prefix: text, .. } = first
                && let Some((variable, value)) = text.split_once('=')
            {
                // An unquoted value can expand to several words, and the later ones can be a command. Bash runs the
                // values of some variables, and defines functions from others: `BASH_FUNC_ls%%=() { .. }`.
                let is_several = matches!(first, ShellWord::Unknown { several: true, .. });
                if is_several || !is_plain_assignment(variable, value) {
                    all.push(Inner::Unknown);
                }
                words = rest;
            }
        }
        if words.is_empty() {
            // Without a command, these start a shell, which runs what it reads from its input.
            let is_shell = |text: &str| {
                let is_cluster = is_cluster_with(text, 's') || is_cluster_with(text, 'i');
                is_cluster || text.starts_with("--s") || text.starts_with("--lo")
            };
            if name == "chroot" || matches!(name, "sudo" | "doas") && has_option(&is_shell) {
                all.push(Inner::Unknown);
            }
            continue;
        }
        let mut words = words.to_vec();
        if name == "xargs" {
            // `xargs` puts an input in place of the mark, or appends all inputs. So the marked words and those at the
            // end are unknown.
            match find_mark(&arguments[..at]) {
                Some(mark) => replace_mark(&mut words, &mark),
                None => return vec![Inner::Unknown],
            }
            words.push(ShellWord::Unknown { prefix: String::new(), several: true, number: false });
        }
        all.push(Inner::Command(words));
    }
    all
}

/// Reports whether some word can expand to no word or to several when the command runs.
pub(super) fn may_move_words(words: &[ShellWord]) -> bool {
    words.iter().any(|word| matches!(word, ShellWord::Unknown { several: true, .. } | ShellWord::Pattern(_)))
}

/// Finds the text that `xargs` replaces by an input, by its options; `None` if it cannot be read.
fn find_mark(options: &[ShellWord]) -> Option<String> {
    let mut words = options.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else { continue };
        if let Some(mark) = text.strip_prefix("-I") {
            let mark = if mark.is_empty() { words.next().and_then(ShellWord::literal)? } else { mark };
            return Some(mark.to_owned());
        }
        if let Some(mark) = text.strip_prefix("-i").or_else(|| text.strip_prefix("--replace=")) {
            return Some(if mark.is_empty() { "{}".to_owned() } else { mark.to_owned() });
        }
        let replaces = is_cluster_with(text, 'I') || is_cluster_with(text, 'i') || text.starts_with("--r");
        if replaces && text != "--replace" {
            return None;
        }
    }
    Some("{}".to_owned())
}

/// Makes each word that contains `mark` unknown, because the program puts another text in its place.
fn replace_mark(words: &mut [ShellWord], mark: &str) {
    for word in words {
        if let Some(at) = word.literal().and_then(|text| text.find(mark)) {
            let prefix = word.literal().unwrap_or("")[..at].to_owned();
            *word = ShellWord::Unknown { prefix, several: false, number: false };
        }
    }
}

/// Lists the commands of `find -exec` and the like.
fn list_executed(arguments: &[ShellWord]) -> Vec<Inner> {
    let mut all = Vec::new();
    let mut rest = arguments;
    while let Some(at) =
        rest.iter().position(|word| matches!(word.literal(), Some("-exec" | "-execdir" | "-ok" | "-okdir")))
    {
        all.extend(find_hidden_action(&rest[..at]));
        rest = &rest[at + 1..];
        // A `+` is the end only after `{}`.
        let is_end = |at: usize| match rest[at].literal() {
            // POSIX, `find`: a `+` elsewhere is an argument of the program.
            Some("+") => at > 0 && rest[at - 1].literal() == Some("{}"),
            text => text == Some(";"),
        };
        let end = (0..rest.len()).find(|&at| is_end(at)).unwrap_or(rest.len());
        let mut words = rest[..end].to_vec();
        replace_mark(&mut words, "{}");
        all.push(Inner::Command(words));
        // Several actions may follow each other, each with a program of its own.
        rest = &rest[end..];
    }
    all.extend(find_hidden_action(rest));
    all
}

/// Reports an unknown word that can be `-exec` before a program, or a whole action.
fn find_hidden_action(words: &[ShellWord]) -> Option<Inner> {
    let is_option = |word: &ShellWord| word.literal().is_some_and(|text| text.starts_with('-'));
    let hides = |(at, word): (usize, &ShellWord)| match word {
        ShellWord::Unknown { prefix, several, .. } if prefix.is_empty() || prefix.starts_with('-') => {
            *several || words.get(at + 1).is_some_and(|next| !is_option(next))
        }
        _ => false,
    };
    words.iter().enumerate().any(hides).then_some(Inner::Unknown)
}

/// Reads the script of `eval`.
fn join_script(words: &[ShellWord]) -> Inner {
    let words = words.strip_prefix(&[ShellWord::Literal("--".to_owned())]).unwrap_or(words);
    let literals: Option<Vec<&str>> = words.iter().map(ShellWord::literal).collect();
    match literals {
        Some(literals) => Inner::Script(literals.join(" ")),
        None => Inner::Unknown,
    }
}

/// Reports whether a shell can read a script in another way than bash. For some shells `a &>x b` are two commands, and
/// `[[` is a program.
fn differs_from_bash(shell: &str, script: &str) -> bool {
    match shell {
        "bash" | "rbash" | "." | "source" => false,
        "sh" | "dash" | "ash" => script.contains("&>") || script.contains("[["),
        _ => !script.is_empty(),
    }
}

/// Reads what a shell runs: the text after `-c`, a here-document, a file, or an input that is unknown.
fn read_shell(arguments: &[ShellWord], command: &SimpleCommand) -> Inner {
    let mut words = arguments.iter();
    let mut takes_text = false;
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else { return Inner::Unknown };
        match text {
            "--" => break,
            "--version" | "--help" => return Inner::Script(String::new()),
            "--rcfile" | "--init-file" => {
                words.next();
            }
            "--login" | "--norc" | "--noprofile" | "--posix" | "--restricted" | "--verbose" | "--noediting" => {}
            // Bash accepts long options with one dash too. An option that is not listed could take the next word.
            "-rcfile" | "-init-file" => return Inner::Unknown,
            _ if text.starts_with("--") => return Inner::Unknown,
            _ if text.len() > 1 && text.starts_with(['-', '+']) => {
                // The text of `-c` is the first operand, not the rest of the word: `bash -ce 'text'`.
                takes_text |= text.starts_with('-') && text.contains('c');
                match text.find(['o', 'O']) {
                    None => {}
                    Some(at) if at + 1 == text.len() => {
                        words.next();
                    }
                    // Shells differ in where the name of the option is.
                    Some(_) => return Inner::Unknown,
                }
            }
            _ if takes_text => return Inner::Script(text.to_owned()),
            // A script in a file is not read: a file is a program like any other.
            _ if text != "-" && !is_special_file(text) => return Inner::Script(String::new()),
            _ => break,
        }
    }
    if takes_text {
        return words.next().and_then(ShellWord::literal).map_or(Inner::Unknown, |text| Inner::Script(text.to_owned()));
    }
    let mut inputs = command.redirections.iter().filter(|redirection| redirection.operator.starts_with('<'));
    match (inputs.next(), inputs.next()) {
        // A second redirection, or one that names its descriptor (`0<file`), can replace the input by another text.
        (Some(document), None) if matches!(document.operator, "<<" | "<<<") && !command.names_input => {
            document.target.literal().map_or(Inner::Unknown, |text| Inner::Script(text.to_owned()))
        }
        _ => Inner::Unknown,
    }
}

/// Reports whether a path can name an input of the shell, such as `/dev/stdin`.
fn is_special_file(path: &str) -> bool {
    let (above, names) = resolve(path);
    (above > 0 || path.starts_with('/')) && matches!(names.first(), Some(&"dev" | &"proc"))
}
