//! The project a path names by its spelling alone, for folders that are gone or on another machine.

/// A path taken apart, with Windows ones understood.
#[derive(Debug)]
pub(super) struct Spelled<'a> {
    parts: Vec<&'a str>,
    /// How many of the parts lead to somebody's home, which is no project.
    home: usize,
}

impl<'a> Spelled<'a> {
    /// Takes a path apart; `.` and `..` are resolved.
    pub(super) fn new(path: &'a str) -> Self {
        let path = path.trim();
        let mut parts = Vec::new();
        for part in path.split(separator(path)) {
            match part {
                "" | "." | "?" | "~" => {}
                ".." => drop(parts.pop()),
                drive if drive.ends_with(':') && parts.is_empty() => {}
                other => parts.push(other),
            }
        }
        let home = home_depth(&parts);
        Self { parts, home }
    }

    /// Whether it is somebody's home, or a folder of homes.
    pub(super) fn is_home(&self) -> bool {
        self.parts.len() <= self.home
    }

    /// The name of the project: of the path itself, or of what it is a worktree of.
    pub(super) fn project(&self) -> Option<&'a str> {
        let worktree = (0..self.parts.len()).find_map(|at| self.worktree_at(at));
        worktree.or_else(|| self.parts.last().copied())
    }

    fn part(&self, at: usize) -> Option<&'a str> {
        self.parts.get(at).copied()
    }

    /// The part before `at`, unless it is a home or nothing at all.
    fn owner(&self, at: usize) -> Option<&'a str> {
        let before = at.checked_sub(1)?;
        (before >= self.home).then(|| self.part(before))?
    }

    /// The project, if the part at `at` is a folder of worktrees and something lies in it.
    fn worktree_at(&self, at: usize) -> Option<&'a str> {
        let (name, inside) = (self.part(at)?, self.part(at + 1)?);
        match name {
            // proj/.worktrees/x, or ~/.worktrees/proj/x
            ".worktrees" => Some(self.owner(at).unwrap_or(inside)),
            "worktrees" => self.plain_worktree(at, inside),
            // ~/.tool-worktrees/proj/x, or proj/.tool-worktrees/x
            hidden if hidden.starts_with('.') && hidden.ends_with("-worktrees") => {
                Some(self.owner(at).unwrap_or(inside))
            }
            // proj.worktrees/x and proj-worktrees/x
            _ => stem(name),
        }
    }

    fn plain_worktree(&self, at: usize, inside: &'a str) -> Option<&'a str> {
        let Some(before) = at.checked_sub(1) else {
            return Some(inside);
        };
        match self.part(before)? {
            // ~/.codex/worktrees/1f3a/proj
            ".codex" if self.owner(before).is_none() => Some(self.part(at + 2).unwrap_or(inside)),
            // proj/.claude/worktrees/x and proj/.git/worktrees/x, or ~/.cursor/worktrees/proj/x
            hidden if hidden.starts_with('.') => Some(self.owner(before).unwrap_or(inside)),
            // proj.git/worktrees/x
            bare if bare.ends_with(".git") => bare.strip_suffix(".git"),
            // worktrees/proj/x; with one part less it can only be proj/worktrees/x
            owner if before >= self.home && self.part(at + 2).is_none() => Some(owner),
            _ => Some(inside),
        }
    }
}

/// How many parts lead to a home: `/home/me`, `C:\Users\me`, `/mnt/c/Users/me`, `/var/home/me`, `/root`.
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

/// The project in `proj.worktrees` or `proj-worktrees`.
fn stem(name: &str) -> Option<&str> {
    let stem = name
        .strip_suffix(".worktrees")
        .or_else(|| name.strip_suffix("-worktrees"))?;
    (!stem.is_empty()).then_some(stem)
}

/// What separates the parts of a path: both slashes in a Windows path, where a back slash is no letter.
fn separator(path: &str) -> fn(char) -> bool {
    let mut letters = path.chars();
    let drive = letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':');
    if drive || path.starts_with(r"\\") {
        |c| c == '/' || c == '\\'
    } else {
        |c| c == '/'
    }
}
