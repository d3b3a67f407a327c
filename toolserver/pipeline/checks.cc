#include "toolserver/pipeline/checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/json/canonical.h"
#include "toolserver/model/digest.h"
#include "toolserver/pipeline/within.h"

namespace tool::pipeline {
namespace {

// The envelope with its signature and the members of the answer that are not
// the tool's.
constexpr std::size_t kEnvelopeBytes = 4 << 10;
// Of one part, beside its bytes and its media type.
constexpr std::size_t kPartBytes = 96;
// No byte is written with more: an escape such as \u0001 has six, and a double
// that JSON writes as 1e20 has 21 digits in canonical form.
constexpr std::size_t kMostGrowth = 8;

// RFC 8785, section 3.2.2.2, without the quotes.
std::size_t escaped_bytes(std::string_view text) {
  std::size_t bytes = text.size();
  for (unsigned char c : text) {
    if (c == '"' || c == '\\' || (c >= '\b' && c <= '\r' && c != '\v')) {
      bytes += 1;
    } else if (c < 0x20) {
      bytes += 5;
    }
  }
  return bytes;
}

std::size_t wire_bytes(const Content& part, ContentForm form) {
  std::size_t bytes = kPartBytes + escaped_bytes(part.media_type) + escaped_bytes(part.uri) +
                      escaped_bytes(part.name);
  if (form == ContentForm::kStreamed && part.data.size() > kStreamedPart) return bytes;
  return bytes + (part.is_text() ? escaped_bytes(part.data) : (part.data.size() + 2) / 3 * 4);
}

// 5.0 and 5 are one number to JSON Schema and in the digest, and a client in
// TypeScript cannot even write the first. So they are one to rules and tools:
// calls of equal digests have equal ends.
void settle_numbers(base::json::Value& value) {
  constexpr double kMost = 9'007'199'254'740'991;  // 2^53 - 1
  if (auto* object = value.if_object()) {
    for (auto& member : *object) settle_numbers(member.value());
  } else if (auto* array = value.if_array()) {
    for (auto& item : *array) settle_numbers(item);
  } else if (value.is_double()) {
    double number = value.get_double();
    bool is_whole = std::trunc(number) == number && std::abs(number) <= kMost;
    if (is_whole) value = static_cast<std::int64_t>(number);
  }
}

}  // namespace

Fault no_tool(const ToolRegistry& registry, const ToolId& id, const Principal& principal) {
  if (id.offer() != Offer::kTool || !registry.expects(id) ||
      !principal.scopes.allows_describe(id)) {
    return refuse(Code::kTool, "no such " + std::string(name(id.offer())));
  }
  Fault fault = refuse(Code::kBusy, "the node of this tool is not connected yet");
  fault.retry_after = std::chrono::milliseconds(500);
  return fault;
}

Outcome<std::shared_ptr<const ToolEntry>> find_tool(const ToolRegistry& registry,
                                                    const PipelineCall& call) {
  auto id = ToolId::parse_any(call.tool);
  if (!id || id->offer() != call.offer) {
    // Said as it is said of any name that cannot be one.
    auto none = ToolId::parse(":");
    return to_fault(std::move(none).error().with_context("tool"));
  }
  auto entry = registry.find(*id);
  if (!entry || !call.principal->scopes.allows_describe(*id)) {
    return no_tool(registry, *id, *call.principal);
  }
  return entry;
}

Outcome<Invocation> shape(PipelineCall& call, const ToolEntry& entry) {
  base::json::Value args(std::move(call.args));
  if (auto status = entry.input.check(args, "args"); !status) {
    return to_fault(std::move(status).error());
  }
  settle_numbers(args);
  auto hash = args_digest(args.get_object());
  if (!hash) return to_fault(std::move(hash).error().with_context("args"));
  Invocation invocation{.tool = entry.capability.id};
  invocation.context.request_id = call.log_id;
  invocation.request_id = std::move(call.request_id);
  invocation.session_id = std::move(call.session_id);
  invocation.peer = std::move(call.peer);
  invocation.traceparent = std::move(call.traceparent);
  invocation.principal = std::move(call.principal);
  invocation.mode = call.mode;
  invocation.args = std::move(args.get_object());
  invocation.args_hash = std::move(*hash);
  invocation.dry_run = call.dry_run;
  invocation.idem = call.idem;
  invocation.inputs = std::move(call.inputs);
  invocation.client = std::move(call.client);
  invocation.note = std::move(call.note);
  invocation.forwarded = std::move(call.forwarded);
  return invocation;
}

Outcome<void> check_pin(const ToolEntry& entry) {
  std::string what(name(entry.capability.id.offer()));
  switch (entry.state) {
    case PinState::kPinned: return {};
    case PinState::kQuarantined:
      return refuse(Code::kPin,
                    "nobody approved this " + what + " yet, or it was taken out of use");
    case PinState::kChanged:
      return refuse(Code::kPin, "the " + what + " has changed since its approval");
  }
  return refuse(Code::kPin, "the tool is not approved");
}

Outcome<void> authorise(const Principal& principal, const ToolId& tool, base::WallTime now) {
  if (principal.expires_at <= now) {
    return refuse(Code::kExpired, "the credential is out of its time");
  }
  if (!principal.scopes.allows_invoke(tool)) {
    return refuse(Code::kScope, "needs the scope " + invoke_scope(tool));
  }
  return {};
}

namespace {

base::Task<Outcome<void>> check_detail(const ToolEntry& entry, const Invocation& call,
                                       const ArgumentRules& rules) {
  CO_RETURN_IF_ERROR(rules.check(call.args, entry.capability.input_schema));
  for (const ArgumentRule& rule : rules.with_tables()) {
    if (!call.args.contains(rule.argument)) continue;  // It was optional.
    CO_RETURN_IF_ERROR(co_await within(
        call.context.deadline, entry.connector->keeps_to_tables(call, rule.argument, rule.tables)));
  }
  co_return Outcome<void>();
}

}  // namespace

base::Task<Outcome<void>> check_details(const ToolEntry& entry, const Invocation& call) {
  for (const auto& set : call.principal->details.sets()) {
    std::optional<Fault> first;
    bool is_kept = false;
    for (const Detail& one : *set) {
      if (is_kept || one.tool != call.tool) continue;
      auto kept = co_await check_detail(entry, call, one.rules);
      // Nobody knows what it would have been: not a no that another detail mends.
      if (!kept && kept.error().code != Code::kPolicy) co_return kept;
      is_kept = kept.has_value();
      if (!kept && !first) first = std::move(kept).error();
    }
    if (!is_kept && first) co_return std::move(*first);
  }
  co_return Outcome<void>();
}

Outcome<void> check_mode(Mode mode, const Capability& capability) {
  if (mode >= capability.min_mode) return {};
  return refuse(Code::kPolicy, "the tool needs the mode " + std::string(name(capability.min_mode)));
}

std::chrono::milliseconds time_for(std::optional<std::chrono::milliseconds> asked,
                                   const Capability& capability, std::chrono::milliseconds standard,
                                   std::chrono::milliseconds most) {
  auto time = std::min({asked.value_or(standard), capability.limits.time, most});
  return std::max(time, std::chrono::milliseconds(0));
}

Outcome<std::size_t> measure(const ToolResult& result, const Capability& capability,
                             std::size_t most) {
  std::size_t bytes = 0;
  for (const Content& part : result.content) {
    bytes += part.media_type.size() + part.data.size() + part.uri.size() + part.name.size();
  }
  if (result.input_needed) {
    bytes += base::json::write(result.input_needed->requests).size();
    bytes += result.input_needed->state.size();
  }
  std::size_t limit = std::min(most, capability.limits.output_bytes);
  if (bytes <= limit && result.structured) bytes += base::json::write(*result.structured).size();
  if (bytes > limit) return refuse(Code::kLimit, "the tool's answer is too large");
  return bytes;
}

Outcome<void> check_wire_size(const ToolResult& result, ContentForm form, std::size_t measured,
                              std::size_t most) {
  std::size_t bytes = kEnvelopeBytes + kPartBytes * result.content.size();
  if (bytes + kMostGrowth * measured <= most) return {};
  for (const Content& part : result.content) bytes += wire_bytes(part, form);
  if (result.structured && bytes <= most) {
    auto text = base::json::canonical(*result.structured);
    bytes += text ? text->size() : base::json::write(*result.structured).size();
  }
  if (bytes <= most) return {};
  return refuse(Code::kLimit, "the tool's answer is too large for one message");
}

Outcome<void> check_output(const ToolResult& result, const ToolEntry& entry) {
  if (!entry.output || result.is_error || result.input_needed) return {};
  Code code = entry.capability.origin == OriginKind::kLocal ? Code::kInternal : Code::kUpstream;
  Fault fault = refuse(code, "the tool's answer is not what the tool promises");
  if (!result.structured) {
    fault.detail = "structured: is missing";
    return fault;
  }
  auto status = entry.output->check(*result.structured, "structured");
  if (status) return {};
  fault.detail = status.error().message();
  return fault;
}

}  // namespace tool::pipeline
