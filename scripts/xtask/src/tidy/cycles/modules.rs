//! The modules of one crate, and the imports between its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, File, Item, ItemMod, ItemUse, Lit, Macro, Meta, Token, UseTree, Visibility};

use super::Imports;

/// How many imports are followed from one name: more are a circle of re-exports.
const STEPS_MAX: usize = 32;

/// A crate as a tree of modules; the first is its root.
pub(super) struct Crate {
    modules: Vec<Module>,
}

struct Module {
    file: usize,
    parent: usize,
    children: BTreeMap<String, usize>,
    /// Names that the module declares.
    items: BTreeSet<String>,
    uses: Vec<Use>,
    /// Paths in its code, imports for itself among them.
    paths: Vec<Vec<String>>,
    path: PathBuf,
}

/// One leaf of an import.
struct Use {
    /// What the module calls it; none for a glob.
    name: Option<String>,
    path: Vec<String>,
}

impl Crate {
    /// Reads the crate whose root file is `root`; `read` gives the text of a file that exists.
    pub(super) fn read(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Result<Crate, String> {
        let mut reader = Reader { read, modules: Vec::new() };
        let text = read(root).ok_or_else(|| format!("{} cannot be read", root.display()))?;
        let folder = root.parent().unwrap_or(Path::new("")).to_path_buf();
        reader.file(root, &text, 0, &folder)?;
        Ok(Crate { modules: reader.modules })
    }

    /// From which other files each file imports.
    pub(super) fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (at, module) in self.modules.iter().enumerate() {
            for path in &module.paths {
                let Some(target) = self.resolve(at, path, STEPS_MAX) else { continue };
                let (from, to) = (self.name(module.file), self.name(target));
                if from != to {
                    imports.entry(from).or_default().entry(to).or_insert_with(|| path.join("::"));
                }
            }
        }
        imports
    }

    fn name(&self, file: usize) -> String {
        self.modules[file].path.to_string_lossy().into_owned()
    }

    /// The file that declares the item that `path` names in the module `at`; none for a module, a local name, or an item of another crate.
    fn resolve(&self, at: usize, path: &[String], steps: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(0, rest, steps),
            "self" => self.descend(at, rest, steps),
            "super" => self.descend(self.modules[at].parent, rest, steps),
            _ => self.descend(at, path, steps),
        }
    }

    fn descend(&self, at: usize, path: &[String], steps: usize) -> Option<usize> {
        let module = &self.modules[at];
        let (name, rest) = path.split_first()?;
        if name == "super" {
            return self.descend(module.parent, rest, steps);
        }
        if let Some(child) = module.children.get(name) {
            return self.descend(*child, rest, steps);
        }
        if module.items.contains(name) {
            return Some(module.file);
        }
        let steps = steps.checked_sub(1)?;
        let named = module.uses.iter().filter(|import| import.name.as_ref() == Some(name));
        let globs = module.uses.iter().filter(|import| import.name.is_none());
        named
            .map(|import| [&import.path, rest].concat())
            .chain(globs.map(|import| [&import.path, path].concat()))
            // `use serde;` names a crate, and itself.
            .filter(|longer| longer.as_slice() != path)
            .find_map(|longer| self.resolve(at, &longer, steps))
    }
}

struct Reader<'a> {
    read: &'a dyn Fn(&Path) -> Option<String>,
    modules: Vec<Module>,
}

impl Reader<'_> {
    /// Adds the module of a file; `folder` is where the files of its own modules lie.
    fn file(&mut self, path: &Path, text: &str, parent: usize, folder: &Path) -> Result<usize, String> {
        let file: File = syn::parse_file(text).map_err(|why| format!("{}: {why}", path.display()))?;
        let at = self.modules.len();
        self.module(path, at, parent);
        self.items(at, &file.items, folder)?;
        Ok(at)
    }

    fn module(&mut self, path: &Path, file: usize, parent: usize) {
        self.modules.push(Module {
            file,
            parent,
            children: BTreeMap::new(),
            items: BTreeSet::new(),
            uses: Vec::new(),
            paths: Vec::new(),
            path: path.to_path_buf(),
        });
    }

    fn items(&mut self, at: usize, items: &[Item], folder: &Path) -> Result<(), String> {
        for item in items.iter().filter(|item| !is_for_tests(item)) {
            if let Item::Mod(module) = item {
                let child = self.child(at, module, folder)?;
                self.modules[at].children.extend(child.map(|child| (module.ident.to_string(), child)));
                continue;
            }
            self.modules[at].items.extend(declared(item));
            let mut code = Code { module: &mut self.modules[at] };
            code.visit_item(item);
        }
        Ok(())
    }

    fn child(&mut self, at: usize, module: &ItemMod, folder: &Path) -> Result<Option<usize>, String> {
        let name = module.ident.to_string();
        let inner = folder.join(&name);
        if let Some((_, items)) = &module.content {
            let child = self.modules.len();
            let (path, file) = (self.modules[at].path.clone(), self.modules[at].file);
            self.module(&path, file, at);
            self.items(child, items, &inner)?;
            return Ok(Some(child));
        }
        let given = given_path(module).map(|path| {
            let beside = self.modules[at].path.parent().unwrap_or(Path::new("")).to_path_buf();
            beside.join(path)
        });
        let candidates = given.into_iter().chain([folder.join(format!("{name}.rs")), inner.join("mod.rs")]);
        for path in candidates {
            if let Some(text) = (self.read)(&path) {
                return self.file(&path, &text, at, &inner).map(Some);
            }
        }
        // A module of another platform's build, or one that a build script makes.
        Ok(None)
    }
}

/// The value of `#[path = "..."]`.
fn given_path(module: &ItemMod) -> Option<PathBuf> {
    module.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(PathBuf::from(text.value())),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    })
}

/// Whether only tests build an item.
fn is_for_tests(item: &Item) -> bool {
    let attributes = match item {
        Item::Const(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

/// The names that an item adds to its module.
fn declared(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

/// Collects the imports and paths of one module's code.
struct Code<'a> {
    module: &'a mut Module,
}

impl<'ast> Visit<'ast> for Code<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        if matches!(item.vis, Visibility::Inherited) {
            self.module.paths.extend(leaves.iter().map(|leaf| leaf.path.clone()));
        }
        self.module.uses.extend(leaves);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.module.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        visit::visit_macro(self, item);
        if let Ok(expressions) = item.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            for expression in &expressions {
                // The syntax lives no longer than this call.
                Code { module: &mut *self.module }.visit_expr(expression);
            }
        }
    }
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, leaves: &mut Vec<Use>) {
    let leaf = |before: &[String], own: &str, name: String| {
        let own = (own != "self").then(|| own.to_owned());
        Use { name: Some(name), path: before.iter().cloned().chain(own).collect() }
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, leaves);
            before.pop();
        }
        UseTree::Name(name) => {
            let own = name.ident.to_string();
            let called = if own == "self" { before.last().cloned().unwrap_or_default() } else { own.clone() };
            leaves.push(leaf(before, &own, called));
        }
        UseTree::Rename(rename) => {
            leaves.push(leaf(before, &rename.ident.to_string(), rename.rename.to_string()));
        }
        UseTree::Glob(_) => leaves.push(Use { name: None, path: before.clone() }),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, leaves);
            }
        }
    }
}
