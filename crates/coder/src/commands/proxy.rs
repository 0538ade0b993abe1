//! `coder proxy`: offers function calling to clients, in front of an upstream without it.

use crate::args::{Options, ProxyArguments};
use crate::choices::Grammar;
use crate::config::places::Places;
use crate::config::{Layers, profile};
use crate::failure::Failure;
use crate::rules::read_dialects;
use crate::runtime;
use crate::server;
use crate::shown::language;
use crate::terminal::{Terminal, print_note};
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
    let mut proxy_options = proxy_options(options, arguments)?;
    proxy_options.limits = (&config.limits()).into();
    server::reach_upstream(&config, &arguments.upstream, &mut proxy_options)?;
    proxy_options.profiles =
        upstream(&layers.places, options, arguments).map(|upstream| Arc::new(upstream) as Arc<dyn Profiles>);
    let open = proxy_options.key.is_none() && !arguments.listen.ip().is_loopback();
    let proxy = Proxy::new(proxy_options).map_err(Failure::wrong_use)?;
    if open {
        print_note(&text!(
            "other machines can use this proxy without a key; set TOOLFENCE_PROXY_KEY to ask them for one"
        ));
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

fn proxy_options(options: &Options, arguments: &ProxyArguments) -> Result<ProxyOptions, Failure> {
    let variable = |name| std::env::var(name).ok().filter(|key: &String| !key.is_empty());
    let mut proxy = ProxyOptions::new(&arguments.upstream);
    proxy.reasoning = options.reasoning.map(Into::into).unwrap_or_default();
    if let Some(names) = &options.dialects {
        let mut parser = toolfence_protocol::parse::Options::default();
        read_dialects(names, &mut parser).map_err(Failure::wrong_use)?;
        proxy.dialects = parser.dialects;
    }
    proxy.key = variable("TOOLFENCE_PROXY_KEY");
    proxy.language = language();
    proxy.connect = Duration::from_secs(arguments.connect_timeout);
    proxy.first_byte = Duration::from_secs(arguments.first_byte_timeout);
    proxy.between = Duration::from_secs(arguments.between_timeout);
    proxy.body = usize::try_from(arguments.max_request).map_or(usize::MAX, |size| size << 20);
    proxy.tool_details = arguments.tool_details.into();
    proxy.origins.clone_from(&arguments.origin);
    Ok(proxy)
}

/// The stored profiles of the upstream's models, shared with `coder` for the same server.
struct Upstream {
    profiles: profile::Profiles,
    base_url: String,
    /// Whether an option sets the dialects, which overrides the profile.
    dialects: bool,
    /// The option for grammars, which overrides the profile.
    grammar: Option<Grammar>,
    has_reported_error: AtomicBool,
}

/// Opens the stored profiles. Without a folder for profiles, returns `None`, and the proxy keeps what it learns in
/// memory.
fn upstream(places: &Places, options: &Options, arguments: &ProxyArguments) -> Option<Upstream> {
    let profiles = profile::Profiles::open_folder(places)?;
    let address = profile::address(&arguments.upstream);
    // The proxy appends /v1 to a URL without a path, so the profile uses the same URL.
    let has_no_path = address.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
    let base_url = if has_no_path { address + "/v1" } else { address };
    let (dialects, grammar) = (options.dialects.is_some(), options.grammar);
    Some(Upstream { profiles, base_url, dialects, grammar, has_reported_error: AtomicBool::new(false) })
}

impl Profiles for Upstream {
    fn load(&self, model: &str) -> Learned {
        let mut known = self.profiles.learned(&self.base_url, model);
        known.dialect = known.dialect.filter(|_| !self.dialects);
        known.grammar = match self.grammar {
            Some(Grammar::Off) => None,
            Some(Grammar::On) => Some(known.grammar.unwrap_or(Form::Grammar)),
            _ => known.grammar,
        };
        known
    }

    fn store(&self, model: &str, before: Learned, now: Learned) {
        let stored = self.profiles.store(&self.base_url, model, before, now);
        if let Err(why) = stored
            && !self.has_reported_error.swap(true, Ordering::Relaxed)
        {
            print_note(&text!("the profile of this backend cannot be saved: {why}", why));
        }
    }
}
