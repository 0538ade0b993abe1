//! Tests constrained decoding with a real llama.cpp server. Even with random weights, it writes only calls that parse
//! strictly and fit their tool. `TOOLFENCE_LIVE_ROUNDS` sets a larger number of replies than the default.

use super::{Seen, Server, ask, options};
use serde_json::{Value, json};
use std::sync::Arc;
use toolfence_protocol::grammar::{self, GrammarOptions, Start};
use toolfence_protocol::parse::{Event, Options, Parser};
use toolfence_protocol::{Catalog, FinishReason, ToolCall};

/// Returns the number of replies for each single tool.
fn rounds() -> u64 {
    std::env::var("TOOLFENCE_LIVE_ROUNDS").ok().and_then(|count| count.parse().ok()).unwrap_or(6)
}

/// Calls of each reply.
const CALLS: usize = 3;

/// Random output runs up to every bound, so the bounds are small.
fn small(start: Start, calls: usize) -> GrammarOptions {
    let mut options = GrammarOptions::default();
    (options.start, options.least_calls, options.most_calls) = (start, calls, calls);
    (options.longest_text, options.longest_content, options.most_lines, options.most_items) = (8, Some(24), 2, 2);
    options
}

struct Run {
    server: Server,
    calls: usize,
    valid: usize,
    replies: usize,
}

impl Run {
    fn new() -> Option<Run> {
        Server::start(&[]).map(|server| Run { server, calls: 0, valid: 0, replies: 0 })
    }

    async fn reply(&mut self, seed: u64, constraint: (&str, Value)) -> (String, FinishReason) {
        let mut options = options(&self.server.url, None);
        options.body.insert(constraint.0.into(), constraint.1);
        options.body.insert("seed".into(), seed.into());
        options.temperature = Some(0.5 + (seed % 8) as f64 * 0.25);
        options.max_tokens = Some(6000);
        let mut seen = Seen::default();
        let finish = ask(options, "continue", &mut seen).await.unwrap();
        self.replies += 1;
        (seen.text, finish)
    }

    /// Requests a reply under a grammar. It always ends by itself.
    async fn constrained(&mut self, seed: u64, grammar: &str) -> String {
        let (reply, finish) = self.reply(seed, ("grammar", grammar.into())).await;
        assert_eq!(finish, FinishReason::Stop, "the bounds end it: {reply}");
        reply
    }

    /// Reads the reply and counts its calls. `wanted` is the number that the grammar requires.
    fn count(&mut self, reply: &str, wanted: usize, bare: bool, catalog: &Catalog) {
        self.calls += wanted;
        let calls = strictly(reply, bare, catalog);
        assert_eq!(calls.len(), wanted, "{reply}");
        for mut call in calls {
            assert!(call.repairs.is_empty(), "{reply}");
            catalog.resolve(&mut call).unwrap_or_else(|failure| panic!("{}\n{reply}", failure.message));
            self.valid += 1;
        }
    }

    fn report(&self, what: &str) {
        println!("{what}: replies: {}, constrained calls: {}, valid: {}", self.replies, self.calls, self.valid);
    }
}

fn strictly(reply: &str, bare: bool, catalog: &Catalog) -> Vec<ToolCall> {
    let mut options = Options::default();
    (options.strict, options.bare, options.catalog) = (true, bare, Some(Arc::new(catalog.clone())));
    let mut parser = Parser::new(options);
    parser.push(reply);
    parser.finish(FinishReason::Stop);
    let mut calls = Vec::new();
    while let Some(event) = parser.poll() {
        match event {
            Event::Call { call, .. } => calls.push(*call),
            Event::Text { .. } | Event::Started { .. } | Event::Progress { .. } => {}
            other => panic!("{other:?}\n{reply}"),
        }
    }
    calls
}

fn builtins() -> Catalog {
    toolfence_policy::toolset::builtins().iter().cloned().collect()
}

fn alone() -> impl Iterator<Item = Catalog> {
    toolfence_policy::toolset::builtins().iter().map(|spec| [spec.clone()].into_iter().collect())
}

#[tokio::test]
async fn random_output_under_the_grammar_is_only_valid_calls() {
    let Some(mut run) = Run::new() else { return };
    for catalog in alone() {
        let text = grammar::gbnf(&catalog, &small(Start::Reply, CALLS));
        for seed in 0..rounds() {
            let reply = run.constrained(seed, &text).await;
            run.count(&reply, CALLS, false, &catalog);
        }
    }
    let text = grammar::gbnf(&builtins(), &small(Start::Reply, CALLS));
    for seed in 0..rounds() * 5 {
        let reply = run.constrained(1000 + seed, &text).await;
        run.count(&reply, CALLS, false, &builtins());
    }
    run.report("whole replies");
}

#[tokio::test]
async fn random_output_under_the_bare_grammar_is_one_valid_call() {
    let Some(mut run) = Run::new() else { return };
    for catalog in alone() {
        let text = grammar::gbnf(&catalog, &small(Start::Bare, 1));
        for seed in 0..rounds() / 2 {
            let reply = run.constrained(seed, &text).await;
            run.count(&reply, 1, true, &catalog);
        }
    }
    run.report("bare objects");
}

/// Returns `true` for escapes of NUL and of unpaired surrogates, which a schema cannot forbid.
fn has_unfit_escape(reply: &str) -> bool {
    let half =
        |at: usize| matches!(reply.as_bytes()[at..], [_, _, b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..]);
    reply.contains("\\u0000") || reply.match_indices("\\u").any(|(at, _)| half(at))
}

/// The server parses such replies itself and cuts those with invalid UTF-8. They are counted separately, and requested
/// again with another seed.
#[tokio::test]
async fn random_output_under_the_schema_is_one_valid_call() {
    let Some(mut run) = Run::new() else { return };
    let wanted = rounds() / 3;
    let (mut cut, mut spoiled) = (0, 0);
    for catalog in alone() {
        let schema = grammar::json_schema(&catalog, &small(Start::Bare, 1));
        let format = json!({"type": "json_schema", "json_schema": {"name": "call", "schema": schema}});
        let mut whole = 0;
        for seed in 0..wanted * 10 {
            if whole == wanted {
                break;
            }
            match run.reply(seed, ("response_format", format.clone())).await {
                (_, FinishReason::Cut) => cut += 1,
                (reply, _) if has_unfit_escape(&reply) => spoiled += 1,
                (reply, _) => {
                    run.count(&reply, 1, true, &catalog);
                    whole += 1;
                }
            }
        }
        assert_eq!(whole, wanted, "{cut} cut, {spoiled} spoiled");
    }
    run.report("objects of the schema");
    println!("asked for again: {cut} cut for bytes that are no UTF-8, {spoiled} for an escape that is no character");
}

/// The server accepts the default grammar with its large bounds, and the grammar with the largest bounds.
#[tokio::test]
async fn the_server_accepts_default_and_maximum_bounds() {
    let Some(server) = Server::start(&[]) else { return };
    let most = usize::MAX;
    let starts = [Start::Reply, Start::Trigger, Start::Bare];
    let default = starts.map(|start| (start, false, false));
    for (start, large, endless) in default.into_iter().chain([(Start::Reply, true, false), (Start::Reply, true, true)])
    {
        let mut bounds = GrammarOptions::default();
        (bounds.start, bounds.endless) = (start, endless);
        if large {
            (bounds.most_calls, bounds.longest_text, bounds.most_lines, bounds.most_items) = (most, most, most, most);
        }
        let text = grammar::gbnf(&builtins(), &bounds);
        let mut options = options(&server.url, Some(&text));
        options.max_tokens = Some(50);
        let mut seen = Seen::default();
        ask(options, "continue", &mut seen).await.unwrap();
        assert!(!seen.text.is_empty());
        assert!(start != Start::Trigger || seen.text.starts_with("```tool\n{\"name\": \""), "{}", seen.text);
    }
}
