"""Measures a new process up to its first answer: python3 bench/first_answer.py LOCI PALACE [--rounds N] [--only NAME] [--search TEXT]

Runs `search --vector` (as "vector"), `search --only words` ("words"), `show`, `count`, `status` and `search` on an existing palace, each in
a new process, and prints CPU and wall milliseconds and peak memory as counted by the kernel.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time


def once(command):
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = (time.perf_counter() - begun) * 1e3
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return (used.ru_utime + used.ru_stime) * 1e3, wall, used.ru_maxrss / 1024


def measure(command, rounds):
    cpu, wall, memory = zip(*(once(command) for _ in range(rounds)))
    return {"cpu_ms": statistics.mean(cpu), "p50_ms": statistics.median(wall), "min_ms": min(wall), "rss_mb": max(memory)}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("loci")
    arguments.add_argument("palace")
    arguments.add_argument("--dimension", type=int, default=384)
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--only")
    arguments.add_argument("--search", default="trabo kluma")
    arguments = arguments.parse_args()
    random.seed(1)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as vector:
        json.dump([random.gauss(0, 1) for _ in range(arguments.dimension)], vector)
        vector.flush()
        palace = ["--palace", arguments.palace]
        commands = {
            "vector": ["search", "--vector", "@" + vector.name],
            "words": ["search", "--only", "words", "trabo kluma"],
            "show": ["show", "drawer-00000007"],
            "count": ["count"],
            "status": ["status"],
            "search": ["search", arguments.search],
        }
        figures = {name: measure([arguments.loci, *command, *palace], arguments.rounds) for name, command in commands.items() if arguments.only in (None, name)}
    print(json.dumps(figures, indent=2))


main()
