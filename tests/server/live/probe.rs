//! The probe of a backend against a real llama.cpp server. Its model writes random text, so only the answers about the
//! server are predictable: it streams and obeys a grammar, including that of all tools.

use super::{Server, options};
use std::time::Instant;
use toolfence_agent::backend::Backend;
use toolfence_agent::backend::http::Http;
use toolfence_agent::probe::{self, GrammarAnswer, Options, StreamAnswer, TextAnswer};
use toolfence_protocol::Catalog;
use toolfence_protocol::grammar::{self, Form, GrammarOptions};

#[tokio::test]
async fn the_answers_about_a_server_do_not_depend_on_its_model() {
    let Some(server) = Server::start(&["--context", "4096"]) else { return };
    let catalog: Catalog = toolfence_policy::toolset::builtins().iter().cloned().collect();
    // The grammar that `coder` sends.
    let mut bounds = GrammarOptions::default();
    (bounds.endless, bounds.most_calls, bounds.most_items) = (true, 32, 64);
    let wanted = Options { grammar: Some(grammar::gbnf(&catalog, &bounds)), ..Options::default() };
    let mut short = options(&server.url, None);
    short.max_tokens = Some(300); // noise does not end by itself
    let http = Http::new(short).unwrap();
    let mut began = Instant::now();
    let answers = probe::ask_backend(&http, &wanted, &mut |step| {
        println!("{:>6} ms, then {}: {}", began.elapsed().as_millis(), step.number, step.question);
        began = Instant::now();
    })
    .await;
    answers.findings().iter().for_each(|finding| println!("{:?}: {}", finding.verdict, finding.sentence));
    assert!(matches!(answers.stream, StreamAnswer::Streams { .. }), "{answers:?}");
    assert_eq!(answers.text, TextAnswer::NotRepeated);
    assert!(matches!(answers.grammar, GrammarAnswer::Obeys { form: Form::Grammar, .. }), "{answers:?}");
    assert_eq!(http.window().await, Some(4096));
}
