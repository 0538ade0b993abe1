//! Finds secrets that follow the name of a secret, the values of certain headers, and passwords in URLs.

use super::Secret;

/// Parts of the names of secrets, in lower case and without `_`, `-` and `.`.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "accountkey",
    "sharedaccesssignature",
    "privatekey",
    "credential",
    "authkey",
    "signingkey",
    "encryptionkey",
    "connectionstring",
    "senha",
];

/// Names that contain one of [`WORDS`] but do not name a secret.
const HARMLESS: &[&str] =
    &["tokens", "tokenizer", "tokenlimit", "maxtoken", "tokencount", "secretname", "tokentype", "credentialhelper"];

/// Last words of the names of variables or options that hold a password, which are not names of passwords on their own:
/// `PWD` is a folder and `PASS` the outcome of a test.
const SHORT_WORDS: &[&str] = &["pass", "pwd"];

/// In a lower-case name one of these words must precede the short word, since `render_pass` is not a password.
const OWNERS: &[&str] = &[
    "admin", "api", "auth", "bind", "db", "ftp", "http", "imap", "key", "ldap", "mail", "my", "mysql", "pg", "proxy",
    "redis", "root", "smtp", "sql", "store", "user",
];

/// Names of passwords that people also write without quotes: `password: hunter`.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pwd", "senha"];

/// Values after a name of [`PASSWORDS`] that describe a type or a form, and are not passwords.
const KINDS_OF_VALUES: &[&str] = &[
    "any",
    "bool",
    "boolean",
    "bytes",
    "changed",
    "empty",
    "expired",
    "false",
    "hidden",
    "incorrect",
    "input",
    "invalid",
    "missing",
    "null",
    "none",
    "number",
    "object",
    "optional",
    "password",
    "required",
    "secret",
    "str",
    "string",
    "text",
    "true",
    "undefined",
    "unknown",
    "varchar",
    "wrong",
];

/// The longest name that is checked.
const LONGEST_NAME: usize = 64;

/// The longest name of a known header.
const LONGEST_HEADER: usize = 19;

/// The minimum number of characters in a value that counts as a secret.
const SHORTEST_VALUE: usize = 6;

/// The maximum number of bytes of a value that are checked before it counts as a secret. The text of a rejected value
/// is scanned again.
const LOOKED_AT: usize = 512;

/// The maximum number of backslashes before a quote, as in a text that is quoted several levels deep.
const MOST_ESCAPES: usize = 15;

/// The longest beginning of a URL that is searched for a password.
const LONGEST_AUTHORITY: usize = 512;

/// Returns `true` if a variable or key of this name holds a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
    let sounds = WORDS.iter().any(|word| plain.contains(word)) || matches!(plain.as_str(), "pwd1" | "pgpass" | "pat");
    sounds && !HARMLESS.iter().any(|word| plain.contains(word))
}

/// Returns `true` if a variable or key of this name with this value holds a secret.
pub(super) fn is_secret_with(name: &str, value: &str) -> bool {
    is_secret(name) || is_short_secret(name) && !is_place(value.as_bytes())
}

/// Returns `true` for names such as `MYSQL_PWD`, `db_pass` and `--pass`.
fn is_short_secret(name: &str) -> bool {
    let option = name.starts_with('-');
    let mut words = name.trim_start_matches('-').rsplit(['_', '-', '.']);
    let last = words.next().unwrap_or_default();
    if !SHORT_WORDS.iter().any(|word| last.eq_ignore_ascii_case(word)) {
        return false;
    }
    match words.next() {
        None => option,
        Some(owner) if name.bytes().any(|byte| byte.is_ascii_lowercase()) => OWNERS.contains(&owner),
        Some(owner) => !owner.is_empty(),
    }
}

/// Returns `true` if the value is a path, and so not a password.
fn is_place(value: &[u8]) -> bool {
    value.starts_with(b"/") || value.starts_with(b"./") || value.starts_with(b"~/")
}

/// Finds the value after `=` or `:` if the name before it is that of a secret, or the password after `://`.
pub(super) fn find_value(bytes: &[u8], at: usize) -> Option<Secret<'static>> {
    if bytes[at..].starts_with(b"://") {
        return password(bytes, at + 3);
    }
    if let Some(found) = super::shapes::bot_token(bytes, at) {
        return Some(found);
    }
    let name = name_before(bytes, at)?;
    if name.len() <= LONGEST_HEADER
        && let Some(found) = header(bytes, &name.to_ascii_lowercase(), at)
    {
        return Some(found);
    }
    let short = !is_secret(name);
    if short && !is_short_secret(name) {
        return None;
    }
    let (start, form) = beginning(bytes, at + 1)?;
    // A value is judged by its beginning, because rejected text is scanned again. The whole value is replaced.
    let near = &bytes[start..bytes.len().min(start + LOOKED_AT)];
    let value = &near[..form.length(near)];
    // In source code the value is often the name of a type or of another variable.
    let looks_secret = form != ValueForm::Bare
        || is_shouted(name.as_bytes())
        || value.iter().any(u8::is_ascii_digit)
        || is_password_line(bytes, at, name, start + value.len());
    let fits = value.len() >= SHORTEST_VALUE && looks_secret && !is_reference(value, form);
    let fits = fits && !(short && is_place(value));
    fits.then(|| Secret { start, end: start + form.length(&bytes[start..]), what: "value" })
}

/// Returns `true` for a line that has nothing but the name of a password and one word that is not the name of a type.
fn is_password_line(bytes: &[u8], at: usize, name: &str, end: usize) -> bool {
    if bytes[at] != b':' || !PASSWORDS.iter().any(|password| name.eq_ignore_ascii_case(password)) {
        return false;
    }
    // The search is bounded because a text can be one long line.
    let from = at.saturating_sub(LONGEST_NAME);
    let line = match bytes[from..at].iter().rposition(|&byte| byte == b'\n') {
        Some(newline) => from + newline + 1,
        None if from == 0 => 0,
        None => return false,
    };
    // The line may begin with the mark of a list item, a quotation, or a quoted key.
    let is_mark = |byte: &u8| matches!(byte, b'-' | b'*' | b'>' | b'"' | b'\'' | b' ' | b'\t');
    let before = bytes[line..at].iter().skip_while(|byte| is_mark(byte)).copied().collect::<Vec<u8>>();
    let before = &before[..before.iter().rposition(|byte| !is_mark(byte)).map_or(0, |last| last + 1)];
    let value = bytes[at + 1..end].trim_ascii();
    // A field of a struct ends with a comma too, but its type has a capital.
    let marks = bytes[end..].iter().take(2).take_while(|byte| matches!(byte, b',' | b';' | b')')).count();
    let blanks = bytes[end + marks..].iter().take(8).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let last = bytes.get(end + marks + blanks);
    let is_last = last.is_none_or(|byte| matches!(byte, b'\n' | b'\r') || blanks > 0 && *byte == b'#');
    // `SecretStr`, `hashedPassword`, `self.password`: a type or a variable.
    let is_code = value.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        || value
            .windows(3)
            .any(|three| three[0].is_ascii_alphanumeric() && three[1] == b'.' && three[2].is_ascii_alphabetic());
    let is_type = marks > 0 && value.iter().any(u8::is_ascii_uppercase);
    is_last
        && !is_type
        && !is_code
        && before.eq_ignore_ascii_case(name.as_bytes())
        && !KINDS_OF_VALUES.iter().any(|kind| value.eq_ignore_ascii_case(kind.as_bytes()))
}

/// Finds the password in an entry of netrc(5), also over several lines: `machine HOST login NAME password VALUE`. `at`
/// is the offset of the word `password`.
pub(super) fn netrc(bytes: &[u8], at: usize) -> Option<Secret<'static>> {
    let value =
        bytes[at..].strip_prefix(b"password").filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace))?;
    let blanks = value.iter().take(64).take_while(|byte| byte.is_ascii_whitespace()).count();
    let before = &bytes[at.saturating_sub(LONGEST_AUTHORITY)..at];
    let mut words = before.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    // Read backwards from the password: up to two pairs such as `login NAME`, and `machine HOST` before them.
    let (mut name, mut key, mut has_login) = (words.next(), words.next(), false);
    for _ in 0..2 {
        if matches!(key, Some(b"login" | b"account")) {
            has_login = true;
            (name, key) = (words.next(), words.next());
        }
    }
    let is_address = name.is_some_and(|host| host.contains(&b'.') || host == b"localhost");
    let is_entry = key == Some(b"machine") && (has_login || is_address) || has_login && name == Some(b"default");
    let follows_login = is_entry && before.last().is_some_and(u8::is_ascii_whitespace);
    let start = at + "password".len() + blanks;
    let length = bytes[start..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    let is_kind = KINDS_OF_VALUES.iter().any(|kind| bytes[start..start + length].eq_ignore_ascii_case(kind.as_bytes()));
    let fits = follows_login
        && !is_kind
        && length > 0
        && !bytes[start..].starts_with(b"$")
        && !bytes[start..].starts_with(b"[redacted");
    fits.then_some(Secret { start, end: start + length, what: "password" })
}

/// Finds the value of `Cookie:`, `Set-Cookie:` and `Authorization:`. `name` is in lower case.
fn header(bytes: &[u8], name: &str, colon: usize) -> Option<Secret<'static>> {
    let cookie = matches!(name, "cookie" | "set-cookie");
    if bytes[colon] != b':' || !(cookie || matches!(name, "authorization" | "proxy-authorization")) {
        return None;
    }
    let (start, form) = beginning(bytes, colon + 1)?;
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'\\' | b'`' | b'<');
    let length = |bytes: &[u8]| match form {
        ValueForm::Bare => bytes.iter().position(ends).unwrap_or(bytes.len()),
        quoted => quoted.length(bytes),
    };
    let near = &bytes[start..bytes.len().min(start + LOOKED_AT)];
    let text = &near[..length(near)];
    if text.is_empty() || is_reference(text, form) {
        return None;
    }
    if cookie {
        let fits = text.contains(&b'=') && !text.contains(&b'$');
        return fits.then(|| Secret { start, end: start + length(&bytes[start..]), what: "cookie" });
    }
    // The value is a scheme with a credential, such as `Basic dTpw`, or a credential alone.
    let scheme = memchr::memchr(b' ', text).map_or(0, |blank| blank + 1);
    let secret = &text[scheme..];
    let varied = secret.iter().any(u8::is_ascii_digit)
        || secret.iter().any(u8::is_ascii_lowercase) && secret.iter().any(u8::is_ascii_uppercase);
    let fits = secret.len() >= 6
        && varied
        && !is_reference(secret, ValueForm::Bare)
        && !secret.contains(&b'$')
        && !secret.contains(&b'{')
        && memchr::memmem::find(secret, b"[redacted").is_none();
    fits.then(|| Secret { start: start + scheme, end: start + length(&bytes[start..]), what: "credential" })
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueForm {
    /// Up to whitespace or a delimiter.
    Bare,
    /// Between two quotes of a kind, each with this many backslashes before it, as in a text that is quoted in another
    /// one.
    Quoted { mark: u8, escapes: usize },
}

impl ValueForm {
    /// Returns how many of these bytes belong to the value.
    pub(super) fn length(self, bytes: &[u8]) -> usize {
        match self {
            ValueForm::Bare => bytes.iter().position(ends_bare).unwrap_or(bytes.len()),
            ValueForm::Quoted { mark, escapes } => quoted_length(bytes, mark, escapes),
        }
    }
}

fn ends_bare(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b',' | b';' | b')' | b'}' | b']' | b'&' | b'|' | b'<')
}

fn quoted_length(bytes: &[u8], mark: u8, escapes: usize) -> usize {
    let mut before = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' => return at,
            b'\\' => before += 1,
            // A quote inside the value is escaped once more: it has more backslashes than the quote that ends the
            // value.
            _ if byte == mark && (before / (escapes + 1)).is_multiple_of(2) => return at - before.min(escapes),
            _ => before = 0,
        }
    }
    bytes.len()
}

/// Returns `true` if the value only refers to the secret. A quoted value may contain any character, so the whole of it
/// must be a reference.
pub(super) fn is_reference(value: &[u8], form: ValueForm) -> bool {
    if value.starts_with(b"<") || value.starts_with(b"[redacted") {
        return true;
    }
    if form == ValueForm::Bare {
        return value.starts_with(b"$") || value.contains(&b'(');
    }
    match value.strip_prefix(b"$") {
        Some([b'{', name @ .., b'}']) => is_variable(name),
        Some([b'(', .., b')']) => true,
        Some(name) => is_variable(name) && (is_shouted(name) || is_name_of_secret(name)),
        None => false,
    }
}

fn is_variable(name: &[u8]) -> bool {
    let is_word = name.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word && name.first().is_some_and(|byte| !byte.is_ascii_digit())
}

fn is_shouted(name: &[u8]) -> bool {
    name.iter().all(|byte| !byte.is_ascii_lowercase())
}

/// Returns `true` if the name after `$` is that of a secret. A password that begins with `$` may look like a lower-case
/// variable, but rarely has such a name.
fn is_name_of_secret(name: &[u8]) -> bool {
    !name.iter().any(u8::is_ascii_digit) && std::str::from_utf8(name).is_ok_and(is_secret)
}

/// Returns the name right before an offset. Whitespace and quotes, escaped or not, between them are skipped.
fn name_before(bytes: &[u8], at: usize) -> Option<&str> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_between = |at: usize| match bytes[at] {
        b'\\' => matches!(bytes[at + 1], b'"' | b'\'' | b'\\'),
        byte => matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b':'),
    };
    let least = at.saturating_sub(LONGEST_NAME);
    let end = (least..at).rev().find(|&at| !is_between(at))? + 1;
    let start = (least..end).rev().find(|&at| !is_name(bytes[at])).map_or(least, |at| at + 1);
    std::str::from_utf8(&bytes[start..end]).ok().filter(|name| !name.is_empty())
}

/// Returns the offset of the value, and how it is written.
pub(super) fn beginning(bytes: &[u8], from: usize) -> Option<(usize, ValueForm)> {
    let start = from + bytes[from..].iter().take(8).position(|byte| !matches!(byte, b' ' | b'\t' | b'='))?;
    let escapes = bytes[start..].iter().take(MOST_ESCAPES).take_while(|&&byte| byte == b'\\').count();
    match bytes.get(start + escapes) {
        Some(&mark @ (b'"' | b'\'')) => Some((start + escapes + 1, ValueForm::Quoted { mark, escapes })),
        Some(b'\n' | b'\r') if escapes == 0 => None,
        _ => Some((start, ValueForm::Bare)),
    }
}

/// Finds the text between the user's name and the `@` of a URL.
fn password(bytes: &[u8], start: usize) -> Option<Secret<'static>> {
    let rest = &bytes[start..bytes.len().min(start + LONGEST_AUTHORITY)];
    let ends =
        |&byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>' | b'?' | b'#');
    let authority = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    // The last `@` ends the password, because a password may contain one that is not escaped.
    let host = authority.iter().rposition(|&byte| byte == b'@')?;
    let colon = authority[..host].iter().position(|&byte| byte == b':')?;
    let value = &authority[colon + 1..host];
    let fits = !value.is_empty() && !value.starts_with(b"$") && !value.starts_with(b"[redacted");
    fits.then_some(Secret { start: start + colon + 1, end: start + host, what: "password" })
}
