//! Attaches images of the user to a message.

use crate::failure::Failure;
use crate::project::Project;
use crate::rules::Rules;
use std::path::{Path, PathBuf};
use toolfence_agent::agent::Agent;
use toolfence_protocol::{Image, Text, text};
use toolfence_workspace::Root;

/// Attaches these images to the next message of the user: all of them or none. Paths are relative to the current
/// folder.
///
/// # Errors
/// A file cannot be opened, its name is blocked, it is not a supported image, there are too many, or the backend takes
/// no images.
pub(crate) fn attach(project: &Project, rules: &Rules, agent: &mut Agent, paths: &[PathBuf]) -> Result<(), Failure> {
    // Read all images first, so that an error leaves none attached.
    let images: Vec<Image> = paths.iter().map(|path| read(project, rules, path)).collect::<Result<_, _>>()?;
    agent.attach_images(images).map_err(Failure::wrong_use)
}

/// Reads an image file. One in the project is opened like any file of the project. The user may also name files outside
/// of it, such as screenshots, but blocked names are refused there too.
fn read(project: &Project, rules: &Rules, path: &Path) -> Result<Image, Failure> {
    let wrong = |why: Text| {
        Failure::wrong_use(text!("cannot read {path}: {error}", path = path.display().to_string(), error = why))
    };
    let absolute = std::path::absolute(path).map_err(|error| wrong(Text::from(&error)))?;
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(wrong(text!("there is no such file")));
    };
    let name = name.to_string_lossy();
    let root = project.workspace.root();
    let real = folder.canonicalize().map_err(|error| wrong(Text::from(&error)))?;
    let bytes = match real.strip_prefix(root.path()) {
        Ok(inside) => root.bytes(&inside.join(&*name).to_string_lossy(), Image::MOST_BYTES),
        Err(_) => {
            // Open only the file's own folder as a root, because a larger folder would take too long to scan. The names
            // of the folders above it are checked here.
            let rules = rules.policy.paths().outside_root();
            if let Some(rule) = rules.blocks(&real.join(&*name).to_string_lossy()) {
                return Err(wrong(text!(
                    "names like {rule} are blocked; `paths.allow` in the settings can lift that",
                    rule
                )));
            }
            let beside = Root::open(&real, rules, None).map_err(|error| wrong(error.text()))?;
            beside.bytes(&name, Image::MOST_BYTES)
        }
    };
    let bytes = bytes.map_err(|failure| wrong(failure.message))?;
    Image::new(&*name, &bytes).map_err(Failure::wrong_use)
}
