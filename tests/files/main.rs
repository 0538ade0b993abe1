//! Files, patches and the sandbox: real files, real processes.

#[cfg(feature = "tools")]
mod marks;
#[cfg(feature = "patch")]
mod patch;
#[cfg(all(feature = "tools", target_os = "linux"))]
mod sandbox;
#[cfg(feature = "tools")]
mod tools;
#[cfg(feature = "tools")]
mod undo;
#[cfg(feature = "tools")]
mod validate;
