"""`loci mcp` as a process and the lines it speaks, without any SDK.

A script that uses this is called with the name of one of its functions, the path of `loci` and an empty folder. An
expectation that fails ends it with a message.
"""

import json
import os
import queue
import subprocess
import sys
import threading

# Generous: the tests share two cores with thousands of others.
DEADLINE = 240
NEWEST = "2025-11-25"
TOOLS = [
    "search", "get", "list", "add", "update", "move", "delete", "check_duplicate", "mine", "status", "wings", "wake_up",
    "diary_write", "diary_read",
]


def expect(holds, *said):
    if not holds:
        raise AssertionError(" ".join(str(one)[:3000] for one in said))


def same(found, wanted, *said):
    expect(found == wanted, *said, "found:", found, "wanted:", wanted)


class Scene:
    """Where one case plays: a folder with a palace that is made by whoever writes first."""

    def __init__(self, loci, folder):
        self.loci = loci
        self.folder = folder
        self.palace = os.path.join(folder, "palace")
        self.environment = {"HOME": folder}

    def server(self, *arguments, **options):
        return Server(self, *arguments, **options)

    def command(self, *arguments):
        return [self.loci, *arguments, "--palace", self.palace]

    def run(self, *arguments):
        """What a command of the terminal answers, as JSON."""
        done = subprocess.run(
            self.command("--json", *arguments), env=self.environment, capture_output=True, timeout=DEADLINE
        )
        expect(done.returncode == 0, arguments, done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def files(self, name, count, size=400):
        """A folder with files that take a while to mine."""
        folder = os.path.join(self.folder, name)
        os.makedirs(folder)
        for number in range(count):
            with open(os.path.join(folder, f"{number:05}.md"), "w") as file:
                file.write(f"# Note {number} of {name}\n\n" + f"Note {number} says what it says. " * (size // 24))
        return folder


class Listener:
    """A server that listens on a port of this machine."""

    def __init__(self, scene):
        token = os.path.join(scene.folder, "token")
        self.process = subprocess.Popen(
            scene.command("--json", "mcp", "--http", "0", "--token-file", token), env=scene.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )
        said = json.loads(self.process.stdout.readline())
        self.url = f"http://{said['address']}/mcp"
        with open(token) as file:
            self.headers = {"Authorization": f"Bearer {file.read().strip()}"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        same(self.process.wait(timeout=DEADLINE), 0, "exit code")


class Server:
    """A server and its client's end."""

    def __init__(self, scene, *arguments, greet=True, palace=None, revision=NEWEST, pass_fds=()):
        self.process = subprocess.Popen(
            [scene.loci, "mcp", "--palace", palace or scene.palace, *arguments],
            env=scene.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=pass_fds,
        )
        self.lines = queue.Queue()
        self.notifications = []
        self.answers = {}
        self.last = 0
        threading.Thread(target=self._read, daemon=True).start()
        if greet:
            self.greeting = self.greet(revision)

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def greet(self, revision):
        hello = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
        greeting = self.result("initialize", hello)
        self.notify("notifications/initialized")
        return greeting

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else {**message, "params": params})

    def ask(self, method, params=None, id=None):
        """Sends a request and gives its id."""
        if id is None:
            self.last += 1
            id = self.last
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return id

    def line(self):
        """The next line, as it came."""
        line = self.lines.get(timeout=DEADLINE)
        if line is None:
            raise ConnectionError("the server went away")
        return line

    def message(self):
        return json.loads(self.line())

    def answer(self, id):
        """The answer to a request. What comes before it is kept."""
        while id not in self.answers:
            message = self.message()
            if "method" in message:
                self.notifications.append(message)
            else:
                expect(message["id"] not in self.answers, "answered twice:", message)
                self.answers[message["id"]] = message
        return self.answers.pop(id)

    def request(self, method, params=None):
        return self.answer(self.ask(method, params))

    def result(self, method, params=None):
        answer = self.request(method, params)
        expect("result" in answer, method, params, answer)
        return answer["result"]

    def error(self, method, params=None):
        answer = self.request(method, params)
        expect("error" in answer, method, params, answer)
        return answer["error"]

    def reply(self, tool, **arguments):
        """The whole answer of a tool."""
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, **arguments):
        """What a tool gives, as a value."""
        return given(self.reply(tool, **arguments), tool, arguments)

    def refused(self, kind, tool, **arguments):
        """What a tool says when it refuses, which must be of this kind."""
        reply = self.reply(tool, **arguments)
        expect(reply.get("isError"), tool, arguments, "was not refused:", reply)
        expect("structuredContent" not in reply, reply)
        error = json.loads(reply["content"][0]["text"])["error"]
        same(error["kind"], kind, tool, arguments, error)
        return error

    def lives(self):
        same(self.result("ping"), {})

    def close(self):
        """Closes the client's end; the server must end by itself, without an error."""
        self.process.stdin.close()
        self.ended()

    def ended(self):
        code = self.process.wait(timeout=DEADLINE)
        same(code, 0, "exit code,", self.process.stderr.read())

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        if failed:
            self.process.kill()
        elif self.process.poll() is None:
            self.close()


def given(reply, *asked):
    expect(not reply.get("isError"), *asked, "was refused:", reply)
    return reply["structuredContent"]


def walk(server, tool, items, **arguments):
    """Everything a tool gives over all its pages."""
    found, cursor = [], {}
    for _ in range(10_000):
        page = server.call(tool, **arguments, **cursor)
        found += page[items]
        if "next" not in page:
            return found
        expect(page[items], "a page with nothing and more to come:", page)
        cursor = {"cursor": page["next"]}
    raise AssertionError(f"{tool} never ends")


def main(cases):
    case, loci, folder = sys.argv[1:4]
    cases[case](Scene(loci, folder))
