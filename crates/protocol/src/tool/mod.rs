//! Describes tools: name, arguments and effect; and the catalog of tools that a session offers.
//!
//! Architecture invariant: this module runs nothing and knows no files. One [`ToolSpec`] is the source of validation,
//! instructions, help and grammar.

mod check;
mod fit;
mod schema;

use crate::prompt::keeps_last_line_break;
use crate::schema::Schema;
use crate::{Args, ErrorCode, Limits, Repair, ToolCall, ToolFailure, close_names, text};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

type Str = Cow<'static, str>;
type CommandWords = dyn Fn(&Args) -> Option<Vec<String>> + Send + Sync;

/// What a call can do to the world. It is a property of the call, not of the tool: a dry run only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Changes files of the project and nothing else.
    Write,
    /// Runs a program, which may do anything. Unknown effects count as this.
    Execute,
}

/// The kind of value that an argument takes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ParamKind {
    /// A string that names a file or folder: path rules apply to it.
    Path,
    /// A string that is a shell command: command rules apply to it.
    Command,
    /// A string that is a patch: path rules apply to the files it names.
    Patch,
    /// Any other string. File content keeps the final newline of a verbatim body.
    Text {
        /// Whether the string is the content of a file.
        content: bool,
    },
    /// A whole number in the range.
    Integer {
        /// The smallest allowed value.
        least: i64,
        /// The largest allowed value.
        most: i64,
    },
    /// `true` or `false`.
    Flag,
    /// One of these strings.
    Choice(Vec<Str>),
    /// An array of strings.
    Texts,
    /// An array of objects with these fields.
    Objects(Vec<Param>),
    /// Any JSON value, as tools of other servers take it.
    Any,
}

impl ParamKind {
    /// Returns `true` if the value is of this kind. The fields of objects are not checked.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        match self {
            ParamKind::Path | ParamKind::Command => value.as_str().is_some_and(|text| !text.contains('\0')),
            ParamKind::Patch | ParamKind::Text { .. } => value.is_string(),
            ParamKind::Integer { least, most } => match value.as_i64() {
                Some(number) => (*least..=*most).contains(&number),
                None => *most == i64::MAX && value.is_u64(), // no bound above
            },
            ParamKind::Flag => value.is_boolean(),
            ParamKind::Choice(words) => value.as_str().is_some_and(|word| words.iter().any(|known| known == word)),
            ParamKind::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            ParamKind::Objects(_) => value.as_array().is_some_and(|items| items.iter().all(Value::is_object)),
            ParamKind::Any => true,
        }
    }
}

/// A request beyond what the sandbox allows every command. The policy asks the user about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Request {
    /// Use the network.
    Network,
    /// Run outside the sandbox.
    OutsideSandbox,
    /// Change files of a project that is read-only for commands.
    Write,
    /// Run as a job, which continues after the call.
    Background,
}

/// One argument of a tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Param {
    /// The canonical name, which the model learns.
    pub name: Str,
    /// The kind of value.
    pub kind: ParamKind,
    /// Whether the argument is required.
    pub required: bool,
    /// The default of an absent argument, if the model should know it; shown in signatures.
    pub default: Option<Value>,
    /// Other accepted names. Case, `_` and `-` are ignored and need no alias.
    pub aliases: Vec<Str>,
    /// Other accepted words for a [`Choice`](ParamKind::Choice), each with the word of the choice that it means.
    pub synonyms: Vec<(Str, Str)>,
    /// One line of help, also used in schemas.
    pub help: Str,
    /// What a call requests by setting this flag.
    pub request: Option<Request>,
    /// Whether control characters in the text are refused: a model that writes `"\bfoo"` means no backspace. Paths
    /// never allow them.
    pub printable: bool,
    /// Whether the instructions name the argument. Arguments that only models trained on other tools use are accepted
    /// without it.
    pub taught: bool,
    /// Whether the argument is the folder to which the file names in the call's patches are relative. An empty string
    /// is the root.
    pub patch_base: bool,
    /// The keys of the limits that provide the default and the maximum of a number; see [`limited`](Param::limited).
    limited: Option<(&'static str, &'static str)>,
}

impl Param {
    /// Creates an optional argument.
    pub fn new(name: impl Into<Str>, kind: ParamKind, help: impl Into<Str>) -> Param {
        Param {
            name: name.into(),
            kind,
            required: false,
            default: None,
            aliases: Vec::new(),
            synonyms: Vec::new(),
            help: help.into(),
            request: None,
            printable: false,
            taught: true,
            patch_base: false,
            limited: None,
        }
    }

    /// Refuses control characters in the text.
    #[must_use]
    pub fn printable(mut self) -> Param {
        self.printable = true;
        self
    }

    /// Leaves the argument out of instructions.
    #[must_use]
    pub fn untaught(mut self) -> Param {
        self.taught = false;
        self
    }

    /// Makes the names in the call's patches relative to the folder that this argument names.
    #[must_use]
    pub fn patch_base(mut self) -> Param {
        self.patch_base = true;
        self
    }

    /// Makes the argument required.
    #[must_use]
    pub fn required(mut self) -> Param {
        self.required = true;
        self
    }

    /// Sets what a call requests by setting this flag.
    #[must_use]
    pub fn requests(mut self, request: Request) -> Param {
        self.request = Some(request);
        self
    }

    /// Sets the default that signatures show to the model.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Param {
        self.default = Some(value.into());
        self
    }

    /// Takes the default and the maximum of a whole number from the [`Limits`] with these keys. A toolbox or a session
    /// with its own limits shows the model, and enforces, its own numbers.
    #[must_use]
    pub fn limited(mut self, default: &'static str, most: &'static str) -> Param {
        self.limited = Some((default, most));
        self.apply_limits(&Limits::default());
        self
    }

    fn apply_limits(&mut self, limits: &Limits) {
        let numbers = self.limited.and_then(|(default, most)| Some((limits.get(default)?, limits.get(most)?)));
        let (Some((default, most)), ParamKind::Integer { most: upper, .. }) = (numbers, &mut self.kind) else { return };
        *upper = i64::try_from(most).unwrap_or(i64::MAX);
        // A session may lower the maximum below the default.
        self.default = Some(default.min(most).into());
    }

    /// Sets other accepted names of the argument.
    #[must_use]
    pub fn aliases<S: Into<Str>>(mut self, aliases: impl IntoIterator<Item = S>) -> Param {
        self.aliases = aliases.into_iter().map(Into::into).collect();
        self
    }

    /// Sets other accepted words for a choice, each with the word that it means.
    #[must_use]
    pub fn synonyms<S: Into<Str>>(mut self, synonyms: impl IntoIterator<Item = (S, S)>) -> Param {
        self.synonyms = synonyms.into_iter().map(|(word, meant)| (word.into(), meant.into())).collect();
        self
    }

    /// Returns the word of the choice for which the value is a synonym.
    fn resolve_synonym(&self, value: &Value) -> Option<&str> {
        let word = value.as_str()?;
        self.synonyms.iter().find(|(synonym, _)| same_word(synonym, word)).map(|(_, meant)| meant.as_ref())
    }
}

/// Everything about a tool that is known without running it.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The canonical name, which the model learns.
    pub name: Str,
    /// Other accepted names.
    pub aliases: Vec<Str>,
    /// The purpose in one line, for the model.
    pub purpose: Str,
    /// The arguments, required ones first.
    pub params: Vec<Param>,
    /// An example block for the model, if one helps.
    pub example: Option<Str>,
    /// Whether the user is usually asked before a call runs, as far as the host knows. The instructions mention it.
    pub asks_first: bool,
    /// Whether its calls usually run on a private copy of the project, as far as the host knows. The instructions
    /// mention it.
    pub on_private_copy: bool,
    /// Whether an external program runs its calls, such as a server of the Model Context Protocol. The command sandbox
    /// does not contain it, and "always" allows the tool by name, whatever the arguments.
    pub served: bool,
    /// Whether unknown arguments are passed on.
    open: bool,
    /// The schema of the arguments of a tool of another server; the instructions describe it.
    schema: Option<Arc<Schema>>,
    /// See [`effect_of`](ToolSpec::effect_of).
    effect: Arc<dyn Fn(&Args) -> Effect + Send + Sync>,
    /// See [`is_poll`](ToolSpec::is_poll).
    polls: Arc<dyn Fn(&Args) -> bool + Send + Sync>,
    /// See [`equivalent_command`](ToolSpec::equivalent_command).
    command: Arc<CommandWords>,
}

impl fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSpec").field("signature", &self.signature()).finish_non_exhaustive()
    }
}

impl ToolSpec {
    /// Creates a tool without arguments whose effect is Execute.
    pub fn new(name: impl Into<Str>, purpose: impl Into<Str>) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            aliases: Vec::new(),
            purpose: purpose.into(),
            params: Vec::new(),
            example: None,
            asks_first: false,
            on_private_copy: false,
            served: false,
            open: false,
            schema: None,
            effect: Arc::new(|_| Effect::Execute),
            polls: Arc::new(|_| false),
            command: Arc::new(|_| None),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn param(mut self, param: Param) -> ToolSpec {
        self.params.push(param);
        self
    }

    /// Sets other accepted names of the tool.
    #[must_use]
    pub fn aliases<S: Into<Str>>(mut self, aliases: impl IntoIterator<Item = S>) -> ToolSpec {
        self.aliases = aliases.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the function that returns the effect of a call with these arguments. The policy relies on it.
    #[must_use]
    pub fn effect(mut self, effect: impl Fn(&Args) -> Effect + Send + Sync + 'static) -> ToolSpec {
        self.effect = Arc::new(effect);
        self
    }

    /// Sets the function that recognises calls that only poll the progress of something. Such a call may repeat with
    /// the same result; the loop guard of the session does not count it.
    #[must_use]
    pub fn polls(mut self, polls: impl Fn(&Args) -> bool + Send + Sync + 'static) -> ToolSpec {
        self.polls = Arc::new(polls);
        self
    }

    /// Sets the function that returns the command to which a call is equivalent, as words. The policy judges the call
    /// as that command.
    #[must_use]
    pub fn runs(mut self, command: impl Fn(&Args) -> Option<Vec<String>> + Send + Sync + 'static) -> ToolSpec {
        self.command = Arc::new(command);
        self
    }

    /// Sets an example for the model.
    #[must_use]
    pub fn example(mut self, example: impl Into<Str>) -> ToolSpec {
        self.example = Some(example.into());
        self
    }

    /// Returns the tool with the arguments that depend on limits adjusted to `limits`.
    #[must_use]
    pub fn with_limits(mut self, limits: &Limits) -> ToolSpec {
        self.params.iter_mut().for_each(|param| param.apply_limits(limits));
        self
    }

    /// Returns the effect of a call with these arguments, under their canonical names.
    pub fn effect_of(&self, args: &Args) -> Effect {
        (self.effect)(args)
    }

    /// Returns the command to which a call with these arguments, under their canonical names, is equivalent. It is a
    /// list of words and runs in the root of the project. `None` for a tool that runs no command or takes one as an
    /// argument.
    pub fn equivalent_command(&self, args: &Args) -> Option<Vec<String>> {
        (self.command)(args)
    }

    /// Returns `true` if a call with these arguments, under their canonical names, only polls the progress of
    /// something.
    pub fn is_poll(&self, args: &Args) -> bool {
        (self.polls)(args)
    }

    /// Returns `true` if a call with these arguments, under their canonical names, makes this request.
    pub fn asks_for(&self, request: Request, args: &Args) -> bool {
        let flags = self.params.iter().filter(|param| param.request == Some(request));
        flags.into_iter().any(|param| args.get(param.name.as_ref()).and_then(Value::as_bool) == Some(true))
    }

    /// Returns the argument that best summarises a call for a person, and its text: the command, the path, or else the
    /// first required text. Misspelt argument names are recognised. `None` if the call has no such argument.
    pub fn summary_argument<'a>(&self, args: &'a Args) -> Option<(&Param, &'a str)> {
        let short = |param: &&Param| matches!(param.kind, ParamKind::Text { content: false });
        let required = self.params.iter().filter(|param| param.required);
        let param = self
            .params
            .iter()
            .find(|param| param.kind == ParamKind::Command)
            .or_else(|| required.clone().find(|param| param.kind == ParamKind::Path))
            .or_else(|| required.clone().find(short))
            .or_else(|| self.params.iter().find(|param| param.kind == ParamKind::Path))?;
        let given = args.get(param.name.as_ref()).or_else(|| {
            let named = |name: &String| self.find(name).is_some_and(|found| found.name == param.name);
            args.iter().find(|(name, _)| named(name)).map(|(_, value)| value)
        });
        Some((param, given?.as_str()?))
    }

    /// Returns the only argument of this kind with its text: the command of a call, the path, the content of a file.
    /// `None` if the tool has several, such as an old and a new text, or the call gives no string for it. The base
    /// folder of a patch does not count as a path.
    pub fn only_argument<'a>(&self, kind: &ParamKind, args: &'a Args) -> Option<(&Param, &'a str)> {
        let mut params = self.params.iter().filter(|param| param.kind == *kind && !param.patch_base);
        match (params.next(), params.next()) {
            (Some(param), None) => Some((param, args.get(param.name.as_ref())?.as_str()?)),
            _ => None,
        }
    }

    /// Returns `true` if another server described the tool. The model then knows only what the instructions say about
    /// its arguments.
    pub(crate) fn is_foreign(&self) -> bool {
        self.schema.is_some()
    }

    /// Returns the schema of the arguments of a tool of another server.
    pub(crate) fn schema(&self) -> Option<&Schema> {
        self.schema.as_deref()
    }

    /// Returns the argument that `name` means, by its canonical name or an alias.
    pub fn find(&self, name: &str) -> Option<&Param> {
        find_param(&self.params, name)
    }

    /// Returns `true` if a verbatim body for the argument at this path keeps its last newline. File contents and
    /// patches do, and so do long texts of tools of other servers, recognised by their names.
    pub fn keeps_final_newline(&self, path: &str) -> bool {
        if self.is_foreign() {
            return path.rsplit('/').next().is_some_and(keeps_last_line_break);
        }
        let mut steps = path.split('/');
        let mut param = steps.next().and_then(|name| self.find(name));
        for step in steps {
            let Some(ParamKind::Objects(fields)) = param.map(|param| &param.kind) else { continue };
            if let Some(field) = find_param(fields, step) {
                param = Some(field);
            }
        }
        param.is_some_and(|param| matches!(param.kind, ParamKind::Text { content: true } | ParamKind::Patch))
    }

    /// Returns `true` if an argument of exactly this name accepts any text, so that its text can be streamed.
    pub fn takes_text(&self, name: &str) -> bool {
        // The path of a nested value contains a slash, and a long path is cut off.
        let plain = !name.is_empty() && name.len() < 128 && !name.contains('/');
        plain
            && match (self.find(name), &self.schema) {
                (Some(param), Some(schema)) => param.name == name && schema.takes_any_text(name),
                (Some(param), None) => {
                    let text = matches!(param.kind, ParamKind::Text { .. } | ParamKind::Any);
                    param.name == name && text && !param.printable
                }
                (None, Some(schema)) => self.open && !self.is_reason(name) && schema.takes_any_text(name),
                (None, None) => self.open,
            }
    }

    /// Returns the signature: `read_file(path, start_line?, line_numbers?=true)`.
    pub fn signature(&self) -> String {
        let params: Vec<String> = self.params.iter().filter(|param| param.taught).map(Param::signature).collect();
        format!("{}({})", self.name, params.join(", "))
    }

    /// Replaces aliases, drops nulls, coerces values, and checks every argument: unknown, missing, wrong kind, out of
    /// range.
    fn check(&self, call: &mut ToolCall) -> Result<(), ToolFailure> {
        // Before the arguments are renamed, where the reason would be refused as an unknown argument.
        if let Some(reason) = self.misplaced_reason(call) {
            call.reason = Some(reason);
            call.repairs.push(Repair::MovedReason);
        }
        let (mut taught, listed) = check::rename(&self.params, std::mem::take(&mut call.args), &self.name, self.open)?;
        let fitted = match &self.schema {
            Some(schema) => {
                let whole = Value::Object(taught);
                let (whole, fitted) = check::check_against_schema(schema, whole, &self.name)?;
                taught = whole;
                fitted
            }
            None => {
                let fitted = fit::fit_arguments(&self.params, &mut taught);
                check::check_values(&self.params, &taught, &self.name)?;
                fitted
            }
        };
        if fitted || listed {
            call.repairs.push(Repair::Coerced);
        }
        call.args = taught;
        Ok(())
    }

    /// Removes a reason from the arguments and returns it, if the tool has no such argument and the call gives no
    /// reason in the proper place.
    fn misplaced_reason(&self, call: &mut ToolCall) -> Option<String> {
        let names = call.reason.is_none().then_some(REASONS)?;
        let name = names
            .into_iter()
            .find(|name| self.is_reason(name) && call.args.get(*name).is_some_and(Value::is_string))?;
        // Keeps the order of the other arguments.
        match call.args.shift_remove(name) {
            Some(Value::String(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Returns `true` if a value of this name among the arguments is the call's reason rather than an argument.
    fn is_reason(&self, name: &str) -> bool {
        let unnamed = self.schema.as_ref().map_or(!self.open, |schema| schema.leaves_out(name));
        REASONS.contains(&name) && unnamed && self.find(name).is_none()
    }
}

impl Param {
    /// Returns the argument's part of a signature: `line_numbers?=true`.
    pub(crate) fn signature(&self) -> String {
        let fields = match &self.kind {
            ParamKind::Objects(fields) => {
                format!("[{{{}}}]", fields.iter().map(Param::signature).collect::<Vec<_>>().join(", "))
            }
            ParamKind::Choice(words) => format!("={}", words.join("|")),
            _ => String::new(),
        };
        let optional = if self.required { "" } else { "?" };
        let default = self.default.as_ref().map(|value| format!("={value}")).unwrap_or_default();
        format!("{}{optional}{fields}{default}", self.name)
    }
}

/// Keys that models use for the reason of a call.
const REASONS: [&str; 2] = ["reason", "explanation"];

/// Returns `true` if two names differ only in case, `_`, `-` and spaces.
fn same_word(a: &str, b: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = char> + '_ {
        text.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase)
    }
    a == b || letters(a).eq(letters(b))
}

/// Returns the argument that `name` means, by its canonical name or an alias.
pub(crate) fn find_param<'a>(params: &'a [Param], name: &str) -> Option<&'a Param> {
    params
        .iter()
        .find(|param| param.name == name)
        .or_else(|| params.iter().find(|param| same_word(&param.name, name)))
        .or_else(|| params.iter().find(|param| param.aliases.iter().any(|alias| same_word(alias, name))))
}

/// The maximum number of regular expressions that [`Catalog::unchecked_patterns`] examines; each may take some
/// milliseconds.
const MOST_EXAMINED: usize = 128;

/// The tools that a session offers, in the order in which the model sees them.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    specs: Vec<ToolSpec>,
}

impl Catalog {
    /// Creates an empty catalog.
    pub fn new() -> Catalog {
        Catalog::default()
    }

    /// Adds a tool, replacing one with the same name.
    pub fn add(&mut self, spec: ToolSpec) {
        match self.specs.iter_mut().find(|known| known.name == spec.name) {
            Some(known) => *known = spec,
            None => self.specs.push(spec),
        }
    }

    /// Returns the catalog with the arguments that depend on limits adjusted to `limits`.
    #[must_use]
    pub fn with_limits(&self, limits: &Limits) -> Catalog {
        self.specs.iter().map(|spec| spec.clone().with_limits(limits)).collect()
    }

    /// The specs in order.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Returns the tool that `name` means: its canonical name or an alias, ignoring case.
    pub fn find(&self, name: &str) -> Option<&ToolSpec> {
        self.specs
            .iter()
            .find(|spec| spec.name == name)
            // Names come first: an alias of one tool must not hide another tool.
            .or_else(|| self.specs.iter().find(|spec| same_word(&spec.name, name)))
            .or_else(|| self.specs.iter().find(|spec| spec.aliases.iter().any(|alias| same_word(alias, name))))
    }

    /// Returns the regular expressions in the tools' schemas that are not checked, each with its tool: those that need
    /// more than linear time, such as a lookahead, and those that are too large. Every text passes them.
    ///
    /// Only the first 128 regular expressions of a catalog are examined, since each is compiled for it.
    pub fn unchecked_patterns(&self) -> Vec<(&str, &str)> {
        let schemas = self.specs.iter().filter_map(|spec| Some((spec.name.as_ref(), spec.schema()?)));
        let patterns = schemas.flat_map(|(tool, schema)| schema.patterns().map(move |pattern| (tool, pattern)));
        let unchecked = patterns.take(MOST_EXAMINED).filter(|(_, (_, is_checked))| !is_checked);
        unchecked.map(|(tool, (pattern, _))| (tool, pattern)).collect()
    }

    /// Replaces the names of the tool and the arguments in `call` with the canonical ones, coerces values and checks
    /// the arguments.
    ///
    /// A value of the wrong type is coerced if only one value can be meant, and the call gets the repair
    /// [`Repair::Coerced`]: `"3"` for a whole number, `"true"` for a boolean, the text or the only element of a list
    /// for the list. Valid values stay unchanged.
    ///
    /// # Errors
    /// Fails with `unknown_tool`, which names the closest tools and lists all of them, or with `invalid_argument`,
    /// which states the argument, the value given and the kind of value required.
    pub fn resolve(&self, call: &mut ToolCall) -> Result<&ToolSpec, ToolFailure> {
        let spec = self.find(&call.name).ok_or_else(|| self.unknown(&call.name))?;
        call.name = spec.name.clone().into_owned();
        spec.check(call)?;
        Ok(spec)
    }

    fn unknown(&self, name: &str) -> ToolFailure {
        let names = || self.specs.iter().map(|spec| spec.name.as_ref());
        let close = close_names(name, names());
        let list = names().collect::<Vec<_>>().join(", ");
        let shown = format!("{:?}", name.chars().take(64).collect::<String>());
        let mut message = text!("There is no tool {name}.", name = shown);
        if let Some(close) = close.first() {
            message = message.then(text!("Did you mean {close}?", close));
        }
        ToolFailure::new(ErrorCode::UnknownTool, message.then(text!("The tools are: {list}.", list))).suggest(close)
    }
}

impl FromIterator<ToolSpec> for Catalog {
    fn from_iter<I: IntoIterator<Item = ToolSpec>>(specs: I) -> Catalog {
        // Takes linear time for many tools; `add` would search the list for each.
        let mut places: HashMap<Str, usize> = HashMap::new();
        let mut catalog = Catalog::new();
        for spec in specs {
            match places.get(&spec.name) {
                Some(place) => catalog.specs[*place] = spec,
                None => {
                    places.insert(spec.name.clone(), catalog.specs.len());
                    catalog.specs.push(spec);
                }
            }
        }
        catalog
    }
}
