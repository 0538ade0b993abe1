//! How the programs are linked.
//!
//! A position-independent program has a relocation for each pointer in its constants: 36,000 in `coder`, 24 bytes each. The
//! linker can pack them into a bitmap, which is a hundredth of that; glibc reads it since 2.36 (`DT_RELR`). A program that is
//! linked in this way says in its header that it needs such a glibc, so it is only done where the builder's own is recent
//! enough: whoever builds for older systems builds on one.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_host = std::env::var("TARGET") == std::env::var("HOST");
    let can_pack = target("OS") == "linux" && target("ENV") == "gnu" && target("ARCH") == "x86_64";
    if is_host && can_pack && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc, as `getconf` tells it: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let (major, minor) = std::str::from_utf8(&told).ok()?.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
