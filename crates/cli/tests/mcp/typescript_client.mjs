// The official TypeScript client drives the server: every revision, tool, resource and prompt, progress and cancellation.
// Called like the Python scripts: the name of a function below, the path of `loci` and an empty folder.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const installed = createRequire(join(process.env.LOCI_TEST_MCP, 'node', 'package.json'));
const { Client } = installed('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = installed('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = installed('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { McpError } = installed('@modelcontextprotocol/sdk/types.js');

const NEWEST = '2025-11-25';
const TOOLS = ['search', 'get', 'list', 'add', 'update', 'move', 'delete', 'check_duplicate', 'mine', 'status', 'wings',
    'wake_up', 'diary_write', 'diary_read'];
const PATIENT = { timeout: 240_000 };
const [, , chosen, loci, folder] = process.argv;

// Does something with a client; the SDK always asks for its newest revision, so another one is put into its first message.
async function connected(work, revision = NEWEST) {
    const client = new Client({ name: 'typewriter', version: '1' });
    const transport = new StdioClientTransport({
        command: loci, args: ['mcp', '--palace', join(folder, 'palace')], env: { HOME: folder },
    });
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
        if (message.method === 'initialize') message.params.protocolVersion = revision;
        return send(message, options);
    };
    let agreed;
    transport.setProtocolVersion = version => { agreed = version; };
    await client.connect(transport, PATIENT);
    try {
        assert.equal(agreed, revision);
        await work(client);
    } finally {
        await client.close();
    }
}

function files(name, count) {
    const made = join(folder, name);
    mkdirSync(made);
    for (let n = 0; n < count; n++) {
        writeFileSync(join(made, `${n}.md`), `# Note ${n} of ${name}\n\n` + `Note ${n} says what it says. `.repeat(16));
    }
    return made;
}

async function names(client) {
    return (await client.listTools()).tools.map(tool => tool.name);
}

// What a tool gives. The SDK checks it against the schema the tool was listed with.
async function call(client, name, args, options) {
    const result = await client.callTool({ name, arguments: args }, undefined, { ...PATIENT, ...options });
    assert.ok(!result.isError, `${name} was refused: ${JSON.stringify(result)}`);
    assert.ok(result.content[0].text.length > 0);
    return result.structuredContent;
}

async function every_revision_is_agreed_on() {
    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', NEWEST]) {
        await connected(async client => {
            assert.equal(client.getServerVersion().name, 'loci');
            assert.match(client.getInstructions(), /search/);
            assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), ['prompts', 'resources', 'tools']);
            assert.deepEqual(await names(client), TOOLS);
            await client.ping();
            assert.equal((await call(client, 'add', { text: `Spoken in ${revision}.` })).outcome, 'added');
        }, revision);
    }
}

async function every_tool_gives_what_its_schema_says() {
    await connected(async client => {
        const listed = (await client.listTools()).tools;
        const called = new Set();
        const checked = async (name, args) => {
            const value = await call(client, name, args);
            const { properties } = listed.find(tool => tool.name === name).outputSchema;
            for (const key of Object.keys(value)) assert.ok(key in properties, `${name} gives ${key}, which is in no schema`);
            called.add(name);
            return value;
        };
        await writing(checked);
        const mined = await checked('mine', { path: files('notes', 3), wing: 'mined' });
        assert.equal(mined.sources_mined, 3);
        assert.ok((await checked('status', {})).drawers >= 4);
        assert.deepEqual((await checked('wings', { wing: 'moved' })).rooms, [{ room: 'plans', drawers: 1 }]);
        assert.ok((await checked('wake_up', {})).drawers.length > 0);
        await checked('diary_write', { entry: 'A good day.' });
        const diary = await checked('diary_read', {});
        assert.deepEqual([diary.agent, diary.entries[0].text], ['typewriter', 'A good day.']);
        assert.deepEqual([...called].sort(), [...TOOLS].sort());
        const refused = await client.callTool({ name: 'get', arguments: { ids: ['nothing'] } });
        assert.ok(refused.isError);
        assert.equal(JSON.parse(refused.content[0].text).error.kind, 'not_found');
        await assert.rejects(client.callTool({ name: 'remember', arguments: {} }), { code: -32602 });
    });
}

async function writing(checked) {
    const text = 'We chose SQLite because it is one file. 一个文件';
    const { id, address, outcome } = await checked('add', { text, wing: 'work', room: 'plans', said_at: '2026-05-01' });
    assert.equal(outcome, 'added');
    const [hit] = (await checked('search', { query: 'why SQLite', wing: 'work' })).hits;
    assert.deepEqual([hit.id, hit.address, hit.text, hit.speaker, hit.trust], [id, address, text, 'typewriter', 'agent']);
    assert.equal((await checked('get', { ids: [address] })).drawers[0].text, text);
    assert.equal((await checked('list', { wing: 'work' })).total, 1);
    assert.equal((await checked('check_duplicate', { text })).matches[0].id, id);
    assert.equal((await checked('update', { id, text: `${text} Really.` })).updated, true);
    assert.equal((await checked('move', { ids: [id], to_wing: 'moved' })).moved, 1);
    const spare = await checked('add', { text: 'To be removed.' });
    assert.equal((await checked('delete', { ids: [spare.id] })).deleted, 1);
}

async function resources_and_prompts_are_listed_and_read() {
    await connected(async client => {
        const text = 'Tomatoes are planted in May. 番茄';
        const { address } = await call(client, 'add', { text, wing: 'garden', room: 'beds' });
        const uris = (await client.listResources()).resources.map(resource => resource.uri);
        assert.deepEqual(uris, ['palace://garden', 'palace://garden/beds']);
        assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 3);
        for (const uri of [...uris, address]) {
            const { contents } = await client.readResource({ uri });
            assert.deepEqual([contents.length, contents[0].uri], [1, uri]);
            assert.ok(contents[0].text.length > 0);
            if (uri === address) assert.equal(contents[0].text, text);
        }
        await assert.rejects(client.readResource({ uri: 'palace://attic' }), McpError);
        const { prompts } = await client.listPrompts();
        assert.deepEqual(prompts.map(prompt => prompt.name), ['recall', 'save', 'end_of_task']);
        for (const prompt of prompts) {
            const filled = await client.getPrompt({ name: prompt.name, arguments: { [prompt.arguments[0].name]: 'tomatoes' } });
            assert.match(filled.messages[0].content.text, /tomatoes/);
        }
        await assert.rejects(client.getPrompt({ name: 'recall' }), { code: -32602 });
    });
}

async function a_mine_says_how_far_it_is() {
    await connected(async client => {
        const heard = [];
        const options = { onprogress: step => heard.push(step), resetTimeoutOnProgress: true };
        const mined = await call(client, 'mine', { path: files('many', 120) }, options);
        assert.equal(mined.sources_mined, 120);
        assert.ok(heard.length > 1, JSON.stringify(heard));
        for (let n = 1; n < heard.length; n++) assert.ok(heard[n].progress > heard[n - 1].progress, JSON.stringify(heard));
        assert.ok(heard.every(step => step.total === 120 && step.message.includes('sources')));
    });
}

async function a_cancelled_mine_stops() {
    await connected(async client => {
        const path = files('more', 5_000);
        const abort = new AbortController();
        const onprogress = step => { if (!step.message.endsWith(' 0 drawers added')) abort.abort('enough'); };
        await assert.rejects(call(client, 'mine', { path, wing: 'cancelled' }, { signal: abort.signal, onprogress }), /enough/);
        let before = -1, now = 0;
        while (before !== now) {
            before = now;
            await new Promise(resolve => setTimeout(resolve, 1_000));
            now = (await call(client, 'list', { wing: 'cancelled', limit: 1 })).total;
        }
        console.log(`${now} drawers were filed before it stopped`);
        assert.ok(now > 0 && now < 5_000, `${now} drawers`);
    });
}

async function http_speaks_the_same() {
    const token = join(folder, 'token');
    const args = ['--json', 'mcp', '--http', '0', '--token-file', token, '--palace', join(folder, 'palace')];
    const server = spawn(loci, args, { env: { HOME: folder }, stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(server.stdout, 'data');
    const url = new URL(`http://${JSON.parse(line).address}/mcp`);
    const headers = { Authorization: `Bearer ${readFileSync(token, 'utf8').trim()}` };
    const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
    const client = new Client({ name: 'typewriter', version: '1' });
    await client.connect(transport, PATIENT);
    assert.deepEqual(await names(client), TOOLS);
    const filed = await call(client, 'add', { text: 'The ship leaves at dawn.', wing: 'harbour' });
    const found = await call(client, 'search', { query: 'when does the ship leave?' });
    assert.deepEqual(found.hits.map(hit => hit.id), [filed.id]);
    const progress = [];
    const path = files('over-http', 50);
    const mined = await call(client, 'mine', { path }, { onprogress: word => progress.push(word) });
    assert.equal(mined.sources_mined, 50);
    assert.ok(progress.length > 0);
    await transport.terminateSession();
    await client.close();
    server.kill('SIGTERM');
    const [code] = await once(server, 'exit');
    assert.equal(code, 0);
}

const cases = {
    every_revision_is_agreed_on,
    every_tool_gives_what_its_schema_says,
    resources_and_prompts_are_listed_and_read,
    a_mine_says_how_far_it_is,
    a_cancelled_mine_stops,
    http_speaks_the_same,
};
await cases[chosen]();
