"""What is written: once, durably, never by mistake, and never reported for what is not there."""

import threading

from wire import expect, main, same


def unknown_arguments_are_named(scene):
    with scene.server() as server:
        for tool in [tool["name"] for tool in server.result("tools/list")["tools"]]:
            error = server.refused("invalid", tool, wombat=1, zebra="x")
            expect("wombat" in error["message"] and "zebra" in error["message"], tool, error)
        expect("text" in server.refused("invalid", "add", tekst="x")["hint"], "the hint names what there is")
        expect("query" in server.refused("invalid", "search")["message"], "what is missing is named")
        same(server.call("status")["exists"], False, "nothing was done:")


def what_is_meant_is_understood(scene):
    with scene.server() as server:
        id = server.call("add", text="Meant and understood.", wing="")["id"]
        same(server.call("search", query="understood", limit="1", wing=None)["hits"][0]["id"], id)
        same(server.call("get", ids=id)["drawers"][0]["text"], "Meant and understood.")
        for wrong in [{"limit": "many"}, {"limit": 1.5}, {"since": "soon"}, {"since": "2026-05-02", "before": "2026-05-01"}, {"tokens": 10}, {"cursor": "nonsense"}]:
            server.refused("invalid", "search", query="x", **wrong)


def more_than_one_goes_only_by_its_count(scene):
    with scene.server() as server:
        ids = [server.call("add", text=f"Number {n}.", wing="many", room="numbers")["id"] for n in range(12)]
        total = lambda: server.call("list", limit=1)["total"]
        server.refused("invalid", "delete")
        for chosen in [{"ids": ids}, {"wing": "many"}, {"room": "numbers"}, {"ids": ids, "dry_run": True}]:
            dry = server.call("delete", **chosen)
            same((dry["matched"], dry["deleted"]), (12, 0), chosen)
            expect(dry["sample"] and set(dry["sample"]) <= set(ids), dry)
        for count in [1, 11, 13]:
            server.refused("conflict", "delete", wing="many", count=count)
        same(total(), 12)
        same(server.call("delete", ids=ids[:1], dry_run=True)["deleted"], 0)
        same(server.call("delete", ids=ids[:1])["deleted"], 1)
        server.refused("conflict", "delete", wing="many", count=12)
        same(server.call("delete", wing="many", count=11)["deleted"], 11)
        same(total(), 0)


def success_is_never_said_of_what_is_not_there(scene):
    with scene.server() as server:
        for tool, arguments in [("get", {"ids": ["gone"]}), ("delete", {"ids": ["gone"]}),
                                ("update", {"id": "gone", "text": "x"}), ("move", {"ids": ["gone"], "to_wing": "w"})]:
            server.refused("not_found", tool, **arguments)
        same(server.call("status")["exists"], False, "a palace was made for nothing:")
        id = server.call("add", text="The only one.", wing="work")["id"]
        server.refused("not_found", "get", ids=["gone"])
        server.refused("not_found", "update", id="gone", text="x")
        server.refused("not_found", "move", ids=["gone"], to_wing="w")
        server.refused("not_found", "delete", ids=["gone"])
        for tool in ["delete", "search", "list", "wings", "wake_up", "diary_read", "check_duplicate"]:
            asked = {"query": "x"} if tool == "search" else {"text": "x"} if tool == "check_duplicate" else {}
            empty = server.call(tool, wing="wrok", **asked)
            same(empty["warnings"], ['wing "wrok" does not exist; did you mean "work"?'], tool)
            for items in ["hits", "drawers", "rooms", "entries", "matches"]:
                same(empty.get(items, []), [], tool)
        same(server.call("delete", wing="wrok")["matched"], 0)
        same(server.call("move", wing="wrok", to_wing="w")["matched"], 0)
        for field in ["room", "source", "speaker"]:
            expect(field + ' "nothing" does not exist' in server.call("list", **{field: "nothing"})["warnings"][0], field)
        server.refused("not_found", "mine", path=scene.folder + "/nothing/here")
        server.refused("invalid", "mine", path="relative")
        expect(server.error("resources/read", {"uri": "palace://no/such/drawer"})["code"] in (-32002, -32602), "a code")
        same(server.call("get", ids=[id, "gone"])["missing"], ["gone"])
        same(server.call("move", ids=[id, "gone"], to_wing="w")["missing"], ["gone"])
        same(server.call("delete", ids=[id, "gone"])["missing"], ["gone"])
        server.refused("not_found", "delete", ids=[id])


def a_key_writes_once(scene):
    with scene.server() as one, scene.server() as other:
        first = one.call("add", text="Written once.", wing="w", idempotency_key="k1")
        same(first["outcome"], "added")
        for server in [one, other]:
            again = server.call("add", text="Written once.", wing="w", idempotency_key="k1")
            same((again["outcome"], again["id"], again["address"]), ("kept", first["id"], first["address"]))
            server.refused("conflict", "add", text="Another text.", wing="w", idempotency_key="k1")
        entry = one.call("diary_write", entry="Done.", agent="a", idempotency_key="k2")
        same(other.call("diary_write", entry="Done.", agent="a", idempotency_key="k2")["id"], entry["id"])
        other.refused("conflict", "diary_write", entry="Not done.", agent="a", idempotency_key="k2")
        same(one.call("list", limit=1)["total"], 2)
        one.refused("invalid", "add", text="x", idempotency_key="k" * 2000)


def two_servers_at_once_write_once_for_each_key(scene):
    with scene.server() as one, scene.server() as other:
        outcomes = [[], []]
        # Where both write the same, one adds and one keeps; where they differ, one adds and one is refused.
        def write(server, who, found):
            for number in range(60):
                text = f"Text {number}" + (f" by {who}" if number % 3 == 0 else "")
                reply = server.reply("add", text=text, idempotency_key=f"key {number}")
                found.append("refused" if reply.get("isError") else reply["structuredContent"]["outcome"])
        threads = [threading.Thread(target=write, args=(server, who, outcomes[who]))
                   for who, server in enumerate([one, other])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number, pair in enumerate(zip(*outcomes)):
            same(sorted(pair), ["added", "refused" if number % 3 == 0 else "kept"], number)
        same(len(outcomes[0]), 60)
        same(one.call("list", limit=1)["total"], 60)


def a_new_model_is_noticed_by_a_running_server(scene):
    scene.run("init", "--embedder", "none")
    with scene.server() as server:
        server.call("add", text="Filed before there was a model.")
        scene.run("embedder", "switch", "builtin")
        for n in range(3):
            server.call("add", text=f"Filed after the switch, number {n}.")
        status = server.call("status")
        same((status["drawers"], status["by_meaning"]), (4, 4))


def the_beginning_of_an_id_is_enough_to_read_it(scene):
    with scene.server() as server:
        id = server.call("add", text="Shown with a short id.")["id"]
        same(server.call("get", ids=[id[:6]])["drawers"][0]["id"], id)
        server.refused("not_found", "get", ids=[id[:5]])
        server.refused("not_found", "get", ids=["f" * 8 if id[0] != "f" else "0" * 8])
        same(server.call("move", ids=[id[:8]], to_room="r")["moved"], 1)
        same(server.call("update", id=id[:8], text="Changed by a short id.")["id"], id)
        same(server.call("delete", ids=[id[:8]])["deleted"], 1)


def a_diary_is_read_to_its_end_while_it_is_written(scene):
    with scene.server() as server:
        written = [server.call("diary_write", agent="a", entry=f"Entry {n} " + "word " * 60)["id"] for n in range(12)]
        found, cursor = [], {}
        for _ in range(100):
            page = server.call("diary_read", agent="a", tokens=500, **cursor)
            found += [entry["id"] for entry in page["entries"]]
            if "next" not in page:
                break
            cursor = {"cursor": page["next"]}
            server.call("diary_write", agent="a", entry=f"Meanwhile {len(found)}.")
        same(found, written[::-1])


def a_name_too_long_is_refused(scene):
    with scene.server() as server:
        long = "W" * 129
        server.refused("invalid", "add", text="x", wing=long)
        server.refused("invalid", "add", text="x", room=long)
        id = server.call("add", text="x", wing="W" * 128)["id"]
        server.refused("invalid", "move", ids=[id], to_wing=long)
        server.refused("invalid", "update", id=id, room=long)


def what_one_server_changes_another_finds(scene):
    """What is changed by one server is what another one finds."""
    with scene.server() as one, scene.server() as other:
        id = one.call("add", text="The meeting is on Monday.", wing="work", room="plans", said_at="2026-01-02")["id"]
        same(other.call("get", ids=[id])["drawers"][0]["said_at"][:10], "2026-01-02")
        same(other.call("update", id=id, text="The meeting is on Tuesday.")["updated"], True)
        found = one.call("get", ids=[id])["drawers"][0]
        same((found["text"], found["wing"], found["room"]), ("The meeting is on Tuesday.", "work", "plans"))
        expect("Monday" not in str(one.call("search", query="Monday")["hits"]), "the old text is found")
        same(one.call("move", ids=[id], to_room="done")["moved"], 1)
        same(one.call("move", ids=[id], to_room="done"), {"matched": 1, "moved": 0})
        same(one.call("move", room="done", to_room="over", dry_run=True), {"matched": 1, "moved": 0})
        same(other.call("move", room="done", contains="Tuesday", to_room="over"), {"matched": 1, "moved": 1})
        same(other.call("move", room="over", to_room="done")["moved"], 1)
        same(other.call("list", room="done")["total"], 1)
        one.refused("invalid", "update", id=id)
        same(one.call("check_duplicate", text="The meeting is on Tuesday.")["duplicate"], True)
        same(one.call("check_duplicate", text="Whales sing in the deep sea at night.")["duplicate"], False)
        same(one.call("add", text="Twice the same.", wing="w")["outcome"], "added")
        same(other.call("add", text="Twice the same.", wing="w")["outcome"], "kept")


if __name__ == "__main__":
    main(globals())
