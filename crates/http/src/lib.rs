//! What every client of HTTP in this workspace shares: one TLS stack, one way of saying why a connection failed, and the
//! reader of server-sent events.
//!
//! This crate knows no models, no requests and no retries. It sends nothing by itself.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

#![forbid(unsafe_code)]

mod messages;
pub mod sse;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use std::error::Error as StdError;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use toolfence_protocol::Error;

/// A client for the server at this address. `connect`: how long a connection may take to come about, where that is limited.
///
/// Certificates are checked as the operating system does it. Redirects are not followed: a request carries a key, and the
/// server that was named is the one that gets it. What an answer's body is encoded with is left as it is. A server on this
/// machine is reached without a proxy, whatever the environment names.
///
/// # Errors
/// The address is one of https, and TLS cannot be used here: the processor lacks what the cryptography needs, or the system
/// has no certificates.
pub fn client(server: &Url, connect: Option<Duration>) -> Result<Client, Error> {
    let mut builder = Client::builder().redirect(Policy::none()).no_gzip().no_brotli().no_deflate().no_zstd();
    if let Some(limit) = connect {
        builder = builder.connect_timeout(limit);
    }
    if is_on_this_machine(server) {
        builder = builder.no_proxy();
    }
    // A client without TLS would refuse to be built, so one that will never need it gets an empty store of certificates.
    let tls = if server.scheme() == "https" { tls()? } else { no_tls()? };
    let client = builder.tls_backend_preconfigured(tls).build();
    client.map_err(|error| Error::because(messages::make_client(), error))
}

/// Whether a server at this address is on this machine, whatever the network is.
pub fn is_on_this_machine(server: &Url) -> bool {
    let host = server.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    host == "localhost" || address.is_ok_and(|address: IpAddr| address.is_loopback())
}

fn tls() -> Result<ClientConfig, Error> {
    if !can_encrypt() {
        return Err(Error::new(messages::no_encryption()));
    }
    let config =
        versions()?.with_platform_verifier().map_err(|error| Error::because(messages::read_certificates(), error))?;
    Ok(config.with_no_client_auth())
}

fn no_tls() -> Result<ClientConfig, Error> {
    Ok(versions()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

fn versions() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, Error> {
    ClientConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::because(messages::set_tls_up(), error))
}

/// Whether the processor has what graviola is written for; without it graviola ends the process.
fn can_encrypt() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        has!("aes") && has!("ssse3") && has!("pclmulqdq") && has!("avx2") && has!("bmi1") && has!("bmi2") && has!("adx")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        true
    }
}

/// An error with everything that it came from, the outermost first.
pub fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (**error).source())
}
