#include "toolserver/federation/peer_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/crypto/encoding.h"
#include "base/json/fields.h"

namespace tool::federation {
namespace {

namespace json = base::json;

constexpr std::size_t kParts = 1'024;
constexpr std::size_t kMediaType = 255;
constexpr std::size_t kPartBytes = 16 << 20;
constexpr std::size_t kWordsBytes = 256;
constexpr std::chrono::milliseconds kLongestRetry{60'000};

std::string cut(std::string_view text, std::size_t bytes) {
  return std::string(text.substr(0, bytes));
}

// A media type and the bytes that go with it: text is text, data is not.
Outcome<Content> read_part(const json::Value& value) {
  auto no = [](std::string why) {
    Fault fault = refuse(Code::kUpstream, "the node's answer is not one");
    fault.detail = "content: " + std::move(why);
    return fault;
  };
  auto fields = json::Fields::of(value, "content");
  if (!fields) return no(fields.error().message());
  auto type = fields->string("type");
  auto media = fields->string("media_type");
  if (!type || !media || media->empty() || media->size() > kMediaType ||
      !std::ranges::all_of(*media, [](char c) { return c > 0x20 && c < 0x7f; })) {
    return no("type and media_type");
  }
  Content out{.media_type = std::move(*media)};
  bool is_text = *type == "text";
  if ((!is_text && *type != "data") || out.is_text() != is_text) return no("type");
  auto data = fields->string(is_text ? "text" : "data");
  if (!data) return no(data.error().message());
  if (is_text) {
    out.data = std::move(*data);
    return out;
  }
  auto bytes = base::crypto::from_base64url(*data, kPartBytes);
  if (!bytes) return no(bytes.error().message());
  out.data = std::move(*bytes);
  return out;
}

}  // namespace

Outcome<ToolResult> read_reply(json::Object payload) {
  Fault none = refuse(Code::kUpstream, "the node's answer is not one");
  const auto* content = payload.if_contains("content");
  const auto* is_error = payload.if_contains("is_error");
  if (content == nullptr || !content->is_array() || is_error == nullptr || !is_error->is_bool()) {
    none.detail = "content and is_error";
    return none;
  }
  if (content->get_array().size() > kParts) {
    return refuse(Code::kLimit, "the node's answer has too many parts");
  }
  ToolResult out;
  out.is_error = is_error->get_bool();
  for (const auto& value : content->get_array()) {
    auto part = read_part(value);
    if (!part) return std::move(part).error();
    out.content.push_back(std::move(*part));
  }
  if (auto* structured = payload.if_contains("structured")) {
    out.structured = std::move(*structured);
  }
  return out;
}

Fault relayed(std::string_view peer, Fault fault) {
  Fault out;
  switch (fault.code) {
    case Code::kShape:
    case Code::kPolicy:
    case Code::kConsent:
    case Code::kLimit:
    case Code::kBusy:
    case Code::kTimeout:
    case Code::kCancelled: out.code = fault.code; break;
    // Here the caller was authorised; there the node that asks is not.
    case Code::kTool:
    case Code::kScope:
    case Code::kPin: out.code = Code::kPolicy; break;
    // Nothing was done, and there will be room.
    case Code::kRate: out.code = Code::kBusy; break;
    default: out.code = Code::kUpstream; break;
  }
  out.message = fmt::format("node {}: {}", peer, name(fault.code));
  if (fault.retry_after) out.retry_after = std::min(*fault.retry_after, kLongestRetry);
  out.detail = cut(fault.message, kWordsBytes);
  if (!fault.detail.empty()) out.detail += ": " + cut(fault.detail, kWordsBytes);
  return out;
}

}  // namespace tool::federation
