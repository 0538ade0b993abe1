//! Tools for a chat that exists: a reply in, the message to send back out. `cargo run --example chat_tools -- FOLDER`

use toolfence::{Error, ReplyStep, Tools};

async fn answer(tools: &mut Tools, reply: &str) -> Result<Option<String>, Error> {
    let mut pending = tools.reply(reply);
    while let Some(step) = pending.next().await? {
        match step {
            ReplyStep::Question(question) => {
                println!("{}\n{}", question.reason(), question.diff().unwrap_or_default());
                question.deny("This example cannot ask its user."); // or: question.approve()
            }
            ReplyStep::Result(result) => println!("{}: success is {}", result.tool, result.success),
            _ => {}
        }
    }
    Ok(pending.message().map(str::to_owned)) // None: the model has answered
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolfence::enter_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut tools = Tools::open(std::env::args().nth(1).unwrap_or_else(|| ".".into()))?;
    println!("Add {} bytes of instructions to your system message.", tools.instructions().len());
    let reply = "```tool\n{\"name\": \"list_files\"}\n```\n```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"new.txt\", \"content\": \"hi\\n\"}}\n```\n";
    println!("{}", runtime.block_on(answer(&mut tools, reply))?.unwrap_or_default());
    Ok(())
}
