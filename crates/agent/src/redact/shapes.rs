//! Finds secrets by their shape.

use super::Secret;

/// The prefix of the tokens of a service, the minimum number of characters after it, and the name of the token.
const TOKENS: &[(&str, usize, &str)] = &[
    ("ghp_", 30, "GitHub token"),
    ("gho_", 30, "GitHub token"),
    ("ghu_", 30, "GitHub token"),
    ("ghs_", 30, "GitHub token"),
    ("ghr_", 30, "GitHub token"),
    ("github_pat_", 22, "GitHub token"),
    ("glpat-", 16, "GitLab token"),
    ("gldt-", 16, "GitLab token"),
    ("sk-", 20, "API key"),
    ("sk_live_", 16, "Stripe key"),
    ("sk_test_", 16, "Stripe key"),
    ("rk_live_", 16, "Stripe key"),
    ("rk_test_", 16, "Stripe key"),
    ("whsec_", 16, "webhook secret"),
    ("gsk_", 20, "API key"),
    ("xai-", 20, "API key"),
    ("hf_", 30, "Hugging Face token"),
    ("npm_", 30, "npm token"),
    ("pypi-", 50, "PyPI token"),
    ("crates-io_", 20, "registry token"),
    ("cio", 32, "registry token"),
    ("dckr_pat_", 20, "Docker token"),
    ("dop_v1_", 32, "DigitalOcean token"),
    ("AKIA", 16, "AWS key id"),
    ("ASIA", 16, "AWS key id"),
    ("AIza", 30, "Google API key"),
    ("ya29.", 20, "Google token"),
    ("GOCSPX-", 20, "Google secret"),
    ("xoxb-", 10, "Slack token"),
    ("xoxp-", 10, "Slack token"),
    ("xoxa-", 10, "Slack token"),
    ("xoxr-", 10, "Slack token"),
    ("xoxs-", 10, "Slack token"),
    ("xapp-", 10, "Slack token"),
    ("shpat_", 30, "Shopify token"),
    ("SG.", 40, "SendGrid key"),
    ("key-", 32, "API key"),
    ("AGE-SECRET-KEY-", 20, "private key"),
    ("eyJ", 40, "JWT"),
];

/// Addresses whose path is a secret, because anyone who knows it can post there.
const WEBHOOKS: &[&str] = &[
    "discord.com/api/webhooks/",
    "discord.com/api/v10/webhooks/",
    "discord.com/api/v9/webhooks/",
    "discordapp.com/api/webhooks/",
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "webhook.office.com/webhookb2/",
];

/// Words that precede a credential in a header.
const SCHEMES: &[&str] = &["Bearer ", "bearer ", "Basic ", "basic ", "Token ", "token "];

/// The minimum number of characters of a credential in a header.
const SHORTEST_CREDENTIAL: usize = 16;

/// Finds a token that begins at `at`.
pub(super) fn token(bytes: &[u8], at: usize) -> Option<Secret<'static>> {
    // A prefix inside a longer word does not begin a token.
    if at > 0 && is_token(bytes[at - 1]) && !ends_with_escape(&bytes[..at]) {
        return None;
    }
    let rest = &bytes[at..];
    if let Some(scheme) = SCHEMES.iter().find(|scheme| rest.starts_with(scheme.as_bytes())) {
        let start = at + scheme.len();
        let end = without_stop(bytes, end(bytes, start, is_credential));
        return (end - start >= SHORTEST_CREDENTIAL && is_mixed(&bytes[start..end])).then_some(Secret {
            start,
            end,
            what: "credential",
        });
    }
    if let Some(address) = WEBHOOKS.iter().find(|address| rest.starts_with(address.as_bytes())) {
        let start = at + address.len();
        let end = without_stop(bytes, end(bytes, start, |byte| is_credential(byte) || byte == b'@'));
        return (end > start).then_some(Secret { start, end, what: "webhook" });
    }
    let &(prefix, least, what) = TOKENS.iter().find(|(prefix, ..)| rest.starts_with(prefix.as_bytes()))?;
    let start = at + prefix.len();
    // The id of an Amazon key has capitals and digits only. A lower-case letter after it belongs to an ordinary word.
    let is_id = what == "AWS key id";
    let is_body = |byte: u8| match is_id {
        true => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        false => is_token(byte) || byte == b'.',
    };
    let body = leading_run(bytes, start, is_body);
    let is_one = match what {
        "JWT" => body.iter().filter(|&&byte| byte == b'.').count() >= 2,
        "AWS key id" => !bytes.get(start + body.len()).is_some_and(u8::is_ascii_lowercase),
        // Few names in source code are that long and have capitals but no separator.
        _ => is_mixed(body) || least >= 30 && has_both_cases(body),
    };
    (body.len() >= least && is_one).then(|| Secret {
        start: at,
        end: without_stop(bytes, end(bytes, start, is_body)),
        what,
    })
}

/// Returns `true` if a text ends with an escape, as in JSON: `\n`, `\u003c`. Its letters belong to no word.
fn ends_with_escape(before: &[u8]) -> bool {
    let letter = before.ends_with(b"n") || before.ends_with(b"r") || before.ends_with(b"t");
    letter && before[..before.len() - 1].ends_with(b"\\")
        || before.len() >= 6 && before[..before.len() - 4].ends_with(b"\\u")
}

/// Returns the end of a secret without the full stop of its sentence.
fn without_stop(bytes: &[u8], end: usize) -> usize {
    end - bytes[..end].iter().rev().take_while(|&&byte| byte == b'.').count()
}

/// Returns the characters of a kind at `start`, no more than needed to classify them, because rejected text is scanned
/// again.
fn leading_run(bytes: &[u8], start: usize, is_one: impl Fn(u8) -> bool) -> &[u8] {
    const LOOKED_AT: usize = 512;
    let near = &bytes[start..bytes.len().min(start + LOOKED_AT)];
    &near[..near.iter().take_while(|&&byte| is_one(byte)).count()]
}

/// Returns the offset after the characters of a kind.
fn end(bytes: &[u8], start: usize, is_one: impl Fn(u8) -> bool) -> usize {
    start + bytes[start..].iter().take_while(|&&byte| is_one(byte)).count()
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_credential(byte: u8) -> bool {
    is_token(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

/// Returns `true` for text with digits and letters, as in random text; names in source code rarely have both.
fn is_mixed(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic)
}

fn has_both_cases(bytes: &[u8]) -> bool {
    // A full stop may follow the text.
    bytes.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'.')
        && bytes.iter().any(u8::is_ascii_lowercase)
        && bytes.iter().any(u8::is_ascii_uppercase)
}

/// Finds the token of a Telegram bot after this colon: `123456789:AA...`, 35 characters after the number of the bot.
pub(super) fn bot_token(bytes: &[u8], colon: usize) -> Option<Secret<'static>> {
    const LENGTH: usize = 35;
    let rest = bytes[colon + 1..].strip_prefix(b"AA")?;
    let digits = bytes[..colon].iter().rev().take(13).take_while(|byte| byte.is_ascii_digit()).count();
    let length = 2 + rest.iter().take(LENGTH).take_while(|&&byte| is_token(byte)).count();
    let fits = (6..=12).contains(&digits) && length == LENGTH;
    fits.then_some(Secret { start: colon + 1, end: colon + 1 + LENGTH, what: "bot token" })
}

/// Finds a private key in PEM that begins at `at`. A key without an end extends to the end of the text.
pub(super) fn private_key(bytes: &[u8], at: usize) -> Option<Secret<'static>> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    const END: &[u8] = b"-----END ";
    /// The longest name of a kind of key.
    const LONGEST_KIND: usize = 64;
    let rest = bytes[at..].strip_prefix(BEGIN)?;
    // The label is bounded, so that many lines that begin like a key do not each search the rest of the text.
    let label = &rest[..rest.len().min(LONGEST_KIND)];
    let label = &label[..memchr::memmem::find(label, b"-----")?];
    memchr::memmem::find(label, b"PRIVATE KEY")?;
    let start = at + BEGIN.len() + label.len();
    let end = match memchr::memmem::find(&bytes[start..], END) {
        Some(end) => start + end + END.len() + label.len() + "-----".len(),
        None => bytes.len(),
    };
    Some(Secret { start: at, end: boundary(bytes, end.min(bytes.len())), what: "private key" })
}

/// Returns the next character boundary, since any text may follow the end of a key.
fn boundary(bytes: &[u8], at: usize) -> usize {
    (at..bytes.len()).find(|&at| bytes[at] & 0xC0 != 0x80).unwrap_or(bytes.len())
}
