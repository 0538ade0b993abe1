//! What the sandbox holds of a program that runs the project's own code: its options and its variables that no table names.
//!
//! The rule: whatever such a program does on its own account happens inside the sandbox, as what the project's code does, so
//! an option that nobody knows needs no question. Three kinds are left, which are questions although the sandbox holds them:
//! code or a configuration that stands in the command line and not in the project, a change of the project's sources, and a
//! place to write to that the command names. They tell by the words of their names. One letter tells nothing, so short
//! options stay exact, and so do those of interpreters.

use super::{has, words as table_words};

/// Whether a word is in one of the lists of the table.
fn is_word(list: &str, word: &str) -> bool {
    has(table_words(list), word)
}

/// Whether an option of a program that runs code of the project, dashes taken off, is held by the sandbox as that code is.
pub(crate) fn option(text: &str) -> bool {
    let lower = words(text.split('=').next().unwrap_or(text)).join("-");
    let value = text.split_once('=').map_or("", |(_, value)| value);
    // `xml:FILE`: a format with a place behind it.
    if lower.ends_with("report") && value.contains(':') {
        return false;
    }
    if is_word("option-usual", &lower) || matches!(value, "false" | "no" | "off" | "0" | "never" | "none") {
        return true;
    }
    lower.len() > 1 && lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && !tells(&lower)
}

/// Whether one of the words of a name tells. Some programs let the end of a name be left out, so the beginning of a word that
/// tells counts for it where it is the last one.
fn tells(name: &str) -> bool {
    let last = name.rsplit('-').next().unwrap_or(name);
    let cut = last.len() > 1 && table_words("option-tells").split_ascii_whitespace().any(|word| word.starts_with(last));
    cut || name.split('-').any(says)
}

fn says(word: &str) -> bool {
    is_word("option-tells", word) || word.strip_suffix('s').is_some_and(|one| is_word("option-tells", one))
}

/// The words of a name, in lower case: `maxWorkers` and `max-workers` have the same.
fn words(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut before_lower = false;
    for c in name.chars() {
        if matches!(c, '-' | '_' | '.' | ':') || c.is_ascii_uppercase() && before_lower {
            out.push(String::new());
        }
        before_lower = c.is_ascii_lowercase();
        if !matches!(c, '-' | '_' | '.' | ':') {
            out.iter_mut().last().into_iter().for_each(|word| word.push(c.to_ascii_lowercase()));
        }
    }
    out.retain(|word| !word.is_empty());
    out
}

/// Whether the shell, or a program that is no code of the project, is steered by the variable.
pub(crate) fn steers(name: &str) -> bool {
    if is_word("variable-usual", name) || name.starts_with("CARGO_TERM_") || name.starts_with("CARGO_PROFILE_") {
        return name.ends_with("_RUSTFLAGS");
    }
    let lower = name.bytes().any(|byte| byte.is_ascii_lowercase());
    let special = matches!(name, "_" | "histchars" | "auto_resume") || name.ends_with("_proxy");
    let mixed = lower && name.bytes().any(|byte| byte.is_ascii_uppercase());
    let plain = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    !plain
        || special
        || mixed
        || is_word("variable-steers", name)
        || table_words("variable-begins").split_ascii_whitespace().any(|prefix| name.starts_with(prefix))
        || name.split('_').any(|word| is_word("variable-says", word))
}

/// Whether a variable in front of a program that runs code of the project is held as that code is: one that nothing is
/// steered by, or options of which each is held. `is_inside` tells whether a path is in the project or private.
pub(crate) fn variable(name: &str, value: &str, is_inside: impl Fn(&str) -> bool) -> bool {
    // Names in small letters are settings of programs: `npm_config_script_shell`.
    if steers(name) || name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return false;
    }
    if ["FLAGS", "OPTIONS", "OPTS", "ARGS"].iter().any(|ending| name.ends_with(ending)) {
        return value.split_ascii_whitespace().all(|text| flag(name, text));
    }
    if ["PATH", "DIR", "FILE", "ROOT"].iter().any(|ending| name.ends_with(ending)) {
        return value.split(':').filter(|path| !path.is_empty()).all(is_inside);
    }
    true
}

/// Whether a variable is held in front of such a program whatever its value is.
pub(crate) fn any_value(name: &str) -> bool {
    let told = ["FLAGS", "OPTIONS", "OPTS", "ARGS", "PATH", "DIR", "FILE", "ROOT"];
    variable(name, "", |_| false) && !told.iter().any(|ending| name.ends_with(ending))
}

/// Whether one of the options in a variable is held. Its value names no place.
fn flag(variable: &str, text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-=.,+:".contains(&byte);
    if text.contains("..") || !text.bytes().all(plain) {
        return false;
    }
    let exact = |text: &str| words(text).iter().all(|word| !says(word));
    let Some(rest) = text.strip_prefix('-') else {
        // The value of the option before: `-D warnings`, `-C target-cpu=native`.
        return !variable.starts_with("NODE") && text.split(['=', ',']).all(exact);
    };
    // The letter in front may be an option of its own: `-Clinker=x`.
    let held = |part: &str| exact(part) && part.get(1..).is_none_or(exact);
    match rest.strip_prefix('-') {
        Some(long) => long.split('=').all(|part| part.is_empty() || option(part)),
        None if rest.len() == 1 => !variable.starts_with("NODE") && "DWACZFOgmf".contains(rest),
        None => rest.split(['=', ',']).all(held) && !rest.starts_with(['o', 'l', 'L', 'B', 'I', 'X', 'r', 'i']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_tells_nothing_bad_is_held() {
        for text in [
            "cov=src",
            "coverage",
            "depth=0",
            "import-mode=importlib",
            "maxWorkers=2",
            "ignore-rust-version",
            "score=n",
            "changed",
            "project=chromium",
            "watchAll=false",
            "tb",
            "summary-only",
            "no-fetch",
            "runTestsByPath",
            "log-level=debug",
        ] {
            assert!(option(text), "{text}");
        }
    }

    #[test]
    fn an_option_that_hands_over_code_or_changes_something_is_not() {
        for text in [
            "config=x",
            "conf",
            "ev",
            "eval=x",
            "exec",
            "toolexec=x",
            "update-snapshot",
            "updateSnapshot",
            "fix",
            "unsafe-fixes",
            "add-noqa",
            "write",
            "inst",
            "script-shell=x",
            "globalSetup=x",
            "out-dir=x",
            "basetemp=src",
            "base",
            "junit-xml=x",
            "junit",
            "target-dir",
            "manifest-path",
            "require",
            "x",
            "",
            "plugin=x",
            "ldflags=x",
            "setupFilesAfterEnv=x",
            "log-file=x",
            "node-options=x",
            "gcflags=x",
            "python-executable=x",
            "cov-report=xml:src/a.py",
            "rootdir=/",
            "a b",
            "registry=x",
            "allow-dirty",
            "watch",
        ] {
            assert!(!option(text), "{text}");
        }
    }

    #[test]
    fn variables_that_steer_are_not_held() {
        let inside = |path: &str| !path.starts_with('/');
        for (name, value) in [
            ("RUST_TEST_THREADS", "1"),
            ("DATABASE_URL", "sqlite::memory:"),
            ("RUSTFLAGS", "-D warnings"),
            ("RUSTFLAGS", "-C target-cpu=native -Awarnings"),
            ("GOFLAGS", "-mod=vendor"),
            ("CGO_ENABLED", "0"),
            ("NODE_OPTIONS", "--max-old-space-size=4096"),
            ("PYTHONPATH", "src:tests"),
            ("CARGO_INCREMENTAL", "0"),
            ("DJANGO_SETTINGS_MODULE", "a.b"),
            ("DEBUG", "app:*"),
            ("CARGO_TARGET_DIR", "target/x"),
        ] {
            assert!(variable(name, value, inside), "{name}={value}");
        }
        for (name, value) in [
            ("PATH", "."),
            ("LD_PRELOAD", "x"),
            ("BASH_ENV", "x"),
            ("GIT_DIR", "x"),
            ("RUSTC_WRAPPER", "x"),
            ("CC", "x"),
            ("RUSTFLAGS", "-C linker=x"),
            ("RUSTFLAGS", "-Clinker=x"),
            ("RUSTFLAGS", "-C link-arg=x"),
            ("RUSTFLAGS", "-o x"),
            ("RUSTFLAGS", "-ox"),
            ("GOFLAGS", "-toolexec=x"),
            ("GOFLAGS", "-exec x"),
            ("NODE_OPTIONS", "--require x"),
            ("NODE_OPTIONS", "-r x"),
            ("NODE_OPTIONS", "--import=x"),
            ("PYTHONPATH", "/x"),
            ("CARGO_ALIAS_TEST", "x"),
            ("CARGO_TARGET_X_RUNNER", "x"),
            ("npm_config_script_shell", "x"),
            ("MAKEFLAGS", "--eval=x:;y"),
            ("IFS", ","),
            ("CFLAGS", "-wrapper x"),
            ("CFLAGS", "-fplugin=x"),
            ("https_proxy", "x"),
            ("PYTHONSTARTUP", "x"),
        ] {
            assert!(!variable(name, value, inside), "{name}={value}");
        }
    }
}
