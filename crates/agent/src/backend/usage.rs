//! The usage of replies, in tokens.

use std::ops::AddAssign;
use toolfence_protocol::{Image, Message};

/// Bytes of text per token if nothing counts tokens: about right for English and for code.
const BYTES_A_TOKEN: usize = 4;
/// Tokens that a template adds to a message.
const AROUND_MESSAGE: u64 = 4;

/// Tokens of requests and replies. Counts of several replies can be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// The number of replies.
    pub replies: u64,
    /// Tokens of the requests.
    pub input: u64,
    /// Tokens of the requests that the server had cached.
    pub cached: u64,
    /// Tokens of the replies, reasoning included.
    pub output: u64,
    /// The number of replies without a count by the server. Their tokens are estimated from the length of the texts and
    /// the number of images.
    pub estimated: u64,
}

impl Usage {
    /// Creates the usage of one reply from a server's count.
    pub fn counted(input: u64, cached: u64, output: u64) -> Usage {
        Usage { replies: 1, input, cached, output, estimated: 0 }
    }

    /// Estimates the usage of one reply without a count.
    pub fn estimated(sent: &[Message], reply_bytes: usize) -> Usage {
        let tokens = |bytes: usize| bytes.div_ceil(BYTES_A_TOKEN) as u64;
        let images = |message: &Message| (message.images.len() * Image::TOKENS) as u64;
        let input = sent.iter().map(|message| tokens(message.content.len()) + images(message) + AROUND_MESSAGE).sum();
        Usage { replies: 1, input, cached: 0, output: tokens(reply_bytes), estimated: 1 }
    }

    /// Returns the cost for these prices per million tokens: `input` for uncached tokens of requests, `cached` for
    /// cached ones, and `output` for tokens of replies.
    pub fn cost(&self, input: f64, cached: f64, output: f64) -> f64 {
        // A server may report more cached tokens than it received.
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
            // A server's count may be any number.
            *sum = sum.saturating_add(more);
        }
    }
}
