// Any JSON object as the payload of an operation on a session: each reader refuses it with the
// place and the rule, or what it took keeps its bounds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/pipeline/call.h"
#include "toolserver/transport/tool_payloads.h"
#include "toolserver/workflow/flow_operations.h"

namespace {

using namespace tool::transport;  // NOLINT: this file is about nothing else.
namespace json = base::json;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class T>
bool is_taken(const tool::Outcome<T>& read) {
  if (read) return true;
  require(read.error().code == tool::Code::kShape && read.error().message.starts_with("p"));
  return false;
}

void check_choices(const json::Object& payload) {
  if (auto list = read_list(payload); is_taken(list)) {
    require(list->limit >= 1 && list->limit <= 1'000 && list->filter.size() <= 129);
  }
  if (auto session = read_session_choice(payload); is_taken(session)) {
    require(!session->value.empty() && session->value.size() <= 1'024);
    require(payload.contains("session_id") != payload.contains("sub"));
  }
  if (auto consent = read_consent_choice(payload); is_taken(consent)) {
    require((consent->id > 0) == consent->subject.empty());
  }
  if (auto id = read_id(payload); is_taken(id)) require(tool::Ulid::parse(*id).has_value());
}

void check_calls(const json::Object& payload) {
  if (auto call = read_invoke(payload); is_taken(call)) {
    require(call->idem.empty() || tool::pipeline::is_idempotency_key(call->idem));
    require(call->idem.empty() || !call->dry_run);
    require(call->args == payload.at("args").as_object());
  }
  if (auto forward = read_forward(payload); is_taken(forward)) {
    require(!forward->proofs.empty() && forward->proofs.size() <= 8);
  }
  if (auto flow = tool::workflow::read_flow_run(payload); is_taken(flow)) {
    require(flow->run.known() && (flow->input.is_null() || flow->workflow));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = json::parse(text, {.bytes = 1 << 16, .depth = 64, .values = 10'000});
  if (!value || !value->is_object()) return 0;
  check_choices(value->get_object());
  check_calls(value->get_object());
  return 0;
}
