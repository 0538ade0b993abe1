//! `coder demo`: a recorded model works on a small project. Only its replies are recorded: the calls run.

use crate::args::Options;
use crate::commands::undo;
use crate::config::places::Places;
use crate::failure::{Failure, status_of};
use crate::outcome::styled_diff;
use crate::project::Project;
use crate::rules::Rules;
use crate::shown::{Words, language};
use crate::terminal::{Style, Terminal};
use crate::view::{Person, View};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use toolfence_agent::agent::{Agent, RoundEnd};
use toolfence_agent::backend::Replay;
use toolfence_policy::Pending;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::parse::{self, Event, Ignored};
use toolfence_protocol::{FinishReason, Learned, Text, text};
use toolfence_session::Answer;
use toolfence_tools::CommandRunner;

/// The file of the project, and its content before and after the change.
const FILE: &str = "settings.json";
const OLD: &str = "{\n  \"retries\": 3,\n  \"verbose\": false\n}\n";
const NEW: &str = "{\n  \"retries\": 5,\n  \"verbose\": false\n}\n";

/// A file next to the project. Its content must not appear in the result of a call.
const OUTSIDE: (&str, &str) = ("private.txt", "The user's private notes.\n");

const QUOTED_CALL: &str = "> ```tool\n> {\"name\": \"bash\", \"args\": {\"command\": \"rm settings.json\"}}\n> ```\n";
const READ_WITH_A_COMMA_TOO_MANY: &str =
    "```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"settings.json\",}}\n```\n";
const WRITE_WITHOUT_A_COMMA: &str = concat!(
    "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"settings.json\", \"content\": \"<<EOF\"}}\n",
    "{\n  \"retries\": 5\n  \"verbose\": false\n}\nEOF\n```\n",
);
const READ_OUTSIDE: &str = "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"cat ../private.txt\"}}\n```\n";
const CHANGE_BY_COMMAND: &str =
    "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"sed -i 's/3/5/' settings.json\"}}\n```\n";
const CHANGE_BY_EDIT: &str = concat!(
    "```tool\n{\"name\": \"replace_text\", \"args\": ",
    "{\"path\": \"settings.json\", \"old\": \"\\\"retries\\\": 3\", \"new\": \"\\\"retries\\\": 5\"}}\n```\n",
);

/// A reply of the model, and the content of [`FILE`] after its calls.
struct Step {
    heading: Text,
    reply: String,
    after: &'static str,
}

/// Creates the project, and plays the steps and an undo. A step with another effect ends the demo with status 1.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let not_created = |error| Failure::broken(text!("cannot create the project of the demo: {error}", error));
    let folder = tempfile::Builder::new().prefix("coder-demo-").tempdir();
    let folder = folder.map_err(|error| not_created(Text::from(&error)))?;
    let root = create_project(folder.path()).map_err(|error| not_created(Text::from(&error)))?;

    let mut rules = Rules::for_demo(options)?;
    let project = Project::open(&root, Places::for_demo(&root, folder.path()), &rules)?;
    rules.equip(&project)?;
    let steps = steps(&project.commands);
    let replay = Replay::new(steps.iter().map(|step| step.reply.as_str()));
    let mut out = Terminal::stdout();
    let replay = if out.is_terminal() { replay.paced(6, Duration::from_millis(12)) } else { replay };
    let mut agent = rules.agent(&project, Learned::default(), Arc::new(replay), None)?;

    out.line(&text!("A recorded model changes a small project; the tools and the sandbox are real."))?;
    for (step, number) in steps.iter().zip(1..) {
        print_heading(number, &step.heading, &mut out)?;
        let is_first = number == 1;
        if is_first {
            out.styled_line(Style::Dim, READ_WITH_A_COMMA_TOO_MANY)?;
        }
        play(&mut agent)?;
        if is_first {
            explain(&step.reply, &mut out)?;
        }
        check(&root, step.after, number)?;
    }
    let number = steps.len() + 1;
    print_heading(number, &text!("Undo restores the file:"), &mut out)?;
    undo::typed(&project, "undo", "", &mut out)?;
    check(&root, OLD, number)?;

    out.line(&text!(
        "\nNext, in a project of yours:\n\
         \x20 coder doctor   prints what the sandbox holds on this machine\n\
         \x20 coder          starts a conversation with your model"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Creates the project, and a private file next to it. Returns the root of the project.
fn create_project(folder: &Path) -> std::io::Result<PathBuf> {
    let root = folder.canonicalize()?.join("project");
    std::fs::create_dir(&root)?;
    std::fs::write(root.join(FILE), OLD)?;
    std::fs::write(folder.join(OUTSIDE.0), OUTSIDE.1)?;
    Ok(root)
}

/// Returns the steps that this machine can show.
fn steps(commands: &CommandRunner) -> Vec<Step> {
    let step = |heading, reply: &str, after| Step { heading, reply: reply.to_owned(), after };
    let quote = text!("The README has an example:").into_string(language());
    let mut steps = vec![
        step(
            text!("A call is a fenced block in the reply. This one has a comma too many:"),
            &format!("{quote}\n\n{QUOTED_CALL}\n{READ_WITH_A_COMMA_TOO_MANY}"),
            OLD,
        ),
        step(text!("An edit with a new error is refused:"), WRITE_WITHOUT_A_COMMA, OLD),
    ];
    let holds = commands.sandbox_report().holds;
    if holds {
        let heading = text!("The sandbox stops a command that reads a file outside of the project:");
        steps.push(step(heading, READ_OUTSIDE, OLD));
    }
    steps.push(match commands.no_private_copies() {
        None if holds => {
            let heading = text!("A command changes a private copy. You see the diff before it is kept:");
            step(heading, CHANGE_BY_COMMAND, NEW)
        }
        Some(why) if holds => step(
            text!("Commands get no private copy of the project here: {why}\nThe change is an edit:", why = why.clone()),
            CHANGE_BY_EDIT,
            NEW,
        ),
        _ => step(
            text!(
                "Without a sandbox that holds, this demo runs no command, and `coder` asks\n\
                 before it runs one. `coder doctor` prints the reasons. The change is an edit:"
            ),
            CHANGE_BY_EDIT,
            NEW,
        ),
    });
    steps
}

fn print_heading(number: usize, heading: &Text, out: &mut Terminal) -> Result<(), Failure> {
    out.styled_line(Style::Name, &format!("\n{number}. {}", heading.words()))
}

/// Plays the next reply and shows its calls.
fn play(agent: &mut Agent) -> Result<(), Failure> {
    let mut view = View::new(User, agent.canceller(), false);
    let ended = crate::runtime::run(agent.canceller(), agent.round(FILE, &mut view))?;
    view.end()?;
    match ended.map_err(Failure::broken)? {
        // The demo claims that the sandbox stops the command, so it verifies this.
        RoundEnd::Send(results) if !results.contains(OUTSIDE.1.trim()) => Ok(()),
        RoundEnd::Ended(stopped) => status_of(&stopped).map(|_| ()),
        _ => Err(Failure::unsuccessful(text!("The sandbox of the demo let a command read {name}.", name = OUTSIDE.0))),
    }
}

/// Prints how the reply was parsed: the repairs of its call, and the call that is not one.
fn explain(reply: &str, out: &mut Terminal) -> Result<(), Failure> {
    let mut lines = Vec::new();
    parse::for_each(reply, parse::Options::default(), FinishReason::Stop, |event| match event {
        Event::Call { call, .. } => {
            let names: Vec<_> = call.repairs.iter().map(|repair| repair.name()).collect();
            lines.push(text!("  repaired: {repairs}", repairs = names.join(", ")));
        }
        Event::Ignored { why: Ignored::Quote, .. } => lines.push(text!("  not run: the call in the quote")),
        _ => {}
    });
    lines.iter().try_for_each(|line| out.styled_line(Style::Good, line))
}

/// Fails if the file of the project has another content than this.
fn check(root: &Path, wanted: &str, step: usize) -> Result<(), Failure> {
    let content = std::fs::read_to_string(root.join(FILE)).unwrap_or_default();
    if content == wanted {
        return Ok(());
    }
    Err(Failure::unsuccessful(text!("Step {step} of the demo did not leave {file} as it should.", step, file = FILE)))
}

/// Approves the calls, which are all recorded, and prints what a command has changed on its private copy.
struct User;

impl Person for User {
    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        let mut out = Terminal::stdout();
        let mut diff = pending.diff().filter(|_| pending.has_run()).into_iter().flat_map(styled_diff);
        let printed = diff.try_for_each(|(style, line)| out.exact_line(style, &format!("    {line}")));
        let answer = printed.map_or_else(|failure| Answer::No(failure.message().clone()), |()| Answer::Yes);
        Box::pin(async { answer })
    }

    // `false` makes the view display the change of an edit.
    fn has_seen(&self, _: &str) -> bool {
        false
    }
}
