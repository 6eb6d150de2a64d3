//! What a backend that is a program of its own does when its host or its machine treats it badly.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use loci_core::{ApplyRequest, Collection, DrawerId, GetRequest, NewDrawer, Write};
use loci_plugin::{PluginBackend, PluginOptions};

use crate::scene::{default_collection, make_collection};
use crate::{CaseFailure, CaseOutcome, CaseScene};

/// The theme of these cases, which apply to executables only.
pub const PROCESS_THEME: &str = "process";

/// The time a program has for each of these steps.
const PATIENCE: Duration = Duration::from_secs(5);

const HELLO: &[u8] = br#"{"protocol":[1,0],"spec":[2,0],"frame_limit":67108864}"#;

cases! { "process":
    "a program says hello at once and exits with 0 after bye" [] => orderly_end;
    "a program whose host is gone exits within 5 s" [] => closed_input;
    "a program whose host dies in the middle of a frame exits within 5 s" [] => half_a_frame;
    "a frame longer than the limit ends the program within 5 s" [] => frame_too_long;
    "bytes that are not a frame end the program within 5 s, and it does not crash the next one" [] => garbage;
    "a write acknowledged before the program is killed is there afterwards" [+MultiProcess -ReadOnly] => killed;
}

/// A program under test, ended with the case.
struct RunningProgram {
    process: Child,
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl RunningProgram {
    fn start(scene: &CaseScene<'_>) -> CaseOutcome<Self> {
        let (program, arguments) = find_program(scene)?;
        let process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { process })
    }

    /// Starts a program, exchanges hellos with it and returns it.
    fn greet(scene: &CaseScene<'_>) -> CaseOutcome<Self> {
        let mut program = Self::start(scene)?;
        program.send(&make_frame(1, HELLO))?;
        let output = program.process.stdout.take();
        let (told, heard) = mpsc::channel();
        std::thread::spawn(move || {
            let Some(mut output) = output else { return };
            let mut first = [0; 5];
            let read = output.read_exact(&mut first).map(|()| first[4]);
            // A receiver that is gone has waited long enough.
            let _ = told.send(read.ok());
            drop(std::io::copy(&mut output, &mut std::io::sink()));
        });
        let kind = heard.recv_timeout(PATIENCE);
        ensure!(
            matches!(kind, Ok(Some(1))),
            "expected a hello within {PATIENCE:?}, found {kind:?}"
        );
        Ok(program)
    }

    fn send(&mut self, bytes: &[u8]) -> CaseOutcome {
        if let Some(input) = self.process.stdin.as_mut() {
            input.write_all(bytes)?;
            input.flush()?;
        }
        Ok(())
    }

    /// Waits for the program's own end and returns its exit code.
    fn expect_end(&mut self) -> CaseOutcome<Option<i32>> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(status) = self.process.try_wait()? {
                return Ok(status.code());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(CaseFailure::new(format!(
            "expected the program to exit, found it running after {PATIENCE:?}"
        )))
    }
}

fn find_program<'a>(scene: &CaseScene<'a>) -> CaseOutcome<(&'a std::path::Path, &'a [String])> {
    let program = scene.harness().program();
    program.ok_or_else(|| CaseFailure::NotApplicable("only for backends that are programs".into()))
}

fn make_frame(kind: u8, header: &[u8]) -> Vec<u8> {
    let length = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes();
    let mut frame = length(9 + header.len()).to_vec();
    frame.push(kind);
    frame.extend([0; 4]);
    frame.extend(length(header.len()));
    frame.extend(header);
    frame
}

fn orderly_end(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut program = RunningProgram::greet(scene)?;
    program.send(&[5, 0, 0, 0, 6, 0, 0, 0, 0])?;
    same!(program.expect_end()?, Some(0), "the exit code after bye");
    Ok(())
}

fn closed_input(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut program = RunningProgram::greet(scene)?;
    drop(program.process.stdin.take());
    program.expect_end().map(drop)
}

fn half_a_frame(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut program = RunningProgram::greet(scene)?;
    program.send(&[100, 0, 0, 0, 2, 1, 0, 0])?;
    drop(program.process.stdin.take());
    program.expect_end().map(drop)
}

fn frame_too_long(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut program = RunningProgram::greet(scene)?;
    // Standard input stays open: a program that waits for the rest would wait for ever.
    program.send(&[0xff, 0xff, 0xff, 0xff, 2, 1, 0, 0, 0])?;
    program.expect_end().map(drop)
}

fn garbage(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut program = RunningProgram::greet(scene)?;
    // It may have gone before it has read everything.
    drop(program.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    program.expect_end()?;
    orderly_end(scene)
}

fn killed(scene: &CaseScene<'_>) -> CaseOutcome {
    let (program, arguments) = find_program(scene)?;
    let backend = PluginBackend::start("killed", program, arguments.to_vec(), PluginOptions::default())?;
    let collection = make_collection(
        &backend,
        &scene.palace(),
        &default_collection(),
        &scene.usual_options(),
    )?;
    let mut acknowledged = Vec::new();
    for round in 0..5_u64 {
        std::thread::scope(|scope| -> CaseOutcome {
            let (told, first) = mpsc::channel();
            let writer = scope.spawn(|| write_until_refused(collection.as_ref(), round, told));
            // The program may take its time to start again. After that, not at the same point of a write in each round.
            let _ = first.recv_timeout(PATIENCE);
            std::thread::sleep(Duration::from_millis(7 * round));
            if let Some(process) = backend.process_id() {
                Command::new("kill").arg("-9").arg(process.to_string()).status()?;
            }
            acknowledged.extend(writer.join().unwrap_or_default());
            Ok(())
        })?;
    }
    ensure!(
        !acknowledged.is_empty(),
        "expected a write to be acknowledged, found none"
    );
    let found = scene.open()?.get(&GetRequest::default())?;
    for id in acknowledged {
        ensure!(
            found.iter().any(|drawer| drawer.id == id),
            "expected the acknowledged drawer {id:?}, found it lost"
        );
    }
    Ok(())
}

/// Files one drawer after another until the program is gone; returns those that were acknowledged.
fn write_until_refused(collection: &dyn Collection, round: u64, told: mpsc::Sender<()>) -> Vec<DrawerId> {
    let mut acknowledged = Vec::new();
    for number in 0..2000 {
        let Ok(id) = DrawerId::new(format!("{round}-{number}")) else {
            break;
        };
        let add = Write::Add(NewDrawer::new(id.clone(), "text"));
        if collection.apply(&ApplyRequest::from_writes(&[add])).is_err() {
            break;
        }
        // Nobody listens after the first.
        let _ = told.send(());
        acknowledged.push(id);
    }
    acknowledged
}
