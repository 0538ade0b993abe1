//! `coder proxy`: function calling for clients that insist on it, in front of an upstream that only talks.

use crate::args::{Options, ProxyArguments};
use crate::failure::Failure;
use crate::messages;
use crate::runtime;
use crate::shown::{language, tell};
use crate::terminal::Terminal;
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpListener;
use toolfence::proxy::{Proxy, ProxyOptions};

/// Serves until a signal ends it.
pub(crate) fn run(options: &Options, arguments: &ProxyArguments) -> Result<ExitCode, Failure> {
    let wanted = wanted(options, arguments);
    let open = wanted.key.is_none() && !arguments.listen.ip().is_loopback();
    let proxy = Proxy::new(wanted).map_err(Failure::wrong_use)?;
    if open {
        tell(&messages::proxy_is_open());
    }
    runtime::serve(|end| async move {
        let listener = TcpListener::bind(arguments.listen).await;
        let listener = listener.map_err(|error| {
            Failure::broken(messages::cannot_listen(arguments.listen.to_string(), error.to_string()))
        })?;
        let address = listener.local_addr().map_err(|error| Failure::broken(error.to_string()))?;
        Terminal::stdout().line(&messages::listening(address.to_string(), &arguments.upstream))?;
        let end = async { drop(end.await) };
        proxy.serve(listener, end).await.map_err(Failure::broken)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn wanted(options: &Options, arguments: &ProxyArguments) -> ProxyOptions {
    let variable = |name| std::env::var(name).ok().filter(|key: &String| !key.is_empty());
    let mut wanted = ProxyOptions::new(&arguments.upstream);
    wanted.reasoning = options.reasoning.map(Into::into).unwrap_or_default();
    wanted.key = variable("TOOLFENCE_PROXY_KEY");
    wanted.upstream_key = variable("TOOLFENCE_API_KEY");
    wanted.language = language();
    wanted.connect = Duration::from_secs(arguments.connect_timeout);
    wanted.first_byte = Duration::from_secs(arguments.first_byte_timeout);
    wanted.between = Duration::from_secs(arguments.between_timeout);
    wanted.body = usize::try_from(arguments.max_request).map_or(usize::MAX, |size| size << 20);
    wanted
}
