//! The log of what was decided and what came of it: JSON lines in a file that is only added to, without secrets.
//!
//! The log is English whatever the language of the session is: it is for programs and for searching, and the lines of two
//! sessions can be compared.
//!
//! The session of a line is that of the transcript, where there is one. This module decides nothing and reads nothing back. Every
//! line is one write to a file opened for appending, so that two programs can share it; a line is never longer than some kilobytes. It has times, in milliseconds since 1970.
//!
//! | event | fields besides `v` (1), `at`, `session` |
//! |---|---|
//! | `session` | `root` |
//! | `run` | `id`, `tool`, `args`, `effect`, `verdict` (`allow` or `ask`), `rule`, `reason`, `by` (`policy` or `person`), for what executes `sandbox` (`namespaces`, `landlock` or `nothing`) and `hold` |
//! | `ask` | `id`, `tool`, `args`, `rule`, `reason`, `answer` (`yes`, `always`, `no`, `edit`), `by` (`person`, or `nobody` where nobody was there to be asked), `why` |
//! | `result` | `id`, `tool`, `success`, `code`, `message`, `status`, `bytes`, `truncated`, `ms`; for what neither ran nor was asked about (denied, cancelled, wrong arguments) also `args` and `repairs`, or `body` where the block could not be read |

use crate::messages;
use crate::redact::Redactor;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use toolfence_policy::{Cleared, Decision, Pending};
use toolfence_protocol::clip::clip;
use toolfence_protocol::parse::Event;
use toolfence_protocol::{Args, Effect, Error, Language, Result, ToolCall, ToolResult};
use toolfence_sandbox::isolation::Kind;
use toolfence_sandbox::project::random_name;
use toolfence_session::Answer;
use toolfence_tools::CommandRunner;

/// The version of a line's form.
const VERSION: u32 = 1;

/// The longest text in a line: what a call writes into files is not for the log.
const LONGEST: usize = 2000;

/// Files of a call that are logged.
const MOST_TARGETS: usize = 200;

/// A file that is longer makes room for a new one, and so many old ones are kept.
const FULL: u64 = 16 << 20;
const KEPT: u32 = 4;

/// The most calls of a reply that are remembered until they have a line.
const MOST_UNLOGGED: usize = 1000;

/// The log of one session.
#[derive(Debug)]
pub struct Audit {
    log: Arc<Log>,
    session: String,
    /// Whether the log says that this session began: it does with the first line that it has about it.
    begun: AtomicBool,
    /// What was read in a reply and is in no line yet, in its order.
    unlogged: Mutex<VecDeque<Read>>,
}

/// The file, and what is the same for all sessions that write to it.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    redactor: Redactor,
    commands: Arc<CommandRunner>,
    file: Mutex<Option<File>>,
}

/// A call, or a block that is none, as it will stand in a line.
#[derive(Debug)]
struct Read {
    id: String,
    field: &'static str,
    content: Value,
    /// Names of what was needed to read it.
    repairs: Vec<&'static str>,
}

impl Audit {
    /// Adds to the file, which is made with its folder where it is missing, for its owner alone. It is about the commands and
    /// files of the project of this runner. Its lines have a session of their own, until an [`Agent`](crate::agent::Agent) that
    /// has the log beside a transcript gives them the session of that.
    ///
    /// # Errors
    /// The file cannot be made or written.
    pub fn open(path: &Path, redactor: Redactor, commands: Arc<CommandRunner>) -> Result<Audit> {
        let doing = || messages::open_audit_log(path.display().to_string());
        let session = random_name().map_err(|cause| Error::because(doing(), cause))?;
        let file = opened(path).map_err(|cause| Error::because(doing(), cause))?;
        let file = Mutex::new(Some(file));
        let log = Arc::new(Log { path: path.to_owned(), redactor, commands, file });
        Ok(Audit { log, session, begun: AtomicBool::new(false), unlogged: Mutex::default() })
    }

    /// A log in the same file about the session of this name.
    pub(crate) fn of_session(&self, name: &str) -> Audit {
        let log = self.log.clone();
        Audit { log, session: name.to_owned(), begun: AtomicBool::new(false), unlogged: Mutex::default() }
    }

    /// Something was found in a reply. What becomes of it is logged later.
    pub fn read(&self, event: &Event<'_>) {
        match event {
            Event::Call { call, .. } => self.remember(&call.id, "args", self.args(&call.args), repairs(call)),
            Event::Malformed { id, body, .. } | Event::Incomplete { id, body, .. } => {
                self.remember(id, "body", self.short(body).into(), Vec::new());
            }
            _ => {}
        }
    }

    /// A call begins to run.
    pub fn running(&self, cleared: &Cleared) {
        self.forget(&cleared.call().id);
        let decision = cleared.decision();
        let mut line = self.decided(cleared.call(), decision);
        line["effect"] = json!(cleared.effect());
        line["verdict"] = json!(decision.judgement);
        line["by"] = if cleared.is_approved() { "person" } else { "policy" }.into();
        if cleared.effect() == Effect::Execute {
            let outside = cleared.call().args.get("outside_sandbox").is_some_and(|value| value == true);
            let report = self.log.commands.enclosure().report();
            line["sandbox"] = json!(if outside { Kind::Nothing } else { report.kind });
            line["hold"] = (report.holds && !outside).into();
        }
        self.line("run", line);
    }

    /// There was a question, and an answer.
    pub fn asked(&self, pending: &Pending, answer: &Answer) {
        self.forget(&pending.call().id);
        if let Answer::Edit(args) = answer {
            // It is judged again.
            self.remember(&pending.call().id, "args", self.args(args), repairs(pending.call()));
        }
        let mut line = self.decided(pending.call(), pending.decision());
        let (word, why) = match answer {
            Answer::Yes => ("yes", None),
            Answer::Always(_) => ("always", None),
            Answer::No(why) | Answer::Skip(why) | Answer::Nobody(why) => ("no", Some(self.short(&why.to_string()))),
            Answer::Edit(_) => ("edit", None),
            // What a later version of the session may add.
            _ => ("other", None),
        };
        line["answer"] = word.into();
        line["by"] = if matches!(answer, Answer::Nobody(_)) { "nobody" } else { "person" }.into();
        line["why"] = why.into();
        self.line("ask", line);
    }

    /// A call has its answer, whether it ran or not.
    pub fn answered(&self, result: &ToolResult) {
        let error = result.error.as_ref();
        let mut line = json!({
            "id": self.short(&result.id), "tool": self.short(&result.tool), "success": result.success,
            "code": error.map(|error| error.code), "message": error.map(|error| self.short(&error.message.to_string())),
            "status": result.exit_code, "bytes": result.output_bytes, "truncated": result.truncated,
            "ms": result.execution_time_ms,
        });
        if let Some(read) = self.forget(&result.id) {
            line[read.field] = read.content;
            if !read.repairs.is_empty() {
                line["repairs"] = json!(read.repairs);
            }
        }
        self.line("result", line);
    }

    fn decided(&self, call: &ToolCall, decision: &Decision) -> Value {
        let mut line = self.call(call);
        line["rule"] = json!(decision.rule);
        line["reason"] = self.short(&decision.reason.to_string()).into();
        if !decision.targets.is_empty() {
            // More files than these a patch cannot change.
            let targets = decision.targets.iter().take(MOST_TARGETS);
            line["targets"] = targets.map(|target| shortened(&self.log.redactor.value(&json!(target)))).collect();
        }
        line
    }

    fn call(&self, call: &ToolCall) -> Value {
        let mut line =
            json!({"id": self.short(&call.id), "tool": self.short(&call.name), "args": self.args(&call.args)});
        if !call.repairs.is_empty() {
            line["repairs"] = json!(repairs(call));
        }
        line
    }

    fn args(&self, args: &Args) -> Value {
        let args = shortened(&self.log.redactor.value(&Value::Object(args.clone())));
        match args.to_string() {
            text if text.len() > 4 * LONGEST => clip(&text, LONGEST, Language::English).text.into(),
            _ => args,
        }
    }

    fn remember(&self, id: &str, field: &'static str, content: Value, repairs: Vec<&'static str>) {
        let mut unlogged = self.unlogged();
        if unlogged.len() == MOST_UNLOGGED {
            unlogged.pop_front();
        }
        unlogged.push_back(Read { id: id.to_owned(), field, content, repairs });
    }

    /// The first of this id: calls are answered in their order, and of two with one id the session renames the second.
    fn forget(&self, id: &str) -> Option<Read> {
        let mut unlogged = self.unlogged();
        let at = unlogged.iter().position(|read| read.id == id)?;
        unlogged.remove(at)
    }

    fn unlogged(&self) -> MutexGuard<'_, VecDeque<Read>> {
        self.unlogged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn short(&self, text: &str) -> String {
        clip(&self.log.redactor.text(text), LONGEST, Language::English).text
    }

    /// What cannot be logged is told to whoever watches and stops nothing.
    fn line(&self, event: &str, line: Value) {
        if !self.begun.swap(true, Ordering::Relaxed) {
            let root = self.log.commands.workspace().root().path().display().to_string();
            self.write("session", json!({"root": root}));
        }
        self.write(event, line);
    }

    fn write(&self, event: &str, mut line: Value) {
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
        line["v"] = VERSION.into();
        line["at"] = u64::try_from(at).unwrap_or(u64::MAX).into();
        line["session"] = self.session.as_str().into();
        line["event"] = event.into();
        let text = line.to_string() + "\n";
        let mut file = self.log.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.log.written(&mut file, text.as_bytes()) {
            tracing::warn!(path = %self.log.path.display(), %error, "the audit log cannot be written");
        }
    }
}

impl Log {
    fn written(&self, file: &mut Option<File>, line: &[u8]) -> std::io::Result<()> {
        let current = match file.take() {
            Some(file) if file.metadata()?.len() < FULL => file,
            Some(_) => {
                self.make_room();
                opened(&self.path)?
            }
            None => opened(&self.path)?,
        };
        (&current).write_all(line)?;
        *file = Some(current);
        Ok(())
    }

    /// `log` becomes `log.1`, that `log.2`, and the last one goes. Another program may have done it a moment ago.
    fn make_room(&self) {
        if !std::fs::metadata(&self.path).is_ok_and(|meta| meta.len() >= FULL) {
            return;
        }
        let numbered = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            name
        };
        for number in (1..KEPT).rev() {
            // One that is missing is no trouble.
            let _ = std::fs::rename(numbered(number), numbered(number + 1));
        }
        let _ = std::fs::rename(&self.path, numbered(1));
    }
}

fn repairs(call: &ToolCall) -> Vec<&'static str> {
    call.repairs.iter().map(|repair| repair.name()).collect()
}

fn opened(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// The value with its long texts clipped, so that a person can still read the line.
fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => clip(text, LONGEST, Language::English).text.into(),
        Value::Array(items) => items.iter().map(shortened).collect(),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(key, value)| (clip(key, LONGEST, Language::English).text, shortened(value))).collect(),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_policy::rules::PathRules;
    use toolfence_policy::{NoFacts, Policy};
    use toolfence_sandbox::isolation::Settings;
    use toolfence_workspace::Workspace;

    #[test]
    fn reasons_are_clipped_and_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Arc::new(Workspace::open(folder.path(), PathRules::default()).unwrap());
        let commands = Arc::new(CommandRunner::new(workspace, Settings::new()));
        let audit = Audit::open(&folder.path().join("log"), Redactor::new(), commands).unwrap();
        let mut decision = Policy::default().judge_command("ls", "", &NoFacts);
        decision.reason = "DB_PASSWORD=letmein12345 is long. ".repeat(LONGEST).into();
        let line = audit.decided(&ToolCall::new("1", "bash", toolfence_protocol::Args::new()), &decision);
        let reason = line["reason"].as_str().unwrap();
        assert!(reason.len() <= LONGEST && !reason.contains("letmein"), "{}", reason.len());
        assert_eq!((&line["rule"], &line["id"]), (&decision.rule.as_str().into(), &"1".into()));
    }
}
