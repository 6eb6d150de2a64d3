"""Measures what hooks recall: python3 bench/recall.py LOCI DATA [--set locomo|longmemeval]

DATA holds `locomo/dev.json` and `longmemeval/`. Every conversation or haystack becomes a palace of its own, mined by LOCI with the built-in model.
Each question with evidence is sent as a prompt to `loci hook claude-code UserPromptSubmit --recall`, a new process each. A line is right if it
quotes a session with evidence. Prints for each set and half: the share of the questions that get a right line (recall), the share of the lines
that are right (precision), and the lines. The halves are fixed: the first byte of the SHA-256 of the question's id is even ("chosen on") or odd
("held out"). Every palace also gets the prompts of `bench/hooks.py` that have nothing to do with it, and the questions of another palace.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import tempfile

from hooks import ELSEWHERE

HALVES = ("chosen on", "held out")


def half(id):
    return HALVES[hashlib.sha256(id.encode()).digest()[0] % 2]


def message(number, role, content, begun, name=None):
    said = {"id": str(number), "role": role, "content": content}
    if name:
        said["name"] = name
    if begun:
        said["timestamp"] = (begun + datetime.timedelta(seconds=number)).isoformat() + "Z"
    return said


def locomo(data):
    """Yields palaces: (sessions by name, questions as (id, text, names of the sessions with evidence))."""
    with open(os.path.join(data, "locomo", "dev.json"), encoding="utf-8") as file:
        conversations = json.load(file)
    for at, conversation in enumerate(conversations, 1):
        talk, sessions, session_of = conversation["conversation"], {}, {}
        for key, turns in talk.items():
            if not re.fullmatch(r"session_\d+", key) or not isinstance(turns, list):
                continue
            written = talk.get(key + "_date_time")
            begun = datetime.datetime.strptime(written, "%I:%M %p on %d %B, %Y") if written else None
            role = lambda turn: "user" if turn["speaker"] == talk["speaker_a"] else "assistant"
            sessions[key] = [message(n, role(turn), turn["text"], begun, turn["speaker"]) for n, turn in enumerate(turns)]
            session_of.update({turn["dia_id"]: key for turn in turns})
        questions = []
        for nth, asked in enumerate(conversation["qa"], 1):
            # With slips: "D8:6; D9:17", "D:11:26", "D30:05".
            named = re.findall(r"D:?(\d+):(\d+)", " ".join(asked.get("evidence") or []))
            turns = [f"D{int(session)}:{int(turn)}" for session, turn in named]
            gold = {session_of[turn] for turn in turns if turn in session_of}
            if gold:
                questions.append((f"conversation-{at}/q{nth}", asked["question"], gold))
        yield sessions, questions


def longmemeval(data):
    folder = os.path.join(data, "longmemeval")
    with open(os.path.join(folder, "sessions.jsonl"), encoding="utf-8") as file:
        known = {session["id"]: session for session in map(json.loads, file)}
    with open(os.path.join(folder, "questions.jsonl"), encoding="utf-8") as file:
        asked = [question for question in map(json.loads, file) if not question["id"].endswith(("-abs", "_abs"))]
    for question in asked:
        sessions = {}
        for id in question["haystack"]:
            written = known[id].get("date")
            begun = datetime.datetime.strptime(re.sub(r" \(\w+\)", "", written), "%Y/%m/%d %H:%M") if written else None
            sessions[id] = [message(n, turn["role"], turn["content"], begun) for n, turn in enumerate(known[id]["turns"])]
        yield sessions, [(question["id"], question["question"], set(question["gold"]))]


class Palace:
    def __init__(self, loci, folder, sessions):
        self.loci = loci
        self.environment = {"HOME": folder, "XDG_DATA_HOME": f"{folder}/data", "PATH": os.environ["PATH"], "LOCI_PALACE": f"{folder}/palace"}
        files = os.path.join(folder, "files")
        os.makedirs(files)
        for name, messages in sessions.items():
            with open(os.path.join(files, name + ".json"), "w", encoding="utf-8") as file:
                json.dump(messages, file)
        subprocess.run([loci, "mine", files, "--quiet"], env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def recall(self, prompt):
        """Returns the sessions that the recalled lines quote."""
        command = [self.loci, "hook", "claude-code", "UserPromptSubmit", "--recall", "--recall-ms", "60000"]
        ran = subprocess.run(command, input=json.dumps({"prompt": prompt}).encode(), env=self.environment, stdout=subprocess.PIPE, check=True)
        text = json.loads(ran.stdout).get("hookSpecificOutput", {}).get("additionalContext", "")
        return [self.session(id) for id in re.findall(r"^- \[.* · (\w+)\] ", text, re.M)]

    def session(self, id):
        shown = subprocess.run([self.loci, "--json", "show", id], env=self.environment, stdout=subprocess.PIPE, check=True)
        source = re.search(r'"source": ?"([^"]*)"', shown.stdout.decode()).group(1)
        return re.sub(r"\.json(#.*)?$", "", os.path.basename(source))


class Tally:
    def __init__(self):
        self.questions = self.found = self.lines = self.right = 0

    def add(self, sessions, gold):
        right = sum(session in gold for session in sessions)
        self.questions += 1
        self.found += right > 0
        self.lines += len(sessions)
        self.right += right

    def __str__(self):
        precision = self.right / self.lines if self.lines else float("nan")
        return f"{self.questions} | {self.found / self.questions:.3f} | {precision:.3f} | {self.lines}"


def measure(loci, name, palaces):
    halves = {which: Tally() for which in HALVES}
    unrelated = got = strangers = strangers_got = 0
    earlier = []
    for sessions, questions in palaces:
        with tempfile.TemporaryDirectory() as folder:
            palace = Palace(loci, folder, sessions)
            for id, question, gold in questions:
                halves[half(id)].add(palace.recall(question), gold)
            # A few for each palace: there are many palaces of one question, and few of many.
            for prompt in ELSEWHERE if len(questions) > 1 else ELSEWHERE[:: len(ELSEWHERE) // 5]:
                unrelated += 1
                got += bool(palace.recall(prompt))
            for prompt in earlier[-40:]:
                strangers += 1
                strangers_got += bool(palace.recall(prompt))
            earlier = [question for _, question, _ in questions]
    for which in HALVES:
        print(f"| {name} | {which} | {halves[which]} |", flush=True)
    print(f"{name}: {got} of {unrelated} unrelated prompts and {strangers_got} of {strangers} questions of another palace got lines", flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("loci")
    arguments.add_argument("data")
    arguments.add_argument("--set", choices=("locomo", "longmemeval"))
    arguments = arguments.parse_args()
    print("| set | half | questions | recall | precision | lines |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, read in (("locomo", locomo), ("longmemeval", longmemeval)):
        if arguments.set in (None, name):
            measure(os.path.abspath(arguments.loci), name, read(arguments.data))


if __name__ == "__main__":
    main()
