//! The layers as the library puts them together: what each may do, and where a value comes from.

use toolfence_policy::settings::{InProject, KEYS, Key, Layer, Merged, Mistake, Takes, read, template};
use toolfence_policy::{AskMode, Judgement, NoFacts, Policy};
use toolfence_protocol::Language;

fn layer(text: &str, layer: Layer) -> Result<Merged, Mistake> {
    let keys: Vec<&Key> = KEYS.iter().collect();
    read(text, "file", layer, &keys).map(|entries| Merged::of([entries]))
}

/// What is set when the person's own file and the project's are these.
fn merged(user: &str, project: &str) -> Result<Merged, Mistake> {
    let keys: Vec<&Key> = KEYS.iter().collect();
    let user = read(user, "/home/me/config.toml", Layer::User, &keys)?;
    Ok(Merged::of([user, read(project, "/proj/.toolfence.toml", Layer::Project { trusted: true }, &keys)?]))
}

/// A key with a value that would loosen what the person's file says.
const LOOSENING: &[(&str, &str, &str)] = &[
    ("ask", "ask = \"risky\"", "ask = \"never\""),
    ("ask", "ask = \"always\"", "ask = \"risky\""),
    ("commands.allow", "", "[commands]\nallow = [\"make\"]"),
    ("commands.deny", "[commands]\ndeny = [\"make\"]", "[commands]\ndeny = []"),
    ("commands.only", "[commands]\nonly = [\"ls\"]", "[commands]\nonly = []"),
    ("commands.only", "[commands]\nonly = [\"ls\"]", "[commands]\nonly = [\"make\"]"),
    ("commands.only", "[commands]\nonly = [\"ls -l\"]", "[commands]\nonly = [\"ls\", \"make\"]"),
    ("outside", "ask = \"never\"\n", "outside = true\n"),
    ("paths.allow", "", "[paths]\nallow = [\"x.pem\"]"),
    ("paths.deny", "[paths]\ndeny = [\"secret\"]", "[paths]\ndeny = []"),
    ("paths.only", "[paths]\nonly = [\"src\"]", "[paths]\nonly = []"),
    ("paths.only", "[paths]\nonly = [\"src\"]", "[paths]\nonly = [\"secret\"]"),
];

#[test]
fn no_key_of_a_project_loosens() {
    for (key, user, project) in LOOSENING {
        let before = Policy::new(merged(user, "").unwrap().settings()).unwrap();
        let after = match merged(user, project) {
            Ok(merged) => Policy::new(merged.settings()).unwrap(),
            Err(mistake) => {
                let message = mistake.message.to_string();
                assert!(message.starts_with(key) && message.contains("only tighten"), "{mistake}");
                continue;
            }
        };
        for text in ["ls", "ls -l", "make", "cat secret", "cat x.pem", "echo '"] {
            let judged = |policy: &Policy| {
                let decision = policy.judge_command(text, "", &NoFacts);
                (decision.judgement, serde_json::to_value(policy.effective(&decision)).unwrap())
            };
            let ((was, then), (is, now)) = (judged(&before), judged(&after));
            assert!(is >= was, "{key}: {text} was {was:?} and is {is:?}");
            assert!(now != "run" || then == "run", "{key}: {text}: {then} became {now}");
            assert!(then != "deny" || now == "deny", "{key}: {text}: {then} became {now}");
        }
    }
    for key in KEYS {
        assert!(LOOSENING.iter().any(|(name, ..)| *name == key.name), "{} is not tried", key.name);
        assert_ne!(key.project, InProject::Trusted, "{}: the policy has no such key", key.name);
    }
}

#[test]
fn a_looser_mode_is_told() {
    let merged = merged("ask = \"always\"\n", "\n\nask = \"never\"\n").unwrap();
    assert_eq!((merged.text("ask"), merged.settings().ask), (Some("always"), AskMode::Always));
    assert_eq!(merged.notes(), ["/proj/.toolfence.toml:3: ask = never is looser than always, so it has no effect."]);
}

#[test]
fn every_value_knows_its_place() {
    let user = "ask = \"sandboxed\"\n[commands]\nallow = [\n  \"cargo test\",\n  \"ls\",\n]\ndeny = [\"rm\"]\n";
    let merged = merged(user, "[commands]\ndeny = [\"mv\"]\n").unwrap();
    assert_eq!(merged.origin("ask").to_string(), "/home/me/config.toml:1");
    let lines = |key: &str| merged.entries(key).map(|entry| entry.origin.to_string()).collect::<Vec<_>>();
    assert_eq!(lines("commands.allow"), ["/home/me/config.toml:4", "/home/me/config.toml:5"]);
    assert_eq!(lines("commands.deny"), ["/home/me/config.toml:7", "/proj/.toolfence.toml:2"]);
    assert_eq!(merged.origin("paths.deny").to_string(), "default");
    assert_eq!(merged.origin("paths.deny").layer, Layer::Default);
}

#[test]
fn the_stricter_of_two_counts_whatever_the_order() {
    let words = ["never", "sandboxed", "risky", "always"];
    for (index, user) in words.iter().enumerate() {
        for (other, project) in words.iter().enumerate() {
            let ask = |word: &str| format!("ask = \"{word}\"");
            let merged = merged(&ask(user), &ask(project)).unwrap();
            assert_eq!(merged.text("ask"), Some(words[index.max(other)]), "{user} {project}");
        }
    }
}

#[test]
fn a_personas_layer_only_tightens_too() {
    assert!(layer("[commands]\nallow = [\"x\"]", Layer::Persona).is_err());
    assert!(layer("[commands]\ndeny = [\"x\"]", Layer::Persona).is_ok());
    let merged = layer("ask = \"never\"", Layer::Persona).unwrap();
    assert_eq!((merged.text("ask"), merged.notes().len()), (None, 1));
}

#[test]
fn hostile_texts_end_in_a_mistake() {
    let deep = format!("ask = {}", "[".repeat(100_000));
    let tables = format!("[{}]\n", vec!["a"; 50_000].join("."));
    let many = format!("[paths]\ndeny = [{}]\n", "\"x\",".repeat(3000));
    let long = format!("# {}\n", "x".repeat(300 << 10));
    let stars = format!("[paths]\ndeny = [\"{}\"]", "*a".repeat(200));
    let rule = format!("[commands]\ndeny = [\"{}\"]", "x".repeat(5000));
    for text in [deep, tables, many, long, stars, rule, "\u{0}".into(), "[commands]\n[commands]".into()] {
        let started = std::time::Instant::now();
        let mistake = layer(&text, Layer::Project { trusted: false }).unwrap_err();
        let length = mistake.message.to_string().len();
        assert!(length < 2000 && started.elapsed().as_secs() < 5, "{length}");
    }
}

#[test]
fn a_hostile_glob_is_tried_in_bounded_time() {
    let many = "*a".repeat(90) + "b";
    let started = std::time::Instant::now();
    for glob in [
        &*many,
        "*a*a*a*a*a*a*a*b",
        "**/a/**/a/**/a/**/b",
        "*?a*?a*?a*?a*?a*?a*b",
        "[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[!a-z]",
    ] {
        let text = format!("[paths]\ndeny = [\"{glob}\"]");
        let Ok(merged) = layer(&text, Layer::Project { trusted: false }) else { continue };
        let policy = Policy::new(merged.settings()).unwrap();
        for path in
            ["a".repeat(250), format!("{}/c", "a".repeat(250)), "a/".repeat(1000), format!("{}c", "a/".repeat(1000))]
        {
            assert_eq!(policy.paths().blocks(&path), None, "{glob}");
        }
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn the_documented_file_holds_every_key_and_can_be_read() {
    let keys: Vec<&Key> = KEYS.iter().collect();
    let text = template(&keys, Language::English);
    assert!(read(&text, "file", Layer::User, &keys).unwrap().is_empty(), "nothing is set");
    let set: String = text
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line)))
        .collect();
    let settings = layer(&set, Layer::User).unwrap_or_else(|mistake| panic!("{mistake}\n{set}")).settings();
    assert_eq!(settings, toolfence_policy::Settings::default(), "it sets what counts anyway");
    for key in KEYS {
        let name = key.name.rsplit('.').next().unwrap();
        assert!(text.contains(&format!("\n#{name} = {}\n", key.default)), "{name}");
        assert!(key.takes.is_list() || matches!(key.takes, Takes::Choice(_) | Takes::Flag));
    }
}

#[test]
fn only_narrows_what_a_command_may_be() {
    let only = |user: &str, project: &str| {
        let list = |text: &str| format!("[commands]\nonly = [{text}]\n");
        Policy::new(merged(&list(user), &list(project)).unwrap().settings()).unwrap()
    };
    let rule = |policy: &Policy, text: &str| policy.judge_command(text, "", &NoFacts).rule;
    let policy = only("\"git\", \"ls\"", "\"git log\"");
    assert_ne!(rule(&policy, "git log"), "commands.only");
    assert_eq!((rule(&policy, "git diff"), rule(&policy, "ls")), ("commands.only".into(), "commands.only".into()));
    let nothing = only("\"git\"", "\"ls\"");
    for text in ["git log", "ls", "x"] {
        assert_eq!(nothing.judge_command(text, "", &NoFacts).judgement, Judgement::Deny, "{text}");
    }
}

#[test]
fn what_steers_the_program_is_not_for_tools_to_write() {
    let policy = Policy::default().protect(["Config/toolfence"]);
    for path in
        [".toolfence.toml", "sub/.Toolfence.toml", ".toolfence/personas/x.md", ".toolfence.toml.new", "toolfence.toml"]
    {
        assert!(policy.paths().protects(path).is_some() && policy.paths().blocks(path).is_none(), "{path}");
    }
    for (path, protected) in [
        ("config/toolfence", true),
        ("config/TOOLFENCE/x", true),
        ("config/toolfence2", false),
        ("a/config/toolfence", false),
    ] {
        assert_eq!(policy.paths().protects(path).is_some(), protected, "{path}");
    }
}
