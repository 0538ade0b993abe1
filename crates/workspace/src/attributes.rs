//! Access control lists (acl(5)) and extended attributes (xattr(7)) of files.
//!
//! They are read from and set on open files only, since a name could lead to another file in between. Not copied are
//! `trusted.*`, which belongs to the file systems below this one, and `security.ima` and `security.evm`, which sign the
//! old content. On systems other than Linux nothing is read or set.

use crate::encoding::{as_hex, as_text};
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use toolfence_protocol::Text;

/// The maximum size in bytes of the attributes of one file that a record holds.
pub(crate) const MOST_KEPT: usize = 16 << 10;

/// The maximum size in bytes of the attributes of one file that are copied when it is replaced.
pub(crate) const MOST_CARRIED: usize = 4 << 20;

#[cfg(target_os = "linux")]
const ACCESS: &str = "system.posix_acl_access";
#[cfg(target_os = "linux")]
const DEFAULT: &str = "system.posix_acl_default";

/// Labels that the system gives each file by its location. They are copied, but two files that differ in nothing else
/// count as equal.
const LABELS: &[&str] = &["security.selinux", "security.SMACK64"];

/// The access control lists and extended attributes of a file or folder.
///
/// The parts of an access control list that repeat the mode (the rights of the owner, of others, and the mask) are left
/// out, so that the mode can be changed alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes(Vec<Attribute>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Attribute {
    #[serde(with = "as_text")]
    name: PathBuf,
    #[serde(with = "as_hex")]
    value: Vec<u8>,
}

impl Attributes {
    /// Returns `true` if there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if the attributes are equal, apart from labels of the system.
    pub(crate) fn equals(&self, other: &Attributes) -> bool {
        fn without_labels(all: &Attributes) -> impl Iterator<Item = &Attribute> {
            all.0.iter().filter(|one| !LABELS.iter().any(|label| one.name == Path::new(label)))
        }
        without_labels(self).eq(without_labels(other))
    }
}

/// The properties that a new file gets from the file that it replaces, is copied from or restores.
#[derive(Debug, Clone)]
pub(crate) struct Like {
    /// User and group, if they are known.
    pub(crate) owner: Option<(u32, u32)>,
    pub(crate) mode: u32,
    pub(crate) attributes: Attributes,
}

impl Like {
    pub(crate) fn new(stat: &Stat, attributes: Attributes) -> Like {
        Like { owner: Some((stat.st_uid, stat.st_gid)), mode: crate::stat::mode_of(stat), attributes }
    }

    /// Sets owner, mode and attributes of a file or folder that only its owner can open so far. The mode is set last,
    /// so that the file is never accessible to more users than planned. Returns the names of the refused properties. If
    /// such a property restricted access, rights are removed from the mode instead, so that no user gains any.
    pub(crate) fn apply(&self, file: &File) -> io::Result<Vec<Text>> {
        let mut mode = self.set_owner(file)?;
        let mut lost = system::apply(file, &self.attributes, &mut mode);
        lost.dedup();
        rustix::fs::fchmod(file, crate::stat::mode_from(mode))?;
        Ok(lost)
    }

    /// Sets the owner, and returns the mode that fits the owner that the file has then. Only root may give a file away;
    /// for other users the file becomes their own, as with every editor that renames.
    fn set_owner(&self, file: &File) -> io::Result<u32> {
        let Some(wanted) = self.owner else { return Ok(self.mode) };
        let owner = || rustix::fs::fstat(file).map(|stat| (stat.st_uid, stat.st_gid));
        let (user, group) = (rustix::fs::Uid::from_raw(wanted.0), rustix::fs::Gid::from_raw(wanted.1));
        if owner()? != wanted && rustix::fs::fchown(file, Some(user), Some(group)).is_err() {
            // A user may give a file to any of the groups that he is a member of.
            let _ = rustix::fs::fchown(file, None, Some(group));
        }
        let (has, mut mode) = (owner()?, self.mode);
        if has.0 != wanted.0 {
            mode &= !0o4000; // it would run as another user
        }
        if has.1 != wanted.1 {
            // Members of the old group are now others, and some others are members of the new group: both classes get
            // only the rights that both had.
            let both = mode >> 3 & mode & 0o7;
            mode = mode & !0o2077 | both << 3 | both;
        }
        Ok(mode)
    }
}

#[cfg(target_os = "linux")]
pub(crate) use system::read;

#[cfg(target_os = "linux")]
mod system {
    use super::{ACCESS, Attribute, Attributes, DEFAULT, MOST_CARRIED};
    use rustix::fd::AsFd;
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
    use rustix::io::Errno;
    use std::ffi::OsStr;
    use std::fs::File;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;
    use toolfence_protocol::Text;
    use toolfence_protocol::text;

    /// The maximum number of bytes that the kernel returns at once, for names or for a value (`XATTR_LIST_MAX`,
    /// `XATTR_SIZE_MAX`).
    const MOST_AT_ONCE: usize = 64 << 10;

    fn is_carried(name: &[u8]) -> bool {
        let signs = |name: &[u8]| name == b"security.ima" || name == b"security.evm";
        name.starts_with(b"user.")
            || name.starts_with(b"security.") && !signs(name)
            || name == ACCESS.as_bytes()
            || name == DEFAULT.as_bytes()
    }

    /// Reads the attributes of an open file. Returns `None` if they have more than `most` bytes, or cannot be read.
    pub(crate) fn read(file: impl AsFd, most: usize) -> Option<Attributes> {
        let names = match read_value(|buffer| flistxattr(&file, buffer)) {
            Ok(names) => names,
            // The file system has no attributes.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Some(Attributes::default()),
            Err(_) => return None,
        };
        let mut attributes = Attributes::default();
        let mut left = most;
        for name in names.split(|byte| *byte == 0).filter(|name| is_carried(name)) {
            let value = match read_value(|buffer| fgetxattr(&file, name, buffer)) {
                Ok(value) if name == ACCESS.as_bytes() => match without_mode(value) {
                    Some(value) => value,
                    None => continue,
                },
                Ok(value) => value,
                // Removed since, or not accessible for this process, which could not set it either.
                Err(Errno::NODATA | Errno::ACCESS | Errno::PERM | Errno::OPNOTSUPP) => continue,
                Err(_) => return None,
            };
            left = left.checked_sub(name.len() + value.len())?;
            attributes.0.push(Attribute { name: PathBuf::from(OsStr::from_bytes(name)), value });
        }
        attributes.0.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Some(attributes)
    }

    /// Reads a value, or the list of names. Most are missing or short, so a small buffer is tried first.
    fn read_value(mut get: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
        let mut small = [0; 512];
        match get(&mut small) {
            Ok(length) => return Ok(small[..length].to_vec()),
            Err(Errno::RANGE) => {}
            Err(errno) => return Err(errno),
        }
        let mut large = vec![0; MOST_AT_ONCE];
        let length = get(&mut large)?;
        large.truncate(length);
        Ok(large)
    }

    /// Sets these attributes on a file that is closed to other users, and removes all others that control access.
    /// Removes from `mode` the rights that must not be granted without a refused attribute. Returns the names of the
    /// refused attributes.
    pub(crate) fn apply(file: &File, wanted: &Attributes, mode: &mut u32) -> Vec<Text> {
        // If the current attributes cannot be read, all are set as far as possible.
        let has = read(file, MOST_CARRIED).unwrap_or_default();
        let mut lost = Vec::new();
        for one in has.0.iter().filter(|one| wanted.0.iter().all(|other| other.name != one.name)) {
            let name = one.name.as_os_str().as_bytes();
            // A new file inherits the default list of its folder, which could grant access that the old file did not.
            let must_go = name == ACCESS.as_bytes() || name == DEFAULT.as_bytes() || name.starts_with(b"user.");
            if must_go && fremovexattr(file, name).is_err() {
                // The group bits are the mask of a list (acl(5)): without them, a list that cannot be removed grants
                // nothing to named users and groups.
                *mode &= !0o070;
                lost.push(display_name(name));
            }
        }
        for one in &wanted.0 {
            let name = one.name.as_os_str().as_bytes();
            // Records are not trusted, since other programs may have written them. A list is set even if it is equal,
            // because its form in a record lacks the rights that the mode repeats.
            if !is_carried(name) || name != ACCESS.as_bytes() && has.0.contains(one) {
                continue;
            }
            let value = if name == ACCESS.as_bytes() { with_mode(&one.value, *mode) } else { one.value.clone() };
            if fsetxattr(file, name, &value, XattrFlags::empty()).is_err() {
                if name == ACCESS.as_bytes() {
                    *mode = without_list(&one.value, *mode);
                }
                lost.push(display_name(name));
            }
        }
        lost
    }

    fn display_name(name: &[u8]) -> Text {
        match name {
            b"system.posix_acl_access" => text!("access control list"),
            b"system.posix_acl_default" => text!("default access control list"),
            _ => text!("attribute {name}", name = crate::names::display(std::path::Path::new(OsStr::from_bytes(name)))),
        }
    }

    /// The tags of acl(5) as `linux/posix_acl.h` has them.
    const OWNER: u16 = 0x01;
    const MASK: u16 = 0x10;
    const OTHERS: u16 = 0x20;

    /// The list is a version of four bytes, followed by entries of eight bytes each.
    const HEAD: usize = 4;
    const ENTRY: usize = 8;

    fn tag(entry: &[u8]) -> u16 {
        entry.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    fn rights(entry: &[u8]) -> u32 {
        entry.get(2).map_or(0, |rights| u32::from(rights & 7))
    }

    /// Returns the list with zeros in place of the rights that the mode repeats. Returns `None` for a list without a
    /// mask, because it grants only the rights in the mode (acl(5)).
    fn without_mode(mut list: Vec<u8>) -> Option<Vec<u8>> {
        let has_mask = list.get(HEAD..)?.chunks(ENTRY).any(|entry| tag(entry) == MASK);
        set_mode(&mut list, 0);
        has_mask.then_some(list)
    }

    fn with_mode(list: &[u8], mode: u32) -> Vec<u8> {
        let mut list = list.to_vec();
        set_mode(&mut list, mode);
        list
    }

    fn set_mode(list: &mut [u8], mode: u32) {
        let [owner, group, others] = [mode >> 6, mode >> 3, mode].map(|bits| u8::try_from(bits & 7).unwrap_or(0));
        for entry in list.get_mut(HEAD..).unwrap_or_default().chunks_exact_mut(ENTRY) {
            match tag(entry) {
                OWNER => entry[2] = owner,
                MASK => entry[2] = group,
                OTHERS => entry[2] = others,
                _ => {}
            }
        }
    }

    /// Returns the mode of a file that cannot have its list. The group gets no rights, because its bits were the mask.
    /// Others get only the rights that every named user and group had, because these are others now.
    fn without_list(list: &[u8], mode: u32) -> u32 {
        let named = list.get(HEAD..).unwrap_or_default().chunks_exact(ENTRY);
        let named = named.filter(|entry| !matches!(tag(entry), OWNER | MASK | OTHERS));
        let all = named.fold(mode >> 3, |all, entry| all & rights(entry));
        mode & !0o077 | mode & all & 0o7
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const GROUP: u16 = 0x04;

        fn list(entries: &[(u16, u16)]) -> Vec<u8> {
            let entry = |(tag, rights): &(u16, u16)| [tag.to_le_bytes(), rights.to_le_bytes(), [9, 0], [0, 0]].concat();
            [2u32.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat()
        }

        #[test]
        fn a_list_is_stored_without_the_mode() {
            let whole = list(&[(OWNER, 6), (2, 6), (GROUP, 4), (MASK, 6), (OTHERS, 1)]);
            let apart = without_mode(whole.clone()).expect("it has a mask");
            assert_eq!(with_mode(&apart, 0o661), whole);
            assert_eq!(apart, without_mode(with_mode(&apart, 0o700)).expect("it has a mask"));
            assert_eq!(without_mode(list(&[(OWNER, 6), (GROUP, 4), (OTHERS, 1)])), None);
            for torn in [&b""[..], b"\x02", b"\x02\0\0\0\x10", b"\x02\0\0\0\x10\0\0"] {
                assert_eq!(with_mode(torn, 0o777), torn);
                let _ = without_mode(torn.to_vec());
            }
        }

        #[test]
        fn a_lost_list_grants_no_rights() {
            for (named, mask, mode, wanted) in [
                (6, 6, 0o660, 0o600),
                (6, 6, 0o664, 0o604),
                (0, 6, 0o666, 0o600),
                (4, 6, 0o667, 0o604),
                (7, 1, 0o717, 0o701),
            ] {
                let list = list(&[(OWNER, 7), (2, named), (GROUP, 7), (MASK, mask), (OTHERS, 7)]);
                assert_eq!(without_list(&list, mode), wanted, "{named} {mode:o}");
            }
        }
    }
}

/// Returns no attributes on systems on which this module cannot read them.
#[cfg(not(target_os = "linux"))]
pub(crate) fn read(_: impl rustix::fd::AsFd, _: usize) -> Option<Attributes> {
    Some(Attributes::default())
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(crate) fn apply(_: &std::fs::File, _: &super::Attributes, _: &mut u32) -> Vec<toolfence_protocol::Text> {
        Vec::new()
    }
}
