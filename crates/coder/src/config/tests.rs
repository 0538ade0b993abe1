//! Tests of what each layer may do, of the positions of values, and of the messages about mistakes.

use super::*;
use project::InProject;
use std::collections::HashSet;
use toolfence_policy::{AskMode, Judgement, NoFacts, Policy};
use value::{Origin, Shape};

fn read_as(layer: Layer, text: &str) -> Result<(Source, Settings), String> {
    let source = source(layer, if layer == Layer::User { "user" } else { "project" }, text.to_owned());
    match read::read(&source, true) {
        Ok(settings) => Ok((source, settings)),
        Err(mistake) => Err(mistake.located(&source).to_string()),
    }
}

/// Merges these layers in this order.
fn merged(layers: &[(Layer, &str)]) -> Result<Config, String> {
    let mut config = Config::built_in();
    for (layer, text) in layers {
        let (source, settings) = read_as(*layer, text)?;
        config.merge(&source, &settings);
    }
    Ok(config)
}

fn user_and_project(user: &str, project: &str) -> Result<Config, String> {
    merged(&[(Layer::User, user), (Layer::Project, project)])
}

/// Returns the message about the mistake in a user's file.
#[track_caller]
fn mistake(text: &str) -> String {
    read_as(Layer::User, text).map(drop).expect_err(text)
}

#[test]
fn the_built_in_settings_can_be_read() {
    for row in Config::built_in().rows() {
        assert_eq!(row.values.is_empty(), row.default.is_empty(), "{}", row.key);
        assert!(row.values.iter().all(|(_, origin)| *origin == Origin::default()), "{}", row.key);
        assert!(row.shape == Shape::One || row.default.is_empty(), "{}", row.key);
    }
    assert_eq!(Config::built_in().policy(), toolfence_policy::Settings::default());
}

#[test]
fn the_table_for_projects_names_only_settings() {
    let rows = Settings::default().rows();
    let keys: HashSet<&str> = rows.iter().map(|row| row.key).collect();
    for (key, _) in project::IN_PROJECT {
        assert!(keys.contains(key) || *key == "limits.*", "{key}");
    }
    for row in &rows {
        let fits = match project::in_project(row.key) {
            Some(InProject::Stricter | InProject::Lower) => row.shape == Shape::One && !row.default.is_empty(),
            Some(InProject::Adds | InProject::Narrows) => row.shape == Shape::List,
            Some(InProject::Trusted) | None => true,
        };
        assert!(fits, "{}", row.key);
    }
}

/// Settings of the policy in which a value of the project would loosen that of the user's file.
const LOOSENING: &[(&str, &str, &str)] = &[
    ("ask", "ask = \"risky\"", "ask = \"never\""),
    ("ask", "ask = \"always\"", "ask = \"risky\""),
    ("commands.allow", "", "[commands]\nallow = [\"make\"]"),
    ("commands.deny", "[commands]\ndeny = [\"make\"]", "[commands]\ndeny = []"),
    ("commands.only", "[commands]\nonly = [\"ls\"]", "[commands]\nonly = []"),
    ("commands.only", "[commands]\nonly = [\"ls\"]", "[commands]\nonly = [\"make\"]"),
    ("commands.only", "[commands]\nonly = [\"ls -l\"]", "[commands]\nonly = [\"ls\", \"make\"]"),
    ("outside", "ask = \"never\"\n", "outside = true\n"),
    ("outside", "ask = \"never\"\n", "outside = false\n"),
    ("paths.allow", "", "[paths]\nallow = [\"x.pem\"]"),
    ("paths.deny", "[paths]\ndeny = [\"secret\"]", "[paths]\ndeny = []"),
    ("paths.only", "[paths]\nonly = [\"src\"]", "[paths]\nonly = []"),
    ("paths.only", "[paths]\nonly = [\"src\"]", "[paths]\nonly = [\"secret\"]"),
];

#[test]
fn no_setting_of_a_project_or_a_persona_loosens() {
    for (key, user, loosening) in LOOSENING {
        for layer in [Layer::Project, Layer::Persona] {
            let policy = |config: Config| Policy::new(config.policy()).expect("the rules fit");
            let before = policy(user_and_project(user, "").expect("it is right"));
            let after = match merged(&[(Layer::User, user), (layer, loosening)]) {
                Ok(config) => policy(config),
                Err(mistake) => {
                    assert!(mistake.contains(&format!("{key} is not allowed here")), "{mistake}");
                    continue;
                }
            };
            for text in ["ls", "ls -l", "make", "cat secret", "cat x.pem", "echo '"] {
                let judged = |policy: &Policy| {
                    let decision = policy.judge_command(text, "", &NoFacts);
                    let effective = serde_json::to_value(policy.effective(&decision)).expect("a word");
                    (decision.judgement, effective)
                };
                let ((was, then), (is, now)) = (judged(&before), judged(&after));
                assert!(is >= was, "{key}: {text} was {was:?} and is {is:?}");
                assert!(now != "run" || then == "run", "{key}: {text}: {then} became {now}");
                assert!(then != "deny" || now == "deny", "{key}: {text}: {then} became {now}");
            }
        }
    }
    for key in [
        "ask",
        "outside",
        "commands.allow",
        "commands.deny",
        "commands.only",
        "paths.allow",
        "paths.deny",
        "paths.only",
    ] {
        assert!(LOOSENING.iter().any(|(tried, ..)| *tried == key), "{key} is not tried");
    }
}

#[test]
fn a_looser_value_is_reported() {
    let config = user_and_project("ask = \"always\"\n", "\n\nask = \"never\"\n").expect("it is right");
    assert_eq!(config.policy().ask, AskMode::Always);
    assert_eq!(config.notes, ["project:3: ask = never is looser than always, so it has no effect."]);
    let config = user_and_project("[limits]\nrounds = 5\n", "[limits]\nrounds = 9\ncalls = 7\n").expect("it is right");
    assert_eq!((config.limits().rounds, config.limits().calls), (5, 7));
    assert_eq!(config.notes, ["project:2: limits.rounds = 9 is looser than 5, so it has no effect."]);
}

#[test]
fn every_value_has_its_place() {
    let user = "ask = \"sandboxed\"\n[commands]\nallow = [\n  \"cargo test\",\n  \"ls\",\n]\ndeny = [\"rm\"]\n";
    let config = user_and_project(user, "[commands]\ndeny = [\"mv\"]\n").expect("it is right");
    assert_eq!(config.ask.origin().to_string(), "user:1");
    let lines = |key: &str| {
        let row = config.rows().into_iter().find(|row| row.key == key).expect("a setting");
        row.values.into_iter().map(|(_, origin)| origin.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(lines("commands.allow"), ["user:4", "user:5"]);
    assert_eq!(lines("commands.deny"), ["user:7", "project:2"]);
    assert_eq!(lines("limits.rounds"), ["default"]);
}

#[test]
fn the_stricter_of_two_words_counts() {
    let words = ["never", "sandboxed", "risky", "always"];
    for (index, user) in words.iter().enumerate() {
        for (other, project) in words.iter().enumerate() {
            let ask = |word: &str| format!("ask = \"{word}\"");
            let config = user_and_project(&ask(user), &ask(project)).expect("it is right");
            assert_eq!(config.policy().ask.name(), words[index.max(other)], "{user} {project}");
        }
    }
    let config = user_and_project("[undo]\njournal = \"off\"", "[undo]\njournal = \"on\"").expect("it is right");
    assert_eq!(name_of(&config.undo.journal.value()), "on");
}

#[test]
fn only_lists_of_two_layers_allow_what_both_allow() {
    let only = |user: &str, project: &str| {
        let list = |text: &str| format!("[commands]\nonly = [{text}]\n");
        Policy::new(user_and_project(&list(user), &list(project)).expect("it is right").policy()).expect("rules")
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
fn hostile_texts_end_in_a_short_mistake() {
    let deep = format!("ask = {}", "[".repeat(100_000));
    let tables = format!("[{}]\n", vec!["a"; 50_000].join("."));
    let many = format!("[paths]\ndeny = [{}]\n", "\"x\",".repeat(3000));
    let long = format!("# {}\n", "x".repeat(300 << 10));
    let stars = format!("[paths]\ndeny = [\"{}\"]", "*a".repeat(200));
    let rule = format!("[commands]\ndeny = [\"{}\"]", "x".repeat(5000));
    for text in [deep, tables, many, long, stars, rule, "\u{0}".into(), "[commands]\n[commands]".into()] {
        let length = read_as(Layer::Project, &text).map(drop).expect_err("a mistake").len();
        assert!(length < 2000, "{length}");
    }
}

#[test]
fn mistakes_name_the_place_the_setting_and_what_it_takes() {
    for (text, wanted) in [
        ("ask = 3", "user: line 1, column 7: ask is one of never, sandboxed, risky, always."),
        ("ask = \"alway\"", "ask is one of never, sandboxed, risky, always. Did you mean always?"),
        ("a = \n", "line 1, column 5: this is not TOML: "),
        ("model = 3", "line 1, column 9: model is a text in quotes."),
        ("outside = \"true\"", "outside is true or false, without quotes."),
        ("[commands]\nalow = []", "line 2, column 1: there is no key commands.alow. Did you mean commands.allow?"),
        ("[comands]\ndeny = []", "line 1, column 2: there is no key comands. Did you mean commands or command?"),
        ("deny = []", "Did you mean paths.deny or commands.deny?"),
        ("xyzzy = 1", "there is no key xyzzy. `coder config show` lists all keys."),
        ("[limits]\nround = 1", "there is no key limits.round. Did you mean limits.rounds"),
        ("\"é\" = 1\n", "there is no key é."),
        ("commands = 1", "line 1, column 12: commands is a table: [commands]"),
        ("[commands]\ndeny = \"x\"", "commands.deny is a list; each item is a command rule"),
        ("[commands]\ndeny = [\"\"]", "line 2, column 9: commands.deny is a list; each item is a command rule"),
        ("[commands]\ndeny = [\"ls\", \"x $y\"]", "line 2, column 15: commands.deny is a list;"),
        ("[paths]\ndeny = [\"a[\"]", "line 2, column 9: paths.deny is a list; each item is a glob"),
        ("[limits]\nrounds = 0", "line 2, column 10: limits.rounds is a whole number from 1 to 10000."),
        ("command_between = -1", "command_between is a whole number from 1 to 86400."),
        ("[http]\nretries = 0.5", "http.retries is a whole number from 0 to 100."),
        ("temperature = 2.1", "temperature is a number from 0 to 2."),
        ("temperature = nan", "temperature is a number from 0 to 2."),
        ("temperature = \"hot\"", "temperature is a number from 0 to 2."),
    ] {
        let mistake = mistake(text);
        assert!(mistake.contains(wanted), "{text}: {mistake}");
    }
}

#[test]
fn mistakes_in_tables_name_their_place_and_no_secret() {
    for (text, wanted) in [
        (
            "prices = [1]",
            "prices is a table; each item is a model such as \"qwen3-coder\" = { input = 0.5, output = 1.5 }.",
        ),
        ("[prices]\na = 1", "line 2, column 5: prices is a table;"),
        ("[prices.a]\ninput = 1", "missing field `output`"),
        ("[prices.a]\ninput = 1\noutput = -1", "a price is a number"),
        ("[prices.a]\ninput = 1\noutput = 1\ncache = 1", "line 4, column 1: prices is a table"),
        ("http.headers = { \"a b\" = \"hidden\" }", "a b is not a valid header"),
        ("http.headers = { X = \"hidden\\nX: y\" }", "is not a valid header"),
        ("http.headers = { X = 7 }", "http.headers is a table;"),
        ("http.headers = [\"X\"]", "a header such as \"X-Tenant\" = \"blue\""),
        ("http.body = { messages = [] }", "messages is set by the program"),
        ("http.body = { x = { y = [1, nan] } }", "x has a number that JSON cannot represent"),
        ("[mcp.Files]\ncommand = \"x\"", "Files is not a valid server name"),
        ("[mcp.functions]\ncommand = \"x\"", "is not a valid server name"),
        ("[mcp.a]\n", "missing field `command`"),
        ("[mcp.a]\ncommand = []", "command begins with the name of a program"),
        ("[mcp.a]\ncommand = \"a 'b\"", "line 2, column 11: mcp is a table;"),
        ("[mcp.a]\ncommand = \"./x\"", "command begins with the name of a program"),
        ("[mcp.a]\ncommand = [\"x\", 1]", "command is [\"npx\", \"server\"]"),
        ("[mcp.a]\ncommand = \"x\"\npath = []", "line 3, column 1: mcp is a table;"),
        ("[mcp.a]\ncommand = \"x\"\npaths = [\"data\"]", "a path begins with / or ~/, and data does not"),
        ("[mcp.a]\ncommand = \"x\"\nnetwork = \"on\"", "line 3, column 11: mcp is a table;"),
        ("[mcp.a]\ncommand = \"x\"\nenv = { \"A=B\" = \"hidden\" }", "A=B is not a valid variable name"),
        ("[mcp.a]\ncommand = \"x\"\nenv = { LD_PRELOAD = \"hidden\" }", "LD_PRELOAD controls how programs are loaded"),
        ("[mcp.a]\ncommand = \"x\"\nseconds = 0", "seconds of a server is a whole number from 1"),
        ("checks.checkers = [\"luac\"]", "each item is a checker such as { files = [\"*.lua\"]"),
        ("checks.checkers = [{ files = [\"*.x\"] }]", "missing field `command`"),
        ("checks.checkers = [{ files = [\"*.{a,b}\"], command = [\"x\"] }]", "[\"*.a\", \"*.b\"]."),
        ("checks.checkers = [{ files = [\"a[\"], command = [\"x\"] }]", "cannot read the path glob \"a[\""),
        ("checks.checkers = [{ files = [\"*.x\"], command = [\"./x\"] }]", "command begins with the name of a program"),
        (
            "checks.checkers = [{ files = [\"*.x\"], command = [\"x\"], reads = \"disk\" }]",
            "reads of a checker is \"text\"",
        ),
        ("checks.commands = [1]", "a check is \"cargo check\" or { command = \"cargo check\""),
        ("checks.commands = [\" \"]", "this command line is empty"),
        ("checks.commands = [{ command = \"make\", new_error = \"report\" }]", "a check is"),
        ("mcp = 1", "mcp is a table; each item is a server"),
    ] {
        let mistake = mistake(text);
        assert!(mistake.contains(wanted) && !mistake.contains("hidden"), "{text}: {mistake}");
    }
}

#[test]
fn tables_are_read_in_the_order_of_the_file() {
    let text = "[mcp.files]\ncommand = [\"x\", \"a b\"]\nenv = { TOKEN = \"hidden\" }\npaths = [\"~/notes\", \"/srv\"]\n\
                allow = [\"read\"]\nseconds = 90\n[mcp.deep]\ncommand = \"npx -y 'a b'\"\nnetwork = true\n\
                [http]\nheaders = { X-Key = \"hidden\" }\nbody = { a = { b = [1, 0.5, true, \"x\"] } }\n";
    let config = merged(&[(Layer::User, text)]).expect("it is right");
    let servers: Vec<_> = config.mcp.values().collect();
    assert_eq!((servers[0].name.as_str(), &servers[0].command.0[..]), ("files", &["x".to_owned(), "a b".into()][..]));
    assert_eq!((servers[0].network, servers[0].seconds), (false, Some(90)));
    assert_eq!(
        (servers[1].network, &servers[1].command.0[..]),
        (true, &["npx".to_owned(), "-y".into(), "a b".into()][..])
    );
    let (_, body) = config.http.body.values().next().expect("a member");
    assert_eq!(*body, serde_json::json!({"b": [1, 0.5, true, "x"]}));
    let shown: Vec<String> = config.rows().into_iter().flat_map(|row| row.values).map(|(value, _)| value).collect();
    assert!(!shown.join(" ").contains("hidden"), "{shown:?}");
}
