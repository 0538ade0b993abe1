//! Tests the settings files with `coder`. Each test has its own home folder and project.

use serde_json::{Value, json};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use toolfence_kit::{Program, Project, Ran};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

/// A home folder and a project.
struct Place(Project);

impl Deref for Place {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.0
    }
}

impl Place {
    fn new() -> Place {
        Place(Project::new())
    }

    fn own_file(&self) -> PathBuf {
        self.home.join("config/toolfence/config.toml")
    }

    /// Writes the user's settings file.
    fn own(self, text: &str) -> Place {
        self.file_at_home("config/toolfence/config.toml", text);
        self
    }

    /// Writes the project's settings file.
    fn project(self, text: &str) -> Place {
        self.file(".toolfence.toml", text);
        self
    }

    fn run(&self, args: &[&str], input: &str) -> Ran {
        self.run_in(&self.root, args, input)
    }

    fn run_in(&self, root: &Path, args: &[&str], input: &str) -> Ran {
        Program::new(CODER, &self.home).args(args).run(root, input)
    }

    /// Returns the value of a key and the layer that it comes from.
    fn value(&self, key: &str, args: &[&str]) -> (Value, String) {
        let ran = self.run(&[&["config", "show", "--json"], args].concat(), "");
        assert_eq!(ran.status, 0, "{}", ran.err);
        let listed: Value = serde_json::from_str(&ran.out).unwrap();
        let found = listed["values"].as_array().unwrap().iter().find(|value| value["key"] == key).unwrap().clone();
        (found["value"].clone(), found["origin"]["layer"].as_str().unwrap_or_default().to_owned())
    }

    fn verdict(&self, command: &str, args: &[&str]) -> Value {
        let ran = self.run(&[&["policy", "explain", "--json", command], args].concat(), "");
        assert_eq!(ran.status, 0, "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }
}

#[test]
fn yes_does_not_let_a_command_leave_the_sandbox_unless_the_users_own_settings_do() {
    let block = |args: Value| format!("```tool\n{}\n```\n", json!({"name": "bash", "args": args}));
    let outside = block(json!({"command": "echo it ran", "outside_sandbox": true}));
    let replies = format!("%%% reply\n{outside}%%% reply\nDone.\n");
    let hint = "Run it without outside_sandbox";
    let explained = ["policy", "explain", "--tool", "bash", "--args", "{\"command\":\"ls\",\"outside_sandbox\":true}"];
    for (own, is_granted) in [("", false), ("outside = false\n", false), ("outside = true\n", true)] {
        let place = Place::new().own(own);
        let ran = place.run(&["exec", "--yes"], &outside);
        assert_eq!((ran.status == 0, ran.out.contains("it ran")), (is_granted, is_granted), "{}", ran.said());
        assert_eq!(ran.out.contains(hint), !is_granted, "{}", ran.said());

        place.file_at_home("replies", &replies);
        let file = place.home.join("replies");
        let ran = place.run(&["--backend", "replay", "--replies", file.to_str().unwrap(), "-p", "Go.", "--yes"], "");
        assert_eq!(ran.said().contains(hint), !is_granted, "{}", ran.said());

        let ran = place.run(&[&explained[..], &["--yes"]].concat(), "");
        assert_eq!(ran.out.contains(hint), !is_granted, "{}", ran.out);
        assert_eq!(ran.out.contains("it does not run"), !is_granted, "{}", ran.out);
        let ran = place.run(&[&explained[..], &["--json", "--yes"]].concat(), "");
        let explained: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(explained["effective"], if is_granted { "run" } else { "deny" });

        // In the other modes the program would ask, which it cannot do without a terminal.
        for mode in ["sandboxed", "risky", "always"] {
            let ran = place.run(&["exec", "--ask", mode], &outside);
            assert!(ran.status != 0 && !ran.out.contains("it ran"), "{mode}: {}", ran.said());
        }
    }
    let place = Place::new().project("outside = true\n");
    let ran = place.run(&["exec", "--yes"], &outside);
    assert!(ran.status != 0 && ran.err.contains("outside") && !ran.out.contains("it ran"), "{}", ran.said());
}

#[test]
fn each_layer_of_settings_overrides_the_one_below() {
    let place = Place::new();
    assert_eq!(place.value("ask", &[]), ("risky".into(), "default".into()));
    let place = place.own("ask = \"sandboxed\"\nmodel = \"mine\"\nlang = \"pt\"\n");
    assert_eq!(place.value("ask", &[]), ("sandboxed".into(), "user".into()));
    assert_eq!(place.value("model", &[]), ("mine".into(), "user".into()));
    let place = place.project("ask = \"always\"\n");
    assert_eq!(place.value("ask", &[]), ("always".into(), "project".into()));
    assert_eq!(place.value("ask", &["--ask", "risky"]), ("risky".into(), "command_line".into()));
    assert_eq!(place.value("ask", &["--yes"]), ("never".into(), "command_line".into()));
    assert_eq!(place.value("model", &["--model", "other"]), ("other".into(), "command_line".into()));
    let prompt = place.run(&["prompt"], "").out;
    assert_ne!(prompt, place.run(&["prompt", "--lang", "en"], "").out, "lang counts");
}

#[test]
fn rules_of_all_layers_hold() {
    let place = Place::new()
        .own("[commands]\nallow = [\"touch a\"]\ndeny = [\"mkdir x\"]\n")
        .project("[commands]\ndeny = [\"mkdir y\"]\n");
    let verdict = |command: &str, args: &[&str]| place.verdict(command, args)["verdict"].clone();
    let rule = |command: &str, args: &[&str]| place.verdict(command, args)["rule"].clone();
    assert_eq!(
        (rule("touch a", &[]), rule("touch a", &["--allow", "touch"])),
        ("commands.allow".into(), "commands.allow".into())
    );
    assert_ne!(rule("touch b", &[]), "commands.allow");
    assert_eq!((verdict("mkdir x", &[]), verdict("mkdir y", &[])), ("deny".into(), "deny".into()));
    assert_eq!(rule("touch b", &["--allow", "touch"]), "commands.allow");
    assert_eq!(verdict("touch a", &["--deny", "touch"]), "deny");
    assert_eq!(verdict("ls", &["--only", "touch"]), "deny");
    for rule in ["touch 'a b'", "[\"touch\", \"a b\"]"] {
        assert_eq!(verdict("touch a\\ b", &["--deny", rule]), "deny", "{rule}");
        assert_ne!(verdict("touch a b", &["--deny", rule]), "deny", "{rule}");
    }
    assert_eq!(verdict("mkdir y", &["--allow", "mkdir", "--yes"]), "deny", "what is denied stays denied");
    let read = |args: &[&str]| {
        let call = ["policy", "explain", "--json", "--tool", "read_file", "--args", "{\"path\":\"x.pem\"}"];
        let ran = place.run(&[&call, args].concat(), "");
        serde_json::from_str::<Value>(&ran.out).unwrap()["verdict"].clone()
    };
    assert_eq!((read(&[]), read(&["--allow-path", "x.pem"])), ("deny".into(), "allow".into()));
}

#[test]
fn a_project_cannot_loosen_the_policy_or_choose_the_backend() {
    for (text, wanted) in [
        ("[commands]\nallow = [\"make\"]\n", "line 2, column 1: commands.allow is not allowed here"),
        ("[paths]\nallow = [\"*.pem\"]\n", "line 2, column 1: paths.allow is not allowed here"),
        ("backend = \"provider\"\n", "coder config trust"),
        ("base_url = \"http://x\"\n", "coder config trust"),
        ("model = \"x\"\n", "coder config trust"),
        ("temperature = 0.5\n", "coder config trust"),
        ("[http]\nbody = { seed = 7 }\n", "coder config trust"),
        ("api_key_env = \"HOME\"\n", "api_key_env is not allowed here"),
        ("api_key_command = \"cat key\"\n", "api_key_command is not allowed here"),
        ("[http]\nheaders = { X = \"y\" }\n", "line 2, column 1: http.headers is not allowed here"),
        ("[http]\nproxy = \"http://x\"\n", "line 2, column 1: http.proxy is not allowed here"),
        ("[http]\nca_file = \"ca.pem\"\n", "line 2, column 1: http.ca_file is not allowed here"),
        ("[http]\nclient_certificate = \"c.pem\"\n", "line 2, column 1: http.client_certificate is not allowed here"),
        ("lang = \"pt\"\n", "coder config trust"),
        ("instructions = \"external\"\n", "coder config trust"),
        ("[checks]\ncommands = [\"cargo check\"]\n", "coder config trust"),
        ("persona = \"p.md\"\n", "persona is not allowed here"),
        ("replies = \"r\"\n", "replies is not allowed here"),
        ("color = \"always\"\n", "color is not allowed here"),
        ("[checks]\ncheckers = []\n", "line 2, column 1: checks.checkers is not allowed here"),
    ] {
        let ran = Place::new().project(text).run(&["tools"], "");
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{text}");
        assert!(ran.err.contains(wanted) && ran.err.contains("/project/.toolfence.toml: line "), "{text}: {}", ran.err);
    }
    let looser = Place::new().project("ask = \"never\"\n");
    let ran = looser.run(&["tools"], "");
    assert!(ran.status == 0 && ran.err.contains("is looser than risky, so it has no effect"), "{}", ran.err);
    assert_eq!(looser.value("ask", &[]), ("risky".into(), "default".into()));
}

#[test]
fn trust_applies_only_to_the_exact_content() {
    let place = Place::new().project("model = \"theirs\"\n");
    let alone = place.run(&["config", "trust"], "y\n");
    assert_eq!(alone.status, 2, "nobody is there to say yes");
    assert!(alone.out.contains("  | model = \"theirs\"\n"), "{}", alone.out);
    let trusted = place.run(&["config", "trust", "--yes"], "");
    assert_eq!(trusted.status, 0, "{}", trusted.err);
    assert_eq!(place.value("model", &[]), ("theirs".into(), "project".into()));

    let place = place.project("model = \"theirs\" \n");
    assert!(place.run(&["tools"], "").err.contains("coder config trust"), "one blank more is another file");
    let place = place.project("model = \"theirs\"\n");
    assert_eq!(place.run(&["tools"], "").status, 0, "it is the one that was trusted again");
    assert_eq!(place.run(&["config", "trust", "--forget"], "").status, 0);
    assert_eq!(place.run(&["tools"], "").status, 2);

    let place = place.project("[commands]\nallow = [\"make\"]\n");
    place.run(&["config", "trust", "--yes"], "");
    assert!(place.run(&["tools"], "").err.contains("can only make rules stricter"), "trust does not let it loosen");
}

#[test]
fn a_link_is_named_and_the_other_files_are_trusted() {
    let place = Place::new().project("model = \"theirs\"\n");
    place.file(".toolfence/commands/fine.md", "# Fine\nDo it.\n");
    std::os::unix::fs::symlink("/etc/hostname", place.root.join(".toolfence/commands/leak.md")).unwrap();
    let ran = place.run(&["config", "trust", "--yes"], "");
    assert!(ran.status == 1 && ran.err.contains("leak.md"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("fine.md") && !ran.out.contains("leak.md"), "{}", ran.out);
    assert_eq!(place.value("model", &[]), ("theirs".into(), "project".into()));
}

#[test]
fn trust_applies_only_to_one_project() {
    let place = Place::new().project("model = \"theirs\"\n");
    assert_eq!(place.run(&["config", "trust", "--yes"], "").status, 0);
    let other = place.home.join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::copy(place.root.join(".toolfence.toml"), other.join(".toolfence.toml")).unwrap();
    assert_eq!(place.run_in(&other, &["tools"], "").status, 2);
    let link = place.home.join("link");
    std::os::unix::fs::symlink(&place.root, &link).unwrap();
    assert_eq!(place.run_in(&link, &["tools"], "").status, 0, "the same project by another way");
}

#[test]
fn a_project_file_must_be_a_plain_utf_8_file_of_limited_size() {
    let place = Place::new();
    let path = place.root.join(".toolfence.toml");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(place.run(&["tools"], "").err.contains("not a plain file"));
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    let ran = place.run(&["tools"], "");
    assert!(ran.status == 2 && ran.err.contains("it is a link") && !ran.err.contains("root:"), "{}", ran.err);
    std::fs::remove_file(&path).unwrap();
    for (bytes, wanted) in [(vec![b'#'; 300 << 10], "KiB"), (vec![0xff], "not UTF-8")] {
        std::fs::write(&path, bytes).unwrap();
        let ran = place.run(&["tools"], "");
        assert!(ran.status == 2 && ran.err.contains(wanted), "{}", ran.err);
    }
}

#[test]
fn mistakes_are_reported_with_a_position_and_a_suggestion() {
    let place = Place::new().own("ask = \"always\"\n\n[commands]\nalow = []\n");
    for args in [&["tools"][..], &["config", "show"], &["policy", "explain", "ls"], &["-p", "x"]] {
        let ran = place.run(args, "");
        assert_eq!(ran.status, 2, "{args:?}");
        assert!(ran.err.contains("config/toolfence/config.toml: line 4, column 1: "), "{}", ran.err);
        assert!(ran.err.contains("Did you mean commands.allow?"), "{}", ran.err);
    }
    assert_eq!(place.run(&["config", "path"], "").status, 0, "where the file is can be asked all the same");
    let ran = Place::new().run(&["tools", "--allow", "echo $HOME"], "");
    assert!(ran.status == 2 && ran.err.contains("--allow"), "{}", ran.err);
}

#[test]
fn mistakes_are_reported_in_the_language_of_the_user() {
    let wrong = [
        (
            "ask = \"alway\"\n",
            "linha 1, coluna 7: ask é um destes valores: never, sandboxed, risky, always. Você quis dizer always?",
        ),
        (
            "[commands]\nalow = []\n",
            "linha 2, coluna 1: a chave commands.alow não existe. Você quis dizer commands.allow?",
        ),
        ("deny = []\n", "Você quis dizer paths.deny ou commands.deny?"),
        ("model = 3\n", "model é um texto entre aspas."),
        (
            "[checks]\ncheckers = [{ files = [\"*.x\"] }]\n",
            "checks.checkers é uma lista; cada item é um verificador como { files",
        ),
        ("[paths]\ndeny = [\"a[\"]\n", "não foi possível ler o glob de caminho \"a[\""),
    ];
    for (text, message) in wrong {
        let ran = Place::new().own(text).run(&["config", "show", "--lang", "pt"], "");
        assert!(ran.status == 2 && ran.err.contains(message), "{message}: {}", ran.err);
    }
    // The user's `lang` also applies to errors in the project's file.
    let place = Place::new().own("lang = \"pt\"\nask = \"always\"\n").project("model = \"x\"\n");
    let ran = place.run(&["tools"], "");
    let message = "model define algo que um projeto não pode escolher por conta própria, por isso só vale em um arquivo em que você \
                confia. Leia o arquivo e depois execute `coder config trust`; ou retire a chave.";
    assert!(ran.status == 2 && ran.err.contains(message), "{}", ran.err);
    let place = place.project("ask = \"never\"\n");
    let note = ".toolfence.toml:1: ask = never é mais permissivo que always, por isso não tem efeito.";
    assert!(place.run(&["config", "show"], "").out.contains(note));
    let ran = place.run(&["config", "show", "--json"], "");
    assert!(ran.out.contains("ask = never is looser than always"), "what a program reads is English: {}", ran.out);
    let ran = place.run(&["tools", "--lang", "pt", "--allow", "echo $HOME"], "");
    assert!(ran.err.contains("nada é expandido em uma regra de comando"), "{}", ran.err);
}

#[test]
fn init_writes_a_file_once() {
    let place = Place::new();
    let first = place.run(&["config", "init"], "");
    assert_eq!(first.status, 0, "{}", first.err);
    let text = std::fs::read_to_string(place.own_file()).unwrap();
    assert!(["#backend = ", "#ask = ", "[commands]\n", "#deny = "].iter().all(|part| text.contains(part)), "{text}");
    assert_eq!(place.run(&["tools"], "").status, 0);
    std::fs::write(place.own_file(), "ask = \"always\"\n").unwrap();
    let second = place.run(&["config", "init"], "");
    assert!(second.status == 2 && second.err.contains("left unchanged"), "{}", second.err);
    assert_eq!(std::fs::read_to_string(place.own_file()).unwrap(), "ask = \"always\"\n");
    let paths = place.run(&["config", "path"], "").out;
    assert!(
        paths.contains("config/toolfence/config.toml\n") && paths.contains(".toolfence.toml  (missing)"),
        "{paths}"
    );
}

#[test]
fn show_lists_every_key_and_its_origin() {
    let place =
        Place::new().own("[commands]\nonly = [\"git\", \"ls\"]\n").project("[commands]\nonly = [\"git log\"]\n");
    let shown = place.run(&["config", "show", "--deny", "rm"], "").out;
    for (key, place) in [("ask ", "default"), ("commands.only", "config.toml:2"), ("commands.deny", "--deny")] {
        let line = shown.lines().find(|line| line.starts_with(key)).expect(&shown);
        assert!(line.ends_with(place), "{line}");
    }
    assert!(shown.contains(".toolfence.toml:2\n") && shown.contains("begin with: git log\n"), "{shown}");
}

/// Checkers from the settings. A shell script that searches for a word replaces a real checker.
const CHECKERS: &str = r#"[checks]
checkers = [
  { files = ["*.py"], command = ["no-such-program-71"] },
  { files = ["*.lua"], reads = "text", command = ["bash", "-c", """
    if found=$(grep -n -m1 WRONG); then echo "luac: stdin:${found%%:*}: it is WRONG"; exit 1; fi"""] },
  { files = ["docs/**"], reads = "project:lint.json", command = ["bash", "-c", """
    cd "$1"; ! grep -rn WRONG docs | sed "s|^|$1/|; s/:WRONG/: it is WRONG/" | grep .""", "lint", "{folder}"] },
]
"#;

#[test]
fn custom_checkers_run() {
    let place = Place::new().own(CHECKERS);
    std::fs::create_dir(place.root.join("-P")).unwrap();
    for folder in [".", "-P"] {
        std::fs::write(place.root.join(folder).join("lint.json"), "{}").unwrap();
    }
    for (path, right, wrong, says) in [
        ("a.lua", "a = 1\n", "a = 1\nWRONG\n", "read by bash, at line 2: it is WRONG."),
        ("docs/a.txt", "a\n", "a\nb\nWRONG\n", "read by bash, at line 3: it is WRONG."),
        ("-P/docs/a.txt", "a\n", "WRONG\n", "read by bash, at line 1: it is WRONG."),
        // If a configured checker is not installed, the built-in one checks instead.
        ("a.py", "def f(): pass\n", "def f(:\n", ", at line 1, column "),
    ] {
        let write = |content: &str| {
            let call = json!({"name": "write_file", "args": {"path": path, "content": content}});
            place.run(&["exec", "--yes", "--json"], &format!("```tool\n{call}\n```\n"))
        };
        let ran = write(right);
        if ran.out.contains("no sandbox is available here") {
            eprintln!("skipped: {}", ran.out);
            return;
        }
        let missing = ran.out.contains("[a.py was not checked by no-such-program-71: it is not installed.]");
        assert!(ran.status == 0 && missing == (path == "a.py"), "{path}: {}", ran.out);
        assert_eq!(ran.out.matches("was not checked").count(), usize::from(missing), "{path}: {}", ran.out);
        let ran = write(wrong);
        assert!(ran.status == 1 && ran.out.contains(says), "{path}: {}", ran.out);
        assert_eq!(std::fs::read_to_string(place.root.join(path)).unwrap(), right);
    }
    let shown = place.run(&["config", "show"], "").out;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("checks.checkers *.py: no-such-program-71"), "{shown}");
    assert!(!shown.lines().any(|line| line.starts_with("    if found")), "an item is one line: {shown}");
}

/// Prices in the user's settings file are used to compute the cost.
#[test]
fn configured_prices_determine_the_cost() {
    let place = Place::new().own(
        "model = \"tiny\"\n[prices.tiny]\ninput = 1000\noutput = 2_000.5\n[prices.\"b/c\"]\ninput = 0\ncached = 0.5\noutput = 1\n",
    );
    let shown = place.run(&["config", "show"], "").out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("prices tiny: 1000, 2000.5") && shown.contains("b/c: 0, cached 0.5, 1"), "{shown}");
    std::fs::write(place.root.join("replies"), "%%% reply\n12345678\n%%% reply\n1234").unwrap();
    let replay = ["--backend", "replay", "--replies", "replies", "--instructions", "external"];
    let ran = place.run(&[&["--stats", "-p", "abcd"], &replay[..]].concat(), "");
    // The estimate is 5 tokens for 4 bytes and the message overhead, and 2 tokens for 8 bytes.
    assert!(
        ran.err.contains("1 reply: 5 tokens in, 0 of them cached, 2 out; 1 reply is an estimate; cost 0.0090"),
        "{}",
        ran.err
    );
    let ran = place.run(&[&["--lang", "pt"], &replay[..]].concat(), "abcd\nefgh\n/stats\n");
    assert!(
        ran.out.contains("2 respostas: ") && ran.out.contains("3 de saída; 2 respostas são uma estimativa"),
        "{}",
        ran.out
    );
    assert!(!ran.err.contains("tokens"), "{}", ran.err);
}

/// Returns a reply that calls `write_file`.
fn write(path: &str) -> String {
    let call = json!({"name": "write_file", "args": {"path": path, "content": "ask = \"never\"\n"}});
    format!("```tool\n{call}\n```\n")
}

#[test]
fn tools_cannot_change_settings_files() {
    let place = Place::new().project("ask = \"always\"\n").own("ask = \"risky\"\n");
    for path in [".toolfence.toml", ".TOOLFENCE.toml", "sub/.toolfence.toml", ".toolfence/x", "sub/../.toolfence.toml"]
    {
        let ran = place.run(&["exec", "--yes", "--json"], &write(path));
        assert!(ran.status == 1 && ran.out.contains("\"code\":\"denied\""), "{path}: {}", ran.out);
    }
    for command in
        ["echo x > .toolfence.toml", "cp a .toolfence.toml", "sed -i s/a/b/ .toolfence.toml", "rm .toolfence.toml"]
    {
        let call = json!({"name": "bash", "args": {"command": format!("touch a; {command}")}});
        place.run(&["exec", "--yes"], &format!("```tool\n{call}\n```\n"));
    }
    assert_eq!(std::fs::read_to_string(place.root.join(".toolfence.toml")).unwrap(), "ask = \"always\"\n");

    // The project is the home folder.
    let home = &place.home;
    std::fs::create_dir_all(home.join("state/toolfence")).unwrap();
    std::os::unix::fs::symlink("config", home.join("link")).unwrap();
    for path in [
        "config/toolfence/config.toml",
        "link/toolfence/config.toml",
        "state/toolfence/trusted.jsonl",
        "config/toolfence/new",
    ] {
        let ran = place.run_in(home, &["exec", "--yes", "--json"], &write(path));
        assert!(ran.status == 1 && ran.out.contains("\"code\":\"denied\""), "{path}: {}", ran.out);
    }
    assert_eq!(std::fs::read_to_string(place.own_file()).unwrap(), "ask = \"risky\"\n");
    let ran = place.run_in(home, &["exec", "--yes", "--json"], &write("config/other/config.toml"));
    assert_eq!(ran.status, 0, "{}", ran.out);
}

#[test]
fn tools_cannot_change_the_target_of_a_linked_settings_file() {
    let place = Place::new().own("");
    let home = &place.home;
    std::fs::remove_file(place.own_file()).unwrap();
    std::fs::create_dir(home.join("dotfiles")).unwrap();
    std::fs::write(home.join("dotfiles/coder.toml"), "ask = \"always\"\n").unwrap();
    std::os::unix::fs::symlink(home.join("dotfiles/coder.toml"), place.own_file()).unwrap();
    assert_eq!(place.value("ask", &[]), ("always".into(), "user".into()));
    let ran = place.run_in(home, &["exec", "--yes", "--json"], &write("dotfiles/coder.toml"));
    assert!(ran.status == 1 && ran.out.contains("\"code\":\"denied\""), "{}", ran.out);
}

#[test]
fn a_persona_can_only_tighten_the_policy() {
    let place = Place::new().own("persona = \"careful.md\"\nask = \"never\"\n");
    let persona = |policy: &str| {
        let text = format!("+++\nname = \"careful\"\n[policy]\n{policy}+++\nYou are careful.\n");
        std::fs::write(place.own_file().with_file_name("careful.md"), text).unwrap();
    };
    persona("ask = \"always\"\n[policy.commands]\ndeny = [\"git push\"]\n");
    assert_eq!(place.value("ask", &[]), ("always".into(), "persona".into()));
    assert_eq!(place.verdict("git push", &[])["rule"], "commands.deny");
    assert_eq!(place.value("ask", &["--yes"]), ("never".into(), "command_line".into()));
    persona("[policy.commands]\nallow = [\"git push\"]\n");
    let ran = place.run(&["tools"], "");
    assert!(
        ran.status == 2 && ran.err.contains("the persona careful") && ran.err.contains("can only make rules stricter"),
        "{}",
        ran.err
    );
    persona("[policy.commands]\ndney = []\n");
    assert!(place.run(&["tools"], "").err.contains("Did you mean commands.deny"));
}

#[test]
fn explain_names_the_command_that_matched_a_rule() {
    let place = Place::new();
    let explained = place.verdict("ls; rm -rf /; mkdir m*", &[]);
    assert_eq!(explained["commands"], json!(["ls", "rm -rf /", "mkdir m*"]));
    assert_eq!(explained["marks"], json!([[4, 12]]));
    let shown = place.run(&["policy", "explain", "ls; rm -rf / > b"], "").out;
    assert!(
        shown.contains("  $ ls; rm -rf / > b\n        ^^^^^^^^^^^^\n  command  ls\n  command  rm -rf / > b\n"),
        "{shown}"
    );
    let batch = place
        .run(&["policy", "explain", "--batch"], "{\"id\":1,\"tool\":\"read_file\",\"args\":{\"path\":\".env\"}}\n");
    assert!(batch.status == 0 && batch.out.contains("\"rule\":\"blocked_path\""), "{}", batch.out);
}

#[test]
fn project_checks_run_after_a_change() {
    let line = "! grep -rn WRONG --include=*.txt .";
    let place = Place::new().own(&format!("[checks]\ncommands = [\"{line}\"]\n"));
    assert!(place.run(&["config", "show"], "").out.contains(line));
    let call = "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a.txt\", \"content\": \"WRONG it\"}}\n```\n";
    let ran = place.run(&["exec", "--yes"], call);
    let results = toolfence_protocol::format::read_back(&ran.out, None);
    let found = results.last().expect("there are results");
    assert_eq!((results.len(), &*found.tool), (2, "project_check"), "{}{}", ran.out, ran.err);
    let held = format!("`{line}` finds 1 new error.\na.txt: line 1: WRONG it\n");
    let open = format!("`{line}` could not run: No sandbox is available here");
    assert!(found.output == held || found.output.starts_with(&open), "{}", found.output);
    assert_eq!(place.run(&["exec", "--yes"], "Only prose.\n").out, "");
}

#[test]
fn new_errors_of_a_command_in_the_settings_roll_back() {
    let line = "! grep -rn WRONG --include=*.txt .";
    let check = format!("{{ command = \"{line}\", new_errors = \"roll_back\" }}");
    let place = Place::new().own(&format!("[checks]\ncommands = [{check}, \"true\"]\n"));
    let shown = place.run(&["config", "show"], "").out;
    assert!(shown.contains(&format!("{line} (new_errors = \"roll_back\")")), "{shown}");
    let call = "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a.txt\", \"content\": \"WRONG it\"}}\n```\n";
    let ran = place.run(&["exec", "--yes"], call);
    let results = toolfence_protocol::format::read_back(&ran.out, None);
    let found = &results.last().expect("there are results").output;
    let held = found.contains("The changes of this reply were rolled back: a.txt.");
    assert!(held != place.at("a.txt").exists(), "{found}");
    assert!(held || found.contains("could not run: No sandbox is available here"), "{found}");
}

#[test]
fn checks_that_the_project_suggests_are_proposed() {
    let place = Place::new().own("[checks]\ncommands = [\"cargo check\"]\n");
    place.file("Cargo.toml", "[package]\nname = \"a\"\n");
    place.file("package.json", "{\"scripts\": {\"typecheck\": \"tsc\", \"lint\": \"eslint .\"}}");
    place.file("pnpm-lock.yaml", "");
    let shown = place.run(&["doctor"], "").out;
    assert!(shown.contains("Proposed checks of the whole project."), "{shown}");
    assert!(shown.ends_with("\n  [checks]\n  commands = [\"pnpm typecheck\", \"pnpm lint\"]\n"), "{shown}");
    let report: serde_json::Value =
        serde_json::from_str(&place.run(&["doctor", "--json"], "").out).expect("it is JSON");
    assert_eq!(report["checks"]["proposed"], serde_json::json!(["pnpm typecheck", "pnpm lint"]));
}

#[test]
fn no_password_or_key_of_the_settings_is_shown() {
    let place = Place::new().own(
        "base_url = \"http://me:s3cr3t-base@127.0.0.1:1/v1\"\n[http]\nproxy = \"http://me:s3cr3t-proxy@127.0.0.1:9\"\nretries = 1\n\
         [http.headers]\nX-Any = \"s3cr3t-header\"\n[http.body]\napi_key = \"s3cr3t-member\"\n",
    );
    for args in [&["config", "show"][..], &["config", "show", "--json"], &["-p", "hi"]] {
        let ran = place.run(args, "");
        assert!(!ran.said().contains("s3cr3t"), "{args:?}: {}", ran.said());
        assert!(ran.said().contains("127.0.0.1"), "{args:?}: {}", ran.said());
    }
}
