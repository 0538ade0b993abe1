//! What may run: allow, ask or deny, with the rule that decided and why.
//!
//! This crate judges calls: command lines on a full parse of the shell language in `shell/`, files by the path rules, and both
//! by the settings of the user. It opens no file, starts no program and asks no clock: what it must know of the world it asks
//! of [`Facts`], which the host implements. It is the only maker of [`Cleared`], and nothing runs without one.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

#![forbid(unsafe_code)]

mod answers;
mod facts;
mod judge;
pub mod settings;
mod shell;

pub use answers::Rule;
pub use facts::{Facts, HistoryFact, NoFacts, PathFact, ProgramFact, RepositoryFact, Sandbox, Seen};
pub use settings::{CommandRule, CommandSettings, PathSettings, Settings};

use answers::{Answers, Offer};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use toolfence_protocol::{Catalog, Effect, ErrorCode, Repair, Result, ToolCall, ToolFailure, ToolResult, ToolSpec};
use toolfence_rules::{Blocked, Harmless, PathRules};

/// A judgement, the same with every setting of `ask`. Ordered: the strictest of several is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// Nothing speaks against it.
    Allow,
    /// A person has to say yes.
    Ask,
    /// Not with any setting of `ask`.
    Deny,
}

/// What is done with a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AskMode {
    /// Runs what is allowed, asks for the rest.
    #[default]
    Risky,
    /// Asks for everything that is not denied.
    Always,
    /// Also runs what the sandbox fully holds.
    Sandboxed,
    /// Asks for nothing: runs what would be asked, but for text that cannot be read, which is denied.
    Never,
}

/// A rule that was met on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Met {
    /// What it says.
    #[serde(rename = "verdict")]
    pub judgement: Judgement,
    /// Its name.
    pub rule: String,
    /// Why, in a sentence.
    pub reason: String,
    /// Which of [`Decision::commands`] met it, where it was one of them: the first that did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<usize>,
}

/// A file that a call would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Target {
    /// The real name relative to the root, links followed, whatever the path looked like.
    pub name: String,
    /// The path as the call has it, where that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// The link that the path goes by, relative to the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// The most rules that are told of a call.
const MOST_MET: usize = 64;

/// A judgement with the rule that made it and the reason, written for the person and the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Decision {
    /// The strictest of the rules.
    #[serde(rename = "verdict")]
    pub judgement: Judgement,
    /// The name of the rule that decided.
    pub rule: String,
    /// Why, in a sentence.
    pub reason: String,
    /// The simple commands that would run, as the parse has them; empty for other tools.
    pub commands: Vec<String>,
    /// The files that the call would change by the paths it names, each once; empty for commands and for calls that only
    /// read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// Every rule that was met and had something to say, the one that decided among them; 64 at most, each once.
    pub met: Vec<Met>,
    /// Where the simple commands that are not allowed stand in the command's text, in bytes; 64 at most.
    pub marks: Vec<Range<usize>>,
    #[serde(skip)]
    offer: Offer,
    /// Set where the text could not be read at all: then `never` denies as well.
    #[serde(skip)]
    pub unreadable: bool,
    /// Set where only a person may say yes: the setting `ask = "never"` denies it, and a sandbox that holds does not answer it.
    #[serde(skip)]
    pub needs_person: bool,
    /// Set for a call of `bash` that writes a git repository: every simple command is git, or one of `cd`, `echo`, `true`
    /// and `printf`, and makes git run no other program. Only such a call finds the repository writable in the sandbox.
    pub writes_git: bool,
    /// Set where the question is what a command could do, which a sandbox that fully holds answers.
    #[serde(skip)]
    pub sandbox_suffice: bool,
    /// Set where every part of a command is known to only read, so that it misses nothing where it cannot write. Without
    /// sandbox nothing holds it to that.
    #[serde(skip)]
    pub only_reads: bool,
    /// The code a refusal carries, where it is another one than `denied`.
    #[serde(skip)]
    pub code: Option<ErrorCode>,
}

impl Decision {
    fn new(judgement: Judgement, rule: impl Into<String>, reason: impl Into<String>) -> Decision {
        let (rule, reason) = (rule.into(), reason.into());
        Decision {
            judgement,
            met: vec![Met { judgement, rule: rule.clone(), reason: reason.clone(), command: None }],
            rule,
            reason,
            commands: Vec::new(),
            targets: Vec::new(),
            marks: Vec::new(),
            offer: Offer::default(),
            unreadable: false,
            needs_person: false,
            writes_git: false,
            sandbox_suffice: false,
            only_reads: false,
            code: None,
        }
    }

    /// What an "always" would store: one exact rule for each simple command that asks, or for each file that would be
    /// changed.
    ///
    /// # Errors
    /// Why nothing exact can be stored, as the end of a sentence; or that nothing is asked.
    pub fn always(&self) -> std::result::Result<&[Rule], &str> {
        match self.judgement {
            Judgement::Ask => self.offer.rules(),
            _ => Err("nothing is asked"),
        }
    }

    /// The stricter of two, the first where they are alike; what either found is kept.
    fn stricter(self, other: Decision) -> Decision {
        let unreadable = self.unreadable | other.unreadable;
        let needs_person = self.needs_person | other.needs_person;
        let writes_git = self.writes_git | other.writes_git;
        // An answer by the sandbox must answer every question.
        let open = |decision: &Decision| decision.judgement == Judgement::Ask && !decision.sandbox_suffice;
        let sandbox_suffice =
            (self.sandbox_suffice | other.sandbox_suffice) && !needs_person && !open(&self) && !open(&other);
        let met = self.met.iter().chain(&other.met).take(MOST_MET).cloned().collect();
        // Of two questions the one that only a person may answer says why.
        let rank = |decision: &Decision| (decision.judgement, decision.needs_person);
        let (mut kept, dropped) = if rank(&other) > rank(&self) { (other, self) } else { (self, other) };
        if kept.commands.is_empty() {
            kept.commands = dropped.commands;
            kept.marks = dropped.marks;
        }
        if kept.targets.is_empty() {
            kept.targets = dropped.targets;
        }
        // So must an answer of the person's.
        if dropped.judgement == Judgement::Ask {
            kept.offer = Offer::default();
        }
        Decision { unreadable, needs_person, writes_git, sandbox_suffice, met, ..kept }
    }
}

/// What the setting `ask` makes of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effective {
    /// It runs without a question.
    Run,
    /// A person is asked.
    Ask,
    /// It does not run.
    Deny,
}

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

    /// Sets when a person is asked.
    #[must_use]
    pub fn ask(mut self, ask: AskMode) -> Policy {
        self.settings.ask = ask;
        self
    }

    /// The same with these paths, and all below them, protected from writing by tools: files the host is steered by, where
    /// they are inside the root. Relative to the root, and not globs.
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
        let spec = match catalog.resolve(&mut call) {
            Ok(spec) => spec,
            Err(failure) => return Verdict::Denied(ToolResult::refused(call.id, call.name, failure)),
        };
        let effect = spec.effect_of(&call.args);
        if call.is_lossy() && effect != Effect::Read {
            let failure = guessed(&call);
            return Verdict::Denied(ToolResult::refused(call.id, call.name, failure));
        }
        let mut decision = self.judge(&call, spec, facts);
        let reads = effect == Effect::Read || decision.only_reads && decision.judgement == Judgement::Allow;
        if let Some(source) = source.filter(|_| !reads) {
            decision = echo(source).stricter(decision);
        }
        match self.effective(&decision, facts) {
            Effective::Run => Verdict::Cleared(Cleared { call, effect, decision, approved: false }),
            Effective::Ask => Verdict::Ask(Pending { call, effect, decision: self.offered(decision) }),
            Effective::Deny => {
                let mut failure = refusal(&decision);
                if decision.rule == judge::OUTSIDE {
                    failure = failure.suggest(judge::instead(spec, &call.args, facts));
                }
                Verdict::Denied(ToolResult::refused(call.id, call.name, failure))
            }
        }
    }

    /// Judges a call that [`Catalog::resolve`] has been through. Every rule is asked and the strictest decides.
    pub fn judge(&self, call: &ToolCall, spec: &ToolSpec, facts: &dyn Facts) -> Decision {
        let decision = judge::call(self, call, spec, facts);
        self.answered(decision, call, spec, facts)
    }

    /// Changes of files that were allowed before, and what an answer would store of those that were not.
    fn answered(&self, mut decision: Decision, call: &ToolCall, spec: &ToolSpec, facts: &dyn Facts) -> Decision {
        let asks = |met: &&Met| met.judgement == Judgement::Ask;
        let by_effect = decision.met.iter().filter(asks).all(|met| met.rule == judge::CHANGES);
        if decision.judgement != Judgement::Ask || spec.effect_of(&call.args) != Effect::Write || !by_effect {
            return decision;
        }
        if !judge::names_all(spec, &call.args) {
            decision.offer.refuse("the patch cannot be read");
            return decision;
        }
        let files: Option<Vec<Rule>> = judge::paths(spec, &call.args)
            .iter()
            .map(|(path, _)| match facts.path("", path) {
                PathFact::Inside { names } => names.first().map(|name| Rule::file(&spec.name, name)),
                _ => None,
            })
            .collect();
        let files = files.unwrap_or_default();
        if !files.is_empty() && files.iter().all(|file| self.answers.has(file)) {
            let reason = format!("You allowed {} to change this file for the session.", spec.name);
            let allowed = Decision::new(Judgement::Allow, answers::ANSWERED, reason);
            return Decision { targets: decision.targets, ..allowed };
        }
        files.into_iter().for_each(|file| decision.offer.add(Ok(file)));
        decision
    }

    /// Allows what a person has said "always" to, as long as this policy lives. What is denied stays denied.
    pub fn remember(&mut self, rules: impl IntoIterator<Item = Rule>) {
        let beginnings = rules.into_iter().filter_map(|rule| self.answers.store(rule));
        self.settings.commands.allow.extend(beginnings);
    }

    /// What [`Policy::remember`] was told, in order.
    pub fn remembered(&self) -> &[Rule] {
        self.answers.all()
    }

    /// Judges a shell command that would run in `cwd`, a folder relative to the root ("" is the root).
    pub fn judge_command(&self, command: &str, cwd: &str, facts: &dyn Facts) -> Decision {
        self.command(command, cwd, facts, facts.sandbox().hold)
    }

    /// Judges a shell command; `held` says whether a sandbox that holds would be around this very call.
    fn command(&self, command: &str, cwd: &str, facts: &dyn Facts, held: bool) -> Decision {
        let Policy { settings, answers, paths, exact_deny } = self;
        let ground = shell::Ground { settings, answers, paths, facts, exact_deny: *exact_deny };
        shell::judge(command, cwd, ground, held)
    }

    /// With `ask = "always"`, what was allowed before is asked about too.
    fn offered(&self, mut decision: Decision) -> Decision {
        if self.settings.ask == AskMode::Always {
            decision.offer.refuse("the setting `ask = \"always\"` asks about everything");
        }
        decision
    }

    /// What the setting `ask` makes of a decision.
    pub fn effective(&self, decision: &Decision, facts: &dyn Facts) -> Effective {
        match (decision.judgement, self.settings.ask) {
            (Judgement::Deny, _) => Effective::Deny,
            (_, AskMode::Always) => Effective::Ask,
            (Judgement::Allow, _) => Effective::Run,
            (Judgement::Ask, AskMode::Risky) => Effective::Ask,
            (Judgement::Ask, AskMode::Sandboxed) if decision.sandbox_suffice && facts.sandbox().hold => Effective::Run,
            (Judgement::Ask, AskMode::Sandboxed) => Effective::Ask,
            (Judgement::Ask, AskMode::Never) if decision.unreadable || decision.needs_person => Effective::Deny,
            (Judgement::Ask, AskMode::Never) => Effective::Run,
        }
    }
}

fn echo(source: &str) -> Decision {
    let source = shell::shown(source, 120);
    let reason = format!("The same call stands in the result of {source}, which the model has read: it may repeat it.");
    Decision { needs_person: true, ..Decision::new(Judgement::Ask, "echo", reason) }
}

/// The answer to a denied call.
fn refusal(decision: &Decision) -> ToolFailure {
    let code = decision.code.unwrap_or(ErrorCode::Denied);
    // What is blocked is not to be had in another way.
    let next = if decision.rule == "blocked_path" {
        "Do not repeat the call."
    } else {
        "Do not repeat the call; do it another way or ask."
    };
    let message = format!("Refused by the rule {}: {} {next}", decision.rule, decision.reason);
    ToolFailure::new(code, message)
}

/// The answer to a call that could only be read by a guess and would do more than read.
fn guessed(call: &ToolCall) -> ToolFailure {
    const LONGEST_VALUE: usize = 120;
    const LONGEST_READING: usize = 600;
    let lossy: Vec<&str> =
        call.repairs.iter().filter(|repair| !repair.lossless()).map(|repair| Repair::name(*repair)).collect();
    let args: Vec<String> = call.args.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let shown: Vec<String> = args.iter().map(|arg| shell::shown(arg, LONGEST_VALUE)).collect();
    let reading = shell::shown(&shown.join(", "), LONGEST_READING);
    let message = format!(
        "The call could only be read by a guess ({}), and {} does more than read, so it did not run. It was read as \
         {} with the arguments {reading}. If that is what was meant, write the whole block again as valid JSON.",
        lossy.join(", "),
        call.name,
        call.name,
    );
    ToolFailure::new(ErrorCode::MalformedCall, message)
}

/// What becomes of a call.
#[derive(Debug)]
#[must_use]
pub enum Verdict {
    /// It may run.
    Cleared(Cleared),
    /// A person has to say.
    Ask(Pending),
    /// It may not; this is the answer to the model.
    Denied(ToolResult),
}

/// A call that may run, once: it is not `Clone`, and only this module can make one.
///
/// It cannot be made outside this module:
/// ```compile_fail,E0451
/// # use toolfence_policy::Cleared;
/// # use toolfence_protocol::{Args, Effect, ToolCall};
/// let call = ToolCall::new("1", "bash", Args::new());
/// let cleared = Cleared { call, effect: Effect::Execute }; // the fields are private
/// ```
/// nor copied, for what is cleared runs once:
/// ```compile_fail,E0599
/// # fn twice(cleared: toolfence_policy::Cleared) {
/// let copy = cleared.clone();
/// # }
/// ```
/// It is got from a review or from an approval, and only looked at:
/// ```
/// # use toolfence_policy::{Cleared, Pending};
/// # use toolfence_protocol::Effect;
/// # fn look(pending: Pending) {
/// let cleared: Cleared = pending.approve();
/// assert_eq!(cleared.effect(), Effect::Execute);
/// assert_eq!(cleared.call().name, "bash");
/// # }
/// ```
#[derive(Debug)]
pub struct Cleared {
    call: ToolCall,
    effect: Effect,
    decision: Decision,
    approved: bool,
}

impl Cleared {
    /// The call under the taught names of tool and arguments.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What it can do.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Whether it may change anything: it does more than read, and is no command of which every part only reads.
    pub fn may_change(&self) -> bool {
        self.effect != Effect::Read && !self.decision.only_reads
    }

    /// What the rules said of it.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Whether a person said yes to it.
    pub fn is_approved(&self) -> bool {
        self.approved
    }
}

/// A call that waits for a person.
#[derive(Debug)]
#[must_use]
pub struct Pending {
    call: ToolCall,
    effect: Effect,
    decision: Decision,
}

impl Pending {
    /// The call under the taught names of tool and arguments.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What it could do.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Why a person is asked.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The person said yes.
    pub fn approve(self) -> Cleared {
        Cleared { call: self.call, effect: self.effect, decision: self.decision, approved: true }
    }

    /// What [`Pending::approve_always`] would store: see [`Decision::always`].
    ///
    /// # Errors
    /// Why "always" is not on offer.
    pub fn always(&self) -> std::result::Result<&[Rule], &str> {
        self.decision.always()
    }

    /// A rule for every command that begins with these words, which the person typed. They must begin one of the simple
    /// commands that ask, and the program must be one that runs nothing else. Redirects, assignments and blocked names
    /// still count.
    pub fn beginning(&self, words: &[String]) -> Option<Rule> {
        self.decision.offer.beginning(words)
    }

    /// The person said yes, now and for the rest of the session. What is given is for [`Policy::remember`]; it is empty
    /// where [`Pending::always`] has nothing on offer.
    pub fn approve_always(self) -> (Cleared, Vec<Rule>) {
        let rules = self.always().unwrap_or_default().to_vec();
        (self.approve(), rules)
    }

    /// The person said no; `why` is told to the model.
    pub fn deny(self, why: &str) -> ToolResult {
        let message = format!("{why} Do not repeat the call; ask, or do it another way.");
        ToolResult::refused(self.call.id, self.call.name, ToolFailure::new(ErrorCode::Denied, message))
    }

    /// The person changed the arguments: the new call has to be reviewed again.
    pub fn edit(self, args: toolfence_protocol::Args) -> ToolCall {
        let mut call = self.call;
        call.args = args;
        call
    }
}
