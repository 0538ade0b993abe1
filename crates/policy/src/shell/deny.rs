//! Deny rules on parsed commands, under wrappers and in literal scripts.
//!
//! A rule such as `git push` matches a command by the last part of its program's name, with options before the subcommand
//! skipped. A command that a wrapper runs counts as one of its own (`env`, `sudo`, `xargs`, `find -exec`, ..), and so does each
//! command of a literal script (`sh -c`, `eval`, `trap`, a here-document of a shell). If a text, or the name of a program, cannot be
//! read, the result is [`DenyMatch::Unknown`].

use super::parse::{Parsed, ShellWord, SimpleCommand, parse};

/// The most scripts in each other.
const MAX_SCRIPTS: usize = 8;

/// The most words that are looked at. A chain of wrappers has the words of its last command in each of its own.
const MAX_WORDS: usize = 100_000;

/// The most places at which the command of a wrapper with unknown options is looked for.
const MAX_PLACES: usize = 4;

/// Whether deny rules match a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DenyMatch<'r> {
    /// No rule matches.
    None,
    /// Some command, or the name of its program, cannot be read; a rule might match.
    Unknown,
    /// This rule matches.
    Denied(&'r [String]),
}

/// Matches the commands of a text with deny rules, each a program's name with further words.
pub fn match_deny_rules<'r>(text: &str, rules: &'r [Vec<String>]) -> DenyMatch<'r> {
    if rules.is_empty() {
        return DenyMatch::None;
    }
    let mut worst = DenyMatch::None;
    let mut texts = vec![(text.to_owned(), 0)];
    let mut words_left = MAX_WORDS;
    while let Some((text, depth)) = texts.pop() {
        let Ok(Parsed { commands, uses_numbers_by_name }) = parse(&text) else {
            worst = worst.max(DenyMatch::Unknown);
            continue;
        };
        // A script inherits variables, whose values arithmetic would evaluate.
        if depth > 0 && uses_numbers_by_name {
            worst = worst.max(DenyMatch::Unknown);
        }
        for command in &commands {
            let mut waiting = vec![command.words.clone()];
            while let Some(words) = waiting.pop() {
                let Some(left) = words_left.checked_sub(words.len() + 1) else { return worst.max(DenyMatch::Unknown) };
                words_left = left;
                for rule in rules {
                    worst = worst.max(match_rule(rule, &words));
                }
                for run in list_inner(&words, command) {
                    match run {
                        Inner::Command(words) => waiting.push(words),
                        Inner::Script(text) if depth < MAX_SCRIPTS => texts.push((text, depth + 1)),
                        Inner::Script(_) => worst = worst.max(DenyMatch::Unknown),
                        Inner::Unknown => worst = worst.max(DenyMatch::Unknown),
                    }
                }
            }
        }
    }
    worst
}

/// The last part of a program's name.
fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Matches one rule with the words of one command.
fn match_rule<'r>(rule: &'r [String], words: &[ShellWord]) -> DenyMatch<'r> {
    let (Some((program, rest)), Some((name, arguments))) = (rule.split_first(), words.split_first()) else {
        return DenyMatch::None;
    };
    let Some(name) = name.literal().map(base_name) else { return DenyMatch::Unknown };
    let program = base_name(program);
    let Some((subcommand, others)) = rest.split_first() else {
        return if name == program { DenyMatch::Denied(rule) } else { DenyMatch::None };
    };
    // `git-push` is `git push`.
    if name.strip_prefix(program).and_then(|rest| rest.strip_prefix('-')) == Some(subcommand) {
        return match_others(rule, others, arguments);
    }
    if name != program {
        return DenyMatch::None;
    }
    if subcommand.starts_with('-') {
        return match_others(rule, rest, arguments);
    }
    let mut worst = DenyMatch::None;
    for at in skip_options(arguments, find_options(OPTIONS_BEFORE_SUBCOMMANDS, name).unwrap_or(&Options::NONE)) {
        match arguments.get(at) {
            Some(ShellWord::Literal(text)) if text == subcommand => {
                worst = worst.max(match_others(rule, others, &arguments[at + 1..]));
            }
            Some(ShellWord::Literal(_)) | None => {}
            Some(_) => worst = worst.max(DenyMatch::Unknown),
        }
    }
    worst
}

/// Matches the words of a rule after its subcommand: an option can be anywhere, other words are next.
fn match_others<'r>(rule: &'r [String], others: &[String], arguments: &[ShellWord]) -> DenyMatch<'r> {
    let is_known = arguments.iter().all(|word| word.literal().is_some());
    let operands: Vec<&str> =
        arguments.iter().filter_map(ShellWord::literal).filter(|text| !text.starts_with('-')).collect();
    let (options, expected): (Vec<&String>, Vec<&String>) = others.iter().partition(|word| word.starts_with('-'));
    let has_options = options.iter().all(|option| arguments.iter().any(|word| word.literal() == Some(option)));
    if has_options
        && operands.iter().zip(&expected).all(|(operand, word)| operand == word)
        && operands.len() >= expected.len()
    {
        return DenyMatch::Denied(rule);
    }
    if is_known { DenyMatch::None } else { DenyMatch::Unknown }
}

/// What a command runs.
enum Inner {
    Command(Vec<ShellWord>),
    Script(String),
    Unknown,
}

/// The options of some programs.
struct Options {
    programs: &'static str,
    /// Short options without and with a value.
    flags: &'static str,
    values: &'static str,
    /// Long options with a value in the next word; all others are flags or have a `=`.
    long_values: &'static str,
    long_flags: &'static str,
    /// How many operands precede the command.
    operands: usize,
}

impl Options {
    const NONE: Options = options("", "", "", "", "", 0);
}

const fn options(
    programs: &'static str,
    flags: &'static str,
    values: &'static str,
    long_flags: &'static str,
    long_values: &'static str,
    operands: usize,
) -> Options {
    Options { programs, flags, values, long_values, long_flags, operands }
}

/// Programs that run the command after their own options.
const WRAPPERS: &[Options] = &[
    options("command builtin", "p", "", "", "", 0),
    options("exec", "cl", "a", "", "", 0),
    options("nohup setsid busybox toybox fakeroot unbuffer caffeinate", "wfc", "", "fork wait ctty", "", 0),
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
    options("stdbuf", "", "ioe", "", "input output error", 0),
    options("time", "pvaqV", "fo", "portability verbose append quiet", "format output", 0),
    options(
        "xargs",
        "0rtxpoiel",
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

/// Options before the subcommand.
const OPTIONS_BEFORE_SUBCOMMANDS: &[Options] = &[
    options(
        "git",
        "pPhv",
        "Cc",
        "no-pager paginate bare no-replace-objects literal-pathspecs",
        "git-dir work-tree namespace config-env super-prefix",
        0,
    ),
    options("docker podman", "Dv", "Hcl", "debug tls tlsverify", "host context config log-level connection url", 0),
    options("kubectl helm", "", "ns", "", "namespace context cluster user kubeconfig server token kube-context", 0),
    options("npm pnpm yarn", "sgC", "", "silent global", "prefix registry dir cwd userconfig", 0),
    options("cargo", "vqV", "CZ", "verbose quiet offline locked frozen", "config color manifest-path", 0),
];

fn find_options(table: &'static [Options], name: &str) -> Option<&'static Options> {
    table.iter().find(|row| row.programs.split(' ').any(|program| program == name))
}

/// The places where the words after the options can begin: several, because an option that is in no list can take a value or not.
fn skip_options(words: &[ShellWord], options: &Options) -> Vec<usize> {
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
            Some(text) if text.len() > 1 && text.starts_with('-') => {
                at += 1;
                for (index, letter) in text.char_indices().skip(1) {
                    if options.values.contains(letter) {
                        // The value is the rest of the word, or else the next one.
                        at += usize::from(index + letter.len_utf8() == text.len());
                        break;
                    }
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
fn list_inner(words: &[ShellWord], command: &SimpleCommand) -> Vec<Inner> {
    let Some((name, arguments)) = words.split_first() else { return Vec::new() };
    let Some(name) = name.literal().map(base_name) else { return vec![Inner::Unknown] };
    match name {
        "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" => vec![read_shell(arguments, command)],
        // It only looks the name up.
        "command" if matches!(arguments.first().and_then(ShellWord::literal), Some("-v" | "-V")) => Vec::new(),
        "eval" => vec![join_script(arguments)],
        "trap" => match arguments.first() {
            Some(ShellWord::Literal(text)) if text == "-" => Vec::new(),
            Some(ShellWord::Literal(text)) if text.starts_with('-') && arguments.len() > 1 => vec![Inner::Unknown],
            Some(ShellWord::Literal(text)) => vec![Inner::Script(text.clone())],
            Some(_) => vec![Inner::Unknown],
            None => Vec::new(),
        },
        "watch" | "su" | "script" | "runuser" | "parallel" | "unshare" | "nsenter" | "at" | "batch" => {
            vec![Inner::Unknown]
        }
        "find" => list_executed(arguments),
        _ => match find_options(WRAPPERS, name) {
            Some(options) => list_wrapped(name, arguments, options),
            None => Vec::new(),
        },
    }
}

/// Lists the commands that a wrapper can run.
fn list_wrapped(name: &str, arguments: &[ShellWord], options: &Options) -> Vec<Inner> {
    // `env -S text` splits the text by rules of its own, and a name that is not a variable can define a function.
    let splits =
        |word: &ShellWord| word.literal().is_some_and(|text| text.starts_with("-S") || text.starts_with("--split"));
    if name == "env" && arguments.iter().any(splits) {
        return vec![Inner::Unknown];
    }
    let mut all = Vec::new();
    let places = skip_options(arguments, options);
    if places.len() > MAX_PLACES {
        all.push(Inner::Unknown);
    }
    for at in places.into_iter().take(MAX_PLACES) {
        let mut words = arguments.get(at + options.operands..).unwrap_or(&[]);
        if matches!(name, "env" | "sudo") {
            let is_assignment = |word: &ShellWord| match word {
                ShellWord::Literal(text) => text.contains('='),
                ShellWord::Unknown { prefix, .. } => prefix.contains('='),
                _ => false,
            };
            while let Some((first, rest)) = words.split_first()
                && is_assignment(first)
            {
                // An unquoted value can end in a command of its own.
                if matches!(first, ShellWord::Unknown { several: true, .. }) {
                    all.push(Inner::Unknown);
                }
                words = rest;
            }
        }
        if words.is_empty() {
            continue;
        }
        let mut words = words.to_vec();
        if name == "xargs" {
            // The text that replaces an input can be any word, and inputs follow otherwise.
            let mark = arguments.iter().filter_map(ShellWord::literal).find_map(|text| text.strip_prefix("-I"));
            replace_mark(&mut words, mark.filter(|mark| !mark.is_empty()).unwrap_or("{}"));
            words.push(ShellWord::Unknown { prefix: String::new(), several: true, number: false });
        }
        all.push(Inner::Command(words));
    }
    all
}

/// Makes each word unknown that contains the text which a program replaces.
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
        rest = &rest[at + 1..];
        let end = rest.iter().position(|word| matches!(word.literal(), Some(";" | "+"))).unwrap_or(rest.len());
        let mut words = rest[..end].to_vec();
        replace_mark(&mut words, "{}");
        all.push(Inner::Command(words));
        rest = &rest[end..];
    }
    all
}

/// Reads the script of `eval`.
fn join_script(words: &[ShellWord]) -> Inner {
    let literals: Option<Vec<&str>> = words.iter().map(ShellWord::literal).collect();
    match literals {
        Some(literals) => Inner::Script(literals.join(" ")),
        None => Inner::Unknown,
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
            _ if text.starts_with("--") => continue,
            _ if text.len() > 1 && text.starts_with(['-', '+']) => {
                takes_text |= text.starts_with('-') && text.contains('c');
                if text.contains(['o', 'O']) {
                    words.next();
                }
            }
            _ if takes_text => return Inner::Script(text.to_owned()),
            // A file is a program like any other.
            _ if text != "-" && !text.starts_with("/dev/") && !text.starts_with("/proc/") => {
                return Inner::Script(String::new());
            }
            _ => break,
        }
    }
    if takes_text {
        return words.next().and_then(ShellWord::literal).map_or(Inner::Unknown, |text| Inner::Script(text.to_owned()));
    }
    match command.redirections.iter().rfind(|redirection| redirection.operator.starts_with('<')) {
        Some(document) if document.operator == "<<" || document.operator == "<<<" => {
            document.target.literal().map_or(Inner::Unknown, |text| Inner::Script(text.to_owned()))
        }
        _ => Inner::Unknown,
    }
}
