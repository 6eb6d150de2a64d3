"""The official Python client drives a team server: python team_client.py URL TOKEN.

The token may read and write the wing `garden`, and nothing else.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from wire import expect, same

DEADLINE = 240


async def main(url, token):
    for mode in ["legacy", "2026-07-28"]:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=DEADLINE)
        transport = streamable_http_client(url, http_client=http)
        async with http, Client(transport, mode=mode, read_timeout_seconds=DEADLINE) as session:
            names = {tool.name for tool in (await session.list_tools()).tools}
            expect({"search", "add", "update"} <= names, names)
            expect(not {"delete", "mine"} & names, names)
            added = await session.call_tool("add", {"text": f"The ship {mode} left.", "wing": "garden"})
            expect(not added.is_error, added)
            found = await session.call_tool("search", {"query": "when does the ship leave?"})
            hits = found.structured_content["hits"]
            expect(hits and all(hit["wing"] == "garden" for hit in hits), hits)
            refused = await session.call_tool("add", {"text": "Elsewhere.", "wing": "desk"})
            expect(refused.is_error, refused)
            wings = (await session.call_tool("wings", {})).structured_content["wings"]
            same([wing["wing"] for wing in wings], ["garden"])


anyio.run(main, sys.argv[1], sys.argv[2])
