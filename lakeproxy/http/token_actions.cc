// POST /v1/oauth/tokens. Without configured clients nobody can get a token, and nobody needs one:
// clients that ask are told so, and go on without.
// Sources: RFC 6749, sections 2.3.1, 4.4 and 5; Iceberg REST description, "getToken".

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
  if (form.contains("actor_token")) {
    return base::fail(base::ErrorKind::kInvalid, "actor_token: nobody acts for somebody else here");
  }
  request.subject_token = base::Secret(take(form, "subject_token"));
  request.subject_token_type = take(form, "subject_token_type");
  ASSIGN_OR_RETURN(request.client, client_of(call, form));
  return request;
}

// What came in may be anything, also a secret in the wrong field: only names that are ours are
// written.
void log_refusal(RequestContext context, const Call& call, const auth::TokenRequest& asked,
                 const base::Error& error) {
  const bool known = call.services->tokens->knows(asked.client.id);
  call.services->home->log->for_request(context.request_id)
      .warning("token refused", {{"client", known ? asked.client.id : "unknown"},
                                 {"reason", error.reason()},
                                 {"peer", call.request->peer}});
}

json::Value answer_of(const auth::IssuedToken& token, std::chrono::seconds lifetime) {
  return json::Object{
      {"access_token", token.value.reveal()},
      {"token_type", "bearer"},
      {"expires_in", lifetime.count()},
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
  auto token = co_await tokens->grant(context, request->request);
  if (!token) {
    log_refusal(context, *call, request->request, token.error());
    co_return std::move(token).error();
  }
  call->services->home->log->for_request(context.request_id)
      .info("token issued", {{"client", token->client},
                             {"grant_type", request->request.grant_type},
                             {"scope", token->scopes.text()},
                             {"token_id", token->id},
                             {"peer", call->request->peer}});
  auto response = json_response(200, answer_of(*token, tokens->lifetime()));
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("Pragma", "no-cache");
  co_return response;
}

}  // namespace lake::http
