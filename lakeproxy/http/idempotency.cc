#include <array>

#include "base/core/text.h"
#include "base/crypto/digest.h"
#include "lakeproxy/http/pipeline.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

using base::http::Response;
using ducklake::IdempotencyRecord;

// Each part with its length, so that no two requests give the same bytes.
std::string hash_of(const Call& call) {
  base::crypto::Sha256 hash;
  for (std::string_view part :
       {to_string(call.request->method), std::string_view(call.request->target),
        std::string_view(call.principal.issuer), std::string_view(call.principal.subject),
        std::string_view(call.request->body)}) {
    hash.update(std::to_string(part.size())).update("\n").update(part);
  }
  auto digest = hash.finish();
  return std::string(base::crypto::view(digest));
}

bool is_version_7(const base::Uuid& uuid) { return uuid[6] >> 4 == 7 && uuid[8] >> 6 == 2; }

// A refusal that the same request would get again.
bool is_final(const Response& response) {
  constexpr std::array kFinal{400U, 403U, 404U, 409U, 422U};
  return std::ranges::find(kFinal, response.status) != kFinal.end() &&
         !response.headers.get("Retry-After");
}

// The database did not say what became of the change of this key: an earlier
// request may have made it, so "certainly not done" would be a guess.
Response cannot_tell(base::RequestContext context, const Call& call, const base::Error& error) {
  const bool is_away = error.kind() == base::ErrorKind::kUnavailable ||
                       error.kind() == base::ErrorKind::kTimeout ||
                       error.kind() == base::ErrorKind::kCancelled;
  if (!is_away) return error_response(error, call.route->effect, context.id_text());
  auto unknown = base::fail(base::ErrorKind::kOutcomeUnknown,
                            "It could not be read whether the change of this Idempotency-Key was "
                            "made; ask again.")
                     .with_detail(error.detail());
  return error_response(unknown, call.route->effect, context.id_text());
}

// The change was made, and its answer cannot be given.
Response made_but_not_shown(base::RequestContext context, const Call& call,
                            const base::Error& cause) {
  // Dropped since: the answer follows from the state as it is.
  if (cause.kind() == base::ErrorKind::kNotFound) {
    return error_response(cause, call.route->effect, context.id_text());
  }
  auto unknown = base::fail(base::ErrorKind::kOutcomeUnknown,
                            "The change was made, but its result cannot be read yet; ask again.")
                     .with_detail(cause.message() + ": " + cause.detail());
  return error_response(unknown, call.route->effect, context.id_text());
}

// What became of a change is told to whoever may make it.
base::Task<Response> tell(base::RequestContext context, Call* call, AllowedChange* change,
                          IdempotencyRecord record) {
  if (!base::crypto::equal(record.request_hash, call->key->request_hash)) {
    auto error =
        base::fail(base::ErrorKind::kInvalid, "Idempotency-Key: was used for another request")
            .with_reason(kUnprocessable);
    co_return error_response(error, call->route->effect, context.id_text());
  }
  if (record.refused_status) {
    co_return json_response(*record.refused_status, base::http::Body(record.answer));
  }
  if (!record.answer.empty()) {
    co_return json_response(200, base::http::Body(record.answer));
  }
  auto result = co_await change->tell_again();
  if (result) co_return std::move(*result);
  co_return made_but_not_shown(context, *call, result.error());
}

base::Task<Response> make(base::RequestContext context, Call* call, AllowedChange* change) {
  auto result = co_await change->make();
  if (!result) co_return detail::settled(context, *call, std::move(result), change->about());
  co_return detail::settled(context, *call, std::move(result), {});
}

}  // namespace

base::Result<std::optional<model::IdempotencyKey>> idempotency_key_of(const Call& call) {
  auto header = call.request->headers.get("Idempotency-Key");
  if (!header || !call.route->endpoint.can_be_told_again()) return std::nullopt;
  auto uuid = base::parse_uuid(*header);
  if (!uuid || !is_version_7(*uuid)) {
    return base::fail(base::ErrorKind::kInvalid, "Idempotency-Key: must be a UUID of version 7");
  }
  return model::IdempotencyKey{*uuid, hash_of(call)};
}

base::Task<Response> change_once(base::RequestContext context, Call* call,
                                 std::unique_ptr<AllowedChange> change) {
  ducklake::IdempotencyRecords* idempotency_records = call->catalog()->idempotency_records;
  auto known = co_await idempotency_records->find(context, call->key->id);
  if (!known) co_return cannot_tell(context, *call, known.error());
  if (*known) co_return co_await tell(context, call, change.get(), std::move(**known));
  Response response = co_await make(context, call, change.get());
  if (!is_final(response)) co_return response;
  // The same request may have come twice, and the other one was served.
  auto stands = co_await idempotency_records->keep_refusal(context, *call->key, response.status,
                                                           response.body.text());
  if (!stands) co_return cannot_tell(context, *call, stands.error());
  co_return co_await tell(context, call, change.get(), std::move(*stands));
}

}  // namespace lake::http
