#include "lakeproxy/http/error_response.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/auth/authorization.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/iceberg/view/view_change.h"
#include "lakeproxy/operation/namespaces.h"
#include "lakeproxy/operation/plan_scan.h"

namespace lake::http {
namespace {

using base::ErrorKind;

struct Shape {
  unsigned status;
  std::string_view type;
  bool retry_later = false;
};

Shape not_found(std::string_view reason) {
  if (reason == ducklake::kNoSuchNamespace) return {404, "NoSuchNamespaceException"};
  if (reason == ducklake::kNoSuchTable) return {404, "NoSuchTableException"};
  if (reason == ducklake::kNoSuchView) return {404, "NoSuchViewException"};
  if (reason == operation::kNoSuchPlan) return {404, "NoSuchPlanIdException"};
  if (reason == operation::kNoSuchPlanTask) return {404, "NoSuchPlanTaskException"};
  if (reason == operation::kNoSuchFunction) return {404, "NoSuchFunctionException"};
  return {404, "NotFoundException"};
}

Shape conflict(std::string_view reason) {
  if (reason == ducklake::kNamespaceNotEmpty) return {409, "NamespaceNotEmptyException"};
  return {409, "CommitFailedException", reason == ducklake::kBusy};
}

Shape unavailable(Effect effect) {
  if (effect == Effect::kCommit) return {409, "CommitFailedException", true};
  return {503, "ServiceUnavailableException", true};
}

Shape unknown(Effect effect) {
  if (effect == Effect::kCommit) return {500, "CommitStateUnknownException"};
  return {503, "ServiceUnavailableException", true};
}

Shape shape_of(const base::Error& error, Effect effect) {
  switch (error.kind()) {
    case ErrorKind::kInvalid:
      if (error.reason() == kUnprocessable) return {422, "UnprocessableEntityException"};
      if (error.reason() == model::kDialectTwice) return {400, "IllegalArgumentException"};
      return {400, "BadRequestException"};
    case ErrorKind::kUnauthenticated: return {401, "NotAuthorizedException"};
    case ErrorKind::kForbidden: return {403, "ForbiddenException"};
    case ErrorKind::kNotFound: return not_found(error.reason());
    case ErrorKind::kAlreadyExists: return {409, "AlreadyExistsException"};
    case ErrorKind::kConflict: return conflict(error.reason());
    case ErrorKind::kTooLarge: return {413, "PayloadTooLargeException"};
    case ErrorKind::kUnsupported: return {501, "UnsupportedOperationException"};
    case ErrorKind::kRateLimited: return {429, "TooManyRequestsException", true};
    case ErrorKind::kUnavailable:
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled: return unavailable(effect);
    case ErrorKind::kOutcomeUnknown: return unknown(effect);
    case ErrorKind::kCorrupt:
    case ErrorKind::kInternal: return {500, "InternalServerError"};
  }
  return {500, "InternalServerError"};
}

// No word and no message of ours is as long: these hold what a client sent.
constexpr std::size_t kMostWord = 200;
constexpr std::size_t kMostMessage = 320;
constexpr std::size_t kMostShown = 200;

bool is_ours(std::string_view message) {
  if (message.size() > kMostMessage) return false;
  while (message.size() > kMostWord) {
    const std::size_t end = message.find_first_of(" \n\t");
    if (std::min(end, message.size()) > kMostWord) return false;
    message.remove_prefix(end + 1);
  }
  return true;
}

base::http::Response make(const Shape& shape, std::string_view message) {
  std::string body = R"({"error":{"message":)";
  base::json::append_quoted(body, shown_message(message));
  body += fmt::format(R"(,"type":"{}","code":{}}}}})", shape.type, shape.status);
  base::http::Response response;
  response.status = shape.status;
  response.headers.add("Content-Type", "application/json");
  if (shape.retry_later) response.headers.add("Retry-After", "1");
  response.body = base::http::Body(std::move(body));
  return response;
}

// Source: RFC 6750, section 3: a token that was shown is blamed, a missing one is not.
base::http::Response ask_for_token(const base::Error& error, base::http::Response response) {
  std::string challenge = R"(Bearer realm="lakeproxy")";
  if (error.reason() != auth::kNoToken) challenge += R"(, error="invalid_token")";
  response.headers.add("WWW-Authenticate", std::move(challenge));
  return response;
}

// Source: RFC 6749, section 5.2. The reason is one of its words.
base::http::Response refused_grant(const Shape& shape, const base::Error& error) {
  std::string body = R"({"error":)";
  base::json::append_quoted(body, error.reason());
  body += R"(,"error_description":)";
  base::json::append_quoted(body, shown_message(error.message()));
  base::http::Response response;
  response.status = shape.status;
  response.headers.add("Content-Type", "application/json");
  response.headers.add("Cache-Control", "no-store");
  if (shape.status == 401) response.headers.add("WWW-Authenticate", R"(Basic realm="lakeproxy")");
  response.body = base::http::Body(body + "}");
  return response;
}

std::string_view type_of(unsigned status) {
  switch (status) {
    case 404: return "NotFoundException";
    case 405: return "MethodNotAllowedException";
    case 408: return "RequestTimeoutException";
    case 413: return "PayloadTooLargeException";
    case 415: return "UnsupportedMediaTypeException";
    case 431: return "RequestHeaderFieldsTooLargeException";
    case 501: return "UnsupportedOperationException";
    case 503: return "ServiceUnavailableException";
    default: return status < 500 ? "BadRequestException" : "InternalServerError";
  }
}

}  // namespace

std::string shown_message(std::string_view message) {
  return is_ours(message) ? std::string(message) : base::shorten(message, kMostShown);
}

base::http::Response error_response(const base::Error& error, Effect effect,
                                    const std::string& request_id) {
  Shape shape = shape_of(error, effect);
  bool inner = error.kind() == ErrorKind::kInternal || error.kind() == ErrorKind::kCorrupt;
  if (inner) return make(shape, "Internal error; request id " + request_id);
  const bool is_of_grant =
      error.kind() == ErrorKind::kInvalid || error.kind() == ErrorKind::kUnauthenticated;
  if (effect == Effect::kGrant && is_of_grant) return refused_grant(shape, error);
  auto response = make(shape, error.message());
  return shape.status == 401 ? ask_for_token(error, std::move(response)) : response;
}

base::http::Response too_many(std::chrono::seconds wait, std::string_view message) {
  auto response = make({429, "TooManyRequestsException"}, message);
  response.headers.add("Retry-After", fmt::format("{}", wait.count()));
  return response;
}

base::http::Response refusal(unsigned status, std::string_view message) {
  return make({status, type_of(status), status == 503}, message);
}

}  // namespace lake::http
