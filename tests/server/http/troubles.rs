//! Connection problems with real servers: error messages, retries, and certificates.

use super::*;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::sync::Arc;

const AUTHORITY: &[u8] = include_bytes!("../../data/tls/ca.pem");
const SERVER: &[u8] = include_bytes!("../../data/tls/server.pem");
const CLIENT: &[u8] = include_bytes!("../../data/tls/client.pem");

fn good() -> Script {
    vec![(sse(&[&text("one"), &end("stop"), "[DONE]"]), 0)]
}

async fn failure(options: HttpOptions) -> String {
    ask(options, &mut Seen::default()).await.unwrap_err().to_string()
}

/// Starts an HTTPS server that answers every request with a word. With `asks`, it requires a client certificate.
pub(crate) fn https(asks: bool) -> String {
    let provider = Arc::new(rustls_graviola::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let builder = if asks {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(AUTHORITY).unwrap()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let chain = vec![CertificateDer::from_pem_slice(SERVER).unwrap()];
    let config = builder.with_single_cert(chain, PrivateKeyDer::from_pem_slice(SERVER).unwrap()).unwrap();
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut tls = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream.unwrap());
            let mut request = [0; 65536];
            // A client that rejects the certificate disconnects here.
            if tls.read(&mut request).is_ok_and(|got| got > 0) {
                let _ = tls.write_all(&sse(&[&text("one"), &end("stop"), "[DONE]"]));
                tls.conn.send_close_notify();
                let _ = tls.flush();
            }
        }
    });
    url
}

#[tokio::test]
async fn connection_errors_explain_what_to_do() {
    let refused = failure(options("http://127.0.0.1:1/v1")).await;
    assert!(refused.contains("Connection refused") && refused.contains("No server listens there"), "{refused}");
    let unknown = failure(options("http://no-such-host.invalid/v1")).await;
    assert!(unknown.contains("The host name has no address"), "{unknown}");
    let untrusted = failure(options(&https(false))).await;
    assert!(untrusted.contains("UnknownIssuer") && untrusted.contains("`http.ca_file`"), "{untrusted}");
    let plain = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = plain.local_addr().unwrap();
    let refuses = std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
        let _ = stream.read(&mut [0; 4096]); // closing with something unread would take back what was written
    });
    let no_tls = failure(options(&format!("https://{address}/v1"))).await;
    refuses.join().unwrap();
    assert!(no_tls.contains("does not use TLS: begin the base URL with http://"), "{no_tls}");
    let mut through_proxy = options("https://model.example/v1");
    through_proxy.proxy =
        Some(serve(vec![refusal("407 Proxy Authentication Required", "", "")]).await.0.replace("/v1", ""));
    let through_proxy = failure(through_proxy).await;
    assert!(through_proxy.contains("The proxy refused the connection: check HTTPS_PROXY"), "{through_proxy}");
    // The server closes the connection without an answer.
    let died = reply_with(|options| options.retries = 0, vec![vec![]]).await.1;
    assert!(died.contains("Check the server's log: it closed the connection without an answer"), "{died}");
}

#[tokio::test]
async fn custom_authorities_and_client_certificates_work() {
    for asks in [false, true] {
        let mut trusting = options(&https(asks));
        trusting.authorities = Some(AUTHORITY.to_vec());
        if asks {
            let no_certificate = failure(trusting.clone()).await;
            assert!(
                no_certificate.contains("CertificateRequired") || no_certificate.contains("cannot get an answer"),
                "{no_certificate}"
            );
            trusting.identity = Some(CLIENT.to_vec());
        }
        let mut seen = Seen::default();
        assert_eq!(ask(trusting, &mut seen).await.unwrap(), FinishReason::Stop);
        assert_eq!(seen.received, "one");
    }
}

#[test]
fn certificates_and_headers_that_cannot_be_used_are_named() {
    let with = |change: fn(&mut HttpOptions)| {
        let mut options = options("https://model.example/v1");
        change(&mut options);
        Http::new(options).unwrap_err().to_string()
    };
    for (change, wanted) in [
        (
            (|o| o.authorities = Some(b"text".to_vec())) as fn(&mut HttpOptions),
            "The file of authorities has no certificate",
        ),
        (|o| o.identity = Some(AUTHORITY.to_vec()), "the client's certificate and private key"),
        (|o| o.proxy = Some("http://[".to_owned()), "the URL of the proxy"),
        (|o| o.headers = vec![("a b".to_owned(), String::new())], "The header \"a b\" cannot be sent"),
        (|o| o.headers = vec![("Host".to_owned(), "x".to_owned())], "The header \"Host\" cannot be sent"),
        (|o| o.headers = vec![("X".to_owned(), "a\nsecret".to_owned())], "The header \"X\" cannot be sent"),
    ] {
        let message = with(change);
        assert!(message.contains(wanted) && !message.contains("secret"), "{wanted}: {message}");
    }
}

#[tokio::test]
async fn requests_go_through_the_configured_proxy() {
    let (proxy, asked) = serve(vec![good()]).await;
    let mut through_proxy = options("http://model.example/v1");
    through_proxy.proxy = Some(proxy.replace("/v1", ""));
    let mut seen = Seen::default();
    assert_eq!(ask(through_proxy, &mut seen).await.unwrap(), FinishReason::Stop);
    let request = &asked.await.unwrap()[0];
    assert!(request.starts_with("POST http://model.example/v1/chat/completions HTTP/1.1\r\n"), "{request}");
    // A server on this machine is reached directly.
    let (url, _server) = serve(vec![good()]).await;
    let mut near = options(&url);
    near.proxy = Some("http://127.0.0.1:1".to_owned());
    assert_eq!(ask(near, &mut seen).await.unwrap(), FinishReason::Stop);
}

/// The client waits for a model that is being loaded until the time limit for the first piece, whatever the number of
/// retries.
#[tokio::test]
async fn the_client_waits_for_a_server_that_loads_its_model() {
    let loads =
        || refusal("503 Service Unavailable", "", "{\"error\": {\"message\": \"Loading model\", \"code\": 503}}");
    let (url, server) = serve(vec![loads(), loads(), loads(), good()]).await;
    let (mut seen, mut once) = (Seen::default(), options(&url));
    once.retries = 0;
    assert_eq!(ask(once, &mut seen).await.unwrap(), FinishReason::Stop);
    assert_eq!((seen.waits.len(), server.await.unwrap().len()), (3, 4));
    let (url, server) = serve(vec![loads(), loads()]).await;
    let mut hurried = options(&url);
    (hurried.retries, hurried.first_byte, hurried.back_off) =
        (0, Duration::from_millis(300), Duration::from_millis(400));
    let ended = failure(hurried).await;
    assert!(ended.contains("HTTP 503: Loading model"), "{ended}");
    assert_eq!(server.await.unwrap().len(), 2, "asked once more when the time is over");
}

#[tokio::test]
async fn retries_are_reported_and_long_waits_are_refused() {
    let busy = || refusal("503 Service Unavailable", "", "{\"error\": {\"message\": \"Loading model\"}}");
    let (url, server) = serve(vec![busy(), busy(), good()]).await;
    let mut seen = Seen::default();
    assert_eq!(ask(options(&url), &mut seen).await.unwrap(), FinishReason::Stop);
    let wanted = ["it refused with HTTP 503: Loading model: 10 ms", "it refused with HTTP 503: Loading model: 20 ms"];
    assert_eq!((seen.received.as_str(), seen.waits.as_slice()), ("one", wanted.map(str::to_owned).as_slice()));
    assert_eq!(server.await.unwrap().len(), 3);
    let late = || refusal("429 Too Many Requests", "retry-after: 3600\r\n", "{\"message\": \"quota\"}");
    let (_, ended, requests) = reply(vec![late()]).await;
    assert_eq!(requests.len(), 1, "an hour is not waited for");
    assert!(ended.contains("HTTP 429: quota. The server asks to wait 3600 s before the next request"), "{ended}");
    // A server may send a date by its own clock, which can differ from ours.
    let dated = |after: &'static str| {
        let head = format!("date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: {after}\r\n");
        refusal("429 Too Many Requests", &head, "{\"message\": \"quota\"}")
    };
    let (url, server) = serve(vec![dated("Sun, 06 Nov 1994 08:49:38 GMT"), good()]).await;
    let mut seen = Seen::default();
    assert_eq!(ask(options(&url), &mut seen).await.unwrap(), FinishReason::Stop);
    assert_eq!(
        (seen.waits.as_slice(), server.await.unwrap().len()),
        (&["it refused with HTTP 429: quota: 1000 ms".to_owned()][..], 2)
    );
    let (_, ended, requests) = reply(vec![dated("Sun, 06 Nov 1994 10:49:37 GMT")]).await;
    assert!(requests.len() == 1 && ended.contains("asks to wait 7200 s before the next request"), "{ended}");
    // A request that is cancelled while it waits is not sent again.
    let (url, server) = serve(vec![busy()]).await;
    let mut enough = Seen { most: Some(1), ..Seen::default() };
    assert_eq!(ask(options(&url), &mut enough).await.unwrap(), FinishReason::Cut);
    assert_eq!(server.await.unwrap().len(), 1);
}
