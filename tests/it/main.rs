//! All integration tests in one binary, so that they link once.

mod format;
mod house;
#[cfg(feature = "backend")]
mod http;
#[cfg(feature = "backend")]
mod live;
