//! What the program tells a person in the two languages, in files by what a person is doing. The help of the command line is
//! in `args.rs` in English, and here in Portuguese.
//!
//! What a text names stays as it is: options, settings' keys, commands, tools, and the words that are typed in a conversation.

mod backends;
mod conversation;
mod failures;
mod help;
mod personas;
mod question;
mod reports;
mod servers;
mod sessions;
mod tools;
mod turn;
mod undo;

pub(crate) use backends::*;
pub(crate) use conversation::*;
pub(crate) use failures::*;
pub(crate) use help::PORTUGUESE_HELP;
pub(crate) use personas::*;
pub(crate) use question::*;
pub(crate) use reports::*;
pub(crate) use servers::*;
pub(crate) use sessions::*;
#[cfg(test)]
pub(crate) use tools::PORTUGUESE_TOOLS;
pub(crate) use tools::tool_words;
pub(crate) use turn::*;
pub(crate) use undo::*;

use toolfence_agent::backend::Usage;
use toolfence_protocol::Text;
use toolfence_session::Compacted;

/// What became of a conversation that did not fit.
pub(crate) fn compacted(done: &Compacted) -> Text {
    let Compacted { before, after, outputs, messages, images, .. } = *done;
    let mut told = conversation_compacted(before, after, outputs, messages);
    if images > 0 {
        told.push(images_compacted(images));
    }
    told
}

/// What replies cost, in tokens and, where it is known, in money.
pub(crate) fn usage(usage: &Usage, price: Option<f64>) -> Text {
    let mut told = replies_cost(usage.replies, usage.input, usage.cached, usage.output);
    if usage.estimated > 0 {
        told.push(replies_estimated(usage.estimated));
    }
    if let Some(price) = price {
        told.push(replies_price(format!("{price:.4}")));
    }
    told
}

toolfence_protocol::texts! { "coder"
    /// What is wrong with something that has a name or a place: an option, a key, a file.
    located(place, what) {
        en: "{place}: {what}",
        pt: "{place}: {what}",
    }
    /// So many things beside those that were named.
    and_more(count) {
        en: "and {count} more",
        pt: "e mais {count}",
    }
}
