//! Measures how many everyday commands the shell parser reads.

use toolfence_kit::{CaseFiles, signs};
use toolfence_policy::shell_parser::parse;

/// The minimum share of readable commands in each folder, in percent.
const LEAST_READABLE: &[(&str, usize)] = &[("copies", 97), ("everyday", 97)];

#[test]
fn everyday_commands_are_readable() {
    for (folder, least) in LEAST_READABLE {
        let pairs = CaseFiles::of(&format!("policy/{folder}")).pairs();
        let commands: Vec<String> = pairs.iter().map(|(_, command)| signs::read_command(command.text())).collect();
        let unreadable: Vec<&String> = commands.iter().filter(|command| parse(command).is_err()).collect();
        let readable = commands.len() - unreadable.len();
        println!("{folder}: {readable} of {} are readable", commands.len());
        assert!(readable * 100 >= least * commands.len(), "{folder}: {unreadable:#?}");
    }
}
