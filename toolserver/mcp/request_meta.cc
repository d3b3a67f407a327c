#include "toolserver/mcp/request_meta.h"

#include <algorithm>
#include <array>
#include <utility>

#include "toolserver/mcp/revision.h"

namespace tool::mcp {
namespace {

namespace json = base::json;

constexpr std::array<std::string_view, 8> kLevels{"debug", "info",     "notice", "warning",
                                                  "error", "critical", "alert",  "emergency"};

std::unexpected<RpcError> wrong(std::string_view member, std::string_view rule) {
  return std::unexpected(RpcError{
      code::kInvalidParams, "_meta." + std::string(member) + ": must be " + std::string(rule)});
}

// An absent member is no fault; one of another type is.
bool read_text(const json::Object& from, std::string_view member, std::string& into) {
  const auto* found = from.if_contains(member);
  if (found == nullptr) return true;
  if (!found->is_string()) return false;
  into = found->get_string();
  return true;
}

}  // namespace

std::expected<RequestMeta, RpcError> read_meta(const json::Object& params) {
  RequestMeta out;
  const auto* value = params.if_contains("_meta");
  if (value == nullptr) return out;
  if (!value->is_object()) {
    return std::unexpected(RpcError{code::kInvalidParams, "_meta: must be an object"});
  }
  const json::Object& fields = value->get_object();
  // An empty one would be taken for none, and the call made again.
  if (const auto* key = fields.if_contains(meta::kIdempotencyKey);
      key != nullptr && key->is_string() && key->get_string().empty()) {
    return wrong(meta::kIdempotencyKey, "1 to 128 characters from ! to ~");
  }
  for (auto [member, into] : {std::pair{meta::kVersion, &out.version},
                              {meta::kLogLevel, &out.log_level},
                              {meta::kIdempotencyKey, &out.idempotency_key},
                              {std::string_view("traceparent"), &out.traceparent}}) {
    if (!read_text(fields, member, *into)) return wrong(member, "a text");
  }
  if (!out.log_level.empty() && !severity(out.log_level)) {
    return wrong(meta::kLogLevel, "a level such as \"info\"");
  }
  if (const auto* found = fields.if_contains(meta::kClientCapabilities)) {
    if (!found->is_object()) return wrong(meta::kClientCapabilities, "an object");
    out.client_capabilities = found->get_object();
  }
  if (const auto* found = fields.if_contains(meta::kClientInfo)) {
    if (!found->is_object()) return wrong(meta::kClientInfo, "an object");
    out.client_info = found->get_object();
  }
  if (const auto* found = fields.if_contains(meta::kProgressToken)) {
    out.progress_token = id_of(*found);
    if (!out.progress_token) return wrong(meta::kProgressToken, "an integer or a short text");
  }
  return out;
}

json::Object write_meta(const RequestMeta& meta) {
  json::Object out;
  if (!meta.version.empty()) out[meta::kVersion] = meta.version;
  if (meta.client_capabilities) out[meta::kClientCapabilities] = *meta.client_capabilities;
  if (!meta.client_info.empty()) out[meta::kClientInfo] = meta.client_info;
  if (!meta.log_level.empty()) out[meta::kLogLevel] = meta.log_level;
  if (meta.progress_token) out[meta::kProgressToken] = to_json(*meta.progress_token);
  if (!meta.traceparent.empty()) out["traceparent"] = meta.traceparent;
  if (!meta.idempotency_key.empty()) out[meta::kIdempotencyKey] = meta.idempotency_key;
  return out;
}

std::optional<int> severity(std::string_view level) {
  const auto* found = std::ranges::find(kLevels, level);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<int>(found - kLevels.begin());
}

}  // namespace tool::mcp
