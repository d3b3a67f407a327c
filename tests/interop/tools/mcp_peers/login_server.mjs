// An MCP server that asks for a login, and the authorisation server that gives it:
// oidc-provider, with registration of clients, PKCE, resource indicators and rotated
// refresh tokens. Whoever opens its address is "ann" and agrees to everything.
//   login_server.mjs PORT [KEY]...
// Each KEY is a file NAME.pub with a public key in PEM, of a client NAME that signs with it.
// GET /revoke ends every access token that was given until then.
import { createPublicKey } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import Provider, { errors } from 'oidc-provider';

const origin = `http://127.0.0.1:${process.argv[2]}`;
const resource = `${origin}/mcp`;
let refused = new Set();
let given = new Set();

const provider = new Provider(origin, {
  clients: [{
    client_id: 'service', client_secret: 'service-secret', grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
    token_endpoint_auth_method: 'client_secret_basic',
  }, ...process.argv.slice(3).map((file) => ({
    client_id: path.basename(file, '.pub'), grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
    token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [createPublicKey(fs.readFileSync(file)).export({ format: 'jwk' })] },
  }))],
  scopes: ['openid', 'offline_access', 'notes:read', 'notes:write'],
  clientDefaults: { id_token_signed_response_alg: 'RS256' },
  rotateRefreshToken: true,
  issueRefreshToken: async (ctx, client) => client.grantTypeAllowed('refresh_token'),
  pkce: { required: () => true },
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, indicator) => {
        if (indicator !== resource) throw new errors.InvalidTarget();
        return { scope: 'notes:read notes:write', audience: resource, accessTokenTTL: 600, accessTokenFormat: 'opaque' };
      },
    },
  },
  findAccount: (ctx, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
});
provider.on('access_token.saved', (token) => given.add(token.jti));
provider.on('client_credentials.saved', (token) => given.add(token.jti));

async function interact(request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'ann' } }, { mergeWithLastSubmission: false });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  if (prompt.details.missingOIDCScope) grant.addOIDCScope(prompt.details.missingOIDCScope.join(' '));
  for (const [indicator, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
    grant.addResourceScope(indicator, scopes.join(' '));
  }
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}

// The scopes of a token that is for this server, or nothing.
async function scopes_of(request) {
  const value = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (!value) return null;
  const token = (await provider.AccessToken.find(value)) ?? (await provider.ClientCredentials.find(value));
  if (!token || refused.has(token.jti) || ![token.aud].flat().includes(resource)) return null;
  return (token.scope ?? '').split(' ');
}

const TOOLS = ['read_note', 'write_note'].map((name) => ({ name, description: name, inputSchema: { type: 'object', properties: {} } }));

function answer(message) {
  const of = (result) => ({ jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', ...result } });
  if (message.method === 'server/discover') {
    return of({ ttlMs: 0, cacheScope: 'private', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });
  }
  if (message.method === 'tools/list') return of({ ttlMs: 0, cacheScope: 'private', tools: TOOLS });
  return of({ content: [{ type: 'text', text: `done: ${message.params.name}` }] });
}

async function serve(request, response) {
  let text = '';
  for await (const part of request) text += part;
  const message = JSON.parse(text);
  const scopes = await scopes_of(request);
  const needs = message.params?.name === 'write_note' ? 'notes:write' : 'notes:read';
  if (!scopes?.includes(needs)) {
    const error = scopes ? ', error="insufficient_scope"' : '';
    response.writeHead(scopes ? 403 : 401, {
      'WWW-Authenticate': `Bearer scope="${needs}", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"${error}`,
    });
    return response.end();
  }
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(answer(message)));
}

const oidc = provider.callback();
http.createServer((request, response) => {
  const place = request.url.split('?')[0];
  const failed = (error) => { console.error(error); response.writeHead(500).end(); };
  if (place === '/mcp' && request.method === 'POST') return serve(request, response).catch(failed);
  if (place === '/mcp') return response.writeHead(405).end();
  if (place === '/revoke') {
    refused = given;
    given = new Set();
    return response.writeHead(204).end();
  }
  if (place === '/.well-known/oauth-protected-resource/mcp') {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    return response.end(JSON.stringify({ resource, authorization_servers: [origin], scopes_supported: ['notes:read'] }));
  }
  if (place.startsWith('/interaction/')) return interact(request, response).catch(failed);
  return oidc(request, response);
}).listen(Number(process.argv[2]), '127.0.0.1');
