//! Recognises builtins that change how bash reads later text, or evaluate an argument as arithmetic.

use super::{Assignment, ShellWord, SimpleCommand, is_name};

/// Builtins that are unreadable with any arguments. `declare` and its kin make values arithmetic. `alias`, `shopt` and
/// `enable` change the language. `compgen`, `bind`, `complete`, `fc` and `mapfile -C` run commands that they get as
/// text. `hash -p` and the others change the meaning of a name.
const UNREADABLE: &[&str] = &[
    "alias",
    "bind",
    "compgen",
    "complete",
    "compopt",
    "declare",
    "enable",
    "fc",
    "getopts",
    "hash",
    "history",
    "let",
    "local",
    "mapfile",
    "readarray",
    "readonly",
    "shopt",
    "typeset",
    "unalias",
];

/// Variables that bash evaluates, or that change how it reads text: substitutions in prompts run, and `POSIXLY_CORRECT`
/// sets a mode.
const EVALUATED: &[&str] = &[
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_ENV",
    "ENV",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "SHELLOPTS",
    "TEXTDOMAIN",
    "TEXTDOMAINDIR",
];

/// Variables that are numbers from the start: bash evaluates values assigned to them as arithmetic, also by
/// `read` and `for`.
const NUMBERS: &[&str] = &["HISTCMD", "OPTIND", "RANDOM", "SECONDS", "SRANDOM"];

/// The options of `set` that do not change how bash reads text.
const SET_LETTERS: &str = "CETefuvxa";
const SET_NAMES: &[&str] = &[
    "allexport",
    "errexit",
    "errtrace",
    "functrace",
    "noclobber",
    "noglob",
    "nounset",
    "pipefail",
    "verbose",
    "xtrace",
];

/// The variables that a command sets by name.
pub(super) enum VariablesSet<'a> {
    Named(Vec<&'a str>),
    Any,
}

/// Refuses a command whose effects go beyond its words.
pub(super) fn check_command(command: &SimpleCommand) -> Result<(), &'static str> {
    for Assignment { name, value } in &command.assignments {
        let is_harmless_number = NUMBERS.contains(&name.as_str()) && value.is_number();
        if is_evaluated(name) && !is_harmless_number && !value.literal().is_some_and(|text| is_plain_env(name, text)) {
            return Err("a variable that bash evaluates");
        }
    }
    // `command declare -i x=1` has the same effect as `declare -i x=1`.
    let words = strip_prefixes(&command.words);
    let Some((name, arguments)) = words.split_first() else { return Ok(()) };
    // `CommandList` treats a command with an unknown name as incomplete.
    let Some(name) = name.literal() else { return Ok(()) };
    let is_readable = match name {
        _ if UNREADABLE.contains(&name) => false,
        "export" => arguments.iter().all(is_plain_export),
        // A subscript is evaluated: `unset 'a[$(b)]'` runs `b`.
        "unset" => arguments.iter().all(|word| word.literal().is_some_and(|text| !text.contains('['))),
        "read" => {
            let is_plain = |text: &str| !has_subscript(text) && !is_evaluated(text);
            arguments.iter().all(|word| word.literal().is_some_and(is_plain))
        }
        // `wait -p` sets a variable, and `jobs -x` runs a command.
        "wait" | "jobs" => {
            let letter = if name == "wait" { 'p' } else { 'x' };
            let is_plain = |text: &str| !(text.starts_with('-') && text.contains(letter));
            arguments.iter().all(|word| word.literal().is_some_and(is_plain))
        }
        "set" => is_plain_set(arguments),
        "printf" => is_plain_printf(arguments),
        "test" => is_plain_test(arguments),
        // The last word is the `]`.
        "[" => is_plain_test(arguments.split_last().map_or(&[], |(_, rest)| rest)),
        _ => true,
    };
    if is_readable { Ok(()) } else { Err("a builtin that evaluates its words or changes the language") }
}

/// Reports whether a variable is `ENV` with a plain word as its value. An interactive shell expands the value of `ENV`
/// and runs the file of that name, but many programs use the variable for words such as `test` or `production`.
pub(super) fn is_plain_env(name: &str, value: &str) -> bool {
    name == "ENV" && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Reports whether bash evaluates the values of a variable.
pub(super) fn is_evaluated(name: &str) -> bool {
    EVALUATED.contains(&name) || NUMBERS.contains(&name)
}

/// Returns the words without `command` and `builtin` before them.
fn strip_prefixes(mut words: &[ShellWord]) -> &[ShellWord] {
    while let Some((ShellWord::Literal(name), rest)) = words.split_first()
        && matches!(name.as_str(), "command" | "builtin")
    {
        words = rest;
        while let Some((ShellWord::Literal(option), rest)) = words.split_first()
            && matches!(option.as_str(), "-p" | "--")
        {
            words = rest;
        }
    }
    words
}

/// Reports whether an argument of `export` is `NAME` or `NAME=value`.
fn is_plain_export(word: &ShellWord) -> bool {
    let text = match word {
        ShellWord::Literal(text) | ShellWord::Pattern(text) => text,
        ShellWord::Unknown { prefix, .. } if prefix.contains('=') => prefix,
        _ => return false,
    };
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let is_plain_value = matches!(word, ShellWord::Literal(_)) && is_plain_env(name, value);
    is_name(name) && (!is_evaluated(name) || is_plain_value)
}

/// Reports whether a text begins as the element of an array.
fn has_subscript(text: &str) -> bool {
    text.split_once('[').is_some_and(|(name, _)| is_name(name))
}

/// Reports whether no option of `set` changes how bash reads text.
fn is_plain_set(arguments: &[ShellWord]) -> bool {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = match word {
            ShellWord::Literal(text) => text,
            // An unknown word is readable only if it cannot be an option: after it, `set` reads positional arguments.
            ShellWord::Unknown { prefix, .. } => return !prefix.is_empty() && !prefix.starts_with(['-', '+']),
            ShellWord::Pattern(_) | ShellWord::Home(_) => return true,
        };
        let Some(letters) = text.strip_prefix(['-', '+']).filter(|letters| *letters != "-" && !letters.is_empty())
        else {
            return true;
        };
        for letter in letters.chars() {
            if letter == 'o' {
                match words.next().map(ShellWord::literal) {
                    None => return true, // prints the options
                    Some(Some(name)) if SET_NAMES.contains(&name) => {}
                    Some(_) => return false,
                }
            } else if !SET_LETTERS.contains(letter) {
                return false;
            }
        }
    }
    true
}

/// Reports whether `printf` cannot be `printf -v 'a[$(command)]'`.
fn is_plain_printf(arguments: &[ShellWord]) -> bool {
    match arguments.first() {
        Some(ShellWord::Literal(text)) => !text.starts_with("-v"),
        Some(ShellWord::Unknown { prefix, several, .. }) => {
            // A single word can be `-v`, but then no variable follows it.
            !prefix.is_empty() && !prefix.starts_with('-') || !several && arguments.len() == 1
        }
        _ => true,
    }
}

/// Reports whether `test` cannot evaluate a subscript, as it does after `-v` and `-R`. An unknown word can be one of
/// these unless an operator shows that it is an operand.
fn is_plain_test(arguments: &[ShellWord]) -> bool {
    const BINARY: &[&str] = &["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];
    let is_unary = |text: &str| text.len() == 2 && text.starts_with('-') && !matches!(text, "-a" | "-o");
    let operand = |index: usize| {
        let previous = index.checked_sub(1).and_then(|index| arguments[index].literal());
        let next = arguments.get(index + 1).and_then(ShellWord::literal);
        previous.is_some_and(|text| is_unary(text) || BINARY.contains(&text))
            || next.is_some_and(|text| BINARY.contains(&text))
    };
    arguments.iter().enumerate().all(|(index, word)| match word {
        ShellWord::Literal(text) => !matches!(text.as_str(), "-v" | "-R"),
        // A single argument is only compared with the empty text (POSIX, `test`), so it cannot be an operator.
        ShellWord::Unknown { several, number, .. } => *number || !several && (operand(index) || arguments.len() == 1),
        ShellWord::Pattern(text) => !text.starts_with(['*', '?', '[', '-']),
        ShellWord::Home(_) => true,
    })
}

/// Returns the variables that `export` sets, with the known part of their values; an unknown value is no number.
pub(super) fn exported_values<'a>(words: &'a [ShellWord]) -> Vec<(&'a str, &'a str)> {
    let words = strip_prefixes(words);
    let Some((ShellWord::Literal(name), arguments)) = words.split_first() else { return Vec::new() };
    if name != "export" {
        return Vec::new();
    }
    let value = |word: &'a ShellWord| match word {
        ShellWord::Literal(text) => text.split_once('='),
        ShellWord::Unknown { prefix, number: false, .. } | ShellWord::Pattern(prefix) => {
            prefix.split_once('=').map(|(name, _)| (name, "unknown"))
        }
        _ => None,
    };
    arguments.iter().filter_map(value).collect()
}

/// Returns the variables that the words of a command set, other than by assignment.
pub(super) fn variables_set(words: &[ShellWord]) -> VariablesSet<'_> {
    let words = strip_prefixes(words);
    let Some((name, arguments)) = words.split_first() else { return VariablesSet::Named(Vec::new()) };
    match name {
        ShellWord::Literal(name) if name == "read" => {
            VariablesSet::Named(arguments.iter().filter_map(ShellWord::literal).collect())
        }
        ShellWord::Literal(name) if matches!(name.as_str(), "eval" | "." | "source" | "trap") => VariablesSet::Any,
        ShellWord::Literal(_) => VariablesSet::Named(Vec::new()),
        // A name that is known only at run time can be `read` or `eval`.
        _ => VariablesSet::Any,
    }
}
