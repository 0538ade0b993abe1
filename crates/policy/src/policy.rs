//! The path of a call through the rules, from the model's text to the verdict.

use crate::answers::{self, Answers, Rule, quoted};
use crate::changes::{Consent, Consents};
use crate::decision::{AskMode, Decision, Effective, Judgement, Question};
use crate::facts::AskedOnce;
use crate::rules::{PathRules, instructs_agents};
use crate::shell::{self, Confinement, WRITES, escape};
use crate::verdict::{ClearedCall, Pending, Verdict};
use crate::{Facts, PathFact, Settings, paths, targets};
use serde_json::Value;
use toolfence_protocol::{
    Args, Catalog, Effect, ErrorCode, Param, ParamKind, Repair, Request, Result, Text, ToolCall, ToolFailure,
    ToolResult, ToolSpec, text,
};

/// The rule that asks before a tool changes files.
const CHANGES: &str = "write";

/// The tool that writes to background commands.
const JOB: &str = "job";

/// The compiled rules.
///
/// ```
/// use toolfence_policy::{Effective, Judgement, NoFacts, Policy};
///
/// let policy = Policy::default();
/// let decision = policy.judge_command("rm -rf /", "", &NoFacts);
/// assert_eq!(decision.judgement, Judgement::Deny);
/// assert_eq!(policy.effective(&decision), Effective::Deny);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Policy {
    settings: Settings,
    paths: PathRules,
    answers: Answers,
    /// Whether only calls that read may run.
    read_only: bool,
}

impl Policy {
    /// Compiles the policy of these settings.
    ///
    /// # Errors
    /// Fails if a path glob is invalid.
    pub fn new(settings: Settings) -> Result<Policy> {
        let paths = settings.path_rules()?;
        Ok(Policy { settings, paths, ..Policy::default() })
    }

    /// Sets how judgements are applied.
    #[must_use]
    pub fn ask(mut self, ask: AskMode) -> Policy {
        self.settings.ask = ask;
        self
    }

    /// Sets whether only calls that read may run: everything else is denied by the rule `plan`, whatever was allowed.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Policy {
        self.read_only = read_only;
        self
    }

    /// Protects these paths, and everything below them, from writing by tools, because these files control the host.
    /// They are relative to the root, and not globs.
    #[must_use]
    pub fn protect<S: AsRef<str>>(mut self, paths: impl IntoIterator<Item = S>) -> Policy {
        paths.into_iter().for_each(|path| self.paths.guard(path.as_ref()));
        self
    }

    /// Returns the settings of this policy.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the rules about names, for code that opens files.
    pub fn paths(&self) -> &PathRules {
        &self.paths
    }

    /// Decides about a call from the model. The same call, catalog and facts give the same verdict.
    pub fn review(&self, mut call: ToolCall, catalog: &Catalog, facts: &dyn Facts) -> Verdict {
        // Several rules ask about the same path. A file that changes between two questions must not get two answers.
        let facts: &dyn Facts = &AskedOnce::new(facts);
        let refused = |call: ToolCall, failure| Verdict::Denied(ToolResult::refused(call.id, call.name, failure));
        // Resolve the tool and its arguments to the names in the prompt.
        let spec = match catalog.resolve(&mut call) {
            Ok(spec) => spec,
            Err(failure) => return refused(call, failure),
        };
        let effect = spec.effect_of(&call.args);
        let mut decision = match self.judge_as_read(&call, spec, facts) {
            Ok(decision) => decision,
            Err(failure) => return refused(call, failure),
        };
        // The setting `ask` decides how the decision is applied.
        match self.effective(&decision) {
            Effective::Run => {
                let consents = self.consents(&call, spec, &decision);
                Verdict::Cleared(ClearedCall::by_rules(call, effect, decision, consents))
            }
            Effective::Ask => {
                // A call that is certain to fail is answered here, so that the user is not asked about it.
                let diff = match facts.plan(&call) {
                    Ok(diff) => diff,
                    Err(failure) => return refused(call, failure),
                };
                if self.settings.ask == AskMode::Always {
                    // This setting asks about earlier permissions too.
                    decision.offer.refuse(text!("the setting `ask = \"always\"` asks about everything"));
                    if decision.judgement == Judgement::Allow {
                        decision.reason = text!("With `ask = \"always\"` you are asked about every call.");
                    }
                }
                let consents = self.consents(&call, spec, &decision);
                let changes_files = [CHANGES, WRITES].contains(&decision.rule.as_str());
                let offers_all = self.settings.ask == AskMode::Risky && changes_files;
                let mut pending = Pending::new(call, effect, decision, consents);
                (pending.diff, pending.offers_all) = (diff, offers_all);
                Verdict::Ask(pending)
            }
            Effective::Deny => {
                let mut failure = self.refusal(&decision);
                // The refusal lists the paths below the root that the model may mean.
                if decision.rule == paths::OUTSIDE {
                    failure = failure.suggest(targets::instead(spec, &call.args, facts));
                }
                refused(call, failure)
            }
        }
    }

    /// Judges a call that [`Catalog::resolve`] has resolved as [`Policy::judge`] does, and also by the repairs made to
    /// it.
    ///
    /// # Errors
    /// Fails if the call was repaired by a guess and would do more than read, with the answer to the model.
    pub fn judge_read(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        facts: &dyn Facts,
    ) -> std::result::Result<Decision, ToolFailure> {
        self.judge_as_read(call, spec, &AskedOnce::new(facts))
    }

    fn judge_as_read(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        facts: &dyn Facts,
    ) -> std::result::Result<Decision, ToolFailure> {
        // A call repaired by a guess may only read.
        let effect = spec.effect_of(&call.args);
        // A joined call is not refused like the other guesses: the user decides about it below.
        let stitched = call.repairs.contains(&Repair::Stitched);
        let guesses = |repair: &Repair| !repair.lossless() && *repair != Repair::Stitched;
        if call.repairs.iter().any(guesses) && effect != Effect::Read {
            return Err(refuse_guess(call));
        }
        // Every rule is checked, and the strictest decides.
        let mut decision = self.judge(call, spec, facts);
        // A confined command runs in plan mode too, and `consents` refuses to keep what it writes.
        let reads = effect == Effect::Read || decision.rule == shell::HARMLESS;
        if self.read_only && !reads && !decision.is_confined {
            decision = Decision::new(
                Judgement::Deny,
                "plan",
                text!(
                    "This conversation is in plan mode: only what reads runs until the user ends it. Read what you \
                     need and say what you would do."
                ),
            )
            .stricter(decision);
        }
        // Only the user can see whether the two replies were joined correctly.
        if stitched && effect != Effect::Read {
            decision = ask_about_stitched_call().stricter(decision);
        }
        Ok(decision)
    }

    /// Judges a call that [`Catalog::resolve`] has resolved. Every rule is checked and the strictest decides.
    pub fn judge(&self, call: &ToolCall, spec: &ToolSpec, facts: &dyn Facts) -> Decision {
        let (args, effect) = (&call.args, spec.effect_of(&call.args));
        // First, what the call does.
        let mut decision = self.judge_action(call, spec, facts);
        // Second, the paths in the call.
        let named = targets::paths(spec, args);
        for (path, folder) in &named {
            decision = decision.stricter(paths::judge(&self.paths, path, *folder, effect, facts));
        }
        if effect != Effect::Read {
            decision.targets = targets::targets(spec, args, facts);
            // The mode `sandboxed` keeps changes of files unasked, but these files steer the agent in every later
            // session.
            let instructs = decision.targets.iter().any(|target| instructs_agents(&target.name));
            if instructs && decision.question == Question::Changes {
                decision.question = Question::Right;
            }
        }
        // Third, what only some calls have: text for a job, and rights outside the sandbox.
        decision = self.judge_text_for_job(call, spec, facts, decision);
        decision = self.judge_rights(call, spec, decision);
        // Last, because an earlier answer counts only if no other rule asks.
        self.apply_answers_about_files(call, spec, facts, &named, decision)
    }

    /// Judges the action of a call, apart from its paths and rights.
    fn judge_action(&self, call: &ToolCall, spec: &ToolSpec, facts: &dyn Facts) -> Decision {
        let name = escape(&spec.name, 64);
        if let Some((text, cwd)) = command_of(call, spec) {
            let outside = spec.asks_for(Request::OutsideSandbox, &call.args);
            let may_write = spec.asks_for(Request::Write, &call.args);
            let confinement = if outside { Confinement::None } else { confinement(facts, may_write) };
            let mut decision = self.command(&text, &cwd, facts, confinement);
            if spec.equivalent_command(&call.args).is_some() {
                // Marks are positions in a command line that is made here. The call itself has no such text.
                decision.marks = Vec::new();
            }
            decision.is_confined = confinement == Confinement::Full;
            // A job writes the build folders of the project itself, so no question about its output can follow.
            if spec.asks_for(Request::Background, &call.args) && facts.has_private_copy() {
                decision = self.ask_about_builds(decision);
            }
            return decision;
        }
        if spec.served {
            // A server's own hint that a tool only reads does not make it run without a question.
            if self.answers.contains(&Rule::tool(&spec.name)) {
                return Decision::new(
                    Judgement::Allow,
                    answers::ANSWERED,
                    text!("You allowed every call of {tool}.", tool = name),
                );
            }
            let mut asks = Decision::new(
                Judgement::Ask,
                "served",
                text!("{tool} is a tool of an MCP server, and that program decides what the call does.", tool = name),
            );
            asks.offer.add(Ok::<_, Text>(Rule::tool(&spec.name)));
            return asks;
        }
        match spec.effect_of(&call.args) {
            Effect::Read => Decision::new(Judgement::Allow, "read", text!("{tool} only reads.", tool = name)),
            Effect::Write => Decision {
                question: Question::Changes,
                ..Decision::new(Judgement::Ask, CHANGES, text!("{tool} changes files.", tool = name))
            },
            // Stopping a job, or writing to it, changes nothing outside the sandbox.
            Effect::Execute if spec.name == JOB && facts.sandbox_holds() => {
                Decision::new(Judgement::Allow, "sandbox", text!("The sandbox confines the job."))
            }
            Effect::Execute => Decision::new(
                Judgement::Ask,
                "execute",
                text!("{tool} runs a program or changes what runs.", tool = name),
            ),
        }
    }

    /// Asks before a job writes into build folders of the project, if the user has not answered that for the session.
    fn ask_about_builds(&self, decision: Decision) -> Decision {
        let is_open = matches!(self.settings.ask, AskMode::Risky | AskMode::Always) && self.answers.output().is_none();
        if !is_open || self.read_only || !decision.is_confined || decision.judgement != Judgement::Allow {
            return decision;
        }
        let reason = text!("A job writes into the build folders of the project itself.");
        let mut asks = Decision { question: Question::Changes, ..Decision::new(Judgement::Ask, "output", reason) };
        asks.offer.add(Ok::<_, Text>(Rule::output(true)));
        asks.stricter(decision)
    }

    /// Judges text for a job by the rules for commands: a job may be a shell or an interpreter, whatever it was started
    /// as.
    fn judge_text_for_job(&self, call: &ToolCall, spec: &ToolSpec, facts: &dyn Facts, decision: Decision) -> Decision {
        let argument = |name: &str| call.args.get(name).and_then(Value::as_str);
        let (true, Some(job), Some(text)) = (spec.name == JOB, argument("id"), argument("input")) else {
            return decision;
        };
        let has_rules = !self.settings.commands.deny.is_empty() || !self.settings.commands.only.is_empty();
        // A command may be written in several pieces, none of which matches a rule.
        let text = facts.written_to(job) + text;
        // Whether the job is confined is judged elsewhere. Here only rules that deny count, as for a fully confined
        // command.
        let written = self.command(&text, "", facts, Confinement::Full);
        let mut decision = decision;
        if has_rules && gives_names(&text) {
            let reason = text!("It may give a command another name, and rules apply to names of commands.");
            let asks = Decision::new(Judgement::Ask, "unreadable", reason);
            decision = decision.stricter(Decision { question: Question::Person, ..asks });
        }
        // Unreadable text counts only if a rule could apply to it.
        let counts = match written.judgement {
            Judgement::Deny => has_rules || written.code != Some(ErrorCode::TooLarge),
            judgement => judgement == Judgement::Ask,
        };
        if counts { decision.stricter(written) } else { decision }
    }

    /// Asks about the rights that the call needs outside the sandbox.
    fn judge_rights(&self, call: &ToolCall, spec: &ToolSpec, decision: Decision) -> Decision {
        let mut decision = decision;
        let outside = spec.asks_for(Request::OutsideSandbox, &call.args);
        let rule_of = |make: fn(&str, &str) -> Rule| command_of(call, spec).map(|(text, cwd)| make(&text, &cwd));
        let network = rule_of(Rule::network);
        let may_use_network = network.as_ref().is_some_and(|rule| self.answers.contains(rule));
        // An answer about the network was given for the command in the sandbox.
        if spec.asks_for(Request::Network, &call.args) && (!may_use_network || outside) {
            decision = ask_for(decision, "network", text!("It wants to use the network."), Question::Right, network);
        }
        if outside {
            let reason =
                text!("It wants to run outside the sandbox, where it can read, change and send whatever you can.");
            decision = ask_for(decision, "outside_sandbox", reason, Question::Outside, None);
        }
        decision
    }

    /// Allows changes of files that the user has allowed before, if no other rule asks about the call. Otherwise it
    /// offers to allow them.
    fn apply_answers_about_files(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        facts: &dyn Facts,
        named: &[(String, bool)],
        decision: Decision,
    ) -> Decision {
        let mut decision = decision;
        let effect = spec.effect_of(&call.args);
        // An answer about a file must not answer another question, such as one about a file that git runs.
        let mut asks = decision.met.iter().filter(|met| met.judgement == Judgement::Ask);
        if decision.judgement != Judgement::Ask || effect != Effect::Write || !asks.all(|met| met.rule == CHANGES) {
            return decision;
        }
        // Such a patch may change other files than those that were found in it.
        if !targets::names_all(spec, &call.args) {
            decision.offer.refuse(text!("the patch cannot be read"));
            return decision;
        }
        let mut files = Vec::new();
        for (path, _) in named.iter().filter(|(_, folder)| !folder) {
            match facts.path("", path) {
                PathFact::Inside { names } if !names.is_empty() => files.push(Rule::file(&spec.name, &names[0])),
                // No exact rule can be stored for one of them.
                _ => return decision,
            }
        }
        if !files.is_empty() && files.iter().all(|file| self.answers.contains(file)) {
            let reason = text!("You allowed {tool} to change this file for the session.", tool = spec.name.as_ref());
            let allowed = Decision::new(Judgement::Allow, answers::ANSWERED, reason);
            return Decision { targets: decision.targets, ..allowed };
        }
        for file in files {
            decision.offer.add(Ok::<_, Text>(file));
        }
        decision
    }

    /// Returns the consents for the files that a command writes on its private copy of the project.
    fn consents(&self, call: &ToolCall, spec: &ToolSpec, decision: &Decision) -> Consents {
        if !decision.is_confined {
            return Consents::nothing();
        }
        let rule = changes_rule(call, spec);
        let may_use_network = spec.asks_for(Request::Network, &call.args);
        let network = match self.settings.ask {
            // It has the network already, so there is no second run to ask about.
            _ if may_use_network => Consent::Refused,
            AskMode::Never => Consent::Given,
            _ => Consent::Ask,
        };
        let (changes, output) = match self.settings.ask {
            _ if self.read_only => (Consent::Refused, Consent::Refused),
            AskMode::Sandboxed | AskMode::Never => (Consent::Given, Consent::Given),
            ask => {
                // A command that the user's settings allow may change the project.
                let is_allowed = self.answers.contains(&rule) || decision.rule == "commands.allow";
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
            // This mode keeps changes unasked, except those that lose history: a deleted branch, a dropped stash, a
            // shortened log.
            AskMode::Sandboxed if changes == Consent::Given && !self.answers.contains(&rule) => Consent::Ask,
            _ => changes,
        };
        let always = if self.settings.ask == AskMode::Always {
            Err(text!("the setting `ask = \"always\"` asks about everything"))
        } else {
            Ok(rule)
        };
        // `offers_all`: the answer "all changes" makes the mode `sandboxed`, which changes nothing in the other modes.
        Consents { changes, lost_history, output, network, always, offers_all: self.settings.ask == AskMode::Risky }
    }

    /// Stores the user's "always" answers for the lifetime of this policy. They do not allow a call that a rule denies.
    pub fn remember(&mut self, rules: impl IntoIterator<Item = Rule>) {
        for rule in rules {
            // Other modes are kept: `always` is stricter, and the others keep all changes already.
            if rule.is_all_changes() && self.settings.ask == AskMode::Risky {
                self.settings.ask = AskMode::Sandboxed;
            }
            self.answers.store(rule);
        }
    }

    /// Allows every call of these tools for the lifetime of this policy, if another program runs them
    /// ([`ToolSpec::served`]) and nothing else about a call asks.
    #[must_use]
    pub fn allow_served<S: AsRef<str>>(mut self, tools: impl IntoIterator<Item = S>) -> Policy {
        self.remember(tools.into_iter().map(|tool| Rule::tool(tool.as_ref())));
        self
    }

    /// Revokes [`Policy::allow_served`] for these tools: their calls ask again.
    #[must_use]
    pub fn forget_served<S: AsRef<str>>(mut self, tools: impl IntoIterator<Item = S>) -> Policy {
        for tool in tools {
            self.answers.forget(&Rule::tool(tool.as_ref()));
        }
        self
    }

    /// Returns the rules that [`Policy::remember`] stored, in order.
    pub fn remembered(&self) -> &[Rule] {
        self.answers.all()
    }

    /// Judges a shell command that would run in `cwd`, a folder relative to the root ("" is the root).
    pub fn judge_command(&self, command: &str, cwd: &str, facts: &dyn Facts) -> Decision {
        self.command(command, cwd, facts, confinement(facts, false))
    }

    fn command(&self, command: &str, cwd: &str, facts: &dyn Facts, confinement: Confinement) -> Decision {
        let Policy { settings, answers, paths, .. } = self;
        // An answer for a folder applies to its real path.
        let real = match facts.path("", cwd) {
            PathFact::Inside { names } if !cwd.is_empty() => names.into_iter().next(),
            _ => None,
        };
        let cwd = real.as_deref().unwrap_or(cwd);
        shell::judge(command, cwd, shell::Ground { settings, answers, paths, facts }, confinement)
    }

    /// Returns the catalog with marks for the tools whose calls usually ask, by their effect and the setting `ask`, and
    /// for those whose commands run on a private copy of the project. The prompt then informs the model. A rule about a
    /// single call may decide otherwise.
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
            // The effect of a call may depend on a choice. The first choice is the usual one, as in the examples.
            let choice = |param: &Param| match &param.kind {
                ParamKind::Choice(choices) if param.required => {
                    choices.first().map(|first| (param.name.to_string(), first.as_ref().into()))
                }
                _ => None,
            };
            let args: Args = spec.params.iter().filter_map(choice).collect();
            let allowed =
                spec.served && self.settings.ask != AskMode::Always && self.answers.contains(&Rule::tool(&spec.name));
            spec.asks_first = !allowed && asks(spec.effect_of(&args), spec.served);
            let takes_command = spec.params.iter().any(|param| param.kind == ParamKind::Command);
            // In plan mode every request to write is denied, so the prompt does not offer one.
            if self.read_only {
                spec.params.retain(|param| param.request != Some(Request::Write));
            }
            spec.on_private_copy = takes_command && !spec.served && facts.has_private_copy();
            spec
        });
        marked.collect()
    }

    /// Applies the setting `ask` to a decision.
    pub fn effective(&self, decision: &Decision) -> Effective {
        match (decision.judgement, self.settings.ask, decision.question) {
            (Judgement::Deny, ..) => Effective::Deny,
            (Judgement::Ask, AskMode::Never, Question::Outside) if !self.settings.outside => Effective::Deny,
            (Judgement::Ask, AskMode::Never, Question::Person) => Effective::Deny,
            // `always` asks about allowed calls too, but only after the rows that deny.
            (_, AskMode::Always, _) => Effective::Ask,
            (Judgement::Allow, ..) | (_, AskMode::Never, _) => Effective::Run,
            (Judgement::Ask, AskMode::Sandboxed, Question::Changes) => Effective::Run,
            (Judgement::Ask, AskMode::Risky | AskMode::Sandboxed, _) => Effective::Ask,
        }
    }

    /// Returns why [`AskMode::Never`] refuses a call that asks to run outside the sandbox, and what to do; `None` for
    /// other calls.
    #[doc(hidden)]
    pub fn refusal_outside(&self, decision: &Decision) -> Option<Text> {
        let is_refused = decision.judgement == Judgement::Ask && self.refuses_outside(decision);
        is_refused.then(|| {
            text!(
                "With `--yes` (ask = \"never\") no command leaves the sandbox unless the user's settings file has \
                 `outside = true`. Run it without outside_sandbox. If it cannot work in the sandbox, say so: the user \
                 can set `outside = true`, or start without `--yes` and be asked."
            )
        })
    }

    fn refuses_outside(&self, decision: &Decision) -> bool {
        decision.question == Question::Outside && self.settings.ask == AskMode::Never && !self.settings.outside
    }

    /// Returns the answer to a denied call.
    fn refusal(&self, decision: &Decision) -> ToolFailure {
        let code = decision.code.unwrap_or(ErrorCode::Denied);
        if let Some(why) = self.refusal_outside(decision) {
            return ToolFailure::new(code, why);
        }
        let (rule, reason) = (decision.rule.as_str(), decision.reason.clone());
        let message = match rule {
            "blocked_path" => text!("Refused by the rule {rule}: {reason} Do not repeat the call.", rule, reason),
            _ => text!(
                "Refused by the rule {rule}: {reason} Do not repeat the call; do it another way or ask.",
                rule,
                reason
            ),
        };
        ToolFailure::new(code, message)
    }
}

/// Returns how far the host's sandbox confines a command.
fn confinement(facts: &dyn Facts, may_write: bool) -> Confinement {
    // This question comes first: a host tests private copies when it is asked, also without a sandbox, and reports the
    // reason of the first failed test.
    let is_apart = facts.has_private_copy() || facts.is_project_read_only() && !may_write;
    match facts.sandbox_holds() {
        false => Confinement::None,
        true if is_apart => Confinement::Full,
        true => Confinement::ProjectWritable,
    }
}

/// Returns the rule by which the user accepts the changes of a command for the session.
fn changes_rule(call: &ToolCall, spec: &ToolSpec) -> Rule {
    let (text, cwd) = command_of(call, spec).unwrap_or_default();
    Rule::changes(&text, &cwd)
}

/// Returns the command that a call runs, and its folder; `None` if the tool runs none.
fn command_of(call: &ToolCall, spec: &ToolSpec) -> Option<(String, String)> {
    if let Some(words) = spec.equivalent_command(&call.args) {
        return Some((words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "), String::new()));
    }
    let argument = |kind: &ParamKind| {
        let param = spec.params.iter().find(|param| param.kind == *kind)?;
        call.args.get(param.name.as_ref())?.as_str().map(str::to_owned)
    };
    Some((argument(&ParamKind::Command)?, argument(&ParamKind::Path).unwrap_or_default()))
}

/// Adds a question about a right to a decision.
fn ask_for(decision: Decision, rule: &str, reason: Text, question: Question, offer: Option<Rule>) -> Decision {
    let mut asks = Decision { question, ..Decision::new(Judgement::Ask, rule, reason.clone()) };
    if decision.judgement != Judgement::Ask
        && let Some(offer) = offer
    {
        asks.offer.add(Ok::<_, Text>(offer));
    }
    let mut decision = decision.stricter(asks);
    // A question that another rule asks must name the right too.
    if decision.judgement == Judgement::Ask && decision.rule != rule {
        decision.reason = reason.then(decision.reason);
    }
    decision
}

/// Returns `true` if a text for a shell may give a command another name: by an alias or a function.
fn gives_names(text: &str) -> bool {
    ["alias", "()", "function "].iter().any(|word| text.contains(word))
}

fn ask_about_stitched_call() -> Decision {
    Decision {
        question: Question::Person,
        ..Decision::new(
            Judgement::Ask,
            "stitched",
            text!(
                "The call broke off with one reply and was finished in the next: look whether the two were put \
                 together well."
            ),
        )
    }
}

/// Returns the answer to a call that was repaired by a guess and would do more than read.
fn refuse_guess(call: &ToolCall) -> ToolFailure {
    const LONGEST_VALUE: usize = 120;
    const LONGEST_READING: usize = 600;
    let lossy: Vec<&str> =
        call.repairs.iter().filter(|repair| !repair.lossless()).map(|repair| Repair::name(*repair)).collect();
    let args: Vec<String> = call.args.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let values: Vec<String> = args.iter().map(|arg| escape(arg, LONGEST_VALUE)).collect();
    let reading = escape(&values.join(", "), LONGEST_READING);
    let mut message = text!(
        "The call could only be read by a guess ({repairs}), and {tool} does more than read, so it did not run. It was \
         read as {tool} with the arguments {arguments}. If that is what was meant, write it again as a block with the \
         info word `tool`, at the beginning of a line, that holds valid JSON: {{\"name\": .., \"args\": {{..}}}}.",
        repairs = lossy.join(", "),
        tool = call.name.as_str(),
        arguments = reading
    );
    if call.repairs.contains(&Repair::InnerQuotes) {
        // A model that failed to escape its quotes fails in the next attempt too, so the message offers a form without
        // them.
        message = message.then(text!(
            "Inside a string write quotes as \\\", or give the text as a verbatim body: \"<<TAG\" as the string, the \
             text below the object."
        ));
    }
    if call.repairs.contains(&Repair::DoubtfulFence) {
        message = message.then(text!(
            "A block before this one was not closed correctly: end each block with its closing fence, ```, alone on a \
             line."
        ));
    }
    ToolFailure::new(ErrorCode::MalformedCall, message)
}
