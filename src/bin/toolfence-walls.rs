//! `toolfence-walls`: raises the walls around one command, when a program on `toolfence` asks it to.
//!
//! A program whose `main` begins with `toolfence::walls::enter_if_asked()` starts itself instead and does not need this one.

fn main() -> std::process::ExitCode {
    toolfence::walls::enter_if_asked();
    eprintln!("toolfence-walls is started by programs that use toolfence. It does nothing by itself.");
    std::process::ExitCode::from(2)
}
