//! Looking at files: reading, listing, searching.

mod globs;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod search;

use crate::root::Root;
use crate::stop::Stop;
use list::{ListFiles, Listing};
use read::{FileText, ReadFile};
use search::{Found, SearchFiles};
use std::sync::Arc;
use toolfence_protocol::ToolFailure;

/// The files below a root, to be looked at. Nothing of it changes a file.
#[derive(Debug, Clone)]
pub struct Files {
    root: Arc<Root>,
}

impl Files {
    pub(crate) fn new(root: Arc<Root>) -> Files {
        Files { root }
    }

    /// Reads a range of lines of a text file.
    ///
    /// # Errors
    /// `not_found` with close names; `permission_denied` outside the root; `denied` for a blocked file; `invalid_argument`
    /// for what is not a text file or a range that is not in it.
    pub fn read(&self, wanted: &ReadFile, stop: &Stop) -> Result<FileText, ToolFailure> {
        read::read(&self.root, wanted, stop)
    }

    /// Lists the files and folders below a folder. A file is listed as itself.
    ///
    /// # Errors
    /// The errors of [`Files::read`] for the path, and `invalid_argument` for a glob that cannot be read.
    pub fn list(&self, wanted: &ListFiles, stop: &Stop) -> Result<Listing, ToolFailure> {
        list::list(&self.root, wanted, stop)
    }

    /// Searches files for lines. Hidden and ignored files are searched only when the path names them.
    ///
    /// # Errors
    /// The errors of [`Files::read`] for the path, and `invalid_argument` for a pattern or glob that cannot be read.
    pub fn search(&self, wanted: &SearchFiles, stop: &Stop) -> Result<Found, ToolFailure> {
        search::search(&self.root, wanted, stop)
    }
}
