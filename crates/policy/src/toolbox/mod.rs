//! Runs cleared calls, and no others.
//!
//! This module makes no decisions, because a [`ClearedCall`] has already been judged. It knows no policy, no files and
//! no runtime.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a result says how long its call took")]

use crate::{ClearedCall, Consent, Pending, Target};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;
use toolfence_protocol::{
    Args, Catalog, Effect, Error, ErrorCode, Language, Limits, Output, Text, ToolFailure, ToolResult, ToolSpec, text,
};

/// A boxed future, as the traits of this module return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool that can run. Its constructor receives all it needs; there is no context object.
///
/// Dropping the future of [`run`](Tool::run) cancels the call: everything that the tool started must end with it.
pub trait Tool: Send + Sync {
    /// Returns the description of the tool, including its effect.
    fn spec(&self) -> &ToolSpec;

    /// Runs one call.
    ///
    /// # Errors
    /// [`ToolError::Respond`] is sent to the model; [`ToolError::Fatal`] ends the session and is reported to the host.
    fn run<'a>(&'a self, permit: Permit<'a>, progress: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>>;
}

impl Tool for Arc<dyn Tool> {
    fn spec(&self) -> &ToolSpec {
        (**self).spec()
    }

    fn run<'a>(&'a self, permit: Permit<'a>, progress: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        (**self).run(permit, progress)
    }
}

/// Makes a tool from a closure, which receives the checked arguments of a call. Dropping the returned future cancels
/// the call.
///
/// ```
/// use toolfence_policy::toolbox::{Toolbox, tool_fn};
/// use toolfence_protocol::{Effect, Output, ToolSpec};
///
/// let schema = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
/// let spec = ToolSpec::from_json_schema("weather", "Tells the weather.", &schema).effect(|_| Effect::Read);
/// let weather = tool_fn(spec, |args| async move { Ok(Output::text(format!("It is sunny in {}.", args["city"]))) });
/// assert!(Toolbox::new().with(weather).catalog().find("weather").is_some());
/// ```
pub fn tool_fn<F, R>(spec: ToolSpec, run: F) -> impl Tool + use<F, R>
where
    F: Fn(Args) -> R + Send + Sync,
    R: Future<Output = Result<Output, ToolFailure>> + Send,
{
    FnTool { spec, run }
}

struct FnTool<F> {
    spec: ToolSpec,
    run: F,
}

impl<F, R> Tool for FnTool<F>
where
    F: Fn(Args) -> R + Send + Sync,
    R: Future<Output = Result<Output, ToolFailure>> + Send,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move { (self.run)(permit.args().clone()).await.map_err(ToolError::Respond) })
    }
}

/// The right to run one call, which the [`Toolbox`] makes only from a [`ClearedCall`].
///
/// ```compile_fail,E0451
/// # use toolfence_policy::ClearedCall;
/// # use toolfence_protocol::{Language, Limits};
/// # use toolfence_policy::toolbox::Permit;
/// # fn make(cleared: &ClearedCall, limits: &Limits) {
/// let permit = Permit { cleared, language: Language::English, limits }; // the fields are private
/// # }
/// ```
#[derive(Debug)]
pub struct Permit<'a> {
    cleared: &'a ClearedCall,
    language: Language,
    limits: &'a Limits,
}

impl<'a> Permit<'a> {
    /// Returns the id of the call.
    pub fn id(&self) -> &'a str {
        &self.cleared.call().id
    }

    /// Returns the arguments, checked against the spec, under their taught names.
    pub fn args(&self) -> &'a Args {
        &self.cleared.call().args
    }

    /// Returns the cleared effect: a tool must not do more.
    pub fn effect(&self) -> Effect {
        self.cleared.effect()
    }

    /// Returns whether the call may change anything: see [`ClearedCall::may_change`].
    pub fn may_change(&self) -> bool {
        self.cleared.may_change()
    }

    /// Returns whether a job may write into the build folders of the project.
    pub fn may_write_builds(&self) -> bool {
        match self.cleared.consent_to_output() {
            Consent::Given => true,
            Consent::Ask => self.cleared.is_approved(),
            Consent::Refused => false,
        }
    }

    /// Returns whether the command cannot change the project itself: see
    /// [`Decision::is_confined`](crate::Decision::is_confined).
    pub fn is_confined(&self) -> bool {
        self.cleared.decision().is_confined
    }

    /// Returns whether the changes of a command on its private copy of the project may be kept.
    #[doc(hidden)]
    pub fn consent_to_changes(&self) -> Consent {
        self.cleared.consent_to_changes()
    }

    /// Returns whether the changes of the command may be kept if they lose history of a repository.
    #[doc(hidden)]
    pub fn consent_to_lost_history(&self) -> Consent {
        self.cleared.consent_to_lost_history()
    }

    /// Returns whether the build output of a command on a private copy of the project may be kept.
    #[doc(hidden)]
    pub fn consent_to_output(&self) -> Consent {
        self.cleared.consent_to_output()
    }

    /// Returns whether a command that failed without network may run a second time with network: see
    /// [`ClearedCall::consent_to_network`].
    #[doc(hidden)]
    pub fn consent_to_network(&self) -> Consent {
        self.cleared.consent_to_network()
    }

    /// Returns the question whether to run the command a second time, with network.
    pub fn ask_about_network(&self, summary: Text) -> Pending {
        self.cleared.ask_about_network(summary)
    }

    /// Returns the question whether to keep the changes of the command: see [`ClearedCall::ask_about_changes`].
    pub fn ask_about_changes(&self, summary: Text, files: Vec<Target>, details: String) -> Pending {
        self.cleared.ask_about_changes(summary, files, details)
    }

    /// Returns the question whether to put the output of commands into the project: see [`ClearedCall::ask_about_output`].
    pub fn ask_about_output(&self, summary: Text, details: String) -> Pending {
        self.cleared.ask_about_output(summary, details)
    }

    /// Returns the language of texts for the model. The toolbox renders [`Output::text`] in it; a tool needs it only
    /// for words inside a string.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Returns the limits for everything that the tool reads, writes and returns.
    pub fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// Returns a string argument.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.args().get(name)?.as_str()
    }

    /// Returns a whole number argument that is not negative.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.args().get(name)?.as_u64()
    }

    /// Returns a flag, or its default.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.args().get(name).and_then(serde_json::Value::as_bool).unwrap_or(default)
    }
}

/// Receives progress of a tool for display. It is never part of the result.
pub trait Progress: Send + Sync {
    /// Displays plain text, one short line.
    fn note(&self, text: &str);

    /// Displays the end of a command's output so far: a few lines as the command printed them, of which the first may
    /// be cut. The default ignores it.
    fn printed(&self, _end: &str) {}

    /// Asks the user whether to keep the changes of the call, and waits for the answer. Returns an error with the
    /// reason if they must not be kept. By default no user can answer.
    fn ask(&self, _question: Pending) -> BoxFuture<'_, Result<(), Text>> {
        Box::pin(async { Err(text!("No user can be asked.")) })
    }
}

/// Ignores all progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn note(&self, _: &str) {}
}

/// Why a tool gave no output. The two variants have different audiences, so there is no conversion from
/// `std::io::Error`.
#[derive(Debug)]
pub enum ToolError {
    /// For the model, which can react to it.
    Respond(ToolFailure),
    /// For the host, since the model cannot react to it.
    Fatal(Error),
}

impl From<ToolFailure> for ToolError {
    fn from(failure: ToolFailure) -> ToolError {
        ToolError::Respond(failure)
    }
}

/// The tools of a session.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    language: Language,
    limits: Limits,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tools.iter().map(|tool| &tool.spec().name)).finish()
    }
}

impl Toolbox {
    /// Creates an empty toolbox.
    pub fn new() -> Toolbox {
        Toolbox::default()
    }

    /// Adds a tool; it replaces one of the same name.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Toolbox {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        match self.tools.iter_mut().find(|known| known.spec().name == tool.spec().name) {
            Some(known) => *known = tool,
            None => self.tools.push(tool),
        }
        self
    }

    /// Sets the language of the output of the tools; the default is English. An agent or a pipe replaces it with the
    /// language of its session.
    #[must_use]
    pub fn in_language(self, language: Language) -> Toolbox {
        Toolbox { language, ..self }
    }

    /// Returns the language of the output of the tools.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Sets the limits of the tools. An agent or a pipe replaces them with the limits of its session. A host that
    /// writes instructions from the [`catalog`](Toolbox::catalog) sets them first, so that the instructions contain the
    /// right numbers.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Toolbox {
        Toolbox { limits: limits.in_force(), ..self }
    }

    /// Returns the limits of the tools.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Keeps only the tools of these names, in their current order.
    #[must_use]
    pub fn only(mut self, names: &[String]) -> Toolbox {
        self.tools.retain(|tool| names.iter().any(|name| *name == tool.spec().name));
        self
    }

    /// Returns the descriptions of the tools for the policy, the parser and the prompt.
    pub fn catalog(&self) -> Catalog {
        self.tools.iter().map(|tool| tool.spec().clone().with_limits(&self.limits)).collect()
    }

    /// Runs a cleared call and returns its result. Dropping the future cancels the call.
    ///
    /// # Errors
    /// Fails only with errors to which the model cannot react; everything else is in the result.
    pub async fn run(&self, cleared: ClearedCall, progress: &dyn Progress) -> Result<ToolResult, Error> {
        let call = cleared.call();
        // The catalog that the call was judged by may have more tools than this toolbox.
        let Some(tool) = self.tools.iter().find(|tool| tool.spec().name == call.name.as_str()) else {
            let failure =
                ToolFailure::new(ErrorCode::UnknownTool, text!("The tool {tool} is not here.", tool = &call.name));
            return Ok(ToolResult::refused(&call.id, &call.name, failure));
        };
        let language = self.language;
        let permit = Permit { cleared: &cleared, language, limits: &self.limits };
        let started = Instant::now();
        let mut output = match tool.run(permit, progress).await {
            Ok(output) => output,
            Err(ToolError::Respond(failure)) => Output::from(failure),
            Err(ToolError::Fatal(error)) => return Err(error),
        };
        // A result contains its output as a string, so this is the last place where our own texts in it can be
        // translated.
        output.text = output.text.into_string(language).into();
        let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(ToolResult::new(&call.id, &call.name, output, elapsed))
    }
}
