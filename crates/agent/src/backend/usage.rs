//! What replies cost, in tokens.

use std::ops::AddAssign;
use toolfence_protocol::{Image, Message};

/// Bytes of text that are counted as a token where nobody counts tokens: about right for English and for code.
const BYTES_A_TOKEN: usize = 4;
/// Tokens that a template puts around a message.
const AROUND_MESSAGE: u64 = 4;

/// Tokens that were read and written. Counts of several replies can be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Replies that are counted here.
    pub replies: u64,
    /// Tokens of the conversations that were sent.
    pub input: u64,
    /// Those of them that the server still knew.
    pub cached: u64,
    /// Tokens of the replies, reasoning included.
    pub output: u64,
    /// Replies of which the server did not say what they cost: their part is an estimate by the length of the texts and the number of images.
    pub estimated: u64,
}

impl Usage {
    /// What a server says of one reply.
    pub fn counted(input: u64, cached: u64, output: u64) -> Usage {
        Usage { replies: 1, input, cached, output, estimated: 0 }
    }

    /// One reply of so many bytes, where nobody has counted it.
    pub fn estimated(sent: &[Message], reply_bytes: usize) -> Usage {
        let tokens = |bytes: usize| bytes.div_ceil(BYTES_A_TOKEN) as u64;
        let images = |message: &Message| (message.images.len() * Image::TOKENS) as u64;
        let input = sent.iter().map(|message| tokens(message.content.len()) + images(message) + AROUND_MESSAGE).sum();
        Usage { replies: 1, input, cached: 0, output: tokens(reply_bytes), estimated: 1 }
    }

    /// What it costs where a million tokens cost `input` that are read, `cached` that are read and that the server still knew, and
    /// `output` that are written.
    pub fn cost(&self, input: f64, cached: f64, output: f64) -> f64 {
        // A server may say that it knew more than it was sent.
        let known = self.cached.min(self.input);
        ((self.input - known) as f64 * input + known as f64 * cached + self.output as f64 * output) / 1e6
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        for (sum, more) in [
            (&mut self.replies, other.replies),
            (&mut self.input, other.input),
            (&mut self.cached, other.cached),
            (&mut self.output, other.output),
            (&mut self.estimated, other.estimated),
        ] {
            // What a server says may be anything.
            *sum = sum.saturating_add(more);
        }
    }
}
