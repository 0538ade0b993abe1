//! What the options ask for, built: persona, workspace, tools, policy, backend, agent.

use crate::args::{BackendKind, Instructions, Options};
use crate::failure::Failure;
use std::path::Path;
use std::sync::Arc;
use toolfence::agent::Agent;
use toolfence::backend::http::HttpOptions;
use toolfence::backend::{Backend, Http, Replay};
use toolfence::persona::Persona;
use toolfence::policy::{Mode, Policy, Settings};
use toolfence::prompt::{self, Language};
use toolfence::session::{Session, SessionOptions};
use toolfence::toolbox::Toolbox;
use toolfence::tools;
use toolfence::workspace::Workspace;

/// The personas that come with the program: name, English, Portuguese.
const PERSONAS: &[(&str, &str, &str)] = &[
    ("coder", include_str!("../../../personas/coder.md"), include_str!("../../../personas/coder.pt.md")),
    ("reviewer", include_str!("../../../personas/reviewer.md"), include_str!("../../../personas/reviewer.md")),
];

/// Everything a command needs but the backend.
pub(crate) struct Setup {
    pub(crate) persona: Persona,
    pub(crate) language: Language,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) toolbox: Toolbox,
    pub(crate) policy: Policy,
}

impl Setup {
    /// What the options ask for.
    pub(crate) fn new(options: &Options) -> Result<Setup, Failure> {
        let mode = if options.yes { Mode::Never } else { Mode::default() };
        Setup::build(persona(&options.persona, options.lang.into())?, options, &options.root, mode)
    }

    /// The demo's own: its folder, its persona, and every question asked, whatever the options say.
    pub(crate) fn for_demo(options: &Options, root: &Path) -> Result<Setup, Failure> {
        Setup::build(persona("coder", options.lang.into())?, options, root, Mode::default())
    }

    fn build(persona: Persona, options: &Options, root: &Path, mode: Mode) -> Result<Setup, Failure> {
        let policy = policy(&persona)?.mode(mode);
        let workspace = Workspace::open(root, policy.paths().clone())
            .map_err(|error| Failure::wrong_use(format!("{error}. Give an existing folder with --root.")))?;
        let workspace = Arc::new(workspace);
        tracing::debug!(target: "toolfence", root = %workspace.root().display(), "root");
        let mut toolbox = tools::standard(workspace.clone());
        if let Some(names) = &persona.tools {
            toolbox = toolbox.only(names);
        }
        Ok(Setup { persona, language: options.lang.into(), workspace, toolbox, policy })
    }

    /// An agent in the person's service.
    pub(crate) fn agent(&self, options: &Options, backend: Arc<dyn Backend>) -> Agent {
        let catalog = Arc::new(self.toolbox.catalog());
        let mut session = SessionOptions::default();
        session.language = self.language;
        if options.instructions == Instructions::Inline {
            session.system = self.told();
        }
        let session = Session::new(session, catalog, self.policy.clone(), self.workspace.clone());
        Agent::new(session, self.toolbox.clone(), backend)
    }

    /// Persona and instructions, as the model is told them.
    pub(crate) fn told(&self) -> String {
        let instructions = prompt::instructions(&self.toolbox.catalog(), self.language);
        format!("{}\n\n{}", self.persona.text.trim(), instructions.trim_end())
    }

    /// Whoever shall answer.
    pub(crate) fn backend(&self, options: &Options) -> Result<Arc<dyn Backend>, Failure> {
        match options.backend {
            BackendKind::Replay => replay(options),
            BackendKind::Http => self.http(options, Some(options.base_url.clone())),
            BackendKind::Provider => self.http(options, None),
        }
    }

    fn http(&self, options: &Options, base_url: Option<String>) -> Result<Arc<dyn Backend>, Failure> {
        let model = options.model.clone().or_else(|| self.persona.model.clone());
        let local = base_url.is_some().then(|| "default".to_owned());
        let Some(model) = model.or(local) else {
            return Err(Failure::wrong_use("the provider is known by its model: give --model, such as gpt-4o-mini"));
        };
        let mut wanted = HttpOptions::new(model);
        wanted.key = key();
        wanted.base_url = base_url;
        let http = Http::new(wanted).map_err(|error| Failure::wrong_use(error.to_string()))?;
        Ok(Arc::new(http))
    }
}

/// The key that is meant for this program. Another service's key, such as OPENAI_API_KEY, is never sent to a server that
/// was only named by its URL; a provider named by its model finds its own variable itself.
fn key() -> Option<String> {
    std::env::var("TOOLFENCE_API_KEY").ok().filter(|key| !key.is_empty())
}

fn replay(options: &Options) -> Result<Arc<dyn Backend>, Failure> {
    let Some(path) = &options.replies else {
        return Err(Failure::wrong_use("the replay backend needs its recorded replies: give --replies FILE"));
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::wrong_use(format!("cannot read {}: {error}", path.display())))?;
    let replay = Replay::parse(&text).map_err(|error| Failure::wrong_use(format!("{}: {error}", path.display())))?;
    Ok(Arc::new(replay))
}

/// A persona by its name, or else from a file.
fn persona(wanted: &str, language: Language) -> Result<Persona, Failure> {
    let known = PERSONAS.iter().find(|(name, ..)| *name == wanted);
    if let Some((_, english, portuguese)) = known {
        let text = if language == Language::Portuguese { portuguese } else { english };
        return Persona::parse(text).map_err(Failure::broken);
    }
    let text = std::fs::read_to_string(wanted).map_err(|error| {
        let names: Vec<&str> = PERSONAS.iter().map(|(name, ..)| *name).collect();
        Failure::wrong_use(format!(
            "there is no persona {wanted} ({error}); name a file, or one of {}",
            names.join(", ")
        ))
    })?;
    Persona::parse(&text).map_err(|error| Failure::wrong_use(format!("{wanted}: {error}")))
}

/// The policy. A persona that wants it tighter is refused: it would run with less than it asks for.
fn policy(persona: &Persona) -> Result<Policy, Failure> {
    if persona.policy.is_some() {
        let name = &persona.name;
        return Err(Failure::wrong_use(format!(
            "the persona {name} has policy settings, which are not understood yet"
        )));
    }
    Policy::new(Settings::default()).map_err(Failure::broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence::ToolSpec;

    #[test]
    fn the_personas_are_whole() {
        for (name, english, portuguese) in PERSONAS {
            for text in [english, portuguese] {
                let persona = Persona::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(persona.name, *name);
                let tools = persona.tools.unwrap_or_default();
                assert!(!tools.is_empty() && tools.iter().all(|tool| ToolSpec::builtin(tool).is_some()), "{tools:?}");
            }
        }
    }
}
