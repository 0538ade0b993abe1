//! What every client of HTTP in this workspace shares: one TLS stack, one way of saying why a connection failed, and the
//! reader of server-sent events.
//!
//! This module knows no models, no requests and no retries. It sends nothing by itself.

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

/// How a server is reached, where that is not left to the environment and the operating system.
#[derive(Clone, Default)]
pub struct Route {
    /// How long a connection may take to come about, where that is limited.
    pub connect: Option<Duration>,
    /// The URL of a proxy in the place of those that the environment names, or [`NO_PROXY`] for none.
    pub proxy: Option<String>,
    /// Authorities that are trusted beside those of the system: certificates in PEM.
    pub authorities: Option<Vec<u8>>,
    /// The client's own certificate, with those above it, and its private key, in PEM.
    pub identity: Option<Vec<u8>>,
}

/// The proxy of a [`Route`] that takes none, whatever the environment names.
pub const NO_PROXY: &str = "none";

/// A client for the server at this address.
///
/// Certificates are checked as the operating system does it. Redirects are not followed: a request carries a key, and the
/// server that was named is the one that gets it. What an answer's body is encoded with is left as it is. A server on this
/// machine is reached without a proxy, whatever the environment names; for others, the variables `HTTPS_PROXY`, `HTTP_PROXY` and
/// `ALL_PROXY` name one and `NO_PROXY` the exceptions.
///
/// # Errors
/// The address is one of https, and TLS cannot be used here: the processor lacks what the cryptography needs, or the system
/// has no certificates. Or the route has a proxy that is no URL, or certificates that cannot be read.
pub fn client(server: &Url, route: &Route) -> Result<Client, Error> {
    let mut builder = Client::builder().redirect(Policy::none()).no_gzip().no_brotli().no_deflate().no_zstd();
    if let Some(limit) = route.connect {
        builder = builder.connect_timeout(limit);
    }
    match route.proxy.as_deref() {
        _ if is_on_this_machine(server) => builder = builder.no_proxy(),
        None => {}
        Some(NO_PROXY) => builder = builder.no_proxy(),
        Some(url) => {
            let proxy = Proxy::all(url).map_err(|error| {
                invalid(text!("read the URL of the proxy, such as http://proxy.example:3128"), error)
            })?;
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_env()));
        }
    }
    // A client without TLS would refuse to be built, so one that will never need it gets an empty store of certificates. The way
    // to a proxy may need it, whatever the server's scheme is.
    let needs_tls = server.scheme() == "https" || route.proxy.as_ref().is_some_and(|url| url.starts_with("https:"));
    let tls = if needs_tls { tls(route)? } else { no_tls()? };
    let client = builder.tls_backend_preconfigured(tls).build();
    client.map_err(|error| Error::because(text!("make an HTTP client"), error))
}

fn invalid(doing: Text, error: impl StdError + Send + Sync + 'static) -> Error {
    Error::because(doing, error).of_kind(ErrorKind::InvalidInput)
}

/// Whether a server at this address is on this machine, whatever the network is.
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
            // It is the platform's own verifier with more roots, and no weaker one.
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

fn read_identity() -> Text {
    text!("read the client's certificate and private key, which are PEM in one file")
}
