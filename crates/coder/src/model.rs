//! The backend that answers, and its profile.

use crate::config::profile::Profile;
use std::sync::Arc;
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::Backend;
use toolfence_protocol::grammar::{self, GrammarOptions};
use toolfence_protocol::{Catalog, Learned};

/// The backend that answers, with its profile.
pub(crate) struct Talk {
    pub(crate) backend: Arc<dyn Backend>,
    /// The backend without what is known of it.
    pub(crate) bare: Arc<dyn Backend>,
    pub(crate) profile: Option<Profile>,
}

impl Talk {
    /// The backend without a grammar of calls, for a question that has no tools.
    pub(crate) fn bare(&self) -> &dyn Backend {
        &*self.bare
    }

    /// What earlier replies have shown.
    pub(crate) fn learned(&self) -> Learned {
        self.profile.as_ref().map(Profile::learned).unwrap_or_default()
    }

    /// Keeps what the replies of this agent have shown.
    pub(crate) fn keep(&mut self, agent: &Agent) {
        self.profile.iter_mut().for_each(|profile| profile.keep(agent.session().learned()));
    }
}

/// The grammar of replies with these tools. No bound ends a file; the server has one for a reply.
pub(crate) fn grammar_of(tools: &Catalog) -> String {
    let mut options = GrammarOptions::default();
    (options.endless, options.most_calls, options.most_items) = (true, 32, 64);
    grammar::gbnf(tools, &options)
}
