//! Shared parts of the HTTP clients in this workspace: one TLS stack, one way to describe a failed connection, and the
//! parser of server-sent events.
//!
//! This module handles no models, requests or retries. It sends nothing by itself.

pub mod sse;

use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy, Url};
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls_platform_verifier::{BuilderVerifierExt, Verifier};
use std::error::Error as StdError;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use toolfence_protocol::{Error, ErrorKind, Text, text};

/// How to reach a server, where the environment and the operating system do not determine it.
#[derive(Clone, Default)]
pub struct Route {
    /// The maximum time to connect, if limited.
    pub connect: Option<Duration>,
    /// The URL of a proxy that replaces those of the environment, or [`NO_PROXY`] for none.
    pub proxy: Option<String>,
    /// Certificate authorities in PEM that are trusted in addition to those of the system.
    pub authorities: Option<Vec<u8>>,
    /// The client's certificate with its chain, and its private key, in PEM.
    pub identity: Option<Vec<u8>>,
}

/// The value of [`Route::proxy`] that disables proxies, including those of the environment.
pub const NO_PROXY: &str = "none";

/// Creates a client for the server at this address.
///
/// Certificates are verified as by the operating system. Redirects are not followed, because a request carries a key
/// that only the named server may receive. Response bodies are not decompressed. A server on this machine is reached
/// without a proxy; for others, the variables `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY` name a proxy and `NO_PROXY`
/// the exceptions.
///
/// # Errors
/// Fails if the address uses https and TLS is unavailable, because the processor lacks what the cryptography needs or
/// the system has no certificates. Also fails if the route has an invalid proxy URL or unreadable certificates.
pub fn client(server: &Url, route: &Route) -> Result<Client, Error> {
    let mut builder = Client::builder().redirect(Policy::none()).no_gzip().no_brotli().no_deflate().no_zstd();
    if let Some(limit) = route.connect {
        builder = builder.connect_timeout(limit);
    }
    match route.proxy.as_deref() {
        // First, because a proxy would connect to a loopback address of its own machine.
        _ if is_on_this_machine(server) => builder = builder.no_proxy(),
        None => {}
        Some(NO_PROXY) => builder = builder.no_proxy(),
        Some(url) => {
            let proxy = Proxy::all(url).map_err(|error| {
                invalid(text!("read the URL of the proxy, such as http://proxy.example:3128"), error)
            })?;
            // A configured proxy replaces those of the environment, but the exceptions of the environment still apply.
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_env()));
        }
    }
    // A client without TLS cannot be built, so one that never needs TLS gets an empty certificate store. The connection
    // to a proxy may need TLS, whatever the server's scheme is.
    let needs_tls = server.scheme() == "https" || route.proxy.as_ref().is_some_and(|url| url.starts_with("https:"));
    let tls = if needs_tls { tls(route)? } else { no_tls()? };
    let client = builder.tls_backend_preconfigured(tls).build();
    client.map_err(|error| Error::because(text!("make an HTTP client"), error))
}

fn invalid(doing: Text, error: impl StdError + Send + Sync + 'static) -> Error {
    Error::because(doing, error).of_kind(ErrorKind::InvalidInput)
}

/// Returns `true` if a server at this address is on this machine, whatever the network is.
pub fn is_on_this_machine(server: &Url) -> bool {
    let host = server.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    host == "localhost" || address.is_ok_and(|address: IpAddr| address.is_loopback())
}

fn tls(route: &Route) -> Result<ClientConfig, Error> {
    if !can_encrypt() {
        return Err(Error::new(text!(
            "This processor lacks instructions that https needs here (AVX2, BMI2, ADX and AES on x86-64). Reach the \
             server by http, through a proxy on this machine that speaks TLS."
        )));
    }
    let system = |error| Error::because(text!("read the certificates of this system"), error);
    let config = match &route.authorities {
        None => versions()?.with_platform_verifier().map_err(system)?,
        Some(pem) => {
            let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
            let more =
                read.map_err(|error| invalid(text!("read the certificates of the authorities, which are PEM"), error))?;
            // A file of another format would otherwise be accepted without adding an authority.
            if more.is_empty() {
                return Err(Error::with_kind(
                    ErrorKind::InvalidInput,
                    text!(
                        "The file of authorities has no certificate; it is PEM, with lines such as -----BEGIN \
                         CERTIFICATE-----."
                    ),
                ));
            }
            let verifier = Verifier::new_with_extra_roots(more, Arc::new(rustls_graviola::default_provider()));
            let verifier = verifier
                .map_err(|error| invalid(text!("read the certificates of the authorities, which are PEM"), error))?;
            // This is the platform's own verifier with additional roots; it is no weaker.
            versions()?.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
    };
    let Some(pem) = &route.identity else { return Ok(config.with_no_client_auth()) };
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let chain = read.map_err(|error| invalid(read_identity(), error))?;
    let key = PrivateKeyDer::from_pem_slice(pem).map_err(|error| invalid(read_identity(), error))?;
    config.with_client_auth_cert(chain, key).map_err(|error| invalid(read_identity(), error))
}

fn no_tls() -> Result<ClientConfig, Error> {
    Ok(versions()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

fn versions() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, Error> {
    ClientConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::because(text!("set TLS up"), error))
}

/// Returns `true` if the processor has what graviola needs. Without it graviola ends the process.
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

/// Returns an error and its causes, the outermost first.
pub fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (**error).source())
}

fn read_identity() -> Text {
    text!("read the client's certificate and private key, which are PEM in one file")
}
