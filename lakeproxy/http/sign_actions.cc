#include "base/core/text.h"
#include "base/json/fields.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

namespace json = base::json;
using delegation::SignRequest;

constexpr std::size_t kMostHeaders = 100;

// MultiValuedMap.
base::Result<base::http::Headers> headers_of(const json::Fields& request) {
  ASSIGN_OR_RETURN(json::Fields fields, request.object("headers"));
  const json::Object& members = request.find("headers")->as_object();
  if (members.size() > kMostHeaders) {
    return base::fail(base::ErrorKind::kTooLarge, "headers: too many");
  }
  base::http::Headers headers;
  for (const auto& member : members) {
    ASSIGN_OR_RETURN(auto values, fields.strings(member.key()));
    for (std::string& value : values) headers.add(std::string(member.key()), std::move(value));
  }
  return headers;
}

// Source: Iceberg REST description, "RemoteSignRequest".
base::Result<SignRequest> sign_request_of(const Call& call) {
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(body, ""));
  SignRequest request;
  // What is signed is of the store's own region, whatever the client calls it.
  RETURN_IF_ERROR(fields.string("region"));
  ASSIGN_OR_RETURN(request.uri, fields.string("uri"));
  ASSIGN_OR_RETURN(std::string method, fields.string("method"));
  request.method = base::http::parse_method(method);
  ASSIGN_OR_RETURN(request.headers, headers_of(fields));
  ASSIGN_OR_RETURN(request.body, fields.opt_string("body"));
  ASSIGN_OR_RETURN(auto provider, fields.opt_string("provider"));
  if (provider && *provider != "s3") {
    return base::fail(base::ErrorKind::kInvalid, "provider: must be s3");
  }
  return request;
}

// RemoteSignResult.
base::http::Response signed_response(const delegation::SignedRequest& answer) {
  std::string body = R"({"uri":)";
  json::append_quoted(body, answer.uri);
  body += R"(,"headers":{)";
  for (const auto& field : answer.headers.fields()) {
    if (!body.ends_with('{')) body += ',';
    json::append_quoted(body, field.name);
    body += ":[";
    json::append_quoted(body, field.value);
    body += ']';
  }
  auto response = json_response(200, base::http::Body(std::move(body) + "}}"));
  response.headers.add("Cache-Control", answer.reusable ? "private" : "no-cache");
  return response;
}

}  // namespace

base::Result<delegation::SignForTable> sign_for_table_of(const Call& call) {
  delegation::SignForTable sign;
  ASSIGN_OR_RETURN(sign.identifier, table_of(call));
  if (auto staged = call.request->query("staged")) {
    sign.staged = base::parse_uuid(*staged);
    if (!sign.staged) return base::fail(base::ErrorKind::kInvalid, "staged: must be a UUID");
  }
  ASSIGN_OR_RETURN(sign.request, sign_request_of(call));
  return sign;
}

ActionResult sign_for_table(RequestContext context, Call* call,
                            Authorized<delegation::SignForTable> request) {
  CO_ASSIGN_OR_RETURN(auto answer, co_await call->services->signer->sign(context, call->catalog(),
                                                                         std::move(request)));
  co_return signed_response(answer);
}

base::Result<delegation::SignByObject> sign_by_object_of(const Call& call) {
  ASSIGN_OR_RETURN(auto request, sign_request_of(call));
  return delegation::SignByObject{std::move(request)};
}

ActionResult sign_by_object(RequestContext context, Call* call,
                            Authorized<delegation::SignByObject> request) {
  CO_ASSIGN_OR_RETURN(auto answer, co_await call->services->signer->sign(context, call->catalog(),
                                                                         std::move(request)));
  co_return signed_response(answer);
}

}  // namespace lake::http
