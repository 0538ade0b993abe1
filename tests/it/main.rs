//! All integration tests in one binary, so that they link once.

mod format;
mod house;
mod oracle;
mod parse;
