#!/usr/bin/env python3
"""Tests of `.ci/prose`, each in a repository of its own with the listed phrases `gizmo` and `as it were`."""
import pathlib
import subprocess
import tempfile
import unittest

PROSE = pathlib.Path(__file__).resolve().parent / "prose"
LINES = "".join(f"fn line_{number}() {{}}\n" for number in range(20))


class Prose(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.git("init", "-q")
        self.write(".ci/words.txt", "# Listed phrases.\n\ngizmo\nas it were\n")
        self.write("old.rs", "// A gizmo, and a gizmo.\n" + LINES)
        self.commit()
        self.assertEqual(self.prose("--update").returncode, 0)
        self.commit()

    def git(self, *arguments):
        identity = ["-c", "user.name=N", "-c", "user.email=n@example.invalid"]
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "-qm", "change")

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def prose(self, *arguments):
        return subprocess.run([PROSE, *arguments], cwd=self.root, capture_output=True, text=True)

    def baseline(self):
        return (self.root / ".ci/words-baseline.tsv").read_text()

    def check(self, *expected):
        """The check fails with each expected line, or passes if none is expected."""
        run = self.prose()
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.returncode, 1 if expected else 0, run.stdout)
        for line in expected:
            self.assertIn(line, run.stdout)

    def test_words_in_comments_and_strings_fail(self):
        examples = [
            "// The gizmo.", "let x = 1; // gizmo", "/// It is a Gizmo.", "//! gizmo", "/* gizmo */", "/* /* */ gizmo */",
            'let x = "gizmo";', 'let x = b"gizmo";', 'let x = c"gizmo";', 'let x = r"\\"; let y = "gizmo";',
            'let x = r#"a " gizmo"#;', 'let x = br##"a "# gizmo"##;', 'let x = "a \\" gizmo";', 'let x = "line\\ngizmo";',
            "let x = '\"'; // gizmo", "let x = '\\''; // gizmo", "fn f<'a>(x: &'a str) {} // gizmo", 'let x = "\\\\"; // gizmo',
            "    // So as\n    // it were.", "/// So as\n/// it\n/// were.", 'let x = "so as \\\n    it were";', "/*\n * as\n * it were\n */",
        ]
        for number, code in enumerate(examples):
            self.write(f"new_{number}.rs", code + "\n")
        expected = [f"new_{number}.rs: 1 listed words, at most 0" for number in range(len(examples))]
        self.check("rewrite the sentence, not only the word", *expected)

    def test_code_is_not_prose(self):
        examples = [
            "fn gizmo() {}", "let x = gizmo;", "fn f<'gizmo>(x: &'gizmo str) {}", "// a_gizmo, gizmos, gizmo-like", 'let x = "a_gizmo";',
            "let c = '\"'; gizmo(); let d = '\"';", "/* a */ gizmo() /* b */", 'f("a\\"", gizmo, "b");', 'f(r"\\", gizmo, "b");',
            "let r#type = gizmo;", "// So as\nlet x = 1; // it were", 'f("as", "it were");', "let x = 'a'; let gizmo = b'\\'';",
        ]
        for number, code in enumerate(examples):
            self.write(f"new_{number}.rs", code + "\n")
        self.check()

    def test_other_files_are_prose(self):
        self.write("a.md", "A gizmo.\n\n> So as\n> it were.\n")
        self.write("a.py", "# So as\n# it were.\n")
        self.write("script", "echo gizmo\n")
        self.write("a.toml", 'x = "gizmo"\n')
        self.check("a.md:1: gizmo", "a.md:3: as it were", "a.py:1: as it were", "script:1: gizmo", "a.toml:1: gizmo")

    def test_cases_and_licences_are_excluded(self):
        for path in ["tests/cases/a.txt", "crates/x/tests/data/a.md", "tests/conformance/a.md", "LICENSE-MIT", "fuzz/Cargo.lock", "a.bin"]:
            self.write(path, "gizmo\n" if path != "a.bin" else "\0gizmo")
        self.check()

    def test_ignored_files_are_excluded(self):
        self.write(".gitignore", "built\n")
        self.write("built/a.md", "gizmo\n")
        self.check()

    def test_a_higher_count_fails_at_the_new_line(self):
        self.write("old.rs", "// A gizmo, and a gizmo.\n" + LINES + "// One more gizmo.\n")
        self.check("old.rs: 3 listed words, at most 2", "old.rs:22: gizmo")
        self.assertNotIn("old.rs:1:", self.prose().stdout)

    def test_update_never_raises_a_count(self):
        before = self.baseline()
        self.write("old.rs", "// gizmo gizmo gizmo\n" + LINES)
        self.write("new.rs", "// gizmo\n")
        self.assertEqual(self.prose("--update").returncode, 1)
        self.assertEqual(self.baseline(), before)
        (self.root / ".ci/words-baseline.tsv").unlink()
        self.assertEqual(self.prose("--update").returncode, 1)
        self.assertEqual(self.baseline(), before)

    def test_a_lower_count_passes_and_update_records_it(self):
        self.write("old.rs", "// A gizmo.\n" + LINES)
        self.check()
        self.assertIn("1 files have fewer words or moved", self.prose().stdout)
        self.assertEqual(self.prose("--update").returncode, 0)
        self.assertEqual(self.baseline(), "1\told.rs\n")
        self.check()
        self.write("old.rs", LINES)
        self.prose("--update")
        self.assertEqual(self.baseline(), "")

    def test_a_moved_file_keeps_its_count(self):
        (self.root / "old.rs").rename(self.root / "moved.rs")
        self.check()
        self.assertEqual(self.prose("--update").returncode, 0)
        self.assertEqual(self.baseline(), "2\tmoved.rs\n")
        self.check()
        self.commit()
        self.check()

    def test_a_committed_move_keeps_its_count(self):
        self.git("mv", "old.rs", "moved.rs")
        self.commit()
        self.write("moved.rs", "// A gizmo.\n" + LINES)
        self.commit()
        self.assertEqual(self.prose("--update").returncode, 0)
        self.assertEqual(self.baseline(), "1\tmoved.rs\n")

    def test_a_copy_starts_at_zero(self):
        self.write("copy.rs", (self.root / "old.rs").read_text())
        self.check("copy.rs: 2 listed words, at most 0")

    def test_removed_files_leave_the_baseline(self):
        (self.root / "old.rs").unlink()
        self.check()
        self.prose("--update")
        self.assertEqual(self.baseline(), "")

    def test_the_lower_count_of_a_merge_applies(self):
        self.write("old.rs", "// A gizmo.\n" + LINES)
        self.write(".ci/words-baseline.tsv", "<<<<<<< a\n2\told.rs\n=======\n1\told.rs\n3\tgone.rs\n>>>>>>> b\n")
        self.assertEqual(self.prose("--update").returncode, 0)
        self.assertEqual(self.baseline(), "1\told.rs\n")

    def test_the_index_is_left_alone(self):
        self.write("new.rs", "// Nothing.\n")
        self.check()
        run = subprocess.run(["git", "status", "--porcelain"], cwd=self.root, capture_output=True, text=True)
        self.assertEqual(run.stdout, "?? new.rs\n")


if __name__ == "__main__":
    unittest.main()
