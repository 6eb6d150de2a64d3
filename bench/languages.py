"""Measures search in other languages: python3 bench/languages.py LOCI FOLDER [--questions 150]

FOLDER holds unpacked packages of translated manual pages, one folder for each language (Debian's manpages-de, manpages-fr, …: `apt-get download
manpages-de && dpkg-deb -x manpages-de_*.deb FOLDER/manpages-de`). A page becomes a text file without its NAME section, and the description in
that section is the question: "list directory contents" must find the page of ls. Each language is mined into a palace of its own with the
built-in model and asked twice, with `search` and with `search --only words`. Prints a table: the share of questions whose page comes first and
among the first five.
"""

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import tempfile


def plain(line):
    line = re.sub(r"\\f\[[^]]*\]|\\f.", "", line)
    line = re.sub(r"\\\((..)|\\\[[^]]*\]", " ", line)
    line = re.sub(r"\\s[-+]?\d|\\[,/&|^]", "", line)
    return line.replace("\\-", "-").replace("\\ ", " ").replace("\\e", "\\")


def read_page(path):
    """Returns the description and the rest of a page, or None if it is not one."""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    sections, section = [], []
    for line in lines:
        if line.startswith((".SH", ".Sh")):
            sections.append(section)
            section = []
        elif line.startswith((".", "'")):
            words = re.match(r"\.(?:B|I|BR|IR|RB|RI|BI|IB|SS|SM)\s+(.*)", line)
            section.append(plain(words.group(1)).replace('"', "") if words else "")
        else:
            section.append(plain(line))
    sections.append(section)
    if len(sections) < 3:
        return None
    name = " ".join(sections[1]).strip()
    found = re.search(r"\s-+\s+(.*)", name)
    body = "\n".join("\n".join(section) for section in sections[2:])
    body = re.sub(r"\n{3,}", "\n\n", body).strip()
    if not found or len(body) < 400 or "\ufffd" in body[:2000]:
        return None
    return found.group(1).strip(), body


def pages(folder):
    seen = set()
    for root, _, files in sorted(os.walk(folder)):
        for file in sorted(files):
            if not file.endswith(".gz") or "/man" not in root or os.path.islink(os.path.join(root, file)):
                continue
            page = read_page(os.path.join(root, file))
            if page and page[0] not in seen:
                seen.add(page[0])
                yield file[: -len(".gz")], page


def ask(loci, palace, question, extra):
    # Everything after `--` is the query: some descriptions begin with a dash.
    command = [loci, "search", "--palace", palace, "--json", "-n", "20", *extra, "--", question]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode in (0, 1), answer.stdout + answer.stderr
    hits = json.loads(answer.stdout)["hits"]
    sources = []
    for hit in hits:
        if hit["source"] not in sources:
            sources.append(hit["source"])
    return sources


def measure(loci, folder, count):
    with tempfile.TemporaryDirectory() as scratch:
        texts, palace = os.path.join(scratch, "texts"), os.path.join(scratch, "palace")
        os.mkdir(texts)
        found = list(pages(folder))
        for name, (_, body) in found:
            with open(os.path.join(texts, name + ".txt"), "w", encoding="utf-8") as file:
                file.write(body + "\n")
        subprocess.run([loci, "mine", texts, "--palace", palace, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        random.seed(7)
        asked = random.sample(found, min(count, len(found)))
        tally = {}
        for way, extra in (("search", []), ("words", ["--only", "words"])):
            ranks = []
            for name, (question, _) in asked:
                sources = [os.path.basename(source or "") for source in ask(loci, palace, question, extra)]
                ranks.append(sources.index(name + ".txt") + 1 if name + ".txt" in sources else 99)
            tally[way] = [sum(rank <= k for rank in ranks) / len(ranks) for k in (1, 5)]
        return len(found), len(asked), tally


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("loci")
    parser.add_argument("folder")
    parser.add_argument("--questions", type=int, default=150)
    options = parser.parse_args()
    print("| pages | texts | questions | search first / in five | words alone first / in five |")
    print("|---|---|---|---|---|")
    for language in sorted(os.listdir(options.folder)):
        texts, asked, tally = measure(options.loci, os.path.join(options.folder, language), options.questions)
        shares = [" / ".join(f"{share:.3f}" for share in tally[way]) for way in ("search", "words")]
        print(f"| {language} | {texts} | {asked} | {shares[0]} | {shares[1]} |", flush=True)


if __name__ == "__main__":
    main()
