//! `coder doctor`: which barriers of the sandbox hold here, found out by trying to break each; why the others do not, and what to do. And what
//! looks at changed files.

use crate::args::{DoctorArguments, Options};
use crate::checks;
use crate::config::Layers;
use crate::failure::{Failure, UNSUCCESSFUL};
use crate::setup;
use crate::terminal::{Style, Terminal, set_colours};
use serde_json::{Value, json};
use std::process::ExitCode;
use toolfence::program::trial::{self, Finding, Held, Trial};
use toolfence::sandbox::{Kind, Mode, Settings};

/// Tries the sandbox of the settings, and tells.
pub(crate) fn run(options: &Options, arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let (layers, _) = setup::with_persona(Layers::read(options)?)?;
    let config = layers.merged();
    set_colours(config.choice("color")?);
    let settings = setup::sandbox(&config)?;
    let trial = tried(&settings)?;
    let standing = checks::standing(&config, &options.root)?;
    let mut out = Terminal::stdout();
    match arguments.json {
        true => {
            let mut told = told(&trial, &settings);
            told["checks"] = checks::told(&standing);
            out.line(&told.to_string())?;
        }
        false => {
            shown(&trial, &settings, &mut out)?;
            checks::shown(&standing, &mut out)?;
        }
    }
    Ok(if trial.all_held() { ExitCode::SUCCESS } else { UNSUCCESSFUL.into() })
}

fn tried(settings: &Settings) -> Result<Trial, Failure> {
    let scratch = tempfile::tempdir().map_err(|error| Failure::broken(format!("no temporary folder: {error}")))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::broken(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(trial::sandbox(settings, scratch.path())).map_err(Failure::broken)
}

fn told(trial: &Trial, settings: &Settings) -> Value {
    json!({
        "v": super::SCHEMA, "kind": trial.report.kind, "holds": trial.report.holds && trial.all_held(),
        "why": trial.report.why, "helper": trial.report.helper, "kernel": kernel(),
        "user": rustix::process::geteuid().as_raw(), "findings": trial.findings, "advice": advice(trial, settings),
    })
}

fn shown(trial: &Trial, settings: &Settings, out: &mut Terminal) -> Result<(), Failure> {
    let user = rustix::process::geteuid();
    out.line(&format!("Linux {}, user {}\n", kernel(), user.as_raw()))?;
    let (style, sentence) = headline(trial, settings);
    out.styled(style, &format!("{sentence}\n"))?;
    trial.report.why.iter().try_for_each(|why| out.line(&format!("  {why}")))?;
    let mut barrier = "";
    for finding in &trial.findings {
        if finding.barrier != barrier {
            barrier = finding.barrier;
            out.line(&format!("\n{barrier}"))?;
        }
        row(finding, out)?;
    }
    advice(trial, settings).iter().try_for_each(|advice| out.line(&format!("\n{advice}")))
}

fn row(finding: &Finding, out: &mut Terminal) -> Result<(), Failure> {
    let (style, word) = match finding.result {
        Held::Yes => (Style::Good, "holds"),
        Held::No => (Style::Bad, "BROKEN"),
        Held::Open => (Style::Dim, "open"),
        _ => (Style::Bad, "unknown"),
    };
    out.styled(style, &format!("  {word:<8}"))?;
    out.write(&format!(" {:<44}", finding.attempt))?;
    out.styled(Style::Dim, &format!(" {}\n", finding.said))?;
    finding.advice.map_or(Ok(()), |advice| out.line(&format!("           {advice}")))
}

fn headline(trial: &Trial, settings: &Settings) -> (Style, &'static str) {
    let broken = trial.findings.iter().any(|finding| finding.result == Held::No);
    match trial.report.kind {
        Kind::Nothing if settings.mode == Mode::Off => {
            (Style::Dim, "The sandbox is switched off: what only the sandbox holds asks.")
        }
        Kind::Nothing if settings.container.is_some() => {
            (Style::Bad, "The container that was asked for is not there: no command runs.")
        }
        Kind::Nothing => (Style::Bad, "No sandbox is available here: what only the sandbox holds asks."),
        Kind::Landlock => {
            (Style::Bad, "A sandbox is available, and it does not fully hold: what only the sandbox holds asks.")
        }
        _ if broken => (Style::Bad, "The sandbox is set up, and something gets through it. Please report it."),
        _ if !trial.all_held() => (Style::Dim, "The sandbox is set up, and not all of it could be tried."),
        _ if settings.network => {
            (Style::Dim, "The sandbox is set up with an open network: what only the sandbox holds asks.")
        }
        _ => (Style::Good, "The whole sandbox holds: tests, builds and checks of the project run without a question."),
    }
}

/// What can be done about a sandbox that cannot be set up.
fn advice(trial: &Trial, settings: &Settings) -> Vec<String> {
    if trial.report.kind > Kind::Landlock || settings.mode == Mode::Off {
        return Vec::new();
    }
    if let Some(container) = &settings.container {
        let (engine, image) = (container.engine.name(), &container.image);
        return vec![format!(
            "`{engine} run --rm {image} bash -c true` has to work: start the engine, or get the image with `{engine} pull \
             {image}`. Without it set sandbox.container to off."
        )];
    }
    let setting = |path: &str| std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let known = [
        (
            setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1),
            "AppArmor keeps namespaces from ordinary users: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` \
             allows them, or a profile for this program with the rule `userns,`.",
        ),
        (
            setting("/proc/sys/kernel/unprivileged_userns_clone") == Some(0),
            "The kernel keeps namespaces from ordinary users: `sudo sysctl kernel.unprivileged_userns_clone=1` allows them.",
        ),
        (
            setting("/proc/sys/user/max_user_namespaces") == Some(0),
            "The kernel allows no user namespaces: `sudo sysctl user.max_user_namespaces=10000` allows them.",
        ),
        (
            std::path::Path::new("/.dockerenv").exists() || std::path::Path::new("/run/.containerenv").exists(),
            "This is a container: what is around it may refuse namespaces. Start it with a seccomp profile that allows \
             unshare and mount, or rely on the container.",
        ),
    ];
    known.into_iter().filter(|(applies, _)| *applies).map(|(_, advice)| advice.to_owned()).collect()
}

fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
