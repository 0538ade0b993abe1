//! `coder doctor`: tries to break each barrier of the sandbox, reports those that do not hold with advice, and lists
//! the checks for changed files. With `--backend`, it asks the backend five questions instead.

use crate::args::{DoctorArguments, Options};
use crate::checks;
use crate::config::places::Places;
use crate::config::profile::{self, Profiles};
use crate::config::{Config, Layers};
use crate::failure::{Failure, UNSUCCESSFUL};
use crate::model::{Model, grammar};
use crate::project;
use crate::rules;
use crate::runtime::cannot_start;
use crate::server::Server;
use crate::shown::Words;
use crate::terminal::{Style, Terminal, print_note};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use toolfence_agent::probe::{self, Step, StreamAnswer, Verdict};
use toolfence_commands::trial::{self, BarrierResult, Finding, Trial};
use toolfence_policy::Policy;
use toolfence_protocol::Text;
use toolfence_protocol::text;
use toolfence_sandbox::isolation::{Kind, Mode, Settings};
use toolfence_workspace::Workspace;

/// Tests the configured sandbox, or with `--backend` the configured backend, and prints a report.
pub(crate) fn run(options: &Options, arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    if options.backend.is_some() {
        return test_backend(options, arguments.json);
    }
    let (layers, _) = rules::with_persona(Layers::read(options)?)?;
    let config = layers.merged();
    config.settle_looks();
    let settings = project::sandbox(&config)?;
    let trial = try_sandbox(&settings)?;
    let standing = checks::standing(&config, &options.root)?;
    let proposed = checks::proposed(&config, &options.root);
    let no_copies = no_private_copies(&config, &layers.places, &options.root)?;
    let mut out = Terminal::stdout();
    match arguments.json {
        true => {
            let mut report = report_as_json(&trial, &settings);
            report["private_copies"] = json!({"on": no_copies.is_none(), "why": no_copies.map(|(why, _)| why)});
            report["checks"] = checks::to_json(&standing);
            report["checks"]["proposed"] = json!(proposed);
            out.line(&report.to_string())?;
        }
        false => {
            print_trial(&trial, &settings, &mut out)?;
            show_private_copies(no_copies, &mut out)?;
            checks::print_table(&standing, &mut out)?;
            checks::propose(&proposed, &layers.places, &mut out)?;
        }
    }
    Ok(if trial.all_held() { ExitCode::SUCCESS } else { UNSUCCESSFUL.into() })
}

/// Tests whether commands run on private copies of this project. If not, returns the reason and a description of what
/// commands can do instead.
fn no_private_copies(config: &Config, places: &Places, root: &Path) -> Result<Option<(Text, Text)>, Failure> {
    let policy = Policy::new(config.policy()).map_err(Failure::wrong_use)?;
    let workspace = Workspace::open(root, policy.paths().clone()).map_err(Failure::broken)?;
    let commands = project::runner(&Arc::new(workspace), config, places.state.as_deref())?;
    let why = commands.no_private_copies().cloned();
    Ok(why.map(|why| (why.clone(), commands.describe_fallback(why))))
}

fn show_private_copies(no_copies: Option<(Text, Text)>, out: &mut Terminal) -> Result<(), Failure> {
    out.write("\n")?;
    match no_copies {
        None => out.styled_line(Style::Good, &text!("Commands run on a private copy of the project.")),
        Some((_, description)) => out.styled_line(Style::Bad, &description),
    }
}

/// Asks the configured backend the five questions, prints the findings, and stores them in its profile.
fn test_backend(options: &Options, json: bool) -> Result<ExitCode, Failure> {
    let (project, rules) = rules::open(options)?;
    let model = Model::open(&rules.config, &rules.persona, &project)?;
    let place = model.server.as_ref().map(Server::profile_key);
    let mut wanted = probe::Options::default();
    (wanted.language, wanted.grammar) = (rules.language, Some(grammar(&rules.toolbox.catalog())));
    if let Some((base_url, model)) = &place {
        print_note(&text!("asking {model} at {server}", model, server = profile::address(base_url)));
    }
    print_note(&text!("this takes at most {most} short requests", most = probe::MOST_REQUESTS));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_start)?;
    let mut requests = 0;
    let mut watch = |step: &Step| {
        requests = step.number;
        print_note(&text!("{number}: {question}", number = step.number, question = step.question.clone()));
    };
    // This backend sends no grammar, because one question brings its own.
    let answers = runtime.block_on(probe::ask_backend(&*model.bare, &wanted, &mut watch));
    let is_reached = !matches!(answers.stream, StreamAnswer::NoAnswer { .. });
    let kept = match (Profiles::open_folder(&project.places), &place) {
        // A backend that did not answer has shown nothing.
        (Some(profiles), Some((base_url, model))) if is_reached => {
            let stored = profiles.store_answers(base_url, model, &answers);
            stored
                .inspect_err(|why| {
                    print_note(&text!("the profile of this backend cannot be saved: {why}", why = why.clone()));
                })
                .is_ok()
        }
        _ => false,
    };
    let findings = answers.findings();
    let mut out = Terminal::stdout();
    if json {
        let (base_url, model) = place.map(|(url, model)| (profile::address(&url), model)).unzip();
        let report = json!({
            "v": super::SCHEMA, "base_url": base_url, "model": model, "requests": requests, "answers": answers,
            "kept": kept,
        });
        out.line(&report.to_string())?;
    } else {
        out.write("\n")?;
        findings.iter().try_for_each(|finding| show_answer(finding, &mut out))?;
        if kept {
            let note = text!(
                "\nThe findings are stored and used from now on unless a setting overrides them: `coder config \
                 profile`."
            );
            out.styled_line(Style::Dim, &note)?;
        }
    }
    let is_fine = findings.iter().all(|finding| finding.verdict != Verdict::Bad);
    Ok(if is_fine { ExitCode::SUCCESS } else { UNSUCCESSFUL.into() })
}

fn show_answer(finding: &probe::Finding, out: &mut Terminal) -> Result<(), Failure> {
    let (style, word) = match finding.verdict {
        Verdict::Good => (Style::Good, text!("good")),
        Verdict::Note => (Style::Dim, text!("note")),
        Verdict::Bad => (Style::Bad, text!("BAD")),
        Verdict::Unknown => (Style::Dim, text!("unknown")),
    };
    out.styled(style, &format!("  {:<8}", word.words()))?;
    out.line(&format!(" {}", finding.sentence.words()))?;
    finding.advice.iter().try_for_each(|advice| out.styled_line(Style::Dim, &format!("           {}", advice.words())))
}

fn try_sandbox(settings: &Settings) -> Result<Trial, Failure> {
    let scratch = tempfile::tempdir().map_err(|error| {
        Failure::broken(text!("cannot create a temporary folder: {error}", error = Text::from(&error)))
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot_start)?;
    runtime.block_on(trial::sandbox(settings, scratch.path())).map_err(Failure::broken)
}

fn report_as_json(trial: &Trial, settings: &Settings) -> Value {
    json!({
        "v": super::SCHEMA, "kind": trial.report.kind, "holds": trial.report.holds && trial.all_held(),
        "why": trial.report.why, "helper": trial.report.helper, "kernel": kernel(),
        "user": rustix::process::geteuid().as_raw(), "findings": trial.findings, "advice": advice(trial, settings),
    })
}

fn print_trial(trial: &Trial, settings: &Settings, out: &mut Terminal) -> Result<(), Failure> {
    let user = rustix::process::geteuid();
    out.line(&text!("Linux {kernel}, user {user}", kernel = kernel(), user = user.as_raw()))?;
    out.write("\n")?;
    let (style, sentence) = headline(trial, settings);
    out.styled_line(style, &sentence)?;
    trial.report.why.iter().try_for_each(|why| out.line(&format!("  {}", why.words())))?;
    let mut barrier = None;
    for finding in &trial.findings {
        if barrier != Some(&finding.barrier) {
            barrier = Some(&finding.barrier);
            out.line(&format!("\n{}", finding.barrier.words()))?;
        }
        print_finding(finding, out)?;
    }
    advice(trial, settings).iter().try_for_each(|advice| out.line(&format!("\n{}", advice.words())))
}

fn print_finding(finding: &Finding, out: &mut Terminal) -> Result<(), Failure> {
    let (style, word) = match finding.result {
        BarrierResult::Yes => (Style::Good, text!("holds")),
        BarrierResult::No => (Style::Bad, text!("BROKEN")),
        BarrierResult::Open => (Style::Dim, text!("open")),
        _ => (Style::Bad, text!("unknown")),
    };
    out.styled(style, &format!("  {:<8}", word.words()))?;
    out.write(&format!(" {:<44}", finding.attempt.words()))?;
    out.styled_line(Style::Dim, &format!(" {}", finding.said.words()))?;
    finding.advice.iter().try_for_each(|advice| out.line(&format!("           {}", advice.words())))
}

fn headline(trial: &Trial, settings: &Settings) -> (Style, Text) {
    let broken = trial.findings.iter().any(|finding| finding.result == BarrierResult::No);
    match trial.report.kind {
        Kind::Nothing if settings.mode == Mode::Off => {
            (Style::Dim, text!("The sandbox is switched off: commands need approval."))
        }
        Kind::Nothing if settings.container.is_some() => {
            (Style::Bad, text!("The requested container is not available: no command runs."))
        }
        Kind::Nothing => (Style::Bad, text!("No sandbox is available: commands need approval.")),
        Kind::Landlock => (
            Style::Bad,
            text!("A sandbox is available, but one of its barriers does not hold: commands need approval."),
        ),
        _ if broken => (Style::Bad, text!("The sandbox is set up, but an attempt got through it. Please report this.")),
        _ if !trial.all_held() => {
            (Style::Dim, text!("The sandbox is set up, but not all of its barriers could be tested."))
        }
        _ if settings.network => {
            (Style::Dim, text!("The sandbox is set up with an open network: commands need approval."))
        }
        _ => (
            Style::Good,
            text!("All barriers of the sandbox hold: tests, builds and checks of the project run without a question."),
        ),
    }
}

/// Returns advice for a sandbox that cannot be set up.
fn advice(trial: &Trial, settings: &Settings) -> Vec<Text> {
    if trial.report.kind > Kind::Landlock || settings.mode == Mode::Off {
        return Vec::new();
    }
    if let Some(container) = &settings.container {
        let (engine, image) = (container.engine(), &container.image);
        return vec![text!(
            "`{engine} run --rm {image} bash -c true` must work: start the engine, or get the image with `{engine} \
             pull {image}`; or set sandbox.container to off.",
            engine,
            image
        )];
    }
    let setting = |path: &str| std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let causes = [
        (
            setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1),
            text!(
                "AppArmor denies namespaces to ordinary users: `sudo sysctl \
                 kernel.apparmor_restrict_unprivileged_userns=0` allows them, or a profile for this program with the \
                 rule `userns,`."
            ),
        ),
        (
            setting("/proc/sys/kernel/unprivileged_userns_clone") == Some(0),
            text!(
                "The kernel denies namespaces to ordinary users: `sudo sysctl kernel.unprivileged_userns_clone=1` \
                 allows them."
            ),
        ),
        (
            setting("/proc/sys/user/max_user_namespaces") == Some(0),
            text!("The kernel allows no user namespaces: `sudo sysctl user.max_user_namespaces=10000` allows them."),
        ),
        (
            std::path::Path::new("/.dockerenv").exists() || std::path::Path::new("/run/.containerenv").exists(),
            text!(
                "This is a container, and its host may refuse namespaces. Start it with a seccomp profile that allows \
                 unshare and mount, or rely on the container."
            ),
        ),
    ];
    causes.into_iter().filter(|(applies, _)| *applies).map(|(_, advice)| advice).collect()
}

fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
