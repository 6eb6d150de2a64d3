"""The official Python client drives the server: every revision, tool, resource and prompt, progress and cancellation."""

import anyio
import httpx2
import jsonschema
import mcp.client.session
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from wire import DEADLINE, TOOLS, Listener, expect, main, same

WITHOUT_HANDSHAKE = "2026-07-28"


def client(scene, mode="auto", arguments=()):
    """A client. The handshake's revision is what the SDK takes for the newest it knows."""
    if mode[:3] == "202" and mode != WITHOUT_HANDSHAKE:
        mcp.client.session.LATEST_HANDSHAKE_VERSION = mode
        mode = "legacy"
    server = StdioServerParameters(
        command=scene.loci, args=["mcp", "--palace", scene.palace, *arguments], env=scene.environment
    )
    return Client(server, mode=mode, read_timeout_seconds=DEADLINE)


def every_revision_is_agreed_on(scene):
    async def shake(mode, revision):
        async with client(scene, mode) as session:
            same(session.protocol_version, revision, mode)
            # A client that asks for the newest revision outright asks nobody who is there.
            if mode != WITHOUT_HANDSHAKE:
                same(session.server_info.name, "loci")
                expect("search" in session.instructions, mode, "instructions:", session.instructions)
            same([tool.name for tool in (await session.list_tools()).tools], TOOLS)
            added = await session.call_tool("add", {"text": f"Spoken in {mode}.", "wing": "revisions"})
            same(added.structured_content["outcome"], "added")

    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", WITHOUT_HANDSHAKE]:
        anyio.run(shake, revision, revision)
    anyio.run(shake, "auto", WITHOUT_HANDSHAKE)


class Checked:
    """Calls tools and checks what they give against the schema they were listed with."""

    def __init__(self, session, tools):
        self.session = session
        self.schemas = {tool.name: tool.output_schema for tool in tools}
        self.called = set()

    async def __call__(self, tool, **arguments):
        result = await self.session.call_tool(tool, arguments)
        expect(not result.is_error, tool, arguments, result)
        expect(result.content[0].type == "text" and result.content[0].text, tool, result)
        value, schema = result.structured_content, self.schemas[tool]
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(value, {**schema, "additionalProperties": False})
        if tool == "search":
            for hit in value["hits"]:
                jsonschema.validate(hit, {**schema["properties"]["hits"]["items"], "additionalProperties": False})
        self.called.add(tool)
        return value


def http_speaks_the_same(scene):
    async def talk(listener, mode, revision):
        http = httpx2.AsyncClient(headers=listener.headers, timeout=DEADLINE)
        transport = streamable_http_client(listener.url, http_client=http)
        async with http, Client(transport, mode=mode, read_timeout_seconds=DEADLINE) as session:
            same(session.protocol_version, revision, mode)
            tools = (await session.list_tools()).tools
            same([tool.name for tool in tools], TOOLS)
            call = Checked(session, tools)
            filed = await call("add", text=f"The ship leaves at dawn, {mode}.", wing="harbour", room="plans")
            found = await call("search", query="when does the ship leave?", wing="harbour")
            expect(filed["id"] in [hit["id"] for hit in found["hits"]], found)
            read = await session.read_resource(filed["address"])
            same(read.contents[0].text, f"The ship leaves at dawn, {mode}.")
            same(len((await session.list_prompts()).prompts), 3)

    with Listener(scene) as listener:
        anyio.run(talk, listener, "legacy", "2025-11-25")
        anyio.run(talk, listener, WITHOUT_HANDSHAKE, WITHOUT_HANDSHAKE)


def every_tool_gives_what_its_schema_says(scene):
    for mode in ["legacy", "2025-06-18", WITHOUT_HANDSHAKE]:
        anyio.run(all_tools, scene, mode)


async def all_tools(scene, mode):
    async with client(scene, mode) as session:
        listed = (await session.list_tools()).tools
        same([tool.name for tool in listed], TOOLS)
        call = Checked(session, listed)
        folder = scene.files(f"notes {mode}", 3)
        await writing(call, mode)
        mined = await call("mine", path=folder, wing=f"mined {mode}")
        same((mined["sources_mined"], mined["sources_failed"]), (3, 0), mined)
        same((await call("mine", path=folder, wing=f"mined {mode}"))["sources_unchanged"], 3)
        status = await call("status")
        expect(status["exists"] and status["drawers"] >= 4, status)
        wings = {wing["wing"]: wing["drawers"] for wing in (await call("wings"))["wings"]}
        same(wings[f"mined {mode}"], 3, wings)
        same((await call("wings", wing=f"moved {mode}"))["rooms"], [{"room": "plans", "drawers": 1}])
        expect((await call("wake_up"))["drawers"], "woke up to nothing")
        await call("diary_write", entry=f"The day of {mode}.", agent="pythia", topic="days")
        entries = (await call("diary_read", agent="pythia"))["entries"]
        same(entries[0]["text"], f"The day of {mode}.")
        same(call.called, set(TOOLS))
        refused = await session.call_tool("get", {"ids": ["nothing"]})
        expect(refused.is_error and '"not_found"' in refused.content[0].text, refused)


async def writing(call, mode):
    text = f"In {mode} we chose SQLite because it is one file."
    added = await call("add", text=text, wing=f"work {mode}", room="plans", said_at="2026-05-01", source="talk")
    same(added["outcome"], "added")
    id = added["id"]
    hit = (await call("search", query="why SQLite", wing=f"work {mode}"))["hits"][0]
    same((hit["id"], hit["address"], hit["text"], hit["kind"], hit["trust"]),
         (id, added["address"], text, "note", "agent"))
    same((hit["said_at"][:10], hit["source"], hit["speaker"]), ("2026-05-01", "talk", "mcp"))
    same((await call("get", ids=[added["address"]]))["drawers"][0]["text"], text)
    same((await call("list", wing=f"work {mode}"))["total"], 1)
    same((await call("check_duplicate", text=text))["matches"][0]["id"], id)
    same((await call("update", id=id, text=text + " Really."))["updated"], True)
    same((await call("move", ids=[id], to_wing=f"moved {mode}"))["moved"], 1)
    spare = (await call("add", text=f"To be removed in {mode}."))["id"]
    same((await call("delete", ids=[spare]))["deleted"], 1)


def resources_and_prompts_are_listed_and_read(scene):
    for mode in ["legacy", WITHOUT_HANDSHAKE]:
        anyio.run(read_resources_and_prompts, scene, mode)


async def read_resources_and_prompts(scene, mode):
    async with client(scene, mode) as session:
        text = "Tomatoes are planted in May. 番茄"
        added = await session.call_tool("add", {"text": text, "wing": "garden", "room": "beds"})
        address = added.structured_content["address"]
        uris = [str(resource.uri) for resource in (await session.list_resources()).resources]
        same(uris, ["palace://garden", "palace://garden/beds"])
        forms = [template.uri_template for template in (await session.list_resource_templates()).resource_templates]
        same(forms, ["palace://{wing}", "palace://{wing}/{room}", "palace://{wing}/{room}/{id}"])
        for uri in uris + [address]:
            contents = (await session.read_resource(uri)).contents
            same((len(contents), str(contents[0].uri)), (1, uri))
            expect(contents[0].text, uri)
        same(contents[0].text, text)
        try:
            await session.read_resource("palace://attic")
            raise AssertionError("a wing that is not there was read")
        except MCPError as error:
            expect(error.error.code in (-32002, -32602), error.error)
        prompts = {prompt.name: prompt.arguments[0] for prompt in (await session.list_prompts()).prompts}
        same({name: (one.name, bool(one.required)) for name, one in prompts.items()},
             {"recall": ("topic", True), "save": ("wing", False), "end_of_task": ("task", False)})
        for name, argument in prompts.items():
            prompt = await session.get_prompt(name, {argument.name: "tomatoes"})
            same(prompt.messages[0].role, "user")
            expect("tomatoes" in prompt.messages[0].content.text, prompt)


def a_mine_says_how_far_it_is(scene):
    for mode in ["legacy", WITHOUT_HANDSHAKE]:
        anyio.run(hear_progress, scene, mode)


async def hear_progress(scene, mode):
    folder = scene.files(f"many {mode}", 120)
    heard = []

    async def hear(done, total, words):
        heard.append((done, total, words))

    async with client(scene, mode) as session:
        mined = await session.call_tool("mine", {"path": folder}, progress_callback=hear)
        same(mined.structured_content["sources_mined"], 120, mined)
    expect(len(heard) > 1, mode, heard)
    steps = [done for done, _, _ in heard]
    expect(steps == sorted(set(steps)), "it goes up:", steps)
    same({total for _, total, _ in heard}, {120})
    expect(all("sources" in words for _, _, words in heard), heard)


def a_cancelled_mine_stops(scene):
    for mode in ["legacy", WITHOUT_HANDSHAKE]:
        anyio.run(cancel, scene, mode)


async def cancel(scene, mode):
    folder = scene.files(f"more {mode}", 5_000)
    wing = f"cancelled {mode}"
    begun = anyio.Event()

    async def hear(done, total, words):
        if not words.endswith(" 0 drawers added"):
            begun.set()

    async with client(scene, mode) as session:
        async def mine():
            await session.call_tool("mine", {"path": folder, "wing": wing}, progress_callback=hear)

        async with anyio.create_task_group() as group:
            group.start_soon(mine)
            await begun.wait()
            same((await session.call_tool("status", {})).structured_content["exists"], True)
            group.cancel_scope.cancel()
        filed = await at_rest(session, wing)
        print(f"{mode}: {filed} drawers were filed before it stopped")
        expect(0 < filed < 5_000, filed)


async def at_rest(session, wing):
    """How many drawers a wing has once no more come. One that is never at rest ends with all of them."""
    before, now = -1, 0
    while before != now:
        before = now
        await anyio.sleep(1)
        now = (await session.call_tool("list", {"wing": wing, "limit": 1})).structured_content["total"]
    return now


if __name__ == "__main__":
    main(globals())
