#include "toolserver/mcp_login/login.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/http/message.h"
#include "base/jose/shared_call.h"

namespace tool::login {
namespace {

using base::Error;
using base::ErrorKind;
using base::fail;
using base::Result;
using base::Secret;
using base::Task;

constexpr std::string_view kOffline = "offline_access";
constexpr std::size_t kCodeBytes = 4096;
// Of all requests of one renewal in which no person takes part.
constexpr std::chrono::seconds kRenewalTime{30};

// Who issues tokens for the server, and what for.
struct Place {
  ResourceMetadata resource;
  ServerMetadata server;
};

Fault fault_of(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::kUnauthenticated:
    case ErrorKind::kUnavailable:
    case ErrorKind::kTimeout:
    case ErrorKind::kOutcomeUnknown: {
      Fault fault = refuse(Code::kBusy, "the tool's server asks for a login that is not there");
      fault.detail = error.message();
      return fault;
    }
    default: {
      Fault fault = refuse(Code::kPolicy, "the login that the tool's server asks for is refused");
      fault.detail = error.message();
      return fault;
    }
  }
}

bool is_refusal(const Error& error) { return error.kind() == ErrorKind::kUnauthenticated; }

std::string s256(std::string_view verifier) {
  auto digest = base::crypto::sha256(verifier);
  return base::crypto::to_base64url(base::crypto::view(digest));
}

}  // namespace

bool is_challenge(unsigned status, std::string_view challenge) {
  if (status == 401) return true;
  auto read = read_challenge(challenge);
  return status == 403 && read && read->error == "insufficient_scope";
}

Result<std::string> read_redirect(std::string_view target, const std::string& state,
                                  const ServerMetadata& server) {
  std::map<std::string, std::string> parameters;
  std::size_t query = std::min(target.find('?'), target.size());
  std::string_view rest = target.substr(std::min(query + 1, target.size()));
  while (!rest.empty()) {
    std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = base::http::decode_form(pair.substr(0, equals));
    auto value = base::http::decode_form(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value || !parameters.emplace(std::move(*name), std::move(*value)).second) {
      return fail(ErrorKind::kInvalid, "the redirect: a parameter is broken or comes twice");
    }
  }
  if (state.empty() || !base::crypto::equal(parameters["state"], state)) {
    return fail(ErrorKind::kInvalid, "the redirect: state is not the one that was sent");
  }
  auto issuer = parameters.find("iss");
  // Source: RFC 9207, section 2.4: compared as it is, before anything is acted on.
  bool is_right =
      issuer == parameters.end() ? !server.sends_issuer : issuer->second == server.issuer;
  if (!is_right) {
    return fail(ErrorKind::kForbidden, "the redirect: iss is not the authorisation server");
  }
  if (parameters.contains("error")) {
    std::string code = read_error_code(R"({"error":")" + parameters["error"] + "\"}");
    return fail(ErrorKind::kUnauthenticated,
                fmt::format("the authorisation server refuses ({})", code.empty() ? "?" : code));
  }
  std::string& code = parameters["code"];
  if (code.empty() || code.size() > kCodeBytes) {
    return fail(ErrorKind::kInvalid, "the redirect: there is no code");
  }
  return std::move(code);
}

struct Login::State : std::enable_shared_from_this<State> {
  State(LoginOptions o, LoginParts p, Address at)
      : options(std::move(o)),
        parts(std::move(p)),
        server(std::move(at)),
        http(AddressPolicy(server, options.networks), options.ca_file),
        call(parts.loop) {}

  LoginOptions options;
  LoginParts parts;
  Address server;
  MetadataClient http;
  base::jose::SharedCall call;
  StoredLogin login;
  std::optional<Fault> fault;  // Of the last renewal.

  [[nodiscard]] bool has_token() const {
    bool is_over = login.expires_at != base::WallTime{} && parts.clock.now() >= login.expires_at;
    return !login.access.empty() && !is_over;
  }

  Task<base::Status> load();
  Task<base::Status> save();
  Task<void> renew_shared(Refusal refusal);
  Task<base::Status> renew_once(Refusal refusal);
  Task<Result<Place>> discover(std::optional<Challenge> challenge);
  Task<Result<ResourceMetadata>> find_resource(std::optional<Challenge> challenge);
  Task<Result<ServerMetadata>> find_server(std::string issuer);
  [[nodiscard]] Scopes scopes_for(const Place& place, const std::optional<Challenge>& challenge,
                                  bool is_step_up) const;
  Task<Result<Client>> client_at(std::shared_ptr<const Place> place);
  Task<Result<Tokens>> exchange(std::shared_ptr<const Place> place, Client client, Form form);
  Task<Result<Tokens>> refresh(std::shared_ptr<const Place> place);
  Task<Result<Tokens>> sign_in(std::shared_ptr<const Place> place, Scopes scopes);
  Task<base::Status> keep(Tokens tokens, Scopes requested);
};

// What the file holds for this server; a file of another server's is none.
Task<base::Status> Login::State::load() {
  if (!parts.store) co_return base::Status();
  auto stored = co_await parts.pool.run([store = *parts.store] { return store.read(); });
  if (!stored) co_return std::move(stored).error();
  bool is_ours = *stored && (*stored)->server_url == options.server_url &&
                 (options.issuer.empty() || (*stored)->issuer == options.issuer);
  login = is_ours ? std::move(**stored) : StoredLogin{};
  login.server_url = options.server_url;
  if (options.ask_anew) {
    login.access = {};
    login.refresh = {};
  }
  co_return base::Status();
}

Task<base::Status> Login::State::save() {
  if (!parts.store) co_return base::Status();
  co_return co_await parts.pool.run(
      [store = *parts.store, copy = login] { return store.write(copy); });
}

Task<Result<ResourceMetadata>> Login::State::find_resource(std::optional<Challenge> challenge) {
  std::vector<std::string> urls = resource_metadata_urls(server);
  if (challenge && !challenge->resource_metadata.empty()) urls = {challenge->resource_metadata};
  for (const auto& url : urls) {
    auto answer = co_await http.get(url);
    if (!answer) co_return std::move(answer).error();
    if (answer->status == 200) co_return read_resource_metadata(answer->body.view(), server);
  }
  co_return fail(ErrorKind::kUnavailable, "the server has no metadata of a protected resource");
}

Task<Result<ServerMetadata>> Login::State::find_server(std::string issuer) {
  CO_ASSIGN_OR_RETURN(auto urls, server_metadata_urls(issuer));
  for (const auto& url : urls) {
    auto answer = co_await http.get(url);
    if (!answer) co_return std::move(answer).error();
    if (answer->status == 200) co_return read_server_metadata(answer->body.view(), issuer);
  }
  co_return fail(ErrorKind::kUnavailable, "the authorisation server has no metadata");
}

Task<Result<Place>> Login::State::discover(std::optional<Challenge> challenge) {
  Place place;
  CO_ASSIGN_OR_RETURN(place.resource, co_await find_resource(std::move(challenge)));
  std::string issuer = place.resource.issuers.front();
  if (!options.issuer.empty()) {
    const auto& named = place.resource.issuers;
    if (std::ranges::find(named, options.issuer) == named.end()) {
      co_return fail(ErrorKind::kForbidden,
                     "the server names other authorisation servers than login.issuer");
    }
    issuer = options.issuer;
  }
  CO_ASSIGN_OR_RETURN(place.server, co_await find_server(std::move(issuer)));
  co_return place;
}

// Source: MCP 2026-07-28, "Scope Selection Strategy", "Refresh Tokens".
Scopes Login::State::scopes_for(const Place& place, const std::optional<Challenge>& challenge,
                                bool is_step_up) const {
  Scopes out;
  if (challenge && !challenge->scope.empty()) {
    out = challenge->scope;
  } else if (!is_step_up && place.resource.scopes) {
    out = *place.resource.scopes;
  }
  add_scopes(out, options.scopes);
  add_scopes(out, login.requested);
  add_scopes(out, login.wanted);
  bool has_offline = std::ranges::find(place.server.scopes, kOffline) != place.server.scopes.end();
  if (has_offline && !out.empty() && options.grant == Grant::kAuthorizationCode) {
    add_scopes(out, {std::string(kOffline)});
  }
  return out;
}

// In the order of MCP 2026-07-28, "Client Registration".
Task<Result<Client>> Login::State::client_at(std::shared_ptr<const Place> place) {
  if (!options.client_id.empty()) {
    Client client{options.client_id, options.client_secret, options.private_key};
    CO_ASSIGN_OR_RETURN(client.auth, choose_auth(place->server, !client.secret.empty(),
                                                 !client.private_key.empty()));
    client.algorithms = place->server.assertion_algorithms;
    co_return client;
  }
  if (!options.client_url.empty() && place->server.takes_client_urls) {
    co_return Client{.id = options.client_url};
  }
  bool is_known = !login.client.client_id.empty() &&
                  (!parts.person || login.redirect_uri == parts.person->redirect_uri);
  if (!is_known) {
    if (!parts.person || place->server.registration_endpoint.empty()) {
      co_return fail(ErrorKind::kUnsupported,
                     "the authorisation server registers no clients: set login.client_id");
    }
    CO_ASSIGN_OR_RETURN(login.client,
                        co_await register_client(http, place->server, parts.person->redirect_uri));
    login.redirect_uri = parts.person->redirect_uri;
    // Another client has other tokens.
    login.refresh = {};
    CO_RETURN_IF_ERROR(co_await save());
  }
  co_return Client{.id = login.client.client_id,
                   .secret = login.client.client_secret,
                   .auth = login.client.auth.value_or(ClientAuth::kNone)};
}

Task<Result<Tokens>> Login::State::exchange(std::shared_ptr<const Place> place, Client client,
                                            Form form) {
  form.add("resource", place->resource.resource);
  CO_ASSIGN_OR_RETURN(auto request, authenticate(std::move(form), client, place->server.issuer,
                                                 parts.clock.now(), parts.random));
  std::string url = place->server.token_endpoint;
  co_return co_await request_tokens(http, std::move(url), std::move(request));
}

Task<Result<Tokens>> Login::State::refresh(std::shared_ptr<const Place> place) {
  CO_ASSIGN_OR_RETURN(auto client, co_await client_at(place));
  if (login.refresh.empty()) co_return fail(ErrorKind::kUnauthenticated, "there is no token");
  Form form;
  form.add("grant_type", "refresh_token").add("refresh_token", login.refresh.reveal());
  co_return co_await exchange(place, std::move(client), std::move(form));
}

Task<Result<Tokens>> Login::State::sign_in(std::shared_ptr<const Place> place, Scopes scopes) {
  if (!place->server.has_s256) {
    co_return fail(ErrorKind::kUnsupported,
                   "the authorisation server does not say that it has "
                   "PKCE by S256");
  }
  CO_ASSIGN_OR_RETURN(auto endpoint, Address::parse(place->server.authorization_endpoint));
  CO_RETURN_IF_ERROR(http.policy().check(endpoint));
  CO_ASSIGN_OR_RETURN(auto client, co_await client_at(place));
  std::string verifier = random_text(parts.random, 32);
  AuthorizationRequest request;
  request.state = random_text(parts.random, 32);
  Form form;
  form.add("response_type", "code")
      .add("client_id", client.id)
      .add("redirect_uri", parts.person->redirect_uri)
      .add("code_challenge", s256(verifier))
      .add("code_challenge_method", "S256")
      .add("state", request.state)
      .add("resource", place->resource.resource)
      .add("scope", write_scopes(scopes));
  request.url = place->server.authorization_endpoint;
  request.url += request.url.contains('?') ? "&" : "?";
  request.url += form.text();
  std::string state = request.state;
  CO_ASSIGN_OR_RETURN(auto target, co_await parts.person->sign_in(std::move(request)));
  CO_ASSIGN_OR_RETURN(auto code, read_redirect(target, state, place->server));
  Form grant;
  grant.add("grant_type", "authorization_code")
      .add("code", code)
      .add("redirect_uri", parts.person->redirect_uri)
      .add("code_verifier", verifier);
  co_return co_await exchange(place, std::move(client), std::move(grant));
}

Task<base::Status> Login::State::keep(Tokens tokens, Scopes requested) {
  login.access = std::move(tokens.access);
  login.expires_at = {};
  if (tokens.lifetime) login.expires_at = parts.clock.now() + *tokens.lifetime;
  // A refresh answer without a new one leaves the old one valid.
  if (!tokens.refresh.empty()) login.refresh = std::move(tokens.refresh);
  login.requested = std::move(requested);
  login.wanted.clear();
  options.ask_anew = false;
  co_return co_await save();
}

Task<base::Status> Login::State::renew_once(Refusal refusal) {
  CO_RETURN_IF_ERROR(co_await load());
  // Somebody has signed in meanwhile.
  if (has_token() && !login.access.equals(refusal.used.reveal())) co_return base::Status();
  auto challenge = read_challenge(refusal.challenge);
  CO_ASSIGN_OR_RETURN(auto found, co_await discover(challenge));
  auto place = std::make_shared<const Place>(std::move(found));
  if (login.issuer != place->server.issuer) {
    login = StoredLogin{};
    login.server_url = options.server_url;
    login.issuer = place->server.issuer;
  }
  bool is_step_up = refusal.status == 403 && !login.access.empty();
  if (is_step_up && challenge && has_scopes(login.requested, challenge->scope)) {
    co_return fail(ErrorKind::kForbidden,
                   "the server refuses a token that was asked for with the scope it wants");
  }
  Scopes scopes = scopes_for(*place, challenge, is_step_up);
  if (!is_step_up && !login.refresh.empty()) {
    auto tokens = co_await refresh(place);
    if (tokens) {
      auto requested = login.requested;
      co_return co_await keep(std::move(*tokens), std::move(requested));
    }
    if (!is_refusal(tokens.error())) co_return std::move(tokens).error();
    login.refresh = {};
  }
  if (options.grant == Grant::kClientCredentials) {
    CO_ASSIGN_OR_RETURN(auto client, co_await client_at(place));
    Form form;
    form.add("grant_type", "client_credentials").add("scope", write_scopes(scopes));
    CO_ASSIGN_OR_RETURN(auto tokens, co_await exchange(place, std::move(client), std::move(form)));
    co_return co_await keep(std::move(tokens), std::move(scopes));
  }
  if (parts.person) {
    CO_ASSIGN_OR_RETURN(auto tokens, co_await sign_in(place, scopes));
    co_return co_await keep(std::move(tokens), std::move(scopes));
  }
  if (is_step_up) {
    login.wanted = scopes;
  } else {
    login.access = {};
  }
  CO_RETURN_IF_ERROR(co_await save());
  co_return fail(is_step_up ? ErrorKind::kForbidden : ErrorKind::kUnauthenticated,
                 fmt::format("{}: securetool bridges login {}",
                             is_step_up ? "the server wants the scope " + write_scopes(scopes)
                                        : "somebody has to sign in",
                             options.bridge));
}

// What a library throws is a fault of this renewal.
Task<void> Login::State::renew_shared(Refusal refusal) {
  fault.reset();
  http.stop_at(parts.person ? base::Deadline::max()
                            : std::chrono::steady_clock::now() + kRenewalTime);
  try {
    auto renewed = co_await renew_once(std::move(refusal));
    if (!renewed) fault = fault_of(renewed.error());
  } catch (const std::exception& e) {
    fault = refuse(Code::kInternal, "internal error");
    fault->detail = e.what();
  }
}

Login::Login(std::shared_ptr<State> state) : state_(std::move(state)) {}
Login::~Login() = default;

Result<std::unique_ptr<Login>> Login::create(LoginOptions options, LoginParts parts) {
  ASSIGN_OR_RETURN(auto server, Address::parse(options.server_url));
  AddressPolicy policy(server, {});
  RETURN_IF_ERROR(policy.check(server));
  return std::unique_ptr<Login>(
      new Login(std::make_shared<State>(std::move(options), std::move(parts), std::move(server))));
}

Task<base::Status> Login::open() {
  auto state = state_;
  co_return co_await state->load();
}

Secret Login::token() const { return state_->has_token() ? state_->login.access : Secret(); }

Task<Outcome<void>> Login::renew(Refusal refusal, base::Deadline until) {
  auto state = state_;
  if (!state->call.running() && state->has_token() &&
      !state->login.access.equals(refusal.used.reveal())) {
    co_return Outcome<void>();
  }
  auto joined =
      co_await state->call.join(until, [state, refusal] { return state->renew_shared(refusal); });
  if (!joined) co_return to_fault(std::move(joined).error());
  if (state->fault) co_return *state->fault;
  co_return Outcome<void>();
}

Task<void> Login::wait() {
  auto state = state_;
  co_await state->call.wait();
}

}  // namespace tool::login
