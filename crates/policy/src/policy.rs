//! The way of a call through the rules, from what the model wrote to the verdict.

use crate::answers::{self, Answers, Rule, quoted};
use crate::changes::{Consent, Kept};
use crate::decision::{AskMode, Decision, Effective, Judgement, MOST_MET};
use crate::facts::AskedOnce;
use crate::shell::{self, View, shown};
use crate::verdict::{Cleared, Pending, Verdict};
use crate::{Facts, PathFact, Settings, messages, paths, targets};
use serde_json::Value;
use toolfence_protocol::{
    Args, Catalog, Effect, ErrorCode, Param, ParamKind, Repair, Request, Result, Text, ToolCall, ToolFailure,
    ToolResult, ToolSpec, text,
};
use toolfence_rules::{PathRules, instructs_agents};

/// The rules that ask because the text of a command cannot be read.
const UNREADABLE: &[&str] = &["unreadable", "hidden_text"];

/// The rule that asks before a tool changes files.
const CHANGES: &str = "write";

/// The rule that asks before a command changes files of a project that is read-only for commands.
const WRITES: &str = "write_access";

/// The rules, compiled once.
///
/// ```
/// # mod toolfence { pub use toolfence_policy as policy; }
/// use toolfence::policy::{Effective, Judgement, NoFacts, Policy};
///
/// let policy = Policy::default();
/// let decision = policy.judge_command("rm -rf /", "", &NoFacts);
/// assert_eq!(decision.judgement, Judgement::Deny);
/// assert_eq!(policy.effective(&decision, &NoFacts), Effective::Deny);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Policy {
    settings: Settings,
    paths: PathRules,
    answers: Answers,
    /// See [`shell::Ground::exact_deny`].
    exact_deny: bool,
    /// Whether only what reads may run.
    read_only: bool,
}

impl Policy {
    /// The policy of these settings.
    ///
    /// # Errors
    /// A path glob that is not one.
    pub fn new(settings: Settings) -> Result<Policy> {
        let paths = settings.path_rules()?;
        Ok(Policy { settings, paths, ..Policy::default() })
    }

    /// A policy that compares deny rules word by word, as the others are: to try the examples that stand beside a rule.
    pub(crate) fn exact(settings: Settings) -> Policy {
        Policy { settings, exact_deny: true, ..Policy::default() }
    }

    /// Sets what is done with a judgement.
    #[must_use]
    pub fn ask(mut self, ask: AskMode) -> Policy {
        self.settings.ask = ask;
        self
    }

    /// Sets whether only what reads may run: everything else is denied by the rule `plan`, whatever was allowed.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Policy {
        self.read_only = read_only;
        self
    }

    /// Protects these paths, and all below them, from writing by tools: files the host is steered by, where they are inside
    /// the root. Relative to the root, and not globs.
    #[must_use]
    pub fn protect<S: AsRef<str>>(mut self, paths: impl IntoIterator<Item = S>) -> Policy {
        paths.into_iter().for_each(|path| self.paths.guard(path.as_ref()));
        self
    }

    /// The settings it was made of.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The rules about names, for whoever opens files.
    pub fn paths(&self) -> &PathRules {
        &self.paths
    }

    /// Decides a call as the model wrote it. Pure: the same call, catalog and facts give the same verdict.
    pub fn review(&self, call: ToolCall, catalog: &Catalog, facts: &dyn Facts) -> Verdict {
        self.review_read(call, catalog, facts, None)
    }

    /// Decides a call as [`Policy::review`] does. `source` names what the model has read the same call in: then it asks by the
    /// rule `echo` unless it only reads, and only a person may allow it.
    pub fn review_read(
        &self,
        mut call: ToolCall,
        catalog: &Catalog,
        facts: &dyn Facts,
        source: Option<&str>,
    ) -> Verdict {
        let facts: &dyn Facts = &AskedOnce::new(facts);
        let refused = |call: ToolCall, failure| Verdict::Denied(ToolResult::refused(call.id, call.name, failure));
        // The tool and its arguments, under the names that are taught.
        let spec = match catalog.resolve(&mut call) {
            Ok(spec) => spec,
            Err(failure) => return refused(call, failure),
        };
        let effect = spec.effect_of(&call.args);
        let mut decision = match self.judge_as_read(&call, spec, facts, source) {
            Ok(decision) => decision,
            Err(failure) => return refused(call, failure),
        };
        // The setting `ask` makes of the decision what is done.
        match self.effective(&decision, facts) {
            Effective::Run => {
                let kept = self.kept(&call, spec, &decision);
                Verdict::Cleared(Cleared::by_rules(call, effect, decision, kept))
            }
            Effective::Ask => {
                if let Some(failure) = facts.certain_failure(&call) {
                    return refused(call, failure);
                }
                if self.settings.ask == AskMode::Always {
                    // What was allowed before is asked about too.
                    decision.offer.refuse(messages::all_is_asked());
                }
                let kept = self.kept(&call, spec, &decision);
                let changes_files = [CHANGES, WRITES].contains(&decision.rule.as_str());
                let offers_all = self.settings.ask == AskMode::Risky && changes_files;
                Verdict::Ask(Pending::new(call, effect, decision, kept).offering_all(offers_all))
            }
            Effective::Deny => {
                let mut failure = self.refusal(&decision);
                if decision.rule == paths::OUTSIDE {
                    failure = failure.suggest(targets::instead(spec, &call.args, facts));
                }
                refused(call, failure)
            }
        }
    }

    /// Judges a call that [`Catalog::resolve`] has been through as [`Policy::judge`] does, and how it was read besides: the repairs
    /// that it carries, and `source`, which names what the model has read the same call in.
    ///
    /// # Errors
    /// The call could only be read by a guess and would do more than read: the answer to the model.
    pub fn judge_read(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        facts: &dyn Facts,
        source: Option<&str>,
    ) -> std::result::Result<Decision, ToolFailure> {
        self.judge_as_read(call, spec, &AskedOnce::new(facts), source)
    }

    fn judge_as_read(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        facts: &dyn Facts,
        source: Option<&str>,
    ) -> std::result::Result<Decision, ToolFailure> {
        // What could only be read by a guess may read, and do nothing more.
        let effect = spec.effect_of(&call.args);
        let stitched = call.repairs.contains(&Repair::Stitched);
        let guesses = |repair: &Repair| !repair.lossless() && *repair != Repair::Stitched;
        if call.repairs.iter().any(guesses) && effect != Effect::Read {
            return Err(guessed(call));
        }
        // Every rule is asked, and the strictest decides.
        let mut decision = self.judge(call, spec, facts);
        // A call that the model has read somewhere may be repeated without being meant.
        let reads = effect == Effect::Read || decision.only_reads && decision.judgement == Judgement::Allow;
        if let Some(source) = source.filter(|_| !reads) {
            decision = echo(source).stricter(decision);
        }
        if self.read_only && !reads && !decision.on_private_copy {
            decision = Decision::new(Judgement::Deny, "plan", messages::only_planned()).stricter(decision);
        }
        // Whether two replies were put together as they were meant, only a person can see.
        if stitched && !reads {
            decision = put_together().stricter(decision);
        }
        Ok(decision)
    }

    /// Judges a call that [`Catalog::resolve`] has been through. Every rule is asked and the strictest decides.
    pub fn judge(&self, call: &ToolCall, spec: &ToolSpec, facts: &dyn Facts) -> Decision {
        let (args, effect) = (&call.args, spec.effect_of(&call.args));
        let outside = spec.asks_for(Request::OutsideSandbox, args);
        // What it does: a command by the judge of commands, where the rules of the settings are met, or else its effect.
        let command = spec.params.iter().find(|param| param.kind == ParamKind::Command);
        let command = command.and_then(|param| args.get(param.name.as_ref())).and_then(Value::as_str);
        let name = shown(&spec.name, 64);
        let equivalent = spec.equivalent_command(args);
        let equivalent = equivalent.map(|words| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
        let is_command = equivalent.is_some() || command.is_some();
        let may_write = spec.asks_for(Request::Write, args);
        let sees_read_only = is_command && !outside && facts.is_project_read_only();
        let view = View { held: facts.sandbox_holds() && !outside, read_only: sees_read_only && !may_write };
        let mut decision = match (&equivalent, command, effect) {
            (Some(text), ..) => {
                let decision = self.command(text, "", facts, view);
                // Marks are places in a text that the call does not have.
                Decision { marks: Vec::new(), ..decision }
            }
            (None, Some(text), _) => {
                // The path of a tool that runs commands is the folder they run in.
                let folder = spec.params.iter().find(|param| param.kind == ParamKind::Path);
                let cwd = folder.and_then(|param| args.get(param.name.as_ref())).and_then(Value::as_str).unwrap_or("");
                self.command(text, cwd, facts, view)
            }
            // A server's own hint that a tool only reads does not make it run unasked.
            (None, None, _) if spec.served && self.answers.has(&Rule::tool(&spec.name)) => {
                Decision::new(Judgement::Allow, answers::ANSWERED, messages::tool_allowed_before(name))
            }
            (None, None, _) if spec.served => {
                let mut asks = Decision::new(Judgement::Ask, "served", messages::calls_a_server(name));
                asks.offer.add(Ok::<_, Text>(Rule::tool(&spec.name)));
                asks
            }
            (None, None, Effect::Read) => Decision::new(Judgement::Allow, "read", messages::only_reads(name)),
            (None, None, Effect::Write) => Decision {
                sandbox_suffice: true,
                ..Decision::new(Judgement::Ask, CHANGES, messages::changes_files(name))
            },
            (None, None, Effect::Execute) => Decision {
                sandbox_suffice: true,
                ..Decision::new(Judgement::Ask, "execute", messages::runs_a_program(name))
            },
        };
        // The paths that it names.
        let named = targets::paths(spec, args);
        for (path, folder) in &named {
            decision = decision.stricter(paths::judge(&self.paths, path, *folder, effect, facts));
        }
        if effect != Effect::Read {
            decision.targets = targets::targets(spec, args, facts);
            // Files that instruct agents are asked about in the mode `sandboxed` too.
            decision.sandbox_suffice &= !decision.targets.iter().any(|target| instructs_agents(&target.name));
        }
        // A job may be a shell or an interpreter, whatever it was started as: text for it is held against the rules for commands.
        let argument = |name: &str| args.get(name).and_then(Value::as_str);
        if spec.name == "job"
            && let (Some(job), Some(text)) = (argument("id"), argument("input"))
        {
            let text = facts.written_to(job) + text;
            let written = self.command(&text, "", facts, View { held: true, read_only: false });
            let has_rules = !self.settings.commands.deny.is_empty() || !self.settings.commands.only.is_empty();
            // What cannot be read counts only if there is a rule that could apply to it.
            let is_unread = written.unreadable || written.code == Some(ErrorCode::TooLarge);
            if has_rules && gives_names(&text) {
                let reason = text!("It may give a command another name, and rules apply to names of commands.");
                decision = decision
                    .stricter(Decision { needs_person: true, ..Decision::new(Judgement::Ask, "unreadable", reason) });
            }
            let counts = if is_unread { has_rules } else { written.judgement == Judgement::Deny };
            if counts {
                decision = decision.stricter(written);
            }
        }
        // What the sandbox would have to leave open for it.
        for (request, rule, reason) in [
            (Request::Network, "network", messages::wants_network()),
            (Request::OutsideSandbox, "outside_sandbox", messages::wants_out_of_sandbox()),
        ] {
            if spec.asks_for(request, args) {
                decision = decision.stricter(Decision::new(Judgement::Ask, rule, reason.clone()));
                decision.sandbox_suffice = false;
                // A question that another rule asks must say it too.
                if decision.judgement == Judgement::Ask && decision.rule != rule {
                    decision.reason = reason.then(decision.reason);
                }
            }
        }
        decision.outside_sandbox = outside;
        let is_job = spec.asks_for(Request::Background, args);
        let is_apart = !outside && !is_job && !decision.writes_git && !decision.only_reads;
        let on_copy = is_command && is_apart && facts.has_private_copy();
        if on_copy || view.read_only && !decision.only_reads {
            decision.on_private_copy = true;
        }
        if on_copy || sees_read_only {
            decision.sandbox_suffice |= self.asks_only_as_unreadable(&decision);
        }
        if sees_read_only && may_write && !decision.only_reads {
            decision = self.ask_to_write(call, spec, decision);
        }
        // Changes of files that a person has allowed before, where nothing else about them asks.
        let mut asks = decision.met.iter().filter(|met| met.judgement == Judgement::Ask);
        if decision.judgement != Judgement::Ask || effect != Effect::Write || !asks.all(|met| met.rule == CHANGES) {
            return decision;
        }
        if !targets::names_all(spec, args) {
            decision.offer.refuse(messages::patch_unreadable());
            return decision;
        }
        let mut files = Vec::new();
        for (path, _) in named.iter().filter(|(_, folder)| !folder) {
            match facts.path("", path) {
                PathFact::Inside { names } if !names.is_empty() => files.push(Rule::file(&spec.name, &names[0])),
                // Nothing exact can be said of one of them.
                _ => return decision,
            }
        }
        if !files.is_empty() && files.iter().all(|file| self.answers.has(file)) {
            let reason = messages::file_allowed_before(spec.name.as_ref());
            let allowed = Decision::new(Judgement::Allow, answers::ANSWERED, reason);
            return Decision { targets: decision.targets, ..allowed };
        }
        for file in files {
            decision.offer.add(Ok::<_, Text>(file));
        }
        decision
    }

    /// Asks before a command changes files of a project that is read-only for other commands. What the user allowed needs no question.
    fn ask_to_write(&self, call: &ToolCall, spec: &ToolSpec, decision: Decision) -> Decision {
        let rule = changes_rule(call, spec);
        let is_allowed = ["commands.allow", answers::ANSWERED].contains(&decision.rule.as_str());
        if decision.judgement != Judgement::Allow || is_allowed || self.answers.has(&rule) {
            return decision;
        }
        let reason = text!("The command may change files of the project.");
        let mut asks = Decision::new(Judgement::Ask, WRITES, reason);
        asks.sandbox_suffice = true;
        let mut decision = asks.stricter(decision);
        decision.offer.add(Ok::<_, Text>(rule));
        decision
    }

    /// Returns `true` if a command asks only because it cannot be read. On a private copy that is no danger to the project. It could
    /// be what the user's own rules deny, so with such rules it asks.
    fn asks_only_as_unreadable(&self, decision: &Decision) -> bool {
        let has_rules = !self.settings.commands.deny.is_empty() || !self.settings.commands.only.is_empty();
        // A full list of rules may lack the one that matters.
        let is_complete = decision.met.len() < MOST_MET;
        let mut asking = decision.met.iter().filter(|met| met.judgement != Judgement::Allow);
        decision.unreadable && !has_rules && is_complete && asking.all(|met| UNREADABLE.contains(&met.rule.as_str()))
    }

    /// What becomes of the files that a command writes on its private copy of the project.
    fn kept(&self, call: &ToolCall, spec: &ToolSpec, decision: &Decision) -> Kept {
        if !decision.on_private_copy {
            return Kept::nothing();
        }
        let rule = changes_rule(call, spec);
        let may_use_network = spec.asks_for(Request::Network, &call.args);
        let network = match self.settings.ask {
            _ if may_use_network => Consent::Refused,
            AskMode::Never => Consent::Given,
            _ => Consent::Ask,
        };
        let (changes, output) = match self.settings.ask {
            _ if self.read_only => (Consent::Refused, Consent::Refused),
            AskMode::Sandboxed | AskMode::Never => (Consent::Given, Consent::Given),
            ask => {
                // A command that the user's settings allow may change the project.
                let is_allowed = self.answers.has(&rule) || decision.rule == "commands.allow";
                let changes = if is_allowed && ask == AskMode::Risky { Consent::Given } else { Consent::Ask };
                let output = match self.answers.output() {
                    Some(false) => Consent::Refused,
                    None if !may_use_network => Consent::Ask,
                    _ => Consent::Given,
                };
                (changes, output)
            }
        };
        let lost_history = match self.settings.ask {
            AskMode::Sandboxed if changes == Consent::Given && !self.answers.has(&rule) => Consent::Ask,
            _ => changes,
        };
        let always = if self.settings.ask == AskMode::Always { Err(messages::all_is_asked()) } else { Ok(rule) };
        // In the other modes the answer would change nothing.
        Kept { changes, lost_history, output, network, always, offers_all: self.settings.ask == AskMode::Risky }
    }

    /// Allows what a person has said "always" to, as long as this policy lives. What is denied stays denied.
    pub fn remember(&mut self, rules: impl IntoIterator<Item = Rule>) {
        for rule in rules {
            if rule.is_all_changes() && self.settings.ask == AskMode::Risky {
                self.settings.ask = AskMode::Sandboxed;
            }
            let beginning = self.answers.store(rule);
            self.settings.commands.allow.extend(beginning);
        }
    }

    /// Allows every call of these tools as long as this policy lives, where another program runs them
    /// ([`ToolSpec::served`]) and nothing else about a call asks.
    #[must_use]
    pub fn allow_served<S: AsRef<str>>(mut self, tools: impl IntoIterator<Item = S>) -> Policy {
        self.remember(tools.into_iter().map(|tool| Rule::tool(tool.as_ref())));
        self
    }

    /// Takes back what [`Policy::allow_served`] allowed of these tools: their calls ask again.
    #[must_use]
    pub fn forget_served<S: AsRef<str>>(mut self, tools: impl IntoIterator<Item = S>) -> Policy {
        for tool in tools {
            self.answers.forget(&Rule::tool(tool.as_ref()));
        }
        self
    }

    /// What [`Policy::remember`] was told, in order.
    pub fn remembered(&self) -> &[Rule] {
        self.answers.all()
    }

    /// Judges a shell command that would run in `cwd`, a folder relative to the root ("" is the root).
    pub fn judge_command(&self, command: &str, cwd: &str, facts: &dyn Facts) -> Decision {
        self.command(command, cwd, facts, View { held: facts.sandbox_holds(), read_only: facts.is_project_read_only() })
    }

    fn command(&self, command: &str, cwd: &str, facts: &dyn Facts, view: View) -> Decision {
        let Policy { settings, answers, paths, exact_deny, .. } = self;
        let ground = shell::Ground { settings, answers, paths, facts, exact_deny: *exact_deny };
        shell::judge(command, cwd, ground, view)
    }

    /// The catalog with the tools marked of which calls usually ask, by their effect and the setting `ask`, and with those whose
    /// commands run on a private copy of the project, so that the instructions tell the model. A rule about a single call may decide
    /// otherwise.
    pub fn marked(&self, catalog: &Catalog, facts: &dyn Facts) -> Catalog {
        let asks = |effect, served| match (self.settings.ask, effect) {
            (AskMode::Never, _) => false,
            (AskMode::Always, _) => true,
            (_, Effect::Read) => served,
            (AskMode::Sandboxed, Effect::Execute) => served || !facts.sandbox_holds(),
            (AskMode::Risky, Effect::Execute) => served || !(facts.has_private_copy() || facts.is_project_read_only()),
            (AskMode::Sandboxed | AskMode::Risky, _) => true,
        };
        let marked = catalog.specs().iter().cloned().map(|mut spec| {
            // What a call does may depend on a choice. The first one stands for what is usual, as it does in the examples.
            let choice = |param: &Param| match &param.kind {
                ParamKind::Choice(choices) if param.required => {
                    choices.first().map(|first| (param.name.to_string(), first.as_ref().into()))
                }
                _ => None,
            };
            let args: Args = spec.params.iter().filter_map(choice).collect();
            let allowed =
                spec.served && self.settings.ask != AskMode::Always && self.answers.has(&Rule::tool(&spec.name));
            spec.asks_first = !allowed && asks(spec.effect_of(&args), spec.served);
            let takes_command = spec.params.iter().any(|param| param.kind == ParamKind::Command);
            if self.read_only {
                spec.params.retain(|param| param.request != Some(Request::Write));
            }
            spec.on_private_copy = takes_command && !spec.served && facts.has_private_copy();
            spec
        });
        marked.collect()
    }

    /// What the setting `ask` makes of a decision.
    pub fn effective(&self, decision: &Decision, facts: &dyn Facts) -> Effective {
        match (decision.judgement, self.settings.ask) {
            (Judgement::Deny, _) => Effective::Deny,
            (Judgement::Ask, AskMode::Never) if self.refuses_outside(decision) => Effective::Deny,
            (_, AskMode::Always) => Effective::Ask,
            (Judgement::Allow, _) => Effective::Run,
            (Judgement::Ask, AskMode::Risky | AskMode::Never)
                if decision.on_private_copy && decision.sandbox_suffice =>
            {
                Effective::Run
            }
            (Judgement::Ask, AskMode::Risky) => Effective::Ask,
            (Judgement::Ask, AskMode::Sandboxed) => {
                // The tools for files need no sandbox: they write nothing but the files that they name.
                let holds = decision.rule == CHANGES || facts.sandbox_holds();
                if decision.sandbox_suffice && holds { Effective::Run } else { Effective::Ask }
            }
            (Judgement::Ask, AskMode::Never)
                if decision.unreadable && !decision.sandbox_suffice || decision.needs_person =>
            {
                Effective::Deny
            }
            (Judgement::Ask, AskMode::Never) => Effective::Run,
        }
    }

    /// The reason why [`AskMode::Never`] refuses a call that asks to run outside the sandbox, and what to do; `None` for other calls.
    #[doc(hidden)]
    pub fn refusal_outside(&self, decision: &Decision) -> Option<Text> {
        let is_refused = decision.judgement == Judgement::Ask && self.refuses_outside(decision);
        is_refused.then(|| {
            text!(
                "With `--yes` (ask = \"never\") no command leaves the sandbox unless the user's settings file has `outside = true`. Run it without outside_sandbox. If it cannot work in the sandbox, say so: the user can set `outside = true`, or start without `--yes` and be asked."
            )
        })
    }

    fn refuses_outside(&self, decision: &Decision) -> bool {
        decision.outside_sandbox && self.settings.ask == AskMode::Never && !self.settings.outside
    }

    /// The answer to a denied call.
    fn refusal(&self, decision: &Decision) -> ToolFailure {
        let code = decision.code.unwrap_or(ErrorCode::Denied);
        if let Some(why) = self.refusal_outside(decision) {
            return ToolFailure::new(code, why);
        }
        let (rule, reason) = (decision.rule.as_str(), decision.reason.clone());
        let message = match rule {
            "blocked_path" => messages::refused_in_any_way(rule, reason),
            _ => messages::refused(rule, reason),
        };
        ToolFailure::new(code, message)
    }
}

/// The rule by which the user accepts the changes of a command for the session.
fn changes_rule(call: &ToolCall, spec: &ToolSpec) -> Rule {
    let argument = |kind: &ParamKind| spec.params.iter().find(|param| param.kind == *kind);
    let text = |kind: &ParamKind| call.args.get(argument(kind)?.name.as_ref())?.as_str().map(str::to_owned);
    match spec.equivalent_command(&call.args) {
        Some(words) => Rule::changes(&words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "), ""),
        None => {
            let folder = text(&ParamKind::Path).unwrap_or_default();
            Rule::changes(&text(&ParamKind::Command).unwrap_or_default(), &folder)
        }
    }
}

/// Returns `true` if a text for a shell may give a command another name: by an alias or a function.
fn gives_names(text: &str) -> bool {
    ["alias", "()", "function "].iter().any(|word| text.contains(word))
}

fn echo(source: &str) -> Decision {
    let reason = messages::echo(shown(source, 120));
    Decision { needs_person: true, ..Decision::new(Judgement::Ask, "echo", reason) }
}

fn put_together() -> Decision {
    Decision { needs_person: true, ..Decision::new(Judgement::Ask, "stitched", messages::stitched()) }
}

/// The answer to a call that could only be read by a guess and would do more than read.
fn guessed(call: &ToolCall) -> ToolFailure {
    const LONGEST_VALUE: usize = 120;
    const LONGEST_READING: usize = 600;
    let lossy: Vec<&str> =
        call.repairs.iter().filter(|repair| !repair.lossless()).map(|repair| Repair::name(*repair)).collect();
    let args: Vec<String> = call.args.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let values: Vec<String> = args.iter().map(|arg| shown(arg, LONGEST_VALUE)).collect();
    let reading = shown(&values.join(", "), LONGEST_READING);
    let mut message = messages::guessed(lossy.join(", "), call.name.as_str(), reading);
    if call.repairs.contains(&Repair::InnerQuotes) {
        // A model that did not escape its quotes once will not do so in the next try either.
        message = message.then(messages::body_instead_of_quotes());
    }
    if call.repairs.contains(&Repair::DoubtfulFence) {
        message = message.then(messages::close_each_block());
    }
    ToolFailure::new(ErrorCode::MalformedCall, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list of the rules that a command met is cut. What it lacks may be a rule that only a user can answer.
    #[test]
    fn a_full_list_of_rules_does_not_show_that_a_command_is_only_unreadable() {
        let policy = Policy::default();
        let mut decision = Decision::new(Judgement::Ask, "unreadable", "it cannot be read");
        decision.unreadable = true;
        assert!(policy.asks_only_as_unreadable(&decision));
        let met = decision.met[0].clone();
        decision.met = vec![met; MOST_MET];
        assert!(!policy.asks_only_as_unreadable(&decision));
    }
}
