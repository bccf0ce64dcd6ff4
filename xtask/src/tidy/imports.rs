//! Imports: which file of a crate uses which.
//!
//! A file depends on another one when a path in its code, outside of tests, leads there. A
//! re-export is no dependency: paths are followed through it to the file that has the item, so that
//! a facade such as `lib.rs` ties nothing together. Paths in the arguments of macros and attributes
//! count as others do, though they are but tokens there.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Item, ItemUse, UseTree, Visibility};

use super::source::Source;

/// Names of modules from the root of a crate: `["plan", "memory"]`; none is the root itself.
pub(super) type ModulePath = Vec<String>;

/// One file of a crate and the paths in its code.
#[derive(Default)]
pub(super) struct Module {
    /// Relative to the root of the repository.
    pub(super) file: String,
    /// Modules that are declared in it, in files of their own.
    children: BTreeSet<String>,
    /// Names that it brings into scope, and the paths that they stand for.
    imports: BTreeMap<String, Vec<String>>,
    /// Paths whose first segment is `crate`, `super`, `self` or a child.
    paths: Vec<Vec<String>>,
}

/// The modules of each crate, by its folder.
pub(super) fn crates(sources: &[Source]) -> BTreeMap<String, BTreeMap<ModulePath, Module>> {
    let mut crates: BTreeMap<String, BTreeMap<ModulePath, Module>> = BTreeMap::new();
    for source in sources {
        let Some((name, path)) = place(&source.path) else { continue };
        let Ok(file) = syn::parse_file(&source.text) else { continue };
        let mut module = Module { file: source.path.clone(), ..Module::default() };
        module.items(&file.items);
        crates.entry(name).or_default().insert(path, module);
    }
    crates
}

/// The crate of a file and the path of its module; `None` for binaries and what is no module.
fn place(path: &str) -> Option<(String, ModulePath)> {
    let (folder, inner) = path.split_once("/src/")?;
    let is_crate = folder.starts_with("crates/") || ["benches", "xtask"].contains(&folder);
    let inner = inner.strip_suffix(".rs").filter(|_| is_crate)?;
    if Path::new(inner).starts_with("bin") || inner == "main" {
        return None;
    }
    let mut names: ModulePath = inner.split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| last == "mod" || last == "lib") {
        names.pop();
    }
    Some((folder.to_owned(), names))
}

impl Module {
    fn items(&mut self, items: &[Item]) {
        for item in items {
            if let Item::Mod(module) = item
                && module.content.is_none()
            {
                self.children.insert(module.ident.to_string());
            }
        }
        for item in items {
            self.visit_item(item);
        }
    }

    fn import(&mut self, before: &[String], tree: &UseTree, exported: bool) {
        let path = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(inner) => self.import(&path(&inner.ident), &inner.tree, exported),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(before, tree, exported);
                }
            }
            UseTree::Name(name) if name.ident == "self" => {
                let named = before.last().cloned().unwrap_or_default();
                self.imported(named, before.to_vec(), exported);
            }
            UseTree::Name(name) => {
                self.imported(name.ident.to_string(), path(&name.ident), exported);
            }
            UseTree::Rename(name) => {
                self.imported(name.rename.to_string(), path(&name.ident), exported);
            }
            UseTree::Glob(_) => self.imported("*".to_owned(), before.to_vec(), exported),
        }
    }

    fn imported(&mut self, name: String, path: Vec<String>, exported: bool) {
        if !exported {
            self.paths.push(path.clone());
        }
        self.imports.insert(name, path);
    }

    /// Paths among tokens: names with two colons between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut names, mut colons): (Vec<String>, usize) = (Vec::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Punct(mark) if mark.as_char() == ':' && !names.is_empty() => colons += 1,
                TokenTree::Ident(name) if colons == 2 => {
                    names.push(name.to_string());
                    colons = 0;
                }
                other => {
                    self.path(take(&mut names));
                    colons = 0;
                    match other {
                        TokenTree::Ident(name) => names.push(name.to_string()),
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                    }
                }
            }
        }
        self.path(names);
    }

    /// A path of more than one name.
    fn path(&mut self, names: Vec<String>) {
        if names.len() > 1 {
            self.paths.push(names);
        }
    }
}

/// Whether an item is compiled for tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
    })
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_test(&function.attrs) {
            syn::visit::visit_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        if !is_test(&import.attrs) {
            let exported = !matches!(import.vis, Visibility::Inherited);
            self.import(&[], &import.tree, exported);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.tokens(called.tokens.clone());
        syn::visit::visit_macro(self, called);
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.tokens(list.tokens.clone());
        syn::visit::visit_meta_list(self, list);
    }
}

/// The module that has what `path` names in the module `from`; `None` for other crates.
fn resolve(
    modules: &BTreeMap<ModulePath, Module>,
    from: &ModulePath,
    path: &[String],
    depth: usize,
) -> Option<ModulePath> {
    let mut at = from.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            at.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while let Some(("super", more)) = rest.split_first().map(|(a, b)| (a.as_str(), b)) {
                at.pop()?;
                rest = more;
            }
        }
        first => {
            let module = modules.get(from)?;
            if !module.children.contains(first) && !module.imports.contains_key(first) {
                return None;
            }
        }
    }
    while let Some((name, more)) = rest.split_first() {
        let module = modules.get(&at)?;
        if module.children.contains(name) {
            at.push(name.clone());
        } else if let Some(target) = module.imports.get(name)
            && depth < 8
        {
            let target = target.clone();
            let found = resolve(modules, &at, &target, depth + 1)?;
            return if modules.get(&found)?.children.is_empty() || more.is_empty() {
                Some(found)
            } else {
                let inner: Vec<String> =
                    ["self".to_owned()].into_iter().chain(more.iter().cloned()).collect();
                resolve(modules, &found, &inner, depth + 1)
            };
        } else {
            break;
        }
        rest = more;
    }
    Some(at)
}

/// The files that each file of a crate depends on.
pub(super) fn arrows(
    modules: &BTreeMap<ModulePath, Module>,
) -> BTreeMap<&ModulePath, BTreeSet<&ModulePath>> {
    let of = |path| {
        let module: &Module = &modules[path];
        let found = module.paths.iter().filter_map(|named| resolve(modules, path, named, 0));
        let known = found.filter_map(|to| modules.get_key_value(&to).map(|(to, _)| to));
        known.filter(|to| *to != path).collect()
    };
    modules.keys().map(|path| (path, of(path))).collect()
}
