//! All integration tests in one binary, so that they link once.

#[cfg(feature = "backend")]
mod agent;
mod format;
mod house;
<<<<<<< HEAD
#[cfg(feature = "backend")]
mod http;
#[cfg(feature = "backend")]
mod live;
#[cfg(feature = "policy")]
mod session;
#[cfg(feature = "policy")]
mod support;
=======
mod parse;
>>>>>>> main
