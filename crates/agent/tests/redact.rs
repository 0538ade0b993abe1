//! Tests which secrets are redacted and which text is unchanged.

use serde_json::json;
use toolfence_agent::redact::Redactor;
use toolfence_kit::CaseFiles;

/// Returns this many random-looking characters, the same in each run. They are generated because secret scanners would
/// flag written ones in this file.
fn random(length: usize, capitals: bool) -> String {
    let alphabet: &[u8] = if capitals { b"7QX2ZK9VJ4" } else { b"q7Zb2xK9vJ4mT8" };
    (0..length).map(|at| char::from(alphabet[(at * at + 3 * at) % alphabet.len()])).collect()
}

fn filled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let inside = after.split_once('}').and_then(|(inside, after)| {
            let length: usize = inside.trim_end_matches('U').parse().ok()?;
            Some((random(length, inside.ends_with('U')), after))
        });
        match inside {
            Some((filling, after)) => {
                out.push_str(&filling);
                rest = after;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    (out + rest).replace("\\n", "\n").replace("\\r", "\r")
}

#[test]
fn secrets_are_redacted() {
    let redactor = Redactor::new();
    for (text, secret) in CaseFiles::of("redact/secrets.tsv").pairs() {
        let (text, secret) = (filled(text.text()), filled(secret.text()));
        let clean = redactor.text(&text);
        assert!(!clean.contains(&secret) && clean.contains("[redacted: "), "{text}\n{clean}");
        // Redacting again changes nothing, and the surrounding text is unchanged.
        assert_eq!(redactor.text(&clean), clean);
        let around = format!("é before\n{text}\nafter é");
        let clean = redactor.text(&around);
        assert!(clean.starts_with("é before\n") && !clean.contains(&secret), "{clean}");
    }
}

/// A secret at the end of a sentence, in brackets or in quotes is redacted completely. Text after a secret with a known
/// shape is unchanged.
#[test]
fn secrets_next_to_punctuation_are_redacted() {
    let redactor = Redactor::new();
    let around = [
        ("", "."),
        ("", "..."),
        ("", ". So it is."),
        ("", ","),
        ("", ";"),
        ("", ":"),
        ("", "!"),
        ("", "?"),
        ("(", ")"),
    ];
    let more = [
        ("[", "]"),
        ("{", "}"),
        ("\"", "\""),
        ("'", "'"),
        ("`", "`"),
        ("<", ">"),
        ("**", "**"),
        ("*", "*"),
        ("“", "”"),
    ];
    let last =
        [("", "…"), ("", "。"), ("", " —"), ("", "\n"), ("", "\\n"), ("\\n", ""), ("/", "/"), ("\t", "|"), ("=", "&x")];
    let pairs = CaseFiles::of("redact/secrets.tsv").pairs();
    let shapes = pairs.iter().map(|(_, secret)| filled(secret.text()));
    // These have no known shape. The names of their variables make them secrets.
    let shapes: Vec<String> =
        shapes.filter(|secret| redactor.text(&format!("x {secret} y")).contains("[redacted")).collect();
    assert!(shapes.len() > 15, "{shapes:?}");
    for secret in &shapes {
        for (before, after) in around.into_iter().chain(more).chain(last) {
            let text = format!("the key {before}{secret}{after}");
            let clean = redactor.text(&text);
            let wanted =
                clean.starts_with(&format!("the key {before}[redacted: ")) && clean.ends_with(&format!("]{after}"));
            assert!(wanted, "{text}\n{clean}");
        }
    }
    for (text, secret) in pairs.iter().map(|(text, secret)| (filled(text.text()), filled(secret.text()))) {
        for after in [".", ",", ")", "!", "…", "\n"] {
            let clean = redactor.text(&format!("{text}{after}")).into_owned();
            assert!(!clean.contains(&secret), "{text}{after}\n{clean}");
        }
    }
}

#[test]
fn other_text_is_unchanged() {
    for line in CaseFiles::of("redact/plain.txt").texts().flat_map(str::lines) {
        assert_eq!(Redactor::new().text(line), line);
    }
    let source = include_str!("../src/redact/shapes.rs");
    assert_eq!(Redactor::new().text(source), source);
}

#[test]
fn values_of_the_environment_are_redacted() {
    let variables =
        [("A_TOKEN", "abcdefgh"), ("PATH", "/usr/bin:/bin"), ("B_PASSWORD", "short"), ("C_SECRET", "abcdefghij")];
    let redactor = Redactor::new().environment(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(
        redactor.text("abcdefghij abcdefgh /usr/bin:/bin short"),
        "[redacted: C_SECRET] [redacted: A_TOKEN] /usr/bin:/bin short"
    );
    assert!(!format!("{redactor:?}").contains("abcdefgh"));
    let value = json!({"command": "echo abcdefgh", "env": {"api_key": "x", "n": 3}, "list": ["abcdefghij"]});
    let clean = json!({"command": "echo [redacted: A_TOKEN]", "env": {"api_key": "[redacted: value]", "n": 3},
        "list": ["[redacted: C_SECRET]"]});
    assert_eq!(redactor.value(&value), clean);
}

/// The quotes around a value are not part of it, however often they are escaped.
#[test]
fn text_around_a_value_is_unchanged() {
    for (text, want) in [
        (r#"echo A_TOKEN=\"letmein12345\" x"#, r#"echo A_TOKEN=\"[redacted: value]\" x"#),
        (r#"{\"token\": \"a\\\"bcdefgh\", \"x\": 1}"#, r#"{\"token\": \"[redacted: value]\", \"x\": 1}"#),
        (r#"token="abcdef\\" x="y""#, r#"token="[redacted: value]" x="y""#),
        (r#"x="A_TOKEN=\"abcdefgh" y"#, r#"x="A_TOKEN=\"[redacted: value]" y"#),
    ] {
        assert_eq!(Redactor::new().text(text), want);
    }
}

/// Text of every shape takes linear time. The limit is generous, so that only quadratic time exceeds it.
#[test]
fn hostile_text_takes_linear_time() {
    let redactor = Redactor::new();
    for piece in [
        "password=",
        "password=a",
        "://a:",
        "eyJ",
        "-----BEGIN PRIVATE KEY",
        "-----BEGIN A PRIVATE KEY-----",
        ":",
        "=\"",
        "sk-",
        "SG.",
        "SG.1",
        "Bearer ",
        "Bearer a1/",
        "password=\"",
        "-----",
        "token: ",
        "token=\\",
        "token=\\\"\\",
        "token=\"$",
        "\\",
        "-",
        "-u",
        " -u",
        "curl -u ",
        " --password",
        " --password x",
        "mysql -p",
        " --password \\\"",
        "\"--token\", ",
        "Cookie: ",
        "Cookie: a",
        "Cookie: a=",
        "Authorization: ",
        "curl -b a",
        "curl -su ",
        " -pass",
        " -pass pass:",
        "aws configure set token ",
        " set token x",
        " config --x --x",
    ] {
        let text = piece.repeat((1 << 18) / piece.len());
        let started = std::time::Instant::now();
        let clean = redactor.text(&text);
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "{piece}: {:?}", started.elapsed());
        assert!(clean.len() <= 8 * text.len());
    }
}
