//! What the sandbox holds of a program that runs the project's own code: its options and its variables that no table names.
//!
//! The rule: whatever such a program does on its own account happens inside the sandbox, as what the project's code does, so
//! an option that nobody knows needs no question. Three kinds are left, which are questions although the sandbox holds them:
//! code or a configuration that stands in the command line and not in the project, a change of the project's sources, and a
//! place to write to that the command names. They tell by the words of their names. One letter tells nothing, so short
//! options stay exact, and so do those of interpreters.

use crate::shell::wrappers::has;

/// Words of an option's name that say that it hands over code or a configuration, changes sources, writes to a place that
/// it names, leaves the machine, or waits for a person.
const TELLING: &str = "\
    agent args argument argv asmflags bootstrap buildfile cmd code command compiler conf config configuration dashboard debugger \
    define entrypoint eval evaluate exec executable execute execution extension flags gccgoflags gcflags hook import interpreter \
    javaagent launcher ldflags link linker load loader macro main modfile node option opt overlay override plugin pre preload \
    preset program property python rcfile require resolver rule rulesdir runner script serializer settings setup shell \
    toolchain toolexec transform under userconfig globalconfig vettool with wrapper \
    accept add allow amend apply autocorrect autofix bless bump clean clear commit correct create delete edit emit extract fix \
    fixes format generate init inplace install installpkg migrate move overwrite prune purge rebuild record regen regenerate \
    remove rename replace reset save suggest suppress touch uninstall unlink update upgrade write \
    artifact backup baseline basetemp chdir cwd dest destination devenv diag dir directory dump export file folder home html \
    image junit junitxml location log manifest out outdir outfile output path pkgdir prefix report resultlog root rootdir tee \
    tmp trace workdir xml \
    auth deploy global host listen login otp password pastebin port proxy publish push registry remote send serve server submit \
    sync system token upload url user \
    browser debug http inspect interactive open pdb prompt ui wait watch watchall";

/// Options in which such a word says something else, or that come back to what is there already.
const USUAL: &str = "\
    import-mode update-check no-update-notifier ignore-path no-install no-fix no-write no-watch \
    no-update no-output no-open no-config no-config-lookup no-plugin no-plugins no-server no-debug no-interactive \
    non-interactive no-log no-trace file-parallelism no-file-parallelism no-user-config show-files list-files \
    no-fetch with-filename log-level loglevel log-cli log-cli-level run-tests-by-path test-path-pattern test-path-patterns \
    cov-report out-format show-error-codes show-error-code-links exit-code ignore-exit-code no-run";

/// Whether an option of a program that runs code of the project, dashes taken off, is held by the sandbox as that code is.
pub(super) fn option(text: &str) -> bool {
    let lower = words(text.split('=').next().unwrap_or(text)).join("-");
    let value = text.split_once('=').map_or("", |(_, value)| value);
    // `xml:FILE`: a format with a place behind it.
    if lower.ends_with("report") && value.contains(':') {
        return false;
    }
    if has(USUAL, &lower) || matches!(value, "false" | "no" | "off" | "0" | "never" | "none") {
        return true;
    }
    lower.len() > 1 && lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && !tells(&lower)
}

/// Whether one of the words of a name tells. Some programs let the end of a name be left out, so the beginning of a word that
/// tells counts for it where it is the last one.
fn tells(name: &str) -> bool {
    let last = name.rsplit('-').next().unwrap_or(name);
    let cut = last.len() > 1 && TELLING.split_ascii_whitespace().any(|word| word.starts_with(last));
    cut || name.split('-').any(says)
}

fn says(word: &str) -> bool {
    has(TELLING, word) || word.strip_suffix('s').is_some_and(|one| has(TELLING, one))
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

/// Variables that the shell, the loader, git or the tools themselves are steered by.
const STEERING: &str = "\
    PATH IFS HOME ENV SHELL SHELLOPTS BASHOPTS CDPATH GLOBIGNORE EXECIGNORE POSIXLY_CORRECT FIGNORE FUNCNEST TIMEFORMAT TMOUT \
    TERMINFO TERMCAP LESS LESSOPEN LESSCLOSE RANDOM SRANDOM LINES SECONDS UID EUID USER LOGNAME PWD OLDPWD OPTARG OPTIND \
    OPTERR REPLY FCEDIT INPUTRC MAIL MAILPATH MAILCHECK PS0 PS1 PS2 PS3 PS4 TMPDIR MAKE CARGO NODE PYTHON LOCPATH NLSPATH \
    PYTHONSTARTUP PYTHONHOME PYTHONBREAKPOINT PYTHONINSPECT PYTHONEXECUTABLE PYTHONPLATLIBDIR GOROOT GOPROXY GOENV GOTOOLDIR \
    DIRSTACK GROUPS HOSTNAME HOSTTYPE MACHTYPE OSTYPE PIPESTATUS PPID COPROC MAPFILE READLINE_LINE HISTFILE HISTCMD";

/// Beginnings of such names.
const STEERING_PREFIXES: &[&str] = &[
    "LD_",
    "DYLD_",
    "BASH",
    "GIT_",
    "SSH_",
    "NPM_CONFIG_",
    "PIP_",
    "UV_",
    "PERL",
    "RUBY",
    "JAVA_",
    "JDK_",
    "MAVEN_",
    "GRADLE_",
    "COMP_",
    "HIST",
    "GCONV",
    "CARGO_",
    "RUSTUP_",
    "MAGIC",
    "NIX_",
    "LC_",
    "READLINE_",
    "EPOCH",
];

/// Words of a name that say that it holds a program, or where one is looked for.
const STEERING_WORDS: &str = "\
    WRAPPER RUNNER LINKER EXEC COMMAND CMD SHELL PRELOAD STARTUP EDITOR VISUAL PAGER BROWSER ASKPASS CONFIG RUSTC RUSTDOC CC CXX \
    CPP AR AS LD FC NM STRIP RANLIB COMPILER PLUGIN PLUGINS AGENT PROXY HOME INTERPRETER LOADER HOOK HOOKS SCRIPT \
    ALIAS MAKEFILES REQUIRE";

/// Those of cargo's own that only say how much is built and told.
const USUAL_VARIABLES: &str = "CARGO_INCREMENTAL CARGO_TARGET_DIR CARGO_BUILD_JOBS CARGO_NET_OFFLINE";

/// Whether the shell, or a program that is no code of the project, is steered by the variable.
pub(in crate::shell) fn steers(name: &str) -> bool {
    if has(USUAL_VARIABLES, name) || name.starts_with("CARGO_TERM_") || name.starts_with("CARGO_PROFILE_") {
        return name.ends_with("_RUSTFLAGS");
    }
    let lower = name.bytes().any(|byte| byte.is_ascii_lowercase());
    let special = matches!(name, "_" | "histchars" | "auto_resume") || name.ends_with("_proxy");
    let mixed = lower && name.bytes().any(|byte| byte.is_ascii_uppercase());
    let plain = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    !plain
        || special
        || mixed
        || has(STEERING, name)
        || STEERING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.split('_').any(|word| has(STEERING_WORDS, word))
}

/// Whether a variable in front of a program that runs code of the project is held as that code is: one that nothing is
/// steered by, or options of which each is held. `is_inside` tells whether a path is in the project or private.
pub(super) fn variable(name: &str, value: &str, is_inside: impl Fn(&str) -> bool) -> bool {
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
pub(in crate::shell) fn any_value(name: &str) -> bool {
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
