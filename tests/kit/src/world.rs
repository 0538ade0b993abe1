//! A simulated host for the policy, and calls from JSON.

use serde_json::Value;
use toolfence_policy::{AskMode, EntryKind, Facts, PathFact, Policy, ProgramFact};
use toolfence_protocol::{Args, ToolCall};

/// A project at `/proj` with a link to a blocked file and one that leads out of the project. On this host `deploy` is a
/// program of the project, and `nosuch` does not exist.
#[derive(Debug, Clone, Copy, Default)]
pub struct World {
    /// Whether commands run in a working sandbox, on private copies of the project.
    pub sandbox: bool,
}

impl Facts for World {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        let joined = if path.starts_with('/') { path.to_owned() } else { format!("/proj/{cwd}/{path}") };
        let mut names: Vec<&str> = Vec::new();
        for name in joined.split('/') {
            match name {
                "" | "." => {}
                ".." => drop(names.pop()),
                _ => names.push(name),
            }
        }
        match names.as_slice() {
            ["proj", "link-out", ..] => PathFact::Outside,
            ["proj", "link-to-env"] => PathFact::Inside { names: vec![".env".into()] },
            ["proj", rest @ ..] => PathFact::Inside { names: vec![rest.join("/")] },
            _ => PathFact::Outside,
        }
    }

    fn program(&self, program: &str) -> ProgramFact {
        match program {
            "deploy" => ProgramFact::Project,
            "nosuch" => ProgramFact::Missing,
            _ => ProgramFact::System,
        }
    }

    fn entry_kind(&self, _: &str, path: &str) -> EntryKind {
        if path.ends_with(".yaml") { EntryKind::File } else { EntryKind::Missing }
    }

    fn is_plain_repository(&self, cwd: &str) -> bool {
        cwd != "vendor"
    }

    fn sandbox_holds(&self) -> bool {
        self.sandbox
    }

    fn has_private_copy(&self) -> bool {
        self.sandbox
    }
}

/// The [`World`] with additional links.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linked {
    /// The world without the links.
    pub world: World,
    /// Links and hard links in the project, each with the name of its target.
    pub links: &'static [(&'static str, &'static str)],
}

impl Facts for Linked {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        let PathFact::Inside { mut names } = self.world.path(cwd, path) else { return PathFact::Outside };
        for (link, target) in self.links {
            if let Some(rest) = names[0].strip_prefix(link)
                && (rest.is_empty() || rest.starts_with('/'))
            {
                names.insert(0, format!("{target}{rest}"));
                break;
            }
        }
        PathFact::Inside { names }
    }

    fn program(&self, program: &str) -> ProgramFact {
        self.world.program(program)
    }

    fn entry_kind(&self, cwd: &str, path: &str) -> EntryKind {
        self.world.entry_kind(cwd, path)
    }

    fn is_plain_repository(&self, cwd: &str) -> bool {
        self.world.is_plain_repository(cwd)
    }

    fn sandbox_holds(&self) -> bool {
        self.world.sandbox_holds()
    }

    fn has_private_copy(&self) -> bool {
        self.world.has_private_copy()
    }
}

/// Converts a JSON object into arguments.
///
/// # Panics
///
/// Panics if the value is not an object.
pub fn args(value: Value) -> Args {
    match value {
        Value::Object(members) => members.into_iter().collect(),
        other => panic!("arguments are an object, not {other}"),
    }
}

/// Creates a call of a tool with these arguments.
pub fn call(tool: &str, value: Value) -> ToolCall {
    ToolCall::new("1", tool, args(value))
}

/// Creates a policy with this mode and no rules.
pub fn policy(mode: AskMode) -> Policy {
    Policy::default().ask(mode)
}
