"""Plants a secret in each of many real files, mines them with the real binary, and compares every byte that comes back.

    python3 bench/seals.py LOCI FILES FOLDER...

Copies FILES text files from below the folders, chosen evenly, each with one secret put between two of its lines; mines
them; runs `loci cat --unseal` on each and compares it with the file; and looks for the secrets in every byte of the
palace. Prints one line of JSON.
"""

import json
import os
import random
import string
import subprocess
import sys
import tempfile
import time

MARK = "Xq7LoCiZk"  # In every secret, so that one search finds any of them.
LARGEST = 256 << 10


def letters(rng, count, alphabet=string.ascii_letters + string.digits):
    return "".join(rng.choice(alphabet) for _ in range(count))


def plant(rng):
    """Returns a kind, and lines that hold a secret of it."""
    makers = {
        "token": lambda: "use gh" + "p_" + MARK + letters(rng, 27) + " for this",
        "assignment": lambda: 'db_password = "' + MARK + letters(rng, 11) + '"',
        "url": lambda: "postgres://app:" + MARK + letters(rng, 13) + "@db.internal:5432/main",
        "bearer": lambda: "Authorization: Bearer " + MARK + letters(rng, 40),
        "key": lambda: "\n".join(
            ["-----BEGIN " + "RSA PRIVATE KEY-----"]
            + [MARK + letters(rng, 55) for _ in range(rng.randint(4, 60))]
            + ["-----END " + "RSA PRIVATE KEY-----"]
        ),
    }
    kind = rng.choice(sorted(makers))
    return kind, makers[kind]()


def find_files(folders):
    for folder in folders:
        for base, inside, names in os.walk(folder):
            inside.sort()
            for name in sorted(names):
                path = os.path.join(base, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    if 0 < os.path.getsize(path) <= LARGEST:
                        yield path


def read_text(path):
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    # Secrets are planted as ASCII, which would break UTF-16.
    return None if b"\0" in content else content


def copy_files(wanted, folders, tree, rng):
    paths = list(find_files(folders))
    rng.shuffle(paths)
    planted, kinds = [], {}
    for path in paths:
        if len(planted) == wanted:
            break
        content = read_text(path)
        if content is None:
            continue
        kind, lines = plant(rng)
        breaks = [at + 1 for at, byte in enumerate(content) if byte == 10] or [len(content)]
        at = rng.choice(breaks)
        content = content[:at] + b"\n" + lines.encode() + b"\n" + content[at:]
        ending = os.path.splitext(path)[1] or ".txt"
        target = os.path.join(tree, str(len(planted) // 1000), f"f{len(planted)}{ending}")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
        planted.append(target)
        kinds[kind] = kinds.get(kind, 0) + 1
    return planted, kinds


def count_marks(folder):
    count = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(base, name), "rb") as file:
                count += file.read().count(MARK.encode())
    return count


def main():
    loci, wanted, folders = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    rng = random.Random(20261117)
    with tempfile.TemporaryDirectory() as scratch:
        tree, palace = os.path.join(scratch, "tree"), os.path.join(scratch, "palace")
        planted, kinds = copy_files(wanted, folders, tree, rng)
        environment = {**os.environ, "LOCI_PALACE": palace, "LOCI_KEYS": os.path.join(scratch, "keys")}

        def run(*args):
            return subprocess.run([loci, *args], env=environment, capture_output=True, check=False)

        began = time.time()
        # A file that looks like a conversation would come back as messages; here every file is a file.
        mined = json.loads(run("--json", "--quiet", "mine", tree, "--as", "text", "--hidden", "--ignored").stdout)
        seconds = time.time() - began
        skipped = {one["source"] for one in mined["skipped"]} | {one["source"] for one in mined["sources_failed"]}
        exact, wrong = 0, []
        for path in planted:
            if path in skipped:
                continue
            shown = run("cat", path, "--unseal")
            with open(path, "rb") as file:
                same = shown.returncode == 0 and shown.stdout == file.read()
            exact += same
            if not same:
                wrong.append([path, shown.returncode, shown.stderr.decode(errors="replace")[:200]])
        print(
            json.dumps(
                {
                    "planted": len(planted),
                    "kinds": kinds,
                    "skipped": len(skipped),
                    "secrets": mined.get("secrets"),
                    "exact": exact,
                    "wrong": wrong[:20],
                    "in_the_clear": count_marks(palace),
                    "mine_seconds": round(seconds, 1),
                }
            )
        )


main()
