//! `coder commit`: the model proposes the message of a commit, the user decides, and git commits as the user.

use crate::args::{CommitArguments, Options};
use crate::commit_message;
use crate::confirm;
use crate::failure::{Failure, INTERRUPTED, TERMINATED, UNSUCCESSFUL, status_of};
use crate::marks;
use crate::model::Model;
use crate::preview::file_rows;
use crate::project::Project;
use crate::rules::{self, Rules};
use crate::runtime::{self, cannot_start};
use crate::shown::{Words, language};
use crate::status::{self, What};
use crate::terminal::{Terminal, columns_of_the_terminal, print_note};
use std::io::{ErrorKind as IoErrorKind, Write};
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use toolfence_agent::agent::Canceller;
use toolfence_agent::backend::{Backend, Chunk, Sink, Usage};
use toolfence_protocol::parse::Reasoning;
use toolfence_protocol::text;
use toolfence_protocol::{Error, ErrorKind, FinishReason, Message, Role, Text};
use toolfence_session::StopReason;
use toolfence_workspace::NextCommit;

/// The most bytes of diffs in the request, and the bytes per token if the settings limit the window.
const DIFF_BYTES: usize = 32 << 10;
const BYTES_A_TOKEN: usize = 2;

/// The most bytes of a reply.
const LONGEST_REPLY: usize = 64 << 10;

/// Environment variables that would make git commit in a different repository than the one that was read.
const REPOSITORY: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Proposes a message and commits with it, if the user agrees.
pub(crate) fn run(options: &Options, arguments: &CommitArguments) -> Result<ExitCode, Failure> {
    let (project, rules) = rules::open(options)?;
    let next = project.workspace.next_commit(arguments.all).map_err(|error| Failure::broken(error.text()))?;
    let Some(next) = next else {
        let folder = project.workspace.root_path().display().to_string();
        return Err(Failure::wrong_use(text!("{folder} is not in a working tree of a git repository", folder)));
    };
    if next.files.is_empty() {
        return Err(Failure::unsuccessful(match arguments.all {
            true => text!("there is nothing to commit: no tracked file has changed; add new files with `git add`"),
            false => {
                text!("nothing is staged; use `git add`, or `coder commit --all` for all changes in tracked files")
            }
        }));
    }
    let message = propose(&project, &rules, &next, options.stats)?;
    let mut out = Terminal::stdout();
    if arguments.message_only {
        out.write(&message)?;
        return Ok(ExitCode::SUCCESS);
    }
    let edit = match options.yes {
        true => false,
        false => match ask_about(&message)? {
            Some(Answer::Commit) => false,
            Some(Answer::Edit) => true,
            Some(Answer::No) => {
                out.line(&text!("Nothing was committed."))?;
                return Ok(UNSUCCESSFUL.into());
            }
            None => {
                out.write(&message)?;
                let why =
                    text!("nothing was committed: there is no terminal to ask on; --yes commits without a question");
                return Err(Failure::unsuccessful(why));
            }
        },
    };
    let ended = commit(&project, arguments.all, &message, edit);
    if options.yes && ended.is_err() {
        // The user has not seen the message yet and may want to reuse it.
        Terminal::stderr().write(&message)?;
    }
    ended
}

/// Asks the model for the message.
fn propose(project: &Project, rules: &Rules, next: &NextCommit, stats: bool) -> Result<String, Failure> {
    let model = Model::open(&rules.config, &rules.persona, project)?;
    let mut options = rules.parser()?;
    options.settled_only = true;
    // The profile fills in what the settings leave open.
    if options.reasoning == Reasoning::Unknown {
        options.reasoning = model.profile_facts().reasoning;
    }
    let window = rules.window().and_then(|tokens| usize::try_from(tokens).ok());
    let bytes = window.map_or(DIFF_BYTES, |tokens| DIFF_BYTES.min(tokens.saturating_mul(BYTES_A_TOKEN)));
    let question = |bytes| commit_message::question(next, &rules.redactor(Some(&model)), rules.language, bytes);
    let replied = match request_reply(&*model.bare, question(bytes))? {
        // The window of a local server can be smaller than the settings say, so retry with a shorter diff.
        Err(error) if matches!(error.kind(), ErrorKind::TooLong { .. }) => {
            request_reply(&*model.bare, question(bytes / 8))?
        }
        replied => replied,
    };
    let reply = replied.map_err(|error| Failure::broken(error.text()))?;
    if stats {
        print_note(&model.cost(rules, &reply.usage));
    }
    if reply.finish != FinishReason::Stop {
        return Err(reply.broke_off.map_or_else(|| unfinished(reply.finish), Failure::broken));
    }
    let prose = commit_message::prose(&reply.text, options, reply.finish);
    commit_message::message(&prose)
        .ok_or_else(|| Failure::unsuccessful(text!("the model proposed no message; nothing was committed")))
}

fn unfinished(finish: FinishReason) -> Failure {
    let failed = status_of(&StopReason::Unfinished(finish)).err();
    failed.unwrap_or_else(|| Failure::unsuccessful(Text::default()))
}

/// A complete reply of the backend.
struct Reply {
    text: String,
    finish: FinishReason,
    usage: Usage,
    broke_off: Option<Text>,
}

impl Sink for Reply {
    fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()> {
        match chunk {
            Chunk::Text(text) => self.text.push_str(text),
            Chunk::Usage(usage) => self.usage = usage,
            Chunk::BrokeOff(why) => self.broke_off = Some(why.clone()),
            Chunk::Waits { why, .. } => print_note(why),
            _ => {}
        }
        if self.text.len() > LONGEST_REPLY { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Sends one message without tools and returns the reply. The inner error is an error of the backend.
fn request_reply(backend: &dyn Backend, question: String) -> Result<Result<Reply, Error>, Failure> {
    let messages = [Message::new(Role::User, question)];
    let mut reply = Reply { text: String::new(), finish: FinishReason::Cut, usage: Usage::default(), broke_off: None };
    // The status is on standard error, because standard output is for the message.
    let err = Terminal::stderr();
    if err.takes_back() {
        err.wait(What::Model, false);
    }
    let canceller = Canceller::default();
    let stream = async {
        tokio::select! {
            ended = backend.stream(&messages, &mut reply) => Some(ended),
            () = canceller.cancelled() => None,
        }
    };
    let ended = runtime::run(canceller.clone(), stream);
    status::end();
    match ended? {
        None => Err(Failure::signalled(INTERRUPTED)),
        Some(Err(error)) => Ok(Err(error)),
        Some(Ok(finish)) => {
            reply.finish = finish;
            // The backend has not counted the tokens.
            if reply.usage.replies == 0 {
                reply.usage = Usage::estimated(&messages, reply.text.len());
            }
            Ok(Ok(reply))
        }
    }
}

/// The user's answer to a proposed message.
enum Answer {
    Commit,
    Edit,
    No,
}

/// Displays the message and asks on the terminal. Returns `None` without a terminal.
fn ask_about(message: &str) -> Result<Option<Answer>, Failure> {
    let rows = file_rows(message, marks::room(columns_of_the_terminal()));
    let question = format!("{rows}{}", text!("Commit with this message? [y/N/e, e to edit it] ").words());
    let canceller = Canceller::default();
    let line = match runtime::run(canceller.clone(), confirm::put_until(&question, &canceller))? {
        Err(error) if error.kind() == IoErrorKind::Interrupted => return Err(Failure::signalled(INTERRUPTED)),
        Err(_) => return Ok(None),
        Ok(line) => line,
    };
    Ok(Some(match () {
        () if confirm::is_yes(&line, language()) => Answer::Commit,
        () if confirm::is_edit(&line, language()) => Answer::Edit,
        () => Answer::No,
    }))
}

/// Runs the user's git with their hooks, signature and editor. It runs outside of policy and sandbox, because the user
/// has agreed to the commit.
fn commit(project: &Project, all: bool, message: &str, edit: bool) -> Result<ExitCode, Failure> {
    let failed =
        |error: std::io::Error| Failure::broken(text!("git cannot be started: {error}", error = Text::from(&error)));
    let program = project.workspace.git_program().map_err(|error| Failure::broken(error.text()))?;
    let mut file = tempfile::Builder::new().prefix("coder-commit-").tempfile().map_err(failed)?;
    file.write_all(message.as_bytes()).map_err(failed)?;
    let mut command = Command::new(program);
    if edit {
        // git removes comment lines from an edited message, but lines of this one may begin with `#`: issue numbers.
        command.args(["-c", "core.commentChar=auto"]);
    }
    command.arg("commit").args(all.then_some("--all")).args(edit.then_some("--edit"));
    command.arg("--file").arg(file.path()).current_dir(project.workspace.root_path());
    for name in REPOSITORY {
        command.env_remove(name);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_start)?;
    let ended = runtime.block_on(async {
        // Ctrl-C at the terminal reaches git directly: it exits, or lets its editor handle the signal.
        let mut terminated = signal(SignalKind::terminate())?;
        let mut child = command.spawn()?;
        tokio::select! {
            ended = child.wait() => ended.map(Some),
            _ = terminated.recv() => {
                let id = child.id().and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?));
                id.map(|id| rustix::process::kill_process(id, rustix::process::Signal::TERM)).transpose()?;
                child.wait().await.map(|_| None)
            }
        }
    });
    match ended.map_err(failed)? {
        None => Err(Failure::signalled(TERMINATED)),
        Some(status) if status.success() => Ok(ExitCode::SUCCESS),
        Some(status) if status.signal() == Some(rustix::process::Signal::INT.as_raw()) => {
            Err(Failure::signalled(INTERRUPTED))
        }
        Some(status) => {
            let status = status.to_string();
            Err(Failure::unsuccessful(text!("nothing was committed: git commit ended with {status}", status)))
        }
    }
}
