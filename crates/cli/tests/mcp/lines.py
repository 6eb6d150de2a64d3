"""Lines that are no requests, or too many at once: each is answered, and the server lives."""

import json
import os
import subprocess

from wire import DEADLINE, NEWEST, TOOLS, expect, main, same

# As long as a line may be, in bytes.
LONGEST = 16 << 20


def answered(server, line, code):
    server.write(line + b"\n")
    answer = server.message()
    same((answer["id"], answer["error"]["code"]), (None, code), line[:60])
    server.lives()


def lines_that_are_no_requests_are_answered(scene):
    with scene.server() as server:
        for line in [b"{", b"hello", b'{"jsonrpc": "2.0", "id": 1', b"\xff\xfe\x00", b"[" * 100_000, b'"' + b"\\" * 99]:
            answered(server, line, -32700)
        for line in [b"42", b"null", b'"ping"', b"{}", b"[]", b'{"jsonrpc": "2.0"}', b'[[{"jsonrpc": "2.0"}]]']:
            answered(server, line, -32600)
        server.write(b"\n \r\n\t\n")
        server.lives()


def what_can_be_read_of_a_broken_line_is_its_id(scene):
    with scene.server() as server:
        call = b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"add","arguments":{"text":"half \\ud83d x"}}}'
        deep = b'{"jsonrpc":"2.0","id":78,"method":"ping","params":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
        for line, id in [(call, 77), (deep, 78)]:
            server.write(line + b"\n")
            answer = server.message()
            same((answer["id"], answer["error"]["code"]), (id, -32700), line[:60])
        server.write(b"\xef\xbb\xbf" + json.dumps({"jsonrpc": "2.0", "id": 79, "method": "ping"}).encode() + b"\n")
        same(server.answer(79)["result"], {})
        server.lives()


def an_id_in_use_is_refused_and_nothing_is_done(scene):
    with scene.server() as server:
        folder = scene.files("notes", 1_300)
        mine = {"name": "mine", "arguments": {"path": folder}}
        server.ask("tools/call", mine, id="same")
        server.ask("tools/call", {"name": "add", "arguments": {"text": "Under an id in use."}}, id="same")
        answers = [server.message(), server.message()]
        codes = sorted(str(answer.get("error", {}).get("code")) for answer in answers)
        same(codes, ["-32600", "None"], answers)
        same(server.call("list", kind="note")["drawers"], [])
        server.ask("ping", id="same")
        same(server.message()["result"], {})


def none_is_passed_over_however_late_the_client_reads(scene):
    """None of them is passed over, however late the client reads."""
    process = subprocess.Popen(
        [scene.loci, "mcp", "--palace", scene.palace], env=scene.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.stdin.write(b"{\n" * 5_000)
    process.stdin.flush()
    codes = [json.loads(process.stdout.readline())["error"]["code"] for _ in range(5_000)]
    same(set(codes), {-32700})
    process.stdin.close()
    same((process.stdout.read(), process.wait(timeout=DEADLINE)), (b"", 0))


def a_line_too_long_is_refused_and_the_next_is_read(scene):
    with scene.server() as server:
        request = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"_meta": {"x": "?"}}})
        for length in [LONGEST + 1, LONGEST + 2, 3 * LONGEST]:
            line = request.replace("?", "x" * (length - len(request) + 1)).encode()
            same(len(line), length)
            answered(server, line, -32600)
        fits = request.replace("?", "x" * (LONGEST - len(request))).encode()
        server.write(fits + b"\n")
        same(server.message().get("result"), {})
        server.refused("invalid", "add", text="x" * (2 << 20))
        server.lives()


def unknown_methods_tools_and_prompts_are_refused(scene):
    with scene.server() as server:
        for method in ["tools/lists", "", "rpc.discover", "completion/nothing", "x" * 10_000]:
            same(server.error(method)["code"], -32601, method[:60])
        same(server.error("tools/call", {"name": "remember", "arguments": {}})["code"], -32602)
        same(server.error("tools/call", {"arguments": {}})["code"], -32602)
        same(server.error("tools/call")["code"], -32602)
        same(server.error("tools/call", {"name": "status", "arguments": [1]})["code"], -32602)
        same(server.error("prompts/get", {"name": "nothing"})["code"], -32602)
        same(server.error("prompts/get", {"name": "recall"})["code"], -32602)
        elsewhere = server.error("resources/read", {"uri": "file:///etc/passwd"})
        same((elsewhere["code"], elsewhere["data"]["uri"]), (-32602, "file:///etc/passwd"))
        same(server.error("initialize", {"protocolVersion": 7})["code"], -32602)
        server.notify("notifications/nothing", {"a": 1})
        server.notify("notifications/cancelled", {"requestId": "never asked"})
        server.send({"jsonrpc": "2.0", "id": "of nobody", "result": {}})
        server.lives()


def every_message_of_a_batch_is_answered(scene):
    with scene.server() as server:
        ping = {"jsonrpc": "2.0", "method": "ping"}
        note = {"jsonrpc": "2.0", "method": "notifications/nothing"}
        server.send([{**ping, "id": "a"}, note, {"id": "b"}, {**ping, "id": "c", "method": "nothing"}])
        answers = {}
        for _ in range(3):
            answer = server.message()
            answers[answer["id"]] = answer.get("error", {}).get("code")
        same(answers, {"a": None, "b": -32600, "c": -32601})
        server.send([note, note])
        server.send([{**ping, "id": number} for number in range(1_000)])
        same({server.message()["id"] for _ in range(1_000)}, set(range(1_000)))
        server.lives()


def what_comes_before_the_handshake_harms_nothing(scene):
    """Notifications and answers before the handshake mean nothing and harm nothing."""
    with scene.server(greet=False) as server:
        server.notify("notifications/initialized")
        server.notify("notifications/cancelled", {"requestId": 1})
        server.send({"jsonrpc": "2.0", "id": 9, "result": {}})
        server.write(b"{\n")
        same(server.message()["error"]["code"], -32700)
        same(server.greet(NEWEST)["protocolVersion"], NEWEST)
        server.lives()


def a_thousand_requests_in_flight_are_answered_once_each(scene):
    """A thousand requests before the first answer is read: each is answered once."""
    with scene.server() as server:
        server.call("add", text="The first of all.", wing="flight")
        asked = {}
        kinds = [
            lambda n: ("ping", None),
            lambda n: ("tools/list", None),
            lambda n: ("tools/call", {"name": "search", "arguments": {"query": f"what is {n}", "limit": 1}}),
            lambda n: ("tools/call", {"name": "add", "arguments": {"text": f"Number {n} flies.", "wing": "flight"}}),
            lambda n: ("resources/read", {"uri": "palace://flight"}),
        ]
        for number in range(1_000):
            method, params = kinds[number % len(kinds)](number)
            asked[server.ask(method, params)] = (method, params)
        for id, request in asked.items():
            answer = server.answer(id)
            expect("result" in answer and not answer["result"].get("isError"), request, answer)
        server.lives()
        same(server.answers, {})
        same(server.call("list", wing="flight", limit=1)["total"], 201)


def the_handshake_and_the_lists_need_no_palace(scene):
    """The handshake and the lists need no palace, whatever stands where it should be."""
    nowhere = os.path.join(scene.folder, "no", "such", "folder")
    loop = os.path.join(scene.folder, "loop")
    os.symlink(loop, loop)
    before = sorted(os.listdir(scene.folder))
    for palace in [nowhere, loop]:
        with scene.server(palace=palace) as server:
            same([tool["name"] for tool in server.result("tools/list")["tools"]], TOOLS)
            same(len(server.result("prompts/list")["prompts"]), 3)
            same(len(server.result("resources/templates/list")["resourceTemplates"]), 3)
            same(sorted(os.listdir(scene.folder)), before, "something was made:")
    with scene.server(palace=loop) as server:
        reply = server.reply("status")
        expect(reply.get("isError") or not reply["structuredContent"]["exists"], reply)
        expect(server.reply("add", text="into a loop").get("isError"), "filed in a loop of links")
        server.lives()
    with scene.server(palace=nowhere) as server:
        same(server.call("status")["exists"], False)
        same(server.result("resources/list")["resources"], [])
        server.refused("not_found", "search", query="anything")
        same(sorted(os.listdir(scene.folder)), before, "reading made something:")
        server.call("add", text="Now it is made.")
        same(server.call("status")["drawers"], 1)


def the_list_of_tools_is_short_and_always_the_same(scene):
    """The same bytes from every server, and few of them."""
    lines = []
    for _ in range(3):
        with scene.server() as server:
            for _ in range(2):
                server.ask("tools/list", id="list")
                lines.append(server.line())
            server.call("add", text="Something is there now.")
    same(len(set(lines)), 1, "different lists")
    print(f"tools/list has {len(lines[0])} bytes")
    expect(len(lines[0]) < 10_000, len(lines[0]), "bytes")
    tools = json.loads(lines[0])["result"]["tools"]
    same([tool["name"] for tool in tools], TOOLS)
    for tool in tools:
        expect(tool["description"] and tool["inputSchema"]["type"] == "object", tool)
        expect(tool["outputSchema"]["type"] == "object" and tool["annotations"], tool)


def every_revision_is_agreed_on(scene):
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]:
        with scene.server(revision=revision) as server:
            same(server.greeting["protocolVersion"], revision)
            same(server.greeting["serverInfo"]["name"], "loci")
            same(sorted(server.greeting["capabilities"]), ["prompts", "resources", "tools"])
            expect("search" in server.greeting["instructions"], server.greeting)
            same(len(server.result("tools/list")["tools"]), len(TOOLS))
            server.call("add", text=f"Spoken in {revision}.")
    for revision in ["1999-01-01", "2099-01-01", "", "latest"]:
        with scene.server(revision=revision) as server:
            same(server.greeting["protocolVersion"], NEWEST, revision)


def requests_that_say_their_revision_need_no_handshake(scene):
    """The revision 2026-07-28: every request says for itself what it speaks."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with scene.server(greet=False) as server:
        found = server.result("server/discover", {"_meta": meta})
        expect("2026-07-28" in found["supportedVersions"], found)
        same([tool["name"] for tool in server.result("tools/list", {"_meta": meta})["tools"]], TOOLS)
        params = {"name": "add", "arguments": {"text": "Without a handshake."}, "_meta": meta}
        same(server.result("tools/call", params)["structuredContent"]["outcome"], "added")
        params = {"name": "search", "arguments": {"query": "handshake"}, "_meta": meta}
        hits = server.result("tools/call", params)["structuredContent"]["hits"]
        same([hit["speaker"] for hit in hits], ["wire"])
        for gone in ["initialize", "ping"]:
            same(server.error(gone, {"_meta": meta})["code"], -32601, gone)


if __name__ == "__main__":
    main(globals())
