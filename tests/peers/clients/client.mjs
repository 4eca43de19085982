// An agent on the TypeScript SDK: client.mjs URL PREFIX v1|v2-legacy|v2-auto, in the folder of its
// packages. It prints what it saw.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [url, prefix, mode] = process.argv.slice(2);
const v1 = mode === 'v1';
const here = createRequire(join(process.cwd(), 'package.json'));
const load = (name) => import(pathToFileURL(here.resolve(name)).href);
const { Client } = await load(v1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StreamableHTTPClientTransport } = await load(
  v1 ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client',
);

const options = mode === 'v2-auto' ? { versionNegotiation: { mode: 'auto' } } : {};
const client = new Client({ name: 'tests', version: '1.0.0' }, options);
const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);

const tools = [];
let cursor;
do {
  const page = await client.listTools(cursor === undefined ? undefined : { cursor });
  tools.push(...page.tools.map((tool) => tool.name));
  cursor = page.nextCursor;
} while (cursor !== undefined);

const call = (name, args, more) => {
  const asked = { name: prefix + name, arguments: args };
  return v1 ? client.callTool(asked, undefined, more) : client.callTool(asked, more);
};
let steps = 0;
const sum = (await call('add', { a: 2, b: 3 })).content[0].text;
const failing = await call('test_error_handling', {});
await call('test_tool_with_progress', {}, { onprogress: () => steps++ });
const era = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
await client.close();
console.log(JSON.stringify({ era, tools, sum, isError: failing.isError === true, steps }));
process.exit(0);
