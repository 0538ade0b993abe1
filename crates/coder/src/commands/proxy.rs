//! `coder proxy`: function calling for clients that insist on it, in front of an upstream that only talks.

use crate::args::{Options, ProxyArguments};
use crate::choices::Grammar;
use crate::config::places::Places;
use crate::config::{Layers, profile};
use crate::failure::Failure;
use crate::rules::read_dialects;
use crate::runtime;
use crate::server;
use crate::shown::language;
use crate::terminal::{Terminal, tell};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use toolfence_protocol::grammar::Form;
use toolfence_protocol::{Learned, Text, text};
use toolfence_server::proxy::{Profiles, Proxy, ProxyOptions};

/// Serves until a signal ends it.
pub(crate) fn run(options: &Options, arguments: &ProxyArguments) -> Result<ExitCode, Failure> {
    let layers = Layers::read(options)?;
    let config = layers.merged();
    let mut wanted = wanted(options, arguments)?;
    wanted.limits = (&config.limits()).into();
    server::reach_upstream(&config, &arguments.upstream, &mut wanted)?;
    wanted.profiles =
        upstream(&layers.places, options, arguments).map(|upstream| Arc::new(upstream) as Arc<dyn Profiles>);
    let open = wanted.key.is_none() && !arguments.listen.ip().is_loopback();
    let proxy = Proxy::new(wanted).map_err(Failure::wrong_use)?;
    if open {
        tell(&text!("other machines can use this proxy without a key; set TOOLFENCE_PROXY_KEY to ask them for one"));
    }
    runtime::serve(|end| async move {
        let listener = TcpListener::bind(arguments.listen).await;
        let listener = listener.map_err(|error| {
            Failure::broken(text!(
                "cannot listen on {address}: {error}; choose another --listen",
                address = arguments.listen.to_string(),
                error = Text::from(&error)
            ))
        })?;
        let address = listener.local_addr().map_err(|error| Failure::broken(Text::from(&error)))?;
        Terminal::stdout().line(&text!(
            "listening on http://{address}/v1, in front of {upstream}",
            address = address.to_string(),
            upstream = &arguments.upstream
        ))?;
        let end = async { drop(end.await) };
        proxy.serve(listener, end).await.map_err(Failure::broken)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn wanted(options: &Options, arguments: &ProxyArguments) -> Result<ProxyOptions, Failure> {
    let variable = |name| std::env::var(name).ok().filter(|key: &String| !key.is_empty());
    let mut wanted = ProxyOptions::new(&arguments.upstream);
    wanted.reasoning = options.reasoning.map(Into::into).unwrap_or_default();
    if let Some(names) = &options.dialects {
        let mut reading = toolfence_protocol::parse::Options::default();
        read_dialects(names, &mut reading).map_err(Failure::wrong_use)?;
        wanted.dialects = reading.dialects;
    }
    wanted.key = variable("TOOLFENCE_PROXY_KEY");
    wanted.language = language();
    wanted.connect = Duration::from_secs(arguments.connect_timeout);
    wanted.first_byte = Duration::from_secs(arguments.first_byte_timeout);
    wanted.between = Duration::from_secs(arguments.between_timeout);
    wanted.body = usize::try_from(arguments.max_request).map_or(usize::MAX, |size| size << 20);
    wanted.tool_details = arguments.tool_details.into();
    wanted.origins.clone_from(&arguments.origin);
    Ok(wanted)
}

/// The profiles of the upstream's models, as `coder` has them for the same server.
struct Upstream {
    profiles: profile::Profiles,
    base_url: String,
    /// Whether an option names the dialects.
    dialects: bool,
    /// What an option says of grammars.
    grammar: Option<Grammar>,
    told: AtomicBool,
}

/// Without a place for profiles the proxy learns as long as it runs.
fn upstream(places: &Places, options: &Options, arguments: &ProxyArguments) -> Option<Upstream> {
    let profiles = profile::Profiles::of(places)?;
    let address = profile::address(&arguments.upstream);
    // The proxy adds it where there is no path.
    let bare = address.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
    let base_url = if bare { address + "/v1" } else { address };
    let (dialects, grammar) = (options.dialects.is_some(), options.grammar);
    Some(Upstream { profiles, base_url, dialects, grammar, told: AtomicBool::new(false) })
}

impl Profiles for Upstream {
    fn known(&self, model: &str) -> Learned {
        let mut known = self.profiles.learned(&self.base_url, model);
        known.dialect = known.dialect.filter(|_| !self.dialects);
        known.grammar = match self.grammar {
            Some(Grammar::Off) => None,
            Some(Grammar::On) => Some(known.grammar.unwrap_or(Form::Grammar)),
            _ => known.grammar,
        };
        known
    }

    fn learned(&self, model: &str, before: Learned, now: Learned) {
        let stored = self.profiles.store(&self.base_url, model, before, now);
        if let Err(why) = stored
            && !self.told.swap(true, Ordering::Relaxed)
        {
            tell(&text!("the profile of this backend cannot be saved: {why}", why));
        }
    }
}
