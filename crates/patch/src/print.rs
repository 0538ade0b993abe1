//! Prints a patch as an equivalent unified diff.

use super::model::{FilePatch, Hunk, Kind, Patch, Sign};
use std::fmt::{self, Display, Formatter, Write};

impl Display for Patch<'_> {
    /// Prints the patch as git does. It prints only the innermost of several headings, and not that a hunk must be at
    /// the end of the file.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.files.iter().try_for_each(|file| print_file_head(file, out).and_then(|()| print_hunks(file, out)))
    }
}

fn print_file_head(file: &FilePatch<'_>, out: &mut Formatter<'_>) -> fmt::Result {
    let (old, new) = (quoted("a/", &file.old.path), quoted("b/", &file.new.path));
    // Below `diff --git`, two names need `rename` or `copy` lines, which do not describe this change.
    if file.kind != Kind::Modify || file.old.path == file.new.path {
        writeln!(out, "diff --git {old} {new}")?;
    }
    let mode = file.mode.map(|mode| 0o100_000 | mode);
    match (file.kind, mode) {
        (Kind::Create, _) => writeln!(out, "new file mode {:o}", mode.unwrap_or(0o100_644))?,
        (Kind::Delete, _) => writeln!(out, "deleted file mode 100644")?,
        (_, Some(mode)) => writeln!(out, "new mode {mode:o}")?,
        (_, None) => {}
    }
    let moved = match file.kind {
        Kind::Rename => Some("rename"),
        Kind::Copy => Some("copy"),
        _ => None,
    };
    if let Some(word) = moved {
        writeln!(out, "{word} from {}\n{word} to {}", quoted("", &file.old.path), quoted("", &file.new.path))?;
    }
    if file.hunks.is_empty() {
        return Ok(());
    }
    let side = |name: String, none: bool| if none { "/dev/null".to_owned() } else { name };
    writeln!(out, "--- {}", side(old, file.kind == Kind::Create))?;
    writeln!(out, "+++ {}", side(new, file.kind == Kind::Delete))
}

fn print_hunks(file: &FilePatch<'_>, out: &mut Formatter<'_>) -> fmt::Result {
    let mut moved = 0;
    file.hunks.iter().try_for_each(|hunk| print_hunk(hunk, &mut moved, out))
}

fn print_hunk(hunk: &Hunk<'_>, moved: &mut i64, out: &mut Formatter<'_>) -> fmt::Result {
    let (old, new) = (hunk.old().count(), hunk.new_lines().count());
    match hunk.stated.and_then(|line| i64::try_from(line).ok()) {
        Some(line) => {
            // For a side without lines, a diff states the line before: POSIX, `diff -u`.
            let first = line + *moved + i64::from(old == 0) - i64::from(new == 0);
            write!(out, "@@ -{line},{old} +{},{new} @@", first.max(0))?;
        }
        // The parser reads a missing number as no hint.
        None => write!(out, "@@ -,{old} +,{new} @@")?,
    }
    *moved += new as i64 - old as i64;
    match hunk.headings.last() {
        Some(heading) => writeln!(out, " {heading}")?,
        None => out.write_char('\n')?,
    }
    for line in &hunk.lines {
        let sign = match line.sign {
            Sign::Context => ' ',
            Sign::Remove => '-',
            Sign::Add => '+',
        };
        writeln!(out, "{sign}{}", line.text)?;
        if line.unended {
            writeln!(out, "\\ No newline at end of file")?;
        }
    }
    Ok(())
}

/// Formats a name as git does: in quotes if it could be misread.
fn quoted(prefix: &str, name: &str) -> String {
    let plain = |c: char| !c.is_control() && !c.is_whitespace() && c != '"' && c != '\\';
    if name.chars().all(plain) {
        return format!("{prefix}{name}");
    }
    let mut out = format!("\"{prefix}");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' ' => out.push(' '),
            c if plain(c) => out.push(c),
            c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| out.push_str(&format!("\\{byte:03o}"))),
        }
    }
    out.push('"');
    out
}
