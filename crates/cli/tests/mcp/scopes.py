"""Servers that show and do less: --read-only and --wing."""

from wire import TOOLS, expect, main, same, walk

WRITERS = ["add", "update", "move", "delete", "mine", "diary_write"]


def a_reader_has_no_tool_that_writes(scene):
    with scene.server() as server:
        id = server.call("add", text="To be read only.", wing="w")["id"]
    with scene.server("--read-only") as server:
        names = [tool["name"] for tool in server.result("tools/list")["tools"]]
        same(names, [name for name in TOOLS if name not in WRITERS])
        for name in WRITERS:
            arguments = {"text": "x", "id": id, "ids": [id], "path": scene.folder, "entry": "x", "wing": "x"}
            error = server.error("tools/call", {"name": name, "arguments": arguments})
            same(error["code"], -32602, name)
        same([prompt["name"] for prompt in server.result("prompts/list")["prompts"]], ["recall"])
        server.error("prompts/get", {"name": "save"})
        same(server.call("status")["read_only"], True)
        same(server.call("search", query="read only")["hits"][0]["id"], id)
        same(server.call("get", ids=[id])["drawers"][0]["text"], "To be read only.")
    with scene.server("--read-only", palace=scene.folder + "/nothing") as server:
        same(server.call("status")["exists"], False)


class Divided:
    """A palace with two wings, and a server that knows only one."""

    def __init__(self, scene):
        self.scene = scene
        with scene.server() as server:
            self.own = server.call("add", text="The tulip bulbs are in the shed.", wing="garden", room="plants")["id"]
            other = server.call("add", text="The secret tulip recipe is salt.", wing="kitchen", room="recipes",
                                idempotency_key="shared key")
            self.other, self.address = other["id"], other["address"]
            self.stray = server.call("add", text="A tulip without any wing.")["id"]
            server.call("diary_write", entry="The tulip cook's diary.", agent="cook", wing="kitchen")

    def unchanged(self):
        """What is in the other wing is as it was."""
        with self.scene.server() as server:
            drawer = server.call("get", ids=[self.other])["drawers"][0]
            same((drawer["text"], drawer["wing"], drawer["room"]),
                 ("The secret tulip recipe is salt.", "kitchen", "recipes"))
            same(server.call("list", wing="kitchen")["total"], 2)


def other_wings_are_not_read(scene):
    divided = Divided(scene)
    with scene.server("--wing", "garden") as server:
        same([tool["name"] for tool in server.result("tools/list")["tools"]],
             [name for name in TOOLS if name != "mine"])
        found = server.call("search", query="secret tulip recipe")
        same(([hit["id"] for hit in found["hits"]], found["in_scope"]), ([divided.own], 1))
        same(server.call("search", query="secret tulip recipe", wing="kitchen")["hits"], [])
        same(server.call("search", query="secret tulip recipe", room="recipes")["hits"], [])
        server.refused("not_found", "get", ids=[divided.other])
        server.refused("not_found", "get", ids=[divided.stray])
        server.refused("not_found", "get", ids=[divided.address])
        same(server.call("get", ids=[divided.own, divided.other])["missing"], [divided.other])
        same([drawer["id"] for drawer in walk(server, "list", "drawers")], [divided.own])
        same(server.call("list", wing="kitchen")["total"], 0)
        same(server.call("wings")["wings"], [{"wing": "garden", "drawers": 1, "rooms": 1}])
        empty = server.call("wings", wing="kitchen")
        same((empty["rooms"], empty["warnings"]), ([], ['wing "kitchen" does not exist']))
        same(server.call("list", wing="gardn")["warnings"], ['wing "gardn" does not exist; did you mean "garden"?'])
        same(server.call("list", wing="kitchn")["warnings"], ['wing "kitchn" does not exist'], "another wing is named:")
        status = server.call("status")
        same((status["drawers"], status["wings"], status["rooms"]), (1, 1, 1))
        expect("kitchen" not in str(server.reply("status")), status)
        woken = server.reply("wake_up")
        expect("recipe" not in str(woken) and "kitchen" not in str(woken) and "tulip" in str(woken), woken)
        same(server.call("check_duplicate", text="The secret tulip recipe is salt.", threshold=0.99)["duplicate"], False)
        same(server.call("check_duplicate", text="The secret tulip recipe is salt.", wing="kitchen")["duplicate"], False)
        expect("recipe" not in str(server.reply("wake_up", wing="kitchen")), "woke up in another wing")
        for wing in [{}, {"wing": "kitchen"}, {"wing": "garden"}]:
            same(server.call("diary_read", agent="cook", **wing)["total"], 0, wing)


def other_wings_are_no_resources(scene):
    divided = Divided(scene)
    with scene.server("--wing", "garden") as server:
        uris = [resource["uri"] for resource in server.result("resources/list")["resources"]]
        same(uris, ["palace://garden", "palace://garden/plants"])
        for uri in ["palace://kitchen", "palace://kitchen/recipes", divided.address, "palace://~/~",
                    f"palace://garden/plants/{divided.other}", f"palace://~/~/{divided.stray}"]:
            expect("error" in server.request("resources/read", {"uri": uri}), uri, "was read")
        same(server.result("resources/read", {"uri": "palace://~"})["contents"][0]["text"][:2], "0 ")


def other_wings_are_not_written(scene):
    divided = Divided(scene)
    with scene.server("--wing", "garden", "--wing", "attic") as server:
        server.refused("not_found", "update", id=divided.other, text="Gone.")
        server.refused("not_found", "update", id=divided.own, wing="kitchen")
        server.refused("not_found", "move", ids=[divided.other], to_wing="garden")
        server.refused("not_found", "move", ids=[divided.own], to_wing="kitchen")
        server.refused("not_found", "delete", ids=[divided.other])
        for elsewhere in [{"wing": "kitchen"}, {"room": "recipes"}]:
            same(server.call("delete", **elsewhere)["matched"], 0, elsewhere)
            same(server.call("move", to_wing="garden", **elsewhere)["matched"], 0, elsewhere)
        server.refused("not_found", "add", text="Into another wing.", wing="kitchen")
        server.refused("not_found", "diary_write", entry="Into another wing.", agent="cook", wing="kitchen")
        server.error("tools/call", {"name": "mine", "arguments": {"path": scene.folder}})
        same(server.call("get", ids=[divided.own])["drawers"][0]["wing"], "garden")
        unnamed = server.call("add", text="Filed where something exists.")
        expect(unnamed["address"].startswith("palace://garden/"), unnamed)
        same(server.call("move", ids=[unnamed["id"]], to_wing="attic")["moved"], 1)
        same(server.call("delete", ids=[unnamed["id"], divided.other])["missing"], [divided.other])
        entry = server.call("diary_write", entry="My own diary.", agent="gardener")
        expect(entry["address"].startswith("palace://garden/diary/"), entry)
        same(server.call("diary_read", agent="gardener")["total"], 1)
    divided.unchanged()


def a_wing_is_the_same_however_it_is_spelled(scene):
    divided = Divided(scene)
    for spelling in ["Garden", " GARDEN ", "garden"]:
        with scene.server("--wing", spelling) as server:
            same(server.call("get", ids=[divided.own])["drawers"][0]["wing"], "garden", spelling)
            added = server.call("add", text=f"Filed by {spelling}.")
            expect(added["address"].startswith("palace://garden/"), added)
            same(server.call("add", text=f"Named by {spelling}.", wing="GARDEN")["address"][:17], "palace://garden/~")
            same([wing["wing"] for wing in server.call("wings")["wings"]], ["garden"])
    divided.unchanged()


def keys_and_texts_of_other_wings_are_not_told(scene):
    with scene.server() as server:
        server.call("add", text="secret", wing="work", idempotency_key="K")
        moved = server.call("add", text="moved", wing="pub", room="r")["id"]
        server.call("move", ids=[moved], to_wing="work")
    with scene.server("--wing", "pub") as server:
        keyed = server.call("add", text="other", idempotency_key="K")
        again = server.call("add", text="other", idempotency_key="K")
        same((keyed["outcome"], again["outcome"], again["id"]), ("added", "kept", keyed["id"]))
        filed = server.call("add", text="moved", wing="pub", room="r")
        same(filed["outcome"], "added")
        expect("seq" not in filed, filed)
    same(scene.run("count")["count"], 4)


def cursors_do_not_lead_out(scene):
    """A cursor made elsewhere shows nothing of another wing."""
    divided = Divided(scene)
    with scene.server() as whole, scene.server("--wing", "garden") as server:
        page = whole.call("search", query="tulip", limit=1)
        found = server.call("search", query="tulip", limit=10, cursor=page["next"])
        expect("recipe" not in str(found), found)
        for id in [divided.other, divided.stray, "0"]:
            shown = [drawer["id"] for drawer in server.call("list", cursor=f"id.{id}")["drawers"]]
            expect(set(shown) <= {divided.own}, shown)


if __name__ == "__main__":
    main(globals())
