"""Compares two builds of loci in one run: python3 bench/compare.py OLD NEW [--drawers N] [--tree FOLDER]

Files the same drawers with each build into its own palace, runs each command with both builds in turn, each time in a new process, and
prints the median CPU milliseconds and their ratio. Both builds must know every command below. If strace is installed, it also counts, for one
`add` and one `search`, how often the palace file is opened and how many read locks are taken on it.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import tempfile

COMMON = "the ship plan meeting friday release budget garden music train code store index search memory".split()


def corpus(path, drawers):
    chance = random.Random(5)
    rare = [f"word{n}" for n in range(8000)]
    with open(path, "w") as file:
        for n in range(drawers):
            words = (chance.choice(rare) if chance.random() < 0.7 else chance.choice(COMMON) for _ in range(120))
            line = {"id": f"d{n:05}", "text": " ".join(words), "wing": f"w{n % 20}", "room": f"r{n % 7}",
                    "source": f"/t/{n % 500}.md", "said_at": f"2025-{1 + n % 12:02}-{1 + n % 28:02}T10:00:00Z"}
            file.write(json.dumps(line) + "\n")


def cpu(command, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    # A command that fails is fast; its time would pass for a good one.
    assert status in (0, 1), f"{command} exited with {status}"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def locks(command, environment, folder):
    trace = os.path.join(folder, "trace")
    subprocess.run(["strace", "-f", "-o", trace, *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lines = open(trace, errors="replace").read().splitlines()
    opened = sum(bool(re.search(r'openat.*palace\.db"', line)) for line in lines)
    return f"{opened} opened, {sum(bool(re.search('F_RDLCK.*l_start=12[3-7],', line)) for line in lines)} read locks"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("old")
    arguments.add_argument("new")
    arguments.add_argument("--drawers", type=int, default=20000)
    arguments.add_argument("--tree")
    arguments = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = os.path.join(folder, "lines.jsonl")
        corpus(lines, arguments.drawers)
        builds = {name: os.path.abspath(path) for name, path in (("old", arguments.old), ("new", arguments.new))}
        palaces = {name: dict(os.environ, HOME=folder, LOCI_PALACE=os.path.join(folder, name)) for name in builds}
        commands = [
            (["add", "--jsonl", lines], 5), (["add", "a thought of mine, number {}", "--room", "notes"], 30), (["search", "the ship plan of friday"], 30),
            (["search", "budget release", "--wing", "w3"], 30), (["search", "--only", "words", "ship friday"], 30),
            (["search", "--only", "meaning", "ship friday"], 30), (["list", "-n", "100"], 20), (["count", "--wing", "w3"], 20), (["wake-up"], 10), (["timeline"], 5),
            (["export", "--embeddings"], 3), (["verify"], 3),
        ]
        if arguments.tree:
            commands += [(["mine", arguments.tree], 1), (["mine", arguments.tree], 5)]
        for words, rounds in commands:
            spent = {name: [] for name in builds}
            for number in range(rounds):
                for name, build in builds.items():
                    if "--jsonl" in words:
                        shutil.rmtree(palaces[name]["LOCI_PALACE"], ignore_errors=True)
                    spent[name].append(cpu([build] + [word.format(number) for word in words], palaces[name]))
            old, new = (statistics.median(spent[name]) for name in ("old", "new"))
            print(f"{' '.join(words)[:40]:40} {old:10.1f} {new:10.1f} {new / old:6.2f}", flush=True)
        if shutil.which("strace"):
            for words in (["add", "one more thought"], ["search", "ship"]):
                for name, build in builds.items():
                    print(f"{' '.join(words):40} {name}: {locks([build, *words], palaces[name], folder)}")


main()
