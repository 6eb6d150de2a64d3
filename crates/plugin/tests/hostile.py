"""A plug-in that misbehaves in the way its first argument names, and otherwise answers one row to every read."""
import json, os, struct, sys, time

HELLO, CALL, CREDIT, BYE, PIECE, ANSWER, FAILURE, PROGRESS = 1, 2, 4, 6, 7, 8, 9, 11
way = sys.argv[1]
out, inp = sys.stdout.buffer, sys.stdin.buffer


def raw(data):
    out.write(data)
    out.flush()


def frame(kind, call, header, blob=b""):
    head = json.dumps(header).encode()
    body = struct.pack("<BI", kind, call) + struct.pack("<I", len(head)) + head + blob
    return struct.pack("<I", len(body)) + body


def send(*parts):
    raw(frame(*parts))


def read():
    length = inp.read(4)
    if len(length) < 4:
        sys.exit(0)
    body = inp.read(struct.unpack("<I", length)[0])
    kind, call = struct.unpack_from("<BI", body)
    if kind in (CREDIT, 5, BYE):
        if kind == BYE:
            sys.exit(0)
        return kind, call, None
    size = struct.unpack_from("<I", body, 5)[0]
    return kind, call, json.loads(body[9 : 9 + size])


def hang():
    time.sleep(600)


if way == "silent":
    hang()
if way == "dead":
    sys.exit("nothing works here")
if way == "banner":
    raw(b"Welcome to my plug-in!\n")
    hang()
if way == "answer_first":
    send(ANSWER, 1, {"value": 1})
    hang()

hello = {
    "protocol": [9 if way == "major" else 1, 0],
    "spec": [9 if way == "contract" else 2, 0],
    "name": "hostile",
    "version": "1",
    "capabilities": ["embeddings_out", "embeddings_passthrough", "sources", "erasure"],
    "metrics": ["cosine"],
    "frame_limit": 1000 if way == "small" else 1 << 26,
}
send(HELLO, 0, hello)
if way == "deaf":
    hang()
if way == "talks":
    for n in range(5000):
        print("line", n, "x" * 100, file=sys.stderr)
row = {"rows": [{"id": "a", "document": "text"}]}


def misbehave(name, call):
    if way == "hang":
        hang()
    if way == "dies":
        os._exit(7)
    if way == "counts_and_dies":
        with open(sys.argv[2], "a") as file:
            file.write("called\n")
        os._exit(7)
    if way == "dies_once" and not os.path.exists(sys.argv[2]):
        open(sys.argv[2], "w").close()
        os._exit(7)
    if way == "flood":
        while True:
            send(PIECE, call, row)
    if way == "endless":
        big = {"rows": [{"id": "a", "document": "x" * 100000}]}
        while True:
            send(PIECE, call, big)
            read()
    if way == "twice":
        send(ANSWER, call, row)
    if way == "garbage":
        raw(b"\x00\xff" * 500)
    if way == "not_json":
        raw(struct.pack("<IBII", 12, ANSWER, call, 3) + b"{{{")
    if way == "wrong_shape":
        send(ANSWER, call, {"rows": [{"name": 1.5}]})
    if way == "huge":
        raw(struct.pack("<IBI", 0xFFFFFFF0, ANSWER, call))
    if way == "short":
        raw(struct.pack("<IBI", 5000, ANSWER, call) + b"abc")
        hang()
    if way == "cut":
        raw(struct.pack("<IBI", 5000, ANSWER, call) + b"abc")
        os._exit(0)
    if way == "values":
        send(ANSWER, call, {"rows": [{"id": "a", "values": 1000000}]}, b"1234")
    if way == "leftover":
        send(ANSWER, call, row, b"12345678")
    if way == "header":
        raw(struct.pack("<IBII", 9, ANSWER, call, 99999))
    if way == "kind":
        raw(struct.pack("<IBI", 5, 77, call))
    if way == "stranger":
        send(ANSWER, call + 1000, row)
    if way == "calls":
        send(CALL, call, {})
    if way == "parts":
        send(10, call, {"revision": 0})
    if way == "drip":
        while True:
            send(PROGRESS, call, {"done": 1, "total": 2})
            read()
    if way == "late_answer":
        while read()[0] != 5:
            pass


while True:
    kind, call, header = read()
    if kind != CALL:
        continue
    (name, arguments), = header["call"].items()
    if name in ("open", "create"):
        send(ANSWER, call, {"value": {"handle": 1, "model": "unset", "metric": "cosine"}})
    elif name == "apply":
        misbehave(name, call)
        lists = ["added", "kept", "replaced", "updated", "deleted", "missing", "twins", "without_vector"]
        send(ANSWER, call, {"value": {**{one: [] for one in lists}, "seq": 1}})
    elif name == "get":
        misbehave(name, call)
        send(ANSWER, call, row)
    elif name == "revise":
        writes = []
        while writes is not None:
            send(10, call, {"revision": 0})
            kind, _, header = read()
            while kind != 3:
                kind, _, header = read()
            writes = header["writes"]
        lists = ["added", "kept", "replaced", "updated", "deleted", "missing", "twins", "without_vector"]
        send(ANSWER, call, {"rows": [{"done": {"receipt": {**{one: [] for one in lists}, "seq": 1}}}]})
    elif name == "purge":
        misbehave(name, call)
        send(ANSWER, call, {"value": {"reached": []}})
    else:
        send(ANSWER, call, {"value": None})
