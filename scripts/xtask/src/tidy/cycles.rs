//! Files that import each other: a circle of more than two is refused. Two are often a type and its parts. A circle of three has
//! no file from which to begin reading. Of the crates in [`IN_ORDER`] the folders may not import each other either, not even two.
//!
//! Paths are resolved as far as names of one crate go: through imports, re-exports and globs. A file that only re-exports a name
//! imports nothing, and what only tests build is left out. Not seen: names made by macros, associated items of another file's type,
//! and fields.

mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Finding;
use crate::repo::Repo;
use modules::Crate;

/// The files that each file imports from, with one imported name of each.
type Imports = BTreeMap<String, BTreeMap<String, String>>;

/// The root files of crates whose folders import in one direction.
const IN_ORDER: &[&str] = &["crypto/matching/src/lib.rs", "server/service/src/lib.rs", "server/src/lib.rs"];

/// Looks at every target of the workspace.
pub(super) fn check(repo: &Repo, metadata: &Value) -> Result<Vec<Finding>, String> {
    let mut found = BTreeSet::new();
    for root in roots(metadata) {
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        let imports = Crate::read(&root, &read)?.imports();
        for circle in circles(&imports) {
            found.insert(told(repo.root(), &imports, &circle));
        }
        if IN_ORDER.contains(&relative(repo.root(), &root.to_string_lossy()).as_str()) {
            let folders = folders(&root, &imports);
            for circle in circles_of_folders(&folders) {
                found.insert(told(repo.root(), &folders, &circle));
            }
        }
    }
    Ok(found
        .into_iter()
        .map(|(path, told)| Finding::error(&path, 0, format!("imports in a circle: {told}")))
        .collect())
}

/// The first file of a circle, and the whole circle in words.
fn told(root: &Path, imports: &Imports, circle: &[String]) -> (String, String) {
    let first = relative(root, &circle[0]);
    let next = circle.iter().cycle().skip(1);
    let steps = circle
        .iter()
        .zip(next)
        .map(|(from, to)| format!(" imports {} of {}", imports[from][to], relative(root, to)));
    let words = steps.collect::<Vec<_>>().join(", which");
    (first.clone(), format!("{first}{words}"))
}

fn relative(root: &Path, path: &str) -> String {
    Path::new(path).strip_prefix(root).unwrap_or(Path::new(path)).to_string_lossy().into_owned()
}

/// The imports between the modules that a crate's root declares, each with its folder; a name comes with its file. The root itself is left out.
fn folders(root: &Path, imports: &Imports) -> Imports {
    let source = root.parent().unwrap_or(Path::new(""));
    let top = |file: &str| {
        let inside = Path::new(file).strip_prefix(source).ok()?;
        let first = Path::new(inside.components().next()?.as_os_str()).with_extension("");
        (file != root.to_string_lossy()).then(|| source.join(first).to_string_lossy().into_owned())
    };
    let mut folders = Imports::new();
    for (from, targets) in imports {
        for (to, name) in targets {
            if let (Some(above), Some(below)) = (top(from), top(to))
                && above != below
            {
                let name = format!("({}) {name}", relative(source, from));
                folders.entry(above).or_default().entry(below).or_insert(name);
            }
        }
    }
    folders
}

/// The circles of two and of more.
fn circles_of_folders(folders: &Imports) -> BTreeSet<Vec<String>> {
    let mut found = circles(folders);
    for (one, targets) in folders {
        let back =
            |other: &&String| *one < **other && folders.get(*other).is_some_and(|of| of.contains_key(one));
        found.extend(targets.keys().filter(back).map(|other| vec![one.clone(), other.clone()]));
    }
    found
}

/// The root file of every target of the workspace's crates.
fn roots(metadata: &Value) -> Vec<PathBuf> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&metadata["packages"])
        .iter()
        .filter(|package| package["source"].is_null())
        .flat_map(|package| list(&package["targets"]))
        .filter_map(|target| target["src_path"].as_str().map(PathBuf::from))
        .collect()
}

/// A shortest circle of more than two files through each import that is in one, each circle once.
fn circles(imports: &Imports) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for (from, targets) in imports {
        for to in targets.keys() {
            // The way back must not be the direct one.
            let Some(mut way) = way(imports, to, from) else { continue };
            let least = (0..way.len()).min_by_key(|&at| &way[at]).unwrap_or(0);
            way.rotate_left(least);
            found.insert(way);
        }
    }
    found
}

/// A shortest way from `start` to `end` with at least one file between them.
fn way(imports: &Imports, start: &str, end: &str) -> Option<Vec<String>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut pending = std::collections::VecDeque::from([start]);
    while let Some(at) = pending.pop_front() {
        for next in imports.get(at).into_iter().flat_map(BTreeMap::keys).map(String::as_str) {
            if (at == start && next == end) || next == start || before.contains_key(next) {
                continue;
            }
            before.insert(next, at);
            if next == end {
                let mut way = vec![end.to_owned()];
                while let Some(previous) = before.get(way[way.len() - 1].as_str()) {
                    way.push((*previous).to_owned());
                }
                way.reverse();
                return Some(way);
            }
            pending.push_back(next);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate of these files.
    fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let read = |path: &Path| {
            files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
        };
        let imports = Crate::read(Path::new("lib.rs"), &read).unwrap().imports();
        circles(&imports).into_iter().collect()
    }

    /// Claim I1: At most two files import each other, and no two folders of `matching`, `service` or `server` do.
    #[test]
    fn two_files_may_import_each_other_and_three_may_not() {
        let two = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use super::a::A; pub struct B(A);"),
        ];
        assert!(circles_of(&two).is_empty());
        let three = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B(crate::c::C);"),
            ("c.rs", "pub struct C; fn f() { let _ = super::a::A; }"),
        ];
        assert_eq!(circles_of(&three), [["a.rs", "b.rs", "c.rs"]]);
    }

    /// Claim I1.
    #[test]
    fn two_folders_may_not_import_each_other_and_files_of_one_folder_may() {
        let files = [
            ("lib.rs", "mod a; mod b; pub struct Root;"),
            ("a/mod.rs", "pub mod one; pub mod two; fn f() { let _ = crate::Root; }"),
            ("a/one.rs", "use super::two::Two; pub struct One(crate::b::B);"),
            ("a/two.rs", "use super::one::One; pub struct Two;"),
            ("b.rs", "pub struct B; fn f() { let _ = crate::a::two::Two; }"),
        ];
        let read = |path: &Path| {
            files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
        };
        let root = Path::new("lib.rs");
        let folders = folders(root, &Crate::read(root, &read).unwrap().imports());
        let circles: Vec<_> = circles_of_folders(&folders).into_iter().collect();
        assert_eq!(circles, [["a", "b"]]);
        let (_, told) = told(Path::new(""), &folders, &circles[0]);
        assert_eq!(
            told,
            "a imports (a/one.rs) crate::b::B of b, which imports (b.rs) crate::a::two::Two of a"
        );
    }

    #[test]
    fn what_only_tests_build_is_left_out() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B(crate::c::C);"),
            ("c.rs", "pub struct C; #[cfg(test)] mod tests { use super::super::a::A; fn f(_: A) {} }"),
        ];
        assert!(circles_of(&files).is_empty());
    }

    #[test]
    fn a_reexport_is_no_import_and_hides_none() {
        let facade = [
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::*;"),
            ("a.rs", "use crate::B; pub struct A(B);"),
            ("b.rs", "mod c; pub struct B; pub(super) use c::C;"),
            ("b/c.rs", "pub struct C;"),
        ];
        assert!(circles_of(&facade).is_empty());
        let through = [
            ("lib.rs", "mod a; mod b; mod c; use c::C; pub use a::A; pub use b::*;"),
            ("a.rs", "use crate::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn f() { format!(\"{}\", crate::C) }"),
            ("c.rs", "pub struct C(crate::A);"),
        ];
        assert_eq!(circles_of(&through), [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn a_parent_that_its_child_and_grandchild_use_is_in_a_circle() {
        let files = [
            ("lib.rs", "mod a; use a::A; pub struct Root; fn f(_: A) {}"),
            ("a.rs", "mod b; pub struct A(b::B);"),
            ("a/b.rs", "use super::super::Root; pub struct B(Root);"),
        ];
        assert_eq!(circles_of(&files), [["a.rs", "a/b.rs", "lib.rs"]]);
    }
}
