//! Secrets that are known by the name before them, and passwords in URLs.

use super::Found;

/// What a name of a secret holds, in lower case and without `_`, `-` and `.`.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "authkey",
    "signingkey",
    "encryptionkey",
    "connectionstring",
];

/// Names that hold such a word and no secret.
const HARMLESS: &[&str] = &["tokens", "tokenizer", "tokenlimit", "maxtoken", "tokencount", "secretname", "tokentype"];

/// The longest name that is looked at.
const LONGEST_NAME: usize = 64;

/// The fewest characters of a value.
const SHORTEST_VALUE: usize = 6;

/// Bytes of a value that are looked at before it is taken for a secret: what is not one is looked at again behind it.
const LOOKED_AT: usize = 512;

/// The longest beginning of a URL in which a password is looked for.
const LONGEST_AUTHORITY: usize = 512;

/// Whether a variable or key of this name holds a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
    let sounds = WORDS.iter().any(|word| plain.contains(word)) || matches!(plain.as_str(), "pwd1" | "pgpass" | "pat");
    sounds && !HARMLESS.iter().any(|word| plain.contains(word))
}

/// The value behind `=` or `:`, where the name before it is one of a secret; or the password behind `://`.
pub(super) fn at(bytes: &[u8], at: usize) -> Option<Found<'static>> {
    if bytes[at..].starts_with(b"://") {
        return password(bytes, at + 3);
    }
    let name = name_before(bytes, at)?;
    if !is_secret(name) {
        return None;
    }
    let (start, quote) = beginning(bytes, at + 1)?;
    let ends = |&byte: &u8| match quote {
        Some(quote) => byte == quote || byte == b'\n',
        None => {
            byte.is_ascii_whitespace()
                || matches!(byte, b'"' | b'\'' | b',' | b';' | b')' | b'}' | b']' | b'&' | b'|' | b'<')
        }
    };
    let near = &bytes[start..bytes.len().min(start + LOOKED_AT)];
    let value = &near[..near.iter().position(ends).unwrap_or(near.len())];
    // In a program the name of a type or of another variable stands there.
    let shouted = name.bytes().all(|byte| !byte.is_ascii_lowercase());
    let looks_secret = quote.is_some() || shouted || value.iter().any(u8::is_ascii_digit);
    let is_reference = value.starts_with(b"$") || value.starts_with(b"<") || value.starts_with(b"[redacted");
    let fits = value.len() >= SHORTEST_VALUE && looks_secret && !is_reference && !value.contains(&b'(');
    let length = || bytes[start..].iter().position(ends).unwrap_or(bytes.len() - start);
    fits.then(|| Found { start, end: start + length(), what: "value" })
}

/// The name right before a place, quotes and blanks between them passed over.
fn name_before(bytes: &[u8], at: usize) -> Option<&str> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let least = at.saturating_sub(LONGEST_NAME);
    let end = (least..at).rev().find(|&at| !matches!(bytes[at], b' ' | b'\t' | b'"' | b'\'' | b':'))? + 1;
    let start = (least..end).rev().find(|&at| !is_name(bytes[at])).map_or(least, |at| at + 1);
    std::str::from_utf8(&bytes[start..end]).ok().filter(|name| !name.is_empty())
}

/// Where the value begins, and the quote it is in.
fn beginning(bytes: &[u8], from: usize) -> Option<(usize, Option<u8>)> {
    let start = from + bytes[from..].iter().take(8).position(|byte| !matches!(byte, b' ' | b'\t' | b'='))?;
    match bytes[start] {
        quote @ (b'"' | b'\'') => Some((start + 1, Some(quote))),
        b'\n' | b'\r' => None,
        _ => Some((start, None)),
    }
}

/// What stands between the user's name and the `@` of a URL.
fn password(bytes: &[u8], start: usize) -> Option<Found<'static>> {
    let rest = &bytes[start..bytes.len().min(start + LONGEST_AUTHORITY)];
    let ends =
        |&byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>' | b'?' | b'#');
    let authority = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    let host = authority.iter().rposition(|&byte| byte == b'@')?;
    let colon = authority[..host].iter().position(|&byte| byte == b':')?;
    let value = &authority[colon + 1..host];
    let fits = !value.is_empty() && !value.starts_with(b"$") && !value.starts_with(b"[redacted");
    fits.then_some(Found { start: start + colon + 1, end: start + host, what: "password" })
}
