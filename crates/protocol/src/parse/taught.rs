//! A call of exactly the taught shape, read in one go: nearly every one.
//!
//! Anything else is left to [`envelope`](super::envelope), which says what is wrong or what had to be mended.

use super::call::{Draft, undecorated};
use crate::Args;
use crate::json::{Begun, Listen, Reader, owned};

/// Is told of a call while it is read.
pub(super) trait Telling: Listen {
    /// The arguments of this tool begin. `false` gives up.
    fn begins(&mut self, _tool: Option<&str>) -> bool {
        true
    }
    /// The model gives an id. `false` gives up.
    fn has_id(&mut self) -> bool {
        true
    }
}

impl Telling for () {}

/// Where the parts of a call go; all empty.
pub(super) struct Parts<'a> {
    pub(super) id: &'a mut Option<String>,
    pub(super) name: &'a mut String,
    pub(super) args: &'a mut Args,
    pub(super) reason: &'a mut Option<String>,
}

/// Reads one valid object with `name`, `args` and perhaps `reason` and `id`; `None` when it is anything else. `begun` is the
/// beginning of a string that was decoded before.
pub(super) fn read(text: &str, begun: Begun, telling: &mut impl Telling) -> Option<Draft> {
    let mut draft = Draft::default();
    let Draft { id, name, args, reason, .. } = &mut draft;
    let mut decoded = String::new();
    let read = read_with(Parts { id, name, args, reason }, Reader::new(text, &mut decoded, begun), telling);
    read.then_some(draft)
}

/// The same to where the call stays, so that nothing is moved about; whether it was read. `decoded` is room for strings
/// with escapes in them.
pub(super) fn read_into(parts: Parts<'_>, text: &str, decoded: &mut String, telling: &mut impl Telling) -> bool {
    read_with(parts, Reader::new(text, decoded, Begun::default()), telling)
}

#[inline(always)]
fn read_with(parts: Parts<'_>, mut reader: Reader<'_>, telling: &mut impl Telling) -> bool {
    members(parts, &mut reader, telling).is_some() && reader.is_over()
}

#[inline(always)]
fn members(parts: Parts<'_>, reader: &mut Reader<'_>, telling: &mut impl Telling) -> Option<()> {
    let (mut name, mut args) = (false, false);
    let mut more = reader.opens(b'{', b'}')?;
    while more {
        let key = Key::of(reader.key()?);
        reader.colon()?;
        match key {
            Key::Name if !name => {
                *parts.name = owned(reader.string()?);
                name = true;
            }
            Key::Args if !args && telling.begins(name.then_some(parts.name.as_str())) => {
                *parts.args = reader.object(telling)?;
                args = true;
            }
            Key::Reason if parts.reason.is_none() => *parts.reason = Some(owned(reader.string()?)),
            Key::Id if parts.id.is_none() && telling.has_id() => *parts.id = Some(owned(reader.string()?)),
            _ => return None,
        }
        more = reader.goes_on(b'}')?;
    }
    (args && !parts.name.is_empty() && undecorated(parts.name).len() == parts.name.len()).then_some(())
}

enum Key {
    Name,
    Args,
    Reason,
    Id,
    Other,
}

impl Key {
    fn of(key: &str) -> Key {
        match key {
            "name" => Key::Name,
            "args" => Key::Args,
            "reason" => Key::Reason,
            "id" => Key::Id,
            _ => Key::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::json::{self, Begun};
    use crate::parse::call;

    #[test]
    fn reads_as_the_envelope_does_or_not_at_all() {
        let texts = [
            r#"{"name": "a", "args": {}}"#,
            r#"{"args": {"x": [1, {"y": null}], "z": "\u00e9\n"}, "id": "i", "reason": "r", "n\u0061me": "a"}"#,
        ];
        for text in texts {
            let ours = read(text, Begun::default(), &mut ()).unwrap_or_else(|| panic!("{text}"));
            let theirs = call::drafts(vec![json::strict(text).unwrap()], &[], None).unwrap();
            assert_eq!(format!("{ours:?}"), format!("{:?}", theirs[0]), "{text}");
        }
        for text in [
            r#"{"name": "a"}"#,
            r#"{"name": "", "args": {}}"#,
            r#"{"name": "functions.a", "args": {}}"#,
            r#"{"name": "a", "args": []}"#,
            r#"{"name": "a", "args": {}, "args": {}}"#,
            r#"{"name": "a", "args": {"x": 1, "x": 1}}"#,
            r#"{"name": "a", "args": {}, "path": "x"}"#,
            r#"{"name": "a", "args": {}, "reason": null}"#,
            r#"{"name": "a", "args": {}} x"#,
            r#"[{"name": "a", "args": {}}]"#,
            r#"{"name": 1, "args": {"x": 1e999}}"#,
        ] {
            assert!(read(text, Begun::default(), &mut ()).is_none(), "{text}");
        }
    }
}
