//! Secrets that must go, and text that must stay.

use serde_json::json;
use toolfence_agent::redact::Redactor;
use toolfence_kit::CaseFiles;

/// So many characters that look random, the same each time: a secret in a file would be found by whoever looks for them.
fn random(length: usize, capitals: bool) -> String {
    let alphabet: &[u8] = if capitals { b"7QX2ZK9VJ4" } else { b"q7Zb2xK9vJ4mT8" };
    (0..length).map(|at| char::from(alphabet[(at * at + 3 * at) % alphabet.len()])).collect()
}

fn filled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        out.push_str(before);
        let inside = behind.split_once('}').and_then(|(inside, after)| {
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
                rest = behind;
            }
        }
    }
    (out + rest).replace("\\n", "\n").replace("\\r", "\r")
}

#[test]
fn secrets_go() {
    let redactor = Redactor::new();
    for (text, secret) in CaseFiles::of("redact/secrets.tsv").pairs() {
        let (text, secret) = (filled(text.text()), filled(secret.text()));
        let clean = redactor.text(&text);
        assert!(!clean.contains(&secret) && clean.contains("[redacted: "), "{text}\n{clean}");
        // What is clean stays as it is, and what is around it stays too.
        assert_eq!(redactor.text(&clean), clean);
        let around = format!("é before\n{text}\nafter é");
        let clean = redactor.text(&around);
        assert!(clean.starts_with("é before\n") && !clean.contains(&secret), "{clean}");
    }
}

/// A secret at the end of a sentence, in brackets or in quotes goes too, and nothing of it is left; what stands behind one that
/// is known by its shape stays.
#[test]
fn punctuation_hides_no_secret() {
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
    // Random characters alone are no shape: these are secrets by their names.
    let shapes: Vec<String> =
        shapes.filter(|secret| redactor.text(&format!("x {secret} y")).contains("[redacted")).collect();
    assert!(shapes.len() > 15, "{shapes:?}");
    for secret in &shapes {
        for (before, behind) in around.into_iter().chain(more).chain(last) {
            let text = format!("the key {before}{secret}{behind}");
            let clean = redactor.text(&text);
            let wanted =
                clean.starts_with(&format!("the key {before}[redacted: ")) && clean.ends_with(&format!("]{behind}"));
            assert!(wanted, "{text}\n{clean}");
        }
    }
    for (text, secret) in pairs.iter().map(|(text, secret)| (filled(text.text()), filled(secret.text()))) {
        for behind in [".", ",", ")", "!", "…", "\n"] {
            let clean = redactor.text(&format!("{text}{behind}")).into_owned();
            assert!(!clean.contains(&secret), "{text}{behind}\n{clean}");
        }
    }
}

#[test]
fn what_is_no_secret_stays() {
    for line in CaseFiles::of("redact/plain.txt").texts().flat_map(str::lines) {
        assert_eq!(Redactor::new().text(line), line);
    }
    let source = include_str!("../src/redact/shapes.rs");
    assert_eq!(Redactor::new().text(source), source);
}

#[test]
fn values_of_the_environment_go_by_name() {
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

/// The marks around a value are no part of it, however often they are escaped.
#[test]
fn what_is_around_a_value_stays() {
    for (text, want) in [
        (r#"echo A_TOKEN=\"letmein12345\" x"#, r#"echo A_TOKEN=\"[redacted: value]\" x"#),
        (r#"{\"token\": \"a\\\"bcdefgh\", \"x\": 1}"#, r#"{\"token\": \"[redacted: value]\", \"x\": 1}"#),
        (r#"token="abcdef\\" x="y""#, r#"token="[redacted: value]" x="y""#),
        (r#"x="A_TOKEN=\"abcdefgh" y"#, r#"x="A_TOKEN=\"[redacted: value]" y"#),
    ] {
        assert_eq!(Redactor::new().text(text), want);
    }
}

/// No shape takes more than linear time: a text of twice the length takes not much more than twice the time, which is so
/// short here that only a square would be seen.
#[test]
fn hostile_text_takes_no_longer() {
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
