//! What may run, by rules of your own, and what you know of the world: `cargo run --example own_policy` judges a few calls
//! and runs none. The policy is pure; a host that keeps its files elsewhere answers its questions itself.

use toolfence::ToolCall;
use toolfence::policy::{Facts, PathFact, Policy, ProgramFact, Settings, Verdict};

const RULES: &str = r#"
ask = "risky"
[commands]
allow = [{ prefix = "cargo test", match = ["cargo test --lib"], not_match = ["cargo build"] }]
deny = ["git push"]
[paths]
deny = ["secrets/**"]
"#;

/// A project that is a table in a database, say: paths are keys, and every program is the system's.
struct Table;

impl Facts for Table {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return PathFact::Outside;
        }
        let name = if cwd.is_empty() { path.to_owned() } else { format!("{cwd}/{path}") };
        PathFact::Inside { names: vec![name.to_lowercase()] }
    }

    fn program(&self, _: &str) -> ProgramFact {
        ProgramFact::System
    }

    fn sandbox_holds(&self) -> bool {
        false // there is none: what runs project code is asked about
    }
}

fn main() -> toolfence::Result<()> {
    let policy = Policy::new(Settings::from_toml(RULES)?)?;
    let catalog = toolfence::tool::catalog();
    let bash = |command: &str| ("bash", serde_json::json!({"command": command}));
    let read = |path: &str| ("read_file", serde_json::json!({"path": path}));
    let calls = [
        read("src/main.rs"),
        read("Secrets/key.txt"),
        read("../other"),
        bash("ls -la | head -3"),
        bash("cargo test --lib"),
        bash("cargo build"),
        bash("git commit -m x && git push"),
        bash("cd / && rm -rf *"),
    ];
    for (tool, args) in calls {
        let args = args.as_object().cloned().unwrap_or_default();
        let shown = serde_json::Value::from(args.clone());
        match policy.review(ToolCall::new("1", tool, args), &catalog, &Table) {
            Verdict::Cleared(_) => println!("run   {tool} {shown}"),
            Verdict::Ask(pending) => println!("ask   {tool} {shown}: {}", pending.decision().reason),
            Verdict::Denied(result) => {
                let why = result.error.map(|error| error.message).unwrap_or_default();
                println!("deny  {tool} {shown}: {why}");
            }
        }
    }
    Ok(())
}
