//! Landlock, the second barrier, which confines the command even if a mount is missing. See landlock(7).
//!
//! Landlock cannot deny access inside of a folder that it allows, so it cannot replace masks. On a kernel that lacks
//! some of its rights, those that exist are applied.

use super::plan::Plan;
use ::landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};
use rustix::io::Errno;
use std::io;
use std::path::Path;

/// The newest version for which the rules below were written.
const KNOWN: ABI = ABI::V6;

/// Restricts this process and all processes that it starts.
///
/// # Errors
/// The kernel has no Landlock, and there are no namespaces, so that Landlock would be the only barrier for files.
pub(super) fn raise(plan: &Plan) -> io::Result<()> {
    let status = restrict(plan).map_err(io::Error::other)?;
    if status == RulesetStatus::NotEnforced && !plan.namespaces {
        return Err(Errno::OPNOTSUPP.into());
    }
    Ok(())
}

fn restrict(plan: &Plan) -> Result<RulesetStatus, ::landlock::RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    // In a network namespace of its own, the command reaches only the loopback interface, and tests need TCP there.
    if !plan.has_internet_sockets() {
        rules = rules.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let project = if plan.writable { AccessFs::from_all(KNOWN) } else { AccessFs::from_read(KNOWN) };
    let status = rules
        .create()?
        .add_rules(path_beneath_rules(readable(plan), AccessFs::from_read(KNOWN)))?
        .add_rules(path_beneath_rules([plan.root.path()], project))?
        .add_rules(path_beneath_rules(
            plan.writable_folders.iter().map(super::plan::Name::path),
            AccessFs::from_all(KNOWN),
        ))?
        .add_rules(path_beneath_rules(plan.scratch.iter().map(super::plan::Name::path), AccessFs::from_all(KNOWN)))?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// Returns the readable paths: everything in a tree of its own, and otherwise the paths from which such a tree would be
/// made.
fn readable(plan: &Plan) -> Vec<&Path> {
    use super::plan::Step;
    // Such a tree has only what the command may see, and parts of it, such as /proc, are in no step of the plan.
    if plan.tree {
        return vec![Path::new("/")];
    }
    let shown = plan.steps.iter().filter_map(|step| match step {
        Step::Show { at } | Step::ShowIfThere { at } | Step::Layer { at } => Some(at.path()),
        _ => None,
    });
    shown.collect()
}
