//! The tools that can be connected, one file each: which settings files they read and which entries go there.

mod claude_code;
mod codex;
mod cursor;
mod gemini;
mod vscode;

use std::path::{Path, PathBuf};

use crate::folders::ToolFolders;
use crate::program::ProgramCommand;
use crate::settings_file::SettingsFile;

/// A tool that can be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AgentTool {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// VS Code.
    VsCode,
}

impl AgentTool {
    /// Every tool.
    pub const ALL: [Self; 5] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Cursor,
        Self::VsCode,
    ];

    /// The name for command lines and scripts, such as `claude-code`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
        }
    }

    /// The name its makers give it, such as `Claude Code`.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
        }
    }

    /// Finds a tool by its [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The names of its programs, by which it is found on a search path.
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &["claude"],
            Self::Codex => &["codex"],
            Self::Gemini => &["gemini"],
            Self::Cursor => &["cursor", "cursor-agent"],
            Self::VsCode => &["code", "code-insiders"],
        }
    }

    /// The folder that the tool makes for its settings.
    pub(crate) fn settings_folder(self, folders: &ToolFolders) -> PathBuf {
        let (_, claude_settings) = folders.claude_code_files();
        match self {
            Self::ClaudeCode => claude_settings.parent().map_or_else(PathBuf::new, Path::to_owned),
            Self::Codex => folders.codex_folder(),
            Self::Gemini => folders.gemini_folder(),
            Self::Cursor => folders.dot_folder(".cursor"),
            Self::VsCode => folders.applications.join("Code"),
        }
    }

    /// Lists the settings files the tool reads, with the entries each is to have.
    pub(crate) fn list_settings(self, folders: &ToolFolders, program: &ProgramCommand) -> Vec<SettingsFile> {
        match self {
            Self::ClaudeCode => claude_code::list_settings(folders, program),
            Self::Codex => codex::list_settings(folders, program),
            Self::Gemini => gemini::list_settings(folders, program),
            Self::Cursor => cursor::list_settings(folders, program),
            Self::VsCode => vscode::list_settings(folders, program),
        }
    }
}
