//! Finds secrets on command lines: the value of an option.
//!
//! An option either has the same meaning for every program by its name (`--password`), or only after the name of a
//! program (`-p` of `mysql` is a password, of `docker` a port). Text that is not a command contains such words too, so
//! a value must also look like a secret.

use super::Secret;
use super::named::{ValueForm, beginning, is_reference};

/// Last words of the names of options with a secret value, after `--`.
const NAMES: &[&str] =
    &["password", "passwd", "passphrase", "pass", "token", "secret", "apikey", "credential", "credentials"];

/// Names of options with a secret value, after one `-`, as openssl's and Java's programs use them.
const NAMES_OF_ONE_DASH: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pass",
    "passin",
    "passout",
    "token",
    "secret",
    "storepass",
    "keypass",
    "srcstorepass",
    "deststorepass",
    "srckeypass",
    "destkeypass",
];

/// Prefixes of values of openssl's options that only refer to the password.
const SOURCES: &[&str] = &["file:", "env:", "fd:", "stdin", "prompt"];

/// Short options of curl without a value. Another option may follow them in the same word.
const CURL_FLAGS: &[u8] = b"#012346aBfgGhiIjJklLMnNOpqRsSvVZ";

/// Programs that store settings given by name and value.
const SETTERS: &[&str] = &[
    "aws", "npm", "pnpm", "yarn", "git", "kubectl", "gcloud", "heroku", "pulumi", "gh", "pip", "poetry", "composer",
    "bundle", "flyctl", "fly", "vercel", "doctl", "az", "vault", "glab",
];

/// The last two words of the names of options with a secret value, where the last word alone is ambiguous.
const NAMES_OF_TWO: &[&str] = &[
    "api-key",
    "api_key",
    "access-key",
    "access_key",
    "secret-key",
    "secret_key",
    "private-key-data",
    "auth-key",
    "account-key",
];

/// Options that are only secret after these programs.
const SHORT: &[ShortOption] = &[
    ShortOption { programs: &["curl", "wget"], option: "-u", join: ValuePlace::Both, part: SecretPart::AfterColon },
    ShortOption {
        programs: &["curl", "wget"],
        option: "--user",
        join: ValuePlace::NextWord,
        part: SecretPart::AfterColon,
    },
    ShortOption { programs: &["curl"], option: "-U", join: ValuePlace::Both, part: SecretPart::AfterColon },
    ShortOption {
        programs: &["curl"],
        option: "--proxy-user",
        join: ValuePlace::NextWord,
        part: SecretPart::AfterColon,
    },
    ShortOption { programs: &["curl"], option: "-b", join: ValuePlace::Both, part: SecretPart::Cookie },
    ShortOption { programs: &["curl"], option: "--cookie", join: ValuePlace::NextWord, part: SecretPart::Cookie },
    ShortOption { programs: &["http", "https"], option: "-a", join: ValuePlace::Both, part: SecretPart::AfterColon },
    ShortOption {
        programs: &["http", "https"],
        option: "--auth",
        join: ValuePlace::NextWord,
        part: SecretPart::AfterColon,
    },
    ShortOption {
        programs: &[
            "mysql",
            "mysqldump",
            "mysqladmin",
            "mysqlimport",
            "mariadb",
            "mariadb-dump",
            "mariadb-admin",
            "mycli",
        ],
        option: "-p",
        join: ValuePlace::Attached,
        part: SecretPart::All,
    },
    ShortOption {
        programs: &["sshpass", "mongo", "mongosh", "mongodump"],
        option: "-p",
        join: ValuePlace::Both,
        part: SecretPart::All,
    },
    ShortOption { programs: &["redis-cli"], option: "-a", join: ValuePlace::NextWord, part: SecretPart::All },
    ShortOption {
        programs: &["ldapsearch", "ldapmodify", "ldapadd"],
        option: "-w",
        join: ValuePlace::Both,
        part: SecretPart::All,
    },
    ShortOption { programs: &["login"], option: "-p", join: ValuePlace::NextWord, part: SecretPart::All },
    ShortOption { programs: &["openssl"], option: "-k", join: ValuePlace::NextWord, part: SecretPart::All },
    ShortOption { programs: &["openssl"], option: "-K", join: ValuePlace::NextWord, part: SecretPart::All },
    ShortOption { programs: SAMBA, option: "-U", join: ValuePlace::Both, part: SecretPart::AfterPercent },
    ShortOption { programs: SAMBA, option: "--user", join: ValuePlace::NextWord, part: SecretPart::AfterPercent },
];

const SAMBA: &[&str] =
    &["smbclient", "rpcclient", "smbget", "smbcacls", "smbcquotas", "smbtree", "net", "wmic", "winexe"];

/// Other programs, which give the options of [`SHORT`] different meanings. The nearest program before an option counts.
const OTHERS: &[&str] =
    &["docker", "podman", "ssh", "scp", "git", "psql", "cargo", "npm", "python", "python3", "grep", "tar"];

/// Words that follow the name of an option in prose, and so are not its value.
const PROSE: &[&str] = &[
    "a",
    "all",
    "an",
    "and",
    "are",
    "argument",
    "as",
    "at",
    "auth",
    "authentication",
    "be",
    "but",
    "by",
    "can",
    "file",
    "flag",
    "for",
    "from",
    "has",
    "if",
    "in",
    "instead",
    "is",
    "it",
    "may",
    "must",
    "not",
    "on",
    "only",
    "option",
    "options",
    "or",
    "parameter",
    "required",
    "should",
    "string",
    "that",
    "the",
    "then",
    "to",
    "token",
    "value",
    "via",
    "was",
    "when",
    "which",
    "will",
    "with",
];

/// The longest name of an option.
const LONGEST_NAME: usize = 48;

/// Bytes before an option that are searched for the name of a program.
const LOOKED_BACK: usize = 256;

/// The maximum number of bytes of a value that are checked before it counts as a secret.
const LOOKED_AT: usize = 512;

struct ShortOption {
    programs: &'static [&'static str],
    option: &'static str,
    join: ValuePlace,
    part: SecretPart,
}

/// How a value follows its option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValuePlace {
    /// `-pX`
    Attached,
    /// `-p X`
    NextWord,
    Both,
}

/// The secret part of the value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretPart {
    All,
    /// `user:X`
    AfterColon,
    /// `user%X`
    AfterPercent,
    /// A cookie; without `=` it is the name of a file.
    Cookie,
}

/// Finds the secret value of the option that begins at `at`.
pub(super) fn option(bytes: &[u8], at: usize) -> Option<Secret<'static>> {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    // Inside a word, `-p` is not an option, but after `\n` in a quoted text it is.
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    let escaped = at >= 2 && bytes[at - 2] == b'\\' && matches!(bytes[at - 1], b'n' | b't' | b'r');
    if before.is_some_and(inside) && !escaped {
        return None;
    }
    let near = &bytes[at..bytes.len().min(at + LONGEST_NAME)];
    let is_name = |&byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let word = &near[..near.iter().take_while(|byte| is_name(byte)).count()];
    if let Some(name) = word.strip_prefix(b"--").filter(|name| is_secret(name)) {
        let (start, form) = separate_value(bytes, at + 2 + name.len())?;
        return value(bytes, start, form, SecretPart::All);
    }
    if NAMES_OF_ONE_DASH.iter().any(|name| word.strip_prefix(b"-") == Some(name.as_bytes())) {
        let (start, form) = separate_value(bytes, at + word.len())?;
        return openssl_password(bytes, start, form);
    }
    let second = *word.get(1)?;
    let mut fits = SHORT.iter().filter(|short| {
        let option = short.option.as_bytes();
        option[1] == second
            && word.starts_with(option)
            && (word.len() == option.len() || short.join != ValuePlace::NextWord)
    });
    let Some(first) = fits.next() else { return find_in_joined_options(bytes, at, word) };
    let program = program_before(bytes, at)?;
    let short = std::iter::once(first).chain(fits).find(|short| short.programs.contains(&program))?;
    short_option_value(bytes, at + short.option.len(), short)
}

/// Finds the value of an option of curl that follows others in one word: `-su user:X`.
fn find_in_joined_options(bytes: &[u8], at: usize, word: &[u8]) -> Option<Secret<'static>> {
    let place = 1 + word.get(1..)?.iter().position(|byte| !CURL_FLAGS.contains(byte))?;
    let is_one =
        |short: &&ShortOption| short.option.as_bytes() == [b'-', word[place]] && short.programs.contains(&"curl");
    let short = SHORT.iter().find(is_one)?;
    (program_before(bytes, at)? == "curl").then(|| short_option_value(bytes, at + place + 1, short))?
}

/// Finds the value of `openssl -pass`: the password after `pass:`. Other values refer to the password.
fn openssl_password(bytes: &[u8], start: usize, form: ValueForm) -> Option<Secret<'static>> {
    let rest = &bytes[start..];
    if SOURCES.iter().any(|source| rest.starts_with(source.as_bytes())) {
        return None;
    }
    let skipped = if rest.starts_with(b"pass:") { 5 } else { 0 };
    value(bytes, start + skipped, form, SecretPart::All)
}

/// Finds the value of an option that ends at `end`.
fn short_option_value(bytes: &[u8], end: usize, short: &ShortOption) -> Option<Secret<'static>> {
    let is_attached = bytes
        .get(end)
        .is_some_and(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'=' | b',' | b'"' | b'\'' | b'\\'));
    let quoted = short.option.len() == 2 && matches!(bytes.get(end), Some(b'"' | b'\''));
    let (start, form) = match short.join {
        ValuePlace::Attached | ValuePlace::Both if is_attached => (end, ValueForm::Bare),
        // `-p'X'`. A quote before a comma or a blank closes the quotes of the option itself.
        ValuePlace::Attached | ValuePlace::Both if quoted && !closes(bytes, end) => beginning(bytes, end)?,
        ValuePlace::Attached => return None,
        _ if short.option.starts_with("--") && bytes.get(end) == Some(&b'=') => beginning(bytes, end)?,
        _ => separate_value(bytes, end)?,
    };
    value(bytes, start, form, short.part)
}

/// Finds the value that a program stores under the name of a secret: `aws configure set aws_secret_access_key X`, `git
/// config http.x.password X`, also as texts of a list: `["aws", "configure", "set", "aws_secret_access_key", "X"]`.
pub(super) fn setting(bytes: &[u8], at: usize) -> Option<Secret<'static>> {
    /// The maximum number of options between the verb and the name, and between the name and the value.
    const MOST_OPTIONS: usize = 3;
    if at == 0 || !matches!(bytes[at - 1], b' ' | b'"' | b'\'') {
        return None;
    }
    // The search is bounded because redaction must take time linear in the text, also where nothing is found.
    let near = &bytes[..bytes.len().min(at + LOOKED_AT)];
    let mut start = ["set", "set-value", "config"].iter().find_map(|verb| {
        if near[at..].starts_with(verb.as_bytes()) { next_word(near, at + verb.len()) } else { None }
    })?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':');
    let mut options = 0;
    let (name, mut end) = loop {
        let length = near[start..].iter().take_while(|&&byte| is_name(byte)).count();
        let (word, end) = (&near[start..start + length], start + length);
        if !word.starts_with(b"-") {
            break (word, end);
        }
        options += 1;
        if options > MOST_OPTIONS {
            return None;
        }
        start = next_word(near, end)?;
    };
    // The verb may have two words: `config set`.
    if matches!(name, b"set" | b"add") {
        return None;
    }
    let name = std::str::from_utf8(name).ok().filter(|name| super::named::is_secret(name))?;
    let program = program_of(&bytes[..at], SETTERS)?;
    // `gh secret set NAME --body VALUE`: an option may be between the name and the value.
    for option in ["--body", "-b", "--value"] {
        if let Some(word) = next_word(near, end)
            && near[word..].starts_with(option.as_bytes())
        {
            end = word + option.len();
        }
    }
    let (start, form) = separate_value(bytes, end)?;
    // Keys of git have a section; `git config password` would be part of a sentence.
    let is_key = program != "git" || name.contains('.');
    if is_key { value(bytes, start, form, SecretPart::All) } else { None }
}

/// Returns the offset of the next word of a command line, which may be the next text of a list: after `", "`, whose
/// quotes may have backslashes before them.
fn next_word(bytes: &[u8], from: usize) -> Option<usize> {
    let run = |at: usize, is: fn(&u8) -> bool| bytes[at.min(bytes.len())..].iter().take_while(|byte| is(byte)).count();
    let blanks = run(from, |byte| *byte == b' ');
    if blanks > 0 {
        return Some(from + blanks);
    }
    let quote = |at: usize| {
        let at = at + run(at, |byte| *byte == b'\\');
        matches!(bytes.get(at), Some(b'"' | b'\'')).then_some(at + 1)
    };
    let closed = quote(from)?;
    let comma = closed + run(closed, u8::is_ascii_whitespace);
    if bytes.get(comma) != Some(&b',') {
        return None;
    }
    quote(comma + 1 + run(comma + 1, u8::is_ascii_whitespace))
}

fn closes(bytes: &[u8], at: usize) -> bool {
    bytes.get(at + 1).is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b']' | b'}' | b')'))
}

/// Returns `true` for names such as `--db-password` and `--api-key`, but not `--password-file` or `--max-tokens`.
fn is_secret(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['-', '_']).next().unwrap_or_default();
    // `--no-password` and the like are switches.
    let switch =
        ["no-", "use-", "with-", "show-", "ask-", "prompt-", "single-", "one-", "two-", "multi-", "first-", "second-"]
            .iter()
            .any(|head| name.starts_with(head));
    !switch && (NAMES.contains(&last) || NAMES_OF_TWO.iter().any(|known| name.ends_with(known)))
}

/// Returns the offset of a value that is the next word, which may be the next text of a list: `"--token", "X"`.
fn separate_value(bytes: &[u8], from: usize) -> Option<(usize, ValueForm)> {
    /// Whitespace and punctuation between two texts of a list.
    const MOST_BETWEEN: usize = 24;
    let near = &bytes[from..bytes.len().min(from + MOST_BETWEEN)];
    // A list in JSON that is itself quoted has backslashes before its quotes.
    let escapes = near.iter().take_while(|&&byte| byte == b'\\').count();
    let mut at = from;
    if let Some(b'"' | b'\'') = near.get(escapes) {
        let after = &near[escapes + 1..];
        let blanks = after.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if after.get(blanks) != Some(&b',') {
            return None;
        }
        at = from + escapes + 1 + blanks + 1;
    } else if !matches!(near.first(), Some(b' ' | b'\t')) {
        return None;
    }
    // A backslash at its end continues the line.
    if bytes[at..].starts_with(b" \\\n") {
        at += 3;
    }
    let blanks = bytes[at..].iter().take(MOST_BETWEEN).take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n')).count();
    if bytes.get(at + blanks) == Some(&b'=') {
        return None;
    }
    beginning(bytes, at + blanks)
}

/// Returns the nearest name of a known program before an offset on its line.
fn program_before(bytes: &[u8], at: usize) -> Option<&'static str> {
    nearest(&bytes[..at], |word| {
        let known = SHORT.iter().flat_map(|short| short.programs).chain(OTHERS);
        known.copied().find(|name| name.as_bytes() == word)
    })
}

/// Returns the nearest of these programs before an offset.
fn program_of(before: &[u8], programs: &[&'static str]) -> Option<&'static str> {
    nearest(before, |word| programs.iter().copied().find(|name| name.as_bytes() == word))
}

fn nearest(before: &[u8], find: impl Fn(&[u8]) -> Option<&'static str>) -> Option<&'static str> {
    let line = &before[before.len().saturating_sub(LOOKED_BACK)..];
    let line = &line[memchr::memrchr(b'\n', line).map_or(0, |end| end + 1)..];
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let mut end = line.len();
    loop {
        end = line[..end].iter().rposition(|&byte| is_word(byte))? + 1;
        let start = line[..end].iter().rposition(|&byte| !is_word(byte)).map_or(0, |before| before + 1);
        let mut word = &line[start..end];
        // In a quoted text, the `n` of `\n` is not part of the word after it.
        if start > 0 && line[start - 1] == b'\\' && matches!(word.first(), Some(b'n' | b't')) {
            word = &word[1..];
        }
        // In `https://` the word is the scheme of an address and not the program `https`.
        let is_scheme = line.get(end) == Some(&b':');
        // Comparing lengths first rules out most words: the longest name of a program has 13 bytes.
        if !is_scheme
            && (2..=13).contains(&word.len())
            && word[0] != b'-'
            && let Some(name) = find(word)
        {
            return Some(name);
        }
        end = start;
    }
}

fn value(bytes: &[u8], start: usize, form: ValueForm, part: SecretPart) -> Option<Secret<'static>> {
    let near = &bytes[start..bytes.len().min(start + LOOKED_AT)];
    let whole = &near[..length(near, form)];
    if is_reference(whole, form) || whole.is_empty() {
        return None;
    }
    let skipped = match part {
        SecretPart::All => 0,
        SecretPart::Cookie if whole.contains(&b'=') => 0,
        SecretPart::Cookie => return None,
        SecretPart::AfterColon => memchr::memchr(b':', whole)? + 1,
        SecretPart::AfterPercent => memchr::memchr(b'%', whole)? + 1,
    };
    let secret = &whole[skipped..];
    let fits = match part {
        SecretPart::All => form != ValueForm::Bare || is_likely(secret),
        // `1000:1000` are the numbers of a user and a group.
        SecretPart::AfterColon => !whole.iter().all(|byte| byte.is_ascii_digit() || *byte == b':'),
        SecretPart::Cookie | SecretPart::AfterPercent => true,
    };
    let fits = fits && !secret.is_empty() && !is_reference(secret, if skipped > 0 { ValueForm::Bare } else { form });
    let what = if part == SecretPart::Cookie { "cookie" } else { "value" };
    fits.then(|| Secret { start: start + skipped, end: start + length(&bytes[start..], form), what })
}

/// Returns the length of the value. In contrast to [`ValueForm::length`], a bare word on a command line may contain
/// commas and brackets, and the backslashes before a closing quote belong to the quote.
fn length(bytes: &[u8], form: ValueForm) -> usize {
    if form != ValueForm::Bare {
        return form.length(bytes);
    }
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b';' | b'|' | b'&' | b')' | b'<' | b'>' | b'`')
    };
    let Some(end) = bytes.iter().position(ends) else { return bytes.len() };
    if !matches!(bytes[end], b'"' | b'\'') {
        return end;
    }
    end - bytes[..end].iter().rev().take_while(|&&byte| byte == b'\\').count()
}

/// Returns `true` if a bare word after an option may be a secret: it is neither another option nor a word of a
/// sentence.
fn is_likely(word: &[u8]) -> bool {
    let word = word.strip_suffix(b".").or_else(|| word.strip_suffix(b",")).unwrap_or(word);
    let prose = PROSE.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    word.len() >= 2 && !word.starts_with(b"-") && !word.starts_with(b"[") && !word.starts_with(b"(") && !prose
}
