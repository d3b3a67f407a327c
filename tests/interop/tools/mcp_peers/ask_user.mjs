// TypeScript's client with a user to ask: node ask_user.mjs URL TOKEN TOOL ARGUMENTS yes|no. Prints each question as the
// client gets it, what its user answers, and the answer of the call.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, token, tool, args, word] = process.argv.slice(2);
const client = new Client({ name: 'typescript', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } });
const asked = [];
client.setRequestHandler('elicitation/create', ({ params }) => {
  asked.push({ message: params.message, form: params.requestedSchema });
  return { action: 'accept', content: { approve: word === 'yes' } };
});
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
await client.connect(transport);
const result = await client.callTool({ name: tool, arguments: JSON.parse(args) });
console.log(JSON.stringify({ asked, text: result.content[0].text, isError: result.isError ?? false }));
await client.close();
