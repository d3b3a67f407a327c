#include "toolserver/mcp_login/token_endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/core/text.h"
#include "base/crypto/encoding.h"
#include "base/crypto/signing_key.h"
#include "base/jose/jwt.h"

namespace tool::login {
namespace {

namespace http = base::http;
namespace jose = base::jose;
namespace json = base::json;
using base::ErrorKind;
using base::fail;

constexpr std::chrono::seconds kAssertionTime{60};
constexpr std::string_view kAssertionType =
    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

std::string form_encode(std::string_view text) {
  return base::percent_encode(text, base::Slash::kEncode);
}

bool takes(const ServerMetadata& server, ClientAuth method) {
  return std::ranges::find(server.client_auths, method) != server.client_auths.end();
}

base::Error refusal(const http::Response& response) {
  std::string code = read_error_code(response.body.view());
  return fail(ErrorKind::kUnauthenticated,
              fmt::format("the authorisation server refuses ({}, status {})",
                          code.empty() ? "no code" : code, response.status));
}

// By the key's kind and what the server takes: nobody has to configure what could only
// contradict the key.
base::Result<jose::Algorithm> algorithm_of(base::crypto::KeyType type,
                                           const std::vector<std::string>& taken) {
  using jose::Algorithm;
  std::vector<Algorithm> fitting{Algorithm::kRs256, Algorithm::kPs256};
  if (type == base::crypto::KeyType::kEd25519) fitting = {Algorithm::kEdDsa};
  if (type == base::crypto::KeyType::kP256) fitting = {Algorithm::kEs256};
  if (taken.empty()) return fitting.front();
  for (Algorithm one : fitting) {
    if (std::ranges::find(taken, jose::name(one)) != taken.end()) return one;
  }
  return fail(ErrorKind::kUnsupported,
              fmt::format("the authorisation server does not take {}, which the client's private "
                          "key signs with",
                          jose::name(fitting.front())));
}

// Source: RFC 7523, section 3; the issuer is the audience, since a token
// endpoint's address could be another server's.
base::Result<std::string> assertion(const Client& client, const std::string& issuer,
                                    base::WallTime now, base::Random& random) {
  auto key = base::crypto::SigningKey::from_pem(client.private_key.reveal(),
                                                base::crypto::P256::kAccepted);
  if (!key) return fail(ErrorKind::kInvalid, "the client's private key cannot be used");
  ASSIGN_OR_RETURN(auto algorithm, algorithm_of(key->type(), client.algorithms));
  ASSIGN_OR_RETURN(auto signer, jose::Signer::with_key(algorithm, std::move(*key)));
  json::Object claims{{"iss", client.id},
                      {"sub", client.id},
                      {"aud", issuer},
                      {"jti", random_text(random, 16)},
                      {"iat", jose::numeric_date(now)},
                      {"exp", jose::numeric_date(now + kAssertionTime)}};
  return jose::sign(signer, "JWT", claims);
}

}  // namespace

base::Task<base::Result<http::Response>> MetadataClient::get(std::string url) const {
  http::ClientRequest request;
  request.headers.add("Accept", "application/json");
  co_return co_await send(std::move(url), std::move(request));
}

base::Task<base::Result<http::Response>> MetadataClient::post(std::string url,
                                                              http::Headers headers,
                                                              std::string body) const {
  http::ClientRequest request;
  request.method = http::Method::kPost;
  request.headers = std::move(headers);
  request.headers.add("Accept", "application/json");
  request.body = http::Body(std::move(body));
  co_return co_await send(std::move(url), std::move(request));
}

base::Task<base::Result<http::Response>> MetadataClient::send(std::string url,
                                                              http::ClientRequest request) const {
  CO_ASSIGN_OR_RETURN(auto address, Address::parse(url));
  CO_RETURN_IF_ERROR(policy_.check(address));
  http::ClientOptions options;
  options.connections = 1;
  options.header_bytes = 16 << 10;
  options.body_bytes = kDocumentBytes;
  options.connect_time = kTime;
  options.response_time = kTime;
  options.ca_file = ca_file_;
  options.may_connect = policy_.filter(address);
  auto client = http::Client::create(address.origin, options);
  request.target = address.target;
  base::RequestContext context;
  context.deadline = std::min(std::chrono::steady_clock::now() + kTime, until_);
  auto answer = co_await client->send(context, std::move(request));
  if (!answer) {
    co_return fail(answer.error().kind(),
                   fmt::format("{}: {}", address.origin_text(), answer.error().message()));
  }
  co_return std::move(*answer);
}

Form& Form::add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  if (!text_.empty()) text_ += '&';
  text_ += fmt::format("{}={}", name, form_encode(value));
  return *this;
}

base::Result<ClientAuth> choose_auth(const ServerMetadata& server, bool has_secret, bool has_key) {
  if (has_key && takes(server, ClientAuth::kPrivateKeyJwt)) return ClientAuth::kPrivateKeyJwt;
  if (has_secret && takes(server, ClientAuth::kBasic)) return ClientAuth::kBasic;
  if (has_secret && takes(server, ClientAuth::kPost)) return ClientAuth::kPost;
  if (!has_secret && !has_key) return ClientAuth::kNone;
  return fail(ErrorKind::kUnsupported,
              "the authorisation server takes no credentials of the kind that this client has");
}

base::Result<TokenRequest> authenticate(Form form, const Client& client, const std::string& issuer,
                                        base::WallTime now, base::Random& random) {
  TokenRequest out;
  out.headers.add("Content-Type", "application/x-www-form-urlencoded");
  switch (client.auth) {
    case ClientAuth::kNone: form.add("client_id", client.id); break;
    case ClientAuth::kBasic:
      // Source: RFC 6749, section 2.3.1.
      out.headers.add("Authorization",
                      "Basic " + base::crypto::to_base64(form_encode(client.id) + ':' +
                                                         form_encode(client.secret.reveal())));
      break;
    case ClientAuth::kPost:
      form.add("client_id", client.id).add("client_secret", client.secret.reveal());
      break;
    case ClientAuth::kPrivateKeyJwt: {
      ASSIGN_OR_RETURN(auto token, assertion(client, issuer, now, random));
      form.add("client_id", client.id)
          .add("client_assertion_type", kAssertionType)
          .add("client_assertion", token);
      break;
    }
  }
  out.body = form.text();
  return out;
}

base::Task<base::Result<Tokens>> request_tokens(MetadataClient http, std::string url,
                                                TokenRequest request) {
  auto answer =
      co_await http.post(std::move(url), std::move(request.headers), std::move(request.body));
  if (!answer) co_return std::move(answer).error();
  if (answer->status >= 400 && answer->status < 500) co_return refusal(*answer);
  if (answer->status != 200) {
    co_return fail(ErrorKind::kUnavailable,
                   fmt::format("the token endpoint answers with status {}", answer->status));
  }
  co_return read_tokens(answer->body.view());
}

base::Task<base::Result<Registration>> register_client(MetadataClient http, ServerMetadata server,
                                                       std::string redirect_uri) {
  // A client that everybody can read keeps no secret; some servers insist.
  ClientAuth auth = ClientAuth::kBasic;
  if (takes(server, ClientAuth::kPost)) auth = ClientAuth::kPost;
  if (takes(server, ClientAuth::kBasic)) auth = ClientAuth::kBasic;
  if (takes(server, ClientAuth::kNone)) auth = ClientAuth::kNone;
  json::Object body{{"client_name", "securetool"},
                    {"application_type", "native"},
                    {"redirect_uris", json::Array{json::Value(redirect_uri)}},
                    {"grant_types", json::Array{"authorization_code", "refresh_token"}},
                    {"response_types", json::Array{"code"}},
                    {"token_endpoint_auth_method", boost::json::string(name(auth))}};
  http::Headers headers;
  headers.add("Content-Type", "application/json");
  std::string text = json::write(body);
  auto answer =
      co_await http.post(server.registration_endpoint, std::move(headers), std::move(text));
  if (!answer) co_return std::move(answer).error();
  if (answer->status >= 400 && answer->status < 500) co_return refusal(*answer);
  if (answer->status != 201 && answer->status != 200) {
    co_return fail(ErrorKind::kUnavailable,
                   fmt::format("the registration answers with status {}", answer->status));
  }
  auto registration = read_registration(answer->body.view());
  if (registration && !registration->auth) registration->auth = auth;
  bool lacks_secret = registration && *registration->auth != ClientAuth::kNone &&
                      registration->client_secret.empty();
  if (lacks_secret || (registration && registration->auth == ClientAuth::kPrivateKeyJwt)) {
    co_return fail(ErrorKind::kInvalid, "the registration gives a client that cannot show itself");
  }
  co_return registration;
}

std::string random_text(base::Random& random, std::size_t bytes) {
  std::string out(bytes, '\0');
  random.fill(std::as_writable_bytes(std::span(out)));
  return base::crypto::to_base64url(out);
}

}  // namespace tool::login
