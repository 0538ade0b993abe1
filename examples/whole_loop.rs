//! Runs the whole loop: an agent with a model, tools and a user. `cargo run --example whole_loop -- FOLDER`

use std::sync::Arc;
use toolfence::{Answer, BoxFuture, Event, Host, Pending, Tools, backend_fn};

struct Terminal;

impl Host for Terminal {
    fn show(&mut self, event: &Event<'_>) {
        let Event::Text { text, .. } = event else { return };
        print!("{text}");
    }

    fn ask<'a>(&'a mut self, question: &'a Pending) -> BoxFuture<'a, Answer> {
        println!("{}\n{}", question.decision().reason, question.diff().unwrap_or_default());
        Box::pin(async { Answer::No("This example cannot ask its user.".into()) }) // or: Answer::Yes
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolfence::enter_if_asked();
    let replies = ["```tool\n{\"name\": \"list_files\"}\n```\n", "These are your files."];
    let model = backend_fn(move |messages| {
        futures_util::stream::iter([Ok(replies[usize::from(messages.len() > 2)].to_owned())])
    });
    let mut agent = Tools::builder(std::env::args().nth(1).unwrap_or_else(|| ".".into())).agent(Arc::new(model))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("\n[{:?}]", runtime.block_on(agent.run("What is here?", &mut Terminal))?);
    Ok(())
}
