//! A host that a policy asks, and calls out of JSON.

use serde_json::Value;
use toolfence_policy::{AskMode, Facts, HistoryFact, PathFact, Policy, ProgramFact, RepositoryFact, Seen};
use toolfence_protocol::{Args, ToolCall};

/// A project at `/proj` with a link to a blocked file and one that leads out, on a system where `deploy` is a program of the
/// project and `nosuch` does not exist.
#[derive(Debug, Clone, Copy, Default)]
pub struct World {
    /// Whether commands run in a sandbox that holds.
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

    fn history_has_blocked(&self, _: &str) -> HistoryFact {
        HistoryFact::Clean
    }

    fn seen(&self, _: &str, path: &str) -> Seen {
        if path.ends_with(".yaml") { Seen::File } else { Seen::Missing }
    }

    fn repository(&self, cwd: &str) -> RepositoryFact {
        if cwd == "vendor" { RepositoryFact::Special } else { RepositoryFact::Plain }
    }

    fn sandbox_holds(&self) -> bool {
        self.sandbox
    }
}

/// The [`World`] with names that lead elsewhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linked {
    /// The world without them.
    pub world: World,
    /// Names in the project that are links or hard links, each with the name that it leads to.
    pub links: &'static [(&'static str, &'static str)],
    /// Programs that are links, each with all its paths: `./tidy` is the file in the project, wherever it is started from, and
    /// `tidy` a program of the PATH.
    pub programs: &'static [(&'static str, &'static [&'static str])],
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

    fn program_paths(&self, cwd: &str, program: &str) -> Vec<String> {
        let mut called = program.to_owned();
        if program.contains('/') {
            match self.world.path(cwd, program) {
                PathFact::Inside { names } => called = format!("./{}", names[0]),
                _ => return Vec::new(),
            }
        }
        let paths = self.programs.iter().find(|(name, _)| *name == called).map(|(_, paths)| *paths);
        paths.unwrap_or_default().iter().map(|path| (*path).to_owned()).collect()
    }

    fn history_has_blocked(&self, cwd: &str) -> HistoryFact {
        self.world.history_has_blocked(cwd)
    }

    fn seen(&self, cwd: &str, path: &str) -> Seen {
        self.world.seen(cwd, path)
    }

    fn repository(&self, cwd: &str) -> RepositoryFact {
        self.world.repository(cwd)
    }

    fn sandbox_holds(&self) -> bool {
        self.world.sandbox_holds()
    }
}

/// The [`World`] with a sandbox, in which commands run on private copies of the project.
#[derive(Debug, Clone, Copy, Default)]
pub struct PrivateCopies;

/// The world in which the private copies are.
const SANDBOXED: World = World { sandbox: true };

impl Facts for PrivateCopies {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        SANDBOXED.path(cwd, path)
    }

    fn program(&self, program: &str) -> ProgramFact {
        SANDBOXED.program(program)
    }

    fn history_has_blocked(&self, cwd: &str) -> HistoryFact {
        SANDBOXED.history_has_blocked(cwd)
    }

    fn seen(&self, cwd: &str, path: &str) -> Seen {
        SANDBOXED.seen(cwd, path)
    }

    fn repository(&self, cwd: &str) -> RepositoryFact {
        SANDBOXED.repository(cwd)
    }

    fn sandbox_holds(&self) -> bool {
        true
    }

    fn has_private_copy(&self) -> bool {
        true
    }
}

/// The arguments that a JSON object means.
///
/// # Panics
///
/// If it is no object.
pub fn args(value: Value) -> Args {
    match value {
        Value::Object(members) => members.into_iter().collect(),
        other => panic!("arguments are an object, not {other}"),
    }
}

/// A call of a tool with these arguments.
pub fn call(tool: &str, value: Value) -> ToolCall {
    ToolCall::new("1", tool, args(value))
}

/// The policy with only its mode set.
pub fn policy(mode: AskMode) -> Policy {
    Policy::default().ask(mode)
}
