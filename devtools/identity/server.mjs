// An OAuth 2.0 provider with client credentials, RS256 or ES256 access tokens and JWKS:
//   node server.mjs FOLDER
// FOLDER holds key.pem and certificate.pem for TLS and config.json:
//   {"port", "issuer", "audience", "lifetime", "algorithm", "keys": [JWK, ...], "claims": {client_id: {...}},
//    "clients": [{"client_id", "client_secret", "scope"}]}
// The first key signs. Started again with other keys, it has rotated them.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { Provider } from 'oidc-provider';

const folder = process.argv[2];
const read = (name) => readFileSync(`${folder}/${name}`);
const { port, issuer, audience, lifetime, algorithm, keys, claims, clients } = JSON.parse(read('config.json'));
const scopes = [...new Set(clients.flatMap((client) => client.scope.split(' ')))];

const provider = new Provider(issuer, {
  clients: clients.map((client) => ({
    ...client,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: 'client_secret_basic',
    id_token_signed_response_alg: algorithm,
  })),
  jwks: { keys },
  extraTokenClaims: (context, token) => claims[token.clientId],
  scopes,
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: scopes.join(' '),
        audience,
        accessTokenTTL: lifetime,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: algorithm } },
      }),
    },
  },
});
createServer({ key: read('key.pem'), cert: read('certificate.pem') }, provider.callback())
  .listen(port, '127.0.0.1', () => console.log('ready'));
