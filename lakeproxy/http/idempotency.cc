#include <array>

#include "base/core/text.h"
#include "base/crypto/digest.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/pipeline.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

using base::http::Response;
using ducklake::IdempotencyRecord;

ActionResult nothing(base::RequestContext, Call) { co_return no_content(); }

struct Remake {
  std::string_view operation;
  Action action;
};

// Answers without a body, and those whose record holds it, need no state.
constexpr Remake kRemakes[] = {
    {"createNamespace", created_namespace},
    {"dropNamespace", nothing},
    {"updateProperties", nothing},
    {"createTable", created_table},
    {"updateTable", committed_table},
    {"dropTable", dropped_table},
    {"compactTable", nothing},
    {"renameTable", nothing},
    {"registerTable", created_table},
    {"unregisterTable", nothing},
    {"commitTransaction", nothing},
    {"createView", created_view},
    {"replaceView", load_view},
    {"dropView", nothing},
    {"renameView", nothing},
    {"registerView", created_view},
};

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

// Records stand in a catalog's own schema: a change of none has nowhere to keep one.
bool takes_key(const Route& route) {
  return route.effect != Effect::kRead && route.path.starts_with("/v1/{prefix}/");
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
base::Task<Response> tell(base::RequestContext context, Call* call,
                          policy::Authorized<IdempotencyRecord> known) {
  const IdempotencyRecord& record = *known;
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
  auto result = co_await remake_of(*call->route)(context, *call);
  if (result) co_return std::move(*result);
  co_return made_but_not_shown(context, *call, result.error());
}

base::Task<Response> tell_if_allowed(base::RequestContext context, Call* call,
                                     IdempotencyRecord record) {
  auto known = authorized(*call, std::move(record));
  if (!known) co_return error_response(known.error(), call->route->effect, context.id_text());
  co_return co_await tell(context, call, std::move(*known));
}

}  // namespace

Action remake_of(const Route& route) {
  for (const Remake& remake : kRemakes) {
    if (remake.operation == route.operation) return remake.action;
  }
  return nullptr;
}

base::Result<std::optional<model::IdempotencyKey>> idempotency_key_of(const Call& call) {
  auto header = call.request->headers.get("Idempotency-Key");
  if (!header || !takes_key(*call.route)) return std::nullopt;
  auto uuid = base::parse_uuid(*header);
  if (!uuid || !is_version_7(*uuid)) {
    return base::fail(base::ErrorKind::kInvalid, "Idempotency-Key: must be a UUID of version 7");
  }
  return model::IdempotencyKey{*uuid, hash_of(call)};
}

base::Task<Response> act_once(base::RequestContext context, Call* call, Act act) {
  // Before the key is looked up: that it was used tells something, too.
  auto allowed = authorized(*call, IdempotencyRecord{});
  if (!allowed) co_return error_response(allowed.error(), call->route->effect, context.id_text());
  ducklake::IdempotencyRecords* idempotency_records = call->catalog()->idempotency_records;
  auto known = co_await idempotency_records->find(context, call->key->id);
  if (!known) co_return cannot_tell(context, *call, known.error());
  if (*known) co_return co_await tell_if_allowed(context, call, std::move(**known));
  Response response = co_await act(context, call);
  if (!is_final(response)) co_return response;
  // The same request may have come twice, and the other one was served.
  auto stands = co_await idempotency_records->keep_refusal(context, *call->key, response.status,
                                                           std::string(response.body.view()));
  if (!stands) co_return cannot_tell(context, *call, stands.error());
  co_return co_await tell_if_allowed(context, call, std::move(*stands));
}

}  // namespace lake::http
