//! `coder`: the terminal program on `toolfence`.
fn main() {}
