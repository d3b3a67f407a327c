#include "lakeproxy/route/idempotency.h"

#include <array>

#include "base/core/text.h"
#include "base/crypto/digest.h"
#include "lakeproxy/route/actions.h"
#include "lakeproxy/route/wire.h"

namespace lake::route {
namespace {

using base::http::Response;
using ducklake::Receipt;

ActionResult nothing(base::RequestContext, Call) { co_return no_content(); }

struct Remake {
  std::string_view operation;
  Action action;
};

// Answers without a body, and those whose receipt holds it, need no state.
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

std::string hash_of(const Call& call) {
  base::crypto::Sha256 hash;
  hash.update(to_string(call.request->method)).update("\n");
  hash.update(call.request->target).update("\n");
  hash.update(call.principal.subject).update("\n");
  hash.update(call.request->body);
  auto digest = hash.finish();
  return std::string(base::crypto::view(digest));
}

// Receipts stand in a catalog's own schema: a change of none has nowhere to keep one.
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

base::Task<Response> tell(base::RequestContext context, Call* call, Receipt receipt) {
  if (!base::crypto::equal(receipt.request_hash, call->key->request_hash)) {
    auto error =
        base::fail(base::ErrorKind::kInvalid, "Idempotency-Key: was used for another request")
            .with_reason(kUnprocessable);
    co_return error_response(error, call->route->effect, context.id_text());
  }
  if (receipt.refused_status) {
    co_return json_response(*receipt.refused_status, base::http::Body(std::move(receipt.answer)));
  }
  if (!receipt.answer.empty()) {
    co_return json_response(200, base::http::Body(std::move(receipt.answer)));
  }
  auto result = co_await remake_of(*call->route)(context, *call);
  if (result) co_return std::move(*result);
  co_return error_response(result.error(), call->route->effect, context.id_text());
}

}  // namespace

Action remake_of(const Route& route) {
  for (const Remake& remake : kRemakes) {
    if (remake.operation == route.operation) return remake.action;
  }
  return nullptr;
}

base::Result<std::optional<model::ChangeKey>> change_key_of(const Call& call) {
  auto header = call.request->headers.get("Idempotency-Key");
  if (!header || !takes_key(*call.route)) return std::nullopt;
  auto uuid = base::parse_uuid(*header);
  if (!uuid || !is_version_7(*uuid)) {
    return base::fail(base::ErrorKind::kInvalid, "Idempotency-Key: must be a UUID of version 7");
  }
  return model::ChangeKey{*uuid, hash_of(call)};
}

base::Task<Response> act_once(base::RequestContext context, Call* call, Act act) {
  ducklake::Receipts* receipts = call->catalog()->receipts;
  auto known = co_await receipts->find(context, call->key->id);
  if (!known) co_return error_response(known.error(), call->route->effect, context.id_text());
  if (*known) co_return co_await tell(context, call, std::move(**known));
  Response response = co_await act(context, call);
  if (!is_final(response)) co_return response;
  // The same request may have come twice, and the other one was served.
  auto stands = co_await receipts->keep_refusal(context, *call->key, response.status,
                                                std::string(response.body.view()));
  if (!stands) co_return error_response(stands.error(), call->route->effect, context.id_text());
  co_return co_await tell(context, call, std::move(*stands));
}

}  // namespace lake::route
