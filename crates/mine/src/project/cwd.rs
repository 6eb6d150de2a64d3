//! Derives a project from the spelling of a path, for folders that are gone or on another machine.

/// A path split into its parts; Windows paths are understood.
#[derive(Debug)]
pub(super) struct SpelledPath<'a> {
    parts: Vec<&'a str>,
    /// The number of parts that lead to a home folder, which is not a project.
    home: usize,
}

impl<'a> SpelledPath<'a> {
    /// Splits a path; `.` and `..` are resolved.
    pub(super) fn new(path: &'a str) -> Self {
        let path = path.trim();
        let mut parts = Vec::new();
        for part in path.split(path_separator(path)) {
            match part {
                // `?` comes from `\\?\C:\…`, the long form of a Windows path.
                "" | "." | "?" | "~" => {}
                ".." => drop(parts.pop()),
                drive if drive.ends_with(':') && parts.is_empty() => {}
                other => parts.push(other),
            }
        }
        let home = home_depth(&parts);
        Self { parts, home }
    }

    /// Returns whether it is a home folder, or a folder of homes.
    pub(super) fn is_home(&self) -> bool {
        self.parts.len() <= self.home
    }

    /// Returns the name of the project: of the path itself, or of the repository it is a worktree of.
    pub(super) fn project_name(&self) -> Option<&'a str> {
        let worktree = (0..self.parts.len()).find_map(|at| self.worktree_at(at));
        worktree.or_else(|| self.parts.last().copied())
    }

    fn part_at(&self, at: usize) -> Option<&'a str> {
        self.parts.get(at).copied()
    }

    /// Returns the part before `at`, unless that is a home folder or does not exist.
    fn owner_before(&self, at: usize) -> Option<&'a str> {
        let before = at.checked_sub(1)?;
        (before >= self.home).then(|| self.part_at(before))?
    }

    /// Returns the project if the part at `at` is a folder of worktrees and another part follows.
    fn worktree_at(&self, at: usize) -> Option<&'a str> {
        let (name, inside) = (self.part_at(at)?, self.part_at(at + 1)?);
        match name {
            // proj/.worktrees/x, or ~/.worktrees/proj/x
            ".worktrees" => Some(self.owner_before(at).unwrap_or(inside)),
            "worktrees" => self.plain_worktree(at, inside),
            // ~/.tool-worktrees/proj/x, or proj/.tool-worktrees/x
            hidden if hidden.starts_with('.') && hidden.ends_with("-worktrees") => {
                Some(self.owner_before(at).unwrap_or(inside))
            }
            // proj.worktrees/x and proj-worktrees/x
            _ => worktrees_stem(name),
        }
    }

    fn plain_worktree(&self, at: usize, inside: &'a str) -> Option<&'a str> {
        let Some(before) = at.checked_sub(1) else {
            return Some(inside);
        };
        match self.part_at(before)? {
            // ~/.codex/worktrees/1f3a/proj
            ".codex" if self.owner_before(before).is_none() => Some(self.part_at(at + 2).unwrap_or(inside)),
            // proj/.claude/worktrees/x and proj/.git/worktrees/x, or ~/.cursor/worktrees/proj/x
            hidden if hidden.starts_with('.') => Some(self.owner_before(before).unwrap_or(inside)),
            // proj.git/worktrees/x
            bare if bare.ends_with(".git") => bare.strip_suffix(".git"),
            // worktrees/proj/x; with one part less it can only be proj/worktrees/x
            owner if before >= self.home && self.part_at(at + 2).is_none() => Some(owner),
            _ => Some(inside),
        }
    }
}

/// Counts the parts that lead to a home: `/home/me`, `C:\Users\me`, `/mnt/c/Users/me`, `/var/home/me`, `/root`.
fn home_depth(parts: &[&str]) -> usize {
    let homes = parts
        .iter()
        .take(3)
        .position(|part| matches!(*part, "home" | "Users"));
    match homes {
        Some(at) => at + 2,
        None => usize::from(parts.first() == Some(&"root")),
    }
}

/// Returns the project in `proj.worktrees` or `proj-worktrees`.
fn worktrees_stem(name: &str) -> Option<&str> {
    let stem = name
        .strip_suffix(".worktrees")
        .or_else(|| name.strip_suffix("-worktrees"))?;
    (!stem.is_empty()).then_some(stem)
}

/// Returns the separator test for a path: both slashes in a Windows path, since a backslash cannot be in a name there.
fn path_separator(path: &str) -> fn(char) -> bool {
    let mut letters = path.chars();
    let drive = letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':');
    if drive || path.starts_with(r"\\") {
        |c| c == '/' || c == '\\'
    } else {
        |c| c == '/'
    }
}
