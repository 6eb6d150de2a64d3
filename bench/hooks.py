"""Measures hooks as a harness feels them: python3 bench/hooks.py LOCI [--rounds N] [--palace FOLDER [--questions FILE]]

Calls `loci hook claude-code EVENT` N times each, every call a new process with the event on its standard input, and prints the wall
milliseconds of the calls (p50, p99) and the CPU milliseconds per call. "busy": a drainer is running. "starting": none is, as after most turns,
so each call starts one; the script waits for it to exit, uncounted, before the next call. With --palace, also prompts and starts with --recall
on that palace. With --questions, a file of JSON lines with `question` and `gold` (names that occur in the sources of the answer), also how many
questions get recalled lines, how many lines come from such a source, and how many unrelated prompts get lines.
"""

import argparse
import fcntl
import json
import os
import re
import statistics
import subprocess
import tempfile
import time


ELSEWHERE = """fix the failing test in parser.rs and run clippy again
yes, go on
commit this and push to the branch
refactor the login handler so that it uses async await
why does cargo build fail with a linker error on windows?
rename the variable count to total in the billing module
what does this regular expression match?
please continue
the kubernetes pod keeps restarting with OOMKilled, look at the deployment yaml
add a unit test for the tokenizer edge case
bump the version in package.json to 2.3.1
explain the borrow checker error on line 42
make the button blue
undo that last change
merge main into my branch and resolve the conflicts in lib.rs
implement binary search over the sorted segments
profile the query planner and find the hot loop
ok thanks
write a migration that adds an index on users.email
what is the status of the deploy?
delete the unused imports
use a hash map instead of a vector for the cache
the database is locked error appears when two processes write
convert this python script to rust
review the pull request""".splitlines()


def once(command, environment, event):
    before = os.times()
    begun = time.perf_counter()
    ran = subprocess.run(command, input=event, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    wall = (time.perf_counter() - begun) * 1e3
    after = os.times()
    assert ran.stderr == b"" and isinstance(json.loads(ran.stdout), dict), ran
    cpu = (after.children_user + after.children_system - before.children_user - before.children_system) * 1e3
    return wall, cpu


def measure(name, rounds, command, environment, event):
    walls, cpus = zip(*(once(command, environment, event()) for _ in range(rounds)))
    walls = sorted(walls)
    figures = {"p50": statistics.median(walls), "p99": walls[int(len(walls) * 0.99) - 1], "most": walls[-1], "cpu": statistics.mean(cpus)}
    print(name, json.dumps({key: round(value, 2) for key, value in figures.items()}))


def recalled(loci, environment, prompt):
    command = [loci, "hook", "claude-code", "UserPromptSubmit", "--recall", "--recall-ms", "60000"]
    ran = subprocess.run(command, input=json.dumps({"prompt": prompt}).encode(), env=environment, stdout=subprocess.PIPE, check=True)
    text = json.loads(ran.stdout).get("hookSpecificOutput", {}).get("additionalContext", "")
    return re.findall(r"^- \[.* · (\w+)\] ", text, re.M)


def closeness(loci, environment, questions):
    def source(id):
        shown = subprocess.run([loci, "--json", "show", id], env=environment, stdout=subprocess.PIPE, check=True)
        return shown.stdout.decode()

    answered = lines = right = 0
    with open(questions) as file:
        asked = [question for question in map(json.loads, file) if not question.get("id", "").endswith("-abs")]
    for question in asked:
        ids = recalled(loci, environment, question["question"])
        answered += bool(ids)
        lines += len(ids)
        right += sum(any(name in source(id) for name in question["gold"]) for id in ids)
    elsewhere = sum(bool(recalled(loci, environment, prompt)) for prompt in ELSEWHERE)
    print(f"{answered} of {len(asked)} questions got lines, {right} of {lines} lines from a source of the answer")
    print(f"{elsewhere} of {len(ELSEWHERE)} unrelated prompts got lines")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("loci")
    arguments.add_argument("--rounds", type=int, default=200)
    arguments.add_argument("--palace")
    arguments.add_argument("--questions")
    arguments.add_argument("--prompt", default="How many days had passed between the festival and the Sunday mass at church?")
    arguments = arguments.parse_args()
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "XDG_DATA_HOME": f"{home}/data", "PATH": os.environ["PATH"], "LOCI_PALACE": f"{home}/palace"}
        talk = f"{home}/talk.jsonl"
        line = {"type": "user", "uuid": "a", "sessionId": "talk", "cwd": "/home/ada/garden", "message": {"role": "user", "content": "Plant the beans."}}
        with open(talk, "w") as file:
            file.write(json.dumps({**line, "timestamp": "2026-05-01T10:00:00Z"}) + "\n")

        def event(**more):
            told = {"session_id": "talk", "transcript_path": talk, "cwd": "/home/ada/garden", "hook_event_name": "Stop", **more}
            return json.dumps(told).encode()

        def hook(name, *more):
            return [arguments.loci, "hook", "claude-code", name, *more]

        measure("prompt, nothing to record", arguments.rounds, hook("UserPromptSubmit"), environment, event)
        once(hook("Stop"), environment, event())
        (spool,) = (entry.path for entry in os.scandir(f"{home}/data/loci/spool") if entry.is_dir())
        with open(f"{spool}/drainer.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            measure("stop, busy", arguments.rounds, hook("Stop"), environment, event)

        def event_after_the_drainer():
            with open(f"{spool}/drainer.lock", "a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
            return event()

        measure("stop, starting a drainer", arguments.rounds, hook("Stop"), environment, event_after_the_drainer)
        measure("stop, back to back", arguments.rounds, hook("Stop"), environment, event)
        if arguments.palace:
            environment["LOCI_PALACE"] = os.path.abspath(arguments.palace)
            recall = ["--recall", "--recall-ms", "5000"]
            measure("prompt, recall", arguments.rounds, hook("UserPromptSubmit", *recall), environment, lambda: event(prompt=arguments.prompt))
            measure("start, recall", arguments.rounds, hook("SessionStart", *recall), environment, event)
            if arguments.questions:
                closeness(arguments.loci, environment, arguments.questions)
        with open(f"{spool}/drainer.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)


if __name__ == "__main__":
    main()
