//! The probe of a backend against a real llama.cpp server. Its model writes noise, so what can be told is what the server does:
//! it streams, tells its window, and holds its model to a grammar, that of all tools included.

use super::{Server, options};
use std::time::Instant;
use toolfence_agent::backend::Backend;
use toolfence_agent::backend::http::Http;
use toolfence_agent::probe::{self, Options, Subject, Verdict};
use toolfence_protocol::Catalog;
use toolfence_protocol::grammar::{self, Form, GrammarOptions};

#[tokio::test]
async fn a_probe_tells_what_the_server_does_and_nothing_of_its_noise() {
    let Some(server) = Server::start(&["--context", "4096"]) else { return };
    let catalog: Catalog = toolfence_policy::toolset::builtins().iter().cloned().collect();
    // As `coder` sends it.
    let mut bounds = GrammarOptions::default();
    (bounds.endless, bounds.most_calls, bounds.most_items) = (true, 32, 64);
    let wanted = Options { grammar: Some(grammar::gbnf(&catalog, &bounds)), ..Options::default() };
    let mut short = options(&server.url, None);
    short.max_tokens = Some(300); // noise does not end by itself
    let http = Http::new(short).unwrap();
    let mut began = Instant::now();
    let probed = probe::backend(&http, &wanted, &mut |step| {
        println!("{:>6} ms, then {}: {}", began.elapsed().as_millis(), step.number, step.about);
        began = Instant::now();
    })
    .await;
    for finding in &probed.findings {
        println!("{:?} {:?}: {}", finding.subject, finding.verdict, finding.said);
    }
    assert_eq!((probed.facts.grammar, probed.facts.window), (Some(Some(Form::Grammar)), Some(4096)));
    assert_eq!((probed.facts.manglings.len(), probed.facts.dialect, probed.facts.message_limit), (0, None, None));
    let verdict = |subject| probed.findings.iter().find(|finding| finding.subject == subject).unwrap().verdict;
    assert_eq!((verdict(Subject::Stream), verdict(Subject::Text)), (Verdict::Good, Verdict::Unknown));
    assert_eq!(http.window().await, Some(4096));
}
