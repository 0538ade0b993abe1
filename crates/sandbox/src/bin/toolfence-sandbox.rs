//! `toolfence-sandbox`: sets up the sandbox around one command, when a program on `toolfence` asks it to.
//!
//! A program whose `main` begins with `toolfence::enter_if_asked()` starts itself instead and does not need this one.

fn main() -> std::process::ExitCode {
    toolfence_sandbox::isolation::enter_if_asked();
    eprintln!("toolfence-sandbox is started by programs that use toolfence. It does nothing by itself.");
    std::process::ExitCode::from(2)
}
