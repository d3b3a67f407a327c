// TypeScript's client: node call_tool.mjs URL TOKEN TOOL ARGUMENTS. Prints the revision that was
// agreed on, the names of the tools, and the first text of the answer.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, token, tool, args] = process.argv.slice(2);
const client = new Client({ name: 'typescript', version: '1.0.0' });
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
await client.connect(transport);
const { tools } = await client.listTools();
const result = await client.callTool({ name: tool, arguments: JSON.parse(args) });
console.log(JSON.stringify({ tools: tools.map((one) => one.name), text: result.content[0].text, isError: result.isError ?? false }));
await client.close();
