//! Adds tools to an existing chat: it takes a reply and returns the message to send back.
//! `cargo run --example chat_tools -- FOLDER`

use toolfence::{Error, ReplyStep, Tools};

/// Runs the calls of a reply. Returns the message for the model, or `None` if it has answered its user.
async fn answer(tools: &mut Tools, reply: &str) -> Result<Option<String>, Error> {
    let mut pending = tools.reply(reply);
    loop {
        match pending.next().await? {
            ReplyStep::Question(question) => {
                println!("{}\n{}", question.reason(), question.diff().unwrap_or_default());
                question.deny("This example cannot ask its user."); // or: question.approve()
            }
            ReplyStep::Result(result) => println!("{}: success is {}", result.tool, result.success),
            ReplyStep::Send(message) => return Ok(Some(message)),
            _ => return Ok(None),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolfence::enter_if_asked(); // this program is also the helper that puts commands into the sandbox
    let mut tools = Tools::open(std::env::args().nth(1).unwrap_or_else(|| ".".into()))?;
    let reply = "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"new.txt\", \"content\": \"hi\\n\"}}\n```\n";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", runtime.block_on(answer(&mut tools, reply))?.unwrap_or_default());
    Ok(())
}
