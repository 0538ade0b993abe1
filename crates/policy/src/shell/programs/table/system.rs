//! Programs that tell of the system, and those that only tell their version.

use super::{Profile, tool};

pub(crate) const SYSTEM: &[Profile] = &[
    tool("uname").short("asnrvmpio").long("all kernel-name machine kernel-release operating-system").nothing(),
    tool("whoami nproc arch tty logname users").long("all").nothing(),
    tool("hostname").short("sfidAI").long("short fqdn long").nothing(),
    tool("id").short("ugGnrzZ").long("user group groups name real").text(),
    tool("groups").text(),
    tool("uptime").short("ps").long("pretty since").nothing(),
    tool("free").short("bkmghltvw").value("sc").long("human bytes kibi mebi gibi total wide").nothing(),
    // Not `e`: it shows environments.
    tool("ps")
        .short("AadefjlTuxMNHwcqFLyZ")
        .value("optCkg")
        .long("forest no-headers headers")
        .long_value("format pid ppid user sort")
        .checked(|word| is_number(word) || word.bytes().all(|byte| b"afjlmrTuvxw".contains(&byte))),
    tool("lscpu lsmem lsb_release cal locale").short("asdircy3ve").long("all").text(),
    tool("getconf").short("a").text(),
    tool("env printenv").nothing(),
    tool("printenv").text(),
    tool("sleep").checked(|word| is_number(word.trim_end_matches(['s', 'm']))).harmless(),
    tool("seq").short("w").value("sf").long("equal-width").long_value("separator format").checked(is_number).harmless(),
    tool("expr factor").text().reads_only(),
    tool("exit break continue return").checked(is_number).harmless(),
    tool("wait").nothing(),
    tool("sw_vers").text(),
    // Not those that ask the project which version it wants, or what to load: they may run or fetch it.
    tool(
        "git python python2 python3 pip pip3 perl ruby make gmake cmake gcc g++ cc c++ clang clang++ ld docker podman bash zsh \
         sh jq rg fd sed awk grep curl wget tar zip unzip java javac node shellcheck kubectl gh ninja ffmpeg sqlite3 psql \
         mysql apt dpkg rpm systemctl ssh rsync vim nvim lua svn hg ls cat head tail find less man tmux",
    )
    .long("version")
    .needs("version")
    .nothing(),
    tool("node python python3 ruby php jq pip pip3 perl tmux").short("vV").needs("v V").nothing(),
    tool("java javac").one_dash().long("version").needs("version").nothing(),
];

fn is_number(word: &str) -> bool {
    word.len() < 10 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
