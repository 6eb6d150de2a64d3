"""Measures the MCP server: python3 bench/mcp.py LOCI [--drawers 50000] [--palace PALACE] [--rounds 20] [--peer MEMPALACE_MCP]

Starts `loci mcp` on a palace (built from seeded random words unless one is named) and prints as JSON: milliseconds from process start to the
answers to `initialize` and to the first search, wall and CPU; the same for searches in a running server; resident memory when idle and after
100 searches; bytes of `tools/list`; and the cost of ten idle servers. With --peer, the path of MemPalace's `mempalace-mcp`, it also measures
that server up to `tools/list` in the same run.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Server:
    def __init__(self, command, environment=None):
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self.count = 0

    def say(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.say({"id": self.count, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            assert line, f"the server exited during {method}"
            answer = json.loads(line)
            if answer.get("id") == self.count:
                assert "result" in answer, answer
                return answer["result"], len(line)

    def hello(self):
        self.ask("initialize", HELLO)
        elapsed = self.elapsed()
        self.say({"method": "notifications/initialized"})
        return elapsed

    def elapsed(self):
        return (time.perf_counter() - self.begun) * 1e3

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")

    def memory(self, key="VmRSS"):
        with open(f"/proc/{self.process.pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines[key].split()[0]) / 1024

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        _, _, used = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        return (used.ru_utime + used.ru_stime) * 1e3


def figures(values):
    ordered = sorted(values)
    return {
        "p50": round(statistics.median(ordered), 2),
        "p95": round(ordered[int(len(ordered) * 0.95)], 2),
        "least": round(ordered[0], 2),
    }


def words(seed):
    random.seed(seed)
    letters = "bdfgklmnprstvz"
    return ["".join(random.choice(letters) + random.choice("aeiou") for _ in range(random.randint(2, 4))) for _ in range(20000)]


def text(vocabulary, length):
    return " ".join(vocabulary[min(int(random.paretovariate(0.6)), len(vocabulary) - 1)] for _ in range(length))


def make_palace(loci, palace, drawers, vocabulary):
    add = subprocess.Popen([loci, "add", "--jsonl", "-", "--palace", palace, "--quiet"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for number in range(drawers):
        line = {"id": f"d{number}", "text": text(vocabulary, 110), "wing": f"wing{number % 20}", "room": f"room{number % 7}"}
        add.stdin.write(json.dumps(line) + "\n")
    add.stdin.close()
    assert add.wait() == 0


def measure(command, search, question, rounds, environment=None):
    hello, first, whole = [], [], []
    for _ in range(rounds):
        server = Server(command, environment)
        hello.append(server.hello())
        server.ask("tools/call", {"name": search, "arguments": {"query": question()}})
        first.append(server.elapsed())
        whole.append(server.end())
    only_hello = []
    for _ in range(rounds):
        server = Server(command, environment)
        server.hello()
        only_hello.append(server.end())
    server = Server(command, environment)
    server.hello()
    _, size = server.ask("tools/list", {})
    idle = server.memory()
    warm, before = [], server.cpu()
    for _ in range(100):
        begun = time.perf_counter()
        server.ask("tools/call", {"name": search, "arguments": {"query": question()}})
        warm.append((time.perf_counter() - begun) * 1e3)
    cpu = (server.cpu() - before) / 100
    after, peak = server.memory(), server.memory("VmHWM")
    server.end()
    return {
        "initialize_ms": figures(hello),
        "initialize_cpu_ms": figures(only_hello),
        "first_search_ms": figures(first),
        "first_search_cpu_ms": figures(whole),
        "warm_search_ms": figures(warm),
        "warm_search_cpu_ms": round(cpu, 2),
        "idle_mb": round(idle, 1),
        "after_100_searches_mb": round(after, 1),
        "peak_mb": round(peak, 1),
        "tools_list_bytes": size,
    }


def ten_idle(command):
    servers = [Server(command) for _ in range(10)]
    for server in servers:
        server.hello()
    begun = [server.cpu() for server in servers]
    time.sleep(5)
    spent = sum(server.cpu() - before for server, before in zip(servers, begun))
    memory = sum(server.memory() for server in servers)
    own = 0
    for server in servers:
        with open(f"/proc/{server.process.pid}/smaps_rollup") as file:
            own += sum(int(line.split()[1]) for line in file if line.startswith(("Private_Clean", "Private_Dirty")))
        server.end()
    return {"resident_mb": round(memory, 1), "own_mb": round(own / 1024, 1), "cpu_ms_in_5_s": round(spent, 1)}


def peer(command, rounds):
    """Measures up to `tools/list`: its first search would download a model."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HOME": folder}
        command = [command, "--palace", os.path.join(folder, "palace")]
        hello, cpu = [], []
        for _ in range(rounds):
            server = Server(command, environment)
            hello.append(server.hello())
            _, size = server.ask("tools/list", {})
            idle = server.memory()
            cpu.append(server.end())
        return {"initialize_ms": figures(hello), "initialize_cpu_ms": figures(cpu), "idle_mb": round(idle, 1), "tools_list_bytes": size}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("loci")
    arguments.add_argument("--drawers", type=int, default=50000)
    arguments.add_argument("--palace")
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--peer")
    arguments = arguments.parse_args()
    vocabulary = words(7)
    with tempfile.TemporaryDirectory() as folder:
        palace = arguments.palace or os.path.join(folder, "palace")
        if not os.path.exists(palace):
            make_palace(arguments.loci, palace, arguments.drawers, vocabulary)
        command = [arguments.loci, "mcp", "--palace", palace]
        result = {"loci": measure(command, "search", lambda: text(vocabulary, 5), arguments.rounds)}
        result["ten_idle_servers"] = ten_idle(command)
    if arguments.peer:
        result["peer"] = peer(arguments.peer, 5)
    print(json.dumps(result, indent=2))


main()
