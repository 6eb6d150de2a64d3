// The official TypeScript client drives a team server: node team_client.mjs URL TOKEN. The token may read and write the wing
// `garden`, and nothing else.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const installed = createRequire(join(process.env.LOCI_TEST_MCP, 'node', 'package.json'));
const { Client } = installed('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = installed('@modelcontextprotocol/sdk/client/streamableHttp.js');

const [, , url, token] = process.argv;
const client = new Client({ name: 'typewriter', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
}));
const names = (await client.listTools()).tools.map(tool => tool.name);
assert(names.includes('search') && names.includes('add') && !names.includes('delete') && !names.includes('mine'), names);
const found = await client.callTool({ name: 'search', arguments: { query: 'when does the ship leave?' } });
assert(found.structuredContent.hits.length > 0);
assert(found.structuredContent.hits.every(hit => hit.wing === 'garden'));
const read = await client.readResource({ uri: found.structuredContent.hits[0].address });
assert(read.contents[0].text.includes('ship'));
await client.close();
