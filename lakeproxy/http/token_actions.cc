// POST /v1/oauth/tokens. Without configured clients nobody can get a token, and nobody needs one:
// clients that ask are told so, and go on without.
// Sources: RFC 6749, sections 2.3.1, 4.4 and 5; Iceberg REST description, "getToken".

#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

namespace json = base::json;
using Form = std::map<std::string, std::string, std::less<>>;

base::Error bad_request(base::Error error) {
  return std::move(error).with_reason(auth::kInvalidRequest);
}

std::string take(Form& form, std::string_view name) {
  auto field = form.find(name);
  return field == form.end() ? std::string() : std::move(field->second);
}

// By HTTP Basic or by fields, never by both.
base::Result<auth::ShownClient> client_of(const Call& call, Form& form) {
  ASSIGN_OR_RETURN(auto basic, auth::basic_of(call.request->headers));
  const bool has_fields = form.contains("client_id") || form.contains("client_secret");
  if (basic && form.contains("client_secret")) {
    return base::fail(base::ErrorKind::kInvalid, "body: the client is named twice");
  }
  if (basic) return std::move(*basic);
  if (has_fields) {
    return auth::ShownClient{.id = take(form, "client_id"),
                             .secret = base::Secret(take(form, "client_secret"))};
  }
  return auth::ShownClient{};
}

base::Result<auth::TokenRequest> token_request_of(const Call& call) {
  ASSIGN_OR_RETURN(auto form, form_of(call));
  auth::TokenRequest request;
  request.grant_type = take(form, "grant_type");
  if (request.grant_type.empty()) {
    return base::fail(base::ErrorKind::kInvalid, "grant_type: is required");
  }
  request.scope = take(form, "scope");
  if (form.contains("actor_token")) request.actor_token = base::Secret(take(form, "actor_token"));
  request.actor_token_type = take(form, "actor_token_type");
  request.subject_token = base::Secret(take(form, "subject_token"));
  request.subject_token_type = take(form, "subject_token_type");
  ASSIGN_OR_RETURN(request.client, client_of(call, form));
  return request;
}

// What came in may be anything, also a secret in the wrong field: only names that are ours are
// written.
void note_refusal(RequestContext context, Call& call, const std::string& client,
                  std::string_view reason) {
  const bool known = call.services->tokens->knows(client);
  const std::string shown = known ? client : "unknown";
  call.services->home->log->for_request(context.request_id)
      .warning("token refused",
               {{"client", shown}, {"reason", reason}, {"peer", call.request->peer}});
  call.refused = audit::AuditRecord{.operation = "token_refused", .decision = "denied"};
  call.refused->object = shown + ": " + std::string(reason);
}

// Returns once it is stored: nobody has a token that the trail does not know of.
base::Task<base::Status> audit_issued(RequestContext context, Call* call,
                                      const auth::IssuedToken* token, std::string grant_type) {
  audit::AuditTrail* trail = call->services->home->audit;
  if (trail == nullptr) co_return base::Status{};
  auto record = audit::record_of(token->principal, "token_issued", token->client, "allowed");
  record.detail = json::write(json::Object{{"grant_type", grant_type},
                                           {"scope", token->scopes.text()},
                                           {"token_id", token->id},
                                           {"peer", call->request->peer}});
  co_return co_await trail->write(context, std::move(record));
}

// A client that guesses waits; whether there is such a one makes no difference.
std::optional<base::http::Response> blocked(RequestContext context, Call& call,
                                            const auth::TokenRequest& asked) {
  auth::GuessLimits* limits = call.services->guesses;
  if (limits == nullptr || asked.client.id.empty()) return std::nullopt;
  const auto wait =
      limits->blocked(asked.client.id, call.request->peer, std::chrono::steady_clock::now());
  if (!wait) return std::nullopt;
  note_refusal(context, call, asked.client.id, "too_many_guesses");
  return too_many(*wait, "Too many wrong secrets.");
}

void count_guess(const Call& call, const std::string& client, const base::Error& error) {
  auth::GuessLimits* limits = call.services->guesses;
  if (limits == nullptr || error.reason() != auth::kInvalidClient) return;
  limits->count_wrong(client, call.request->peer, std::chrono::steady_clock::now());
}

json::Value answer_of(const auth::IssuedToken& token, std::chrono::seconds time_left) {
  return json::Object{
      {"access_token", token.value.reveal()},
      {"token_type", "bearer"},
      {"expires_in", time_left.count()},
      {"issued_token_type", "urn:ietf:params:oauth:token-type:access_token"},
      {"scope", token.scopes.text()},
  };
}

}  // namespace

base::Result<AskToken> ask_token_of(const Call& call) {
  auto request = token_request_of(call);
  if (!request) return bad_request(std::move(request).error());
  return AskToken{std::move(*request)};
}

ActionResult ask_token(RequestContext context, Call* call, Authorized<AskToken> request) {
  auth::TokenGrants* tokens = call->services->tokens;
  if (tokens == nullptr) {
    co_return base::fail(base::ErrorKind::kNotFound,
                         "No clients are configured: this server is open and gives no tokens.");
  }
  const auth::TokenRequest& asked = request->request;
  if (auto response = blocked(context, *call, asked)) co_return std::move(*response);
  const auth::VerifyToken& verify = call->services->verify_token;
  auto token = co_await tokens->grant(context, asked, verify ? &verify : nullptr);
  if (!token) {
    count_guess(*call, asked.client.id, token.error());
    note_refusal(context, *call, asked.client.id, token.error().reason());
    co_return std::move(token).error();
  }
  CO_RETURN_IF_ERROR(co_await audit_issued(context, call, &*token, asked.grant_type));
  call->services->home->log->for_request(context.request_id)
      .info("token issued", {{"client", token->client},
                             {"grant_type", request->request.grant_type},
                             {"scope", token->scopes.text()},
                             {"subject", token->principal.subject},
                             {"actor", token->principal.actor},
                             {"token_id", token->id},
                             {"peer", call->request->peer}});
  auto response = json_response(200, answer_of(*token, tokens->time_left(*token)));
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("Pragma", "no-cache");
  co_return response;
}

}  // namespace lake::http
