//! Tests the path rules of the policy, as settings write them.

use toolfence_policy::{Policy, Settings};

#[test]
fn a_hostile_glob_is_tried_in_bounded_time() {
    let many = "*a".repeat(90) + "b";
    let started = std::time::Instant::now();
    for glob in [
        &*many,
        "*a*a*a*a*a*a*a*b",
        "**/a/**/a/**/a/**/b",
        "*?a*?a*?a*?a*?a*?a*b",
        "[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[!a-z]",
    ] {
        let text = format!("[paths]\ndeny = [\"{glob}\"]");
        let Ok(settings) = Settings::from_toml(&text) else { continue };
        let policy = Policy::new(settings).unwrap();
        for path in
            ["a".repeat(250), format!("{}/c", "a".repeat(250)), "a/".repeat(1000), format!("{}c", "a/".repeat(1000))]
        {
            assert_eq!(policy.paths().blocks(&path), None, "{glob}");
        }
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn paths_of_settings_are_protected() {
    let policy = Policy::default().protect(["Config/toolfence"]);
    for path in
        [".toolfence.toml", "sub/.Toolfence.toml", ".toolfence/personas/x.md", ".toolfence.toml.new", "toolfence.toml"]
    {
        assert!(policy.paths().protects(path).is_some() && policy.paths().blocks(path).is_none(), "{path}");
    }
    for (path, protected) in [
        ("config/toolfence", true),
        ("config/TOOLFENCE/x", true),
        ("config/toolfence2", false),
        ("a/config/toolfence", false),
    ] {
        assert_eq!(policy.paths().protects(path).is_some(), protected, "{path}");
    }
}
