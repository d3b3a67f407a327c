#include "toolserver/federation/peer_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/core/text.h"
#include "base/crypto/encoding.h"

namespace tool::federation {
namespace {

namespace json = base::json;

constexpr std::size_t kMediaType = 255;
constexpr std::size_t kPartBytes = 16 << 20;
constexpr std::size_t kWordsBytes = 256;
constexpr std::chrono::milliseconds kLongestRetry{60'000};

Fault no_answer(std::string why) {
  Fault fault = refuse(Code::kUpstream, "the node's answer is not one");
  fault.detail = std::move(why);
  return fault;
}

// A number that counts parts or bytes.
std::optional<std::size_t> count_of(const json::Value* value, std::size_t most) {
  if (value == nullptr) return std::nullopt;
  bool is_signed = value->is_int64() && value->get_int64() >= 0;
  if (!is_signed && !value->is_uint64()) return std::nullopt;
  auto count = is_signed ? static_cast<std::uint64_t>(value->get_int64()) : value->get_uint64();
  if (count > most) return std::nullopt;
  return count;
}

Outcome<Content> read_media(const json::Fields& part) {
  auto media = part.string("media_type");
  if (!media || media->empty() || media->size() > kMediaType ||
      !std::ranges::all_of(*media, [](char c) { return c > 0x20 && c < 0x7f; })) {
    return no_answer("content: media_type");
  }
  return Content{.media_type = std::move(*media)};
}

Outcome<std::string> read_whole(const json::Fields& part, std::string_view type, bool is_text) {
  if (is_text != (type == "text")) return no_answer("content: type");
  auto data = part.string(is_text ? "text" : "data");
  if (!data) return no_answer(data.error().message());
  if (is_text) return std::move(*data);
  auto bytes = base::crypto::from_base64url(*data, kPartBytes);
  if (!bytes) return no_answer("content: " + bytes.error().message());
  return std::move(*bytes);
}

std::string cut(std::string_view text) { return std::string(text.substr(0, kWordsBytes)); }

}  // namespace

Outcome<void> PeerAnswer::take_chunk(const json::Object& payload) {
  if (fault_) return *fault_;
  auto gathered = gather(payload);
  if (gathered) return gathered;
  fault_ = std::move(gathered).error();
  parts_ = {};
  return *fault_;
}

// The chunks of a part follow one another, and the parts are in their order.
Outcome<void> PeerAnswer::gather(const json::Object& payload) {
  auto index = count_of(payload.if_contains("index"), kParts - 1);
  if (!index || (!parts_.empty() && *index < parts_.back().index)) {
    return no_answer("tool.chunk: index");
  }
  const auto* text = payload.if_contains("data");
  if (text == nullptr || !text->is_string()) return no_answer("tool.chunk: data");
  auto data = base::crypto::from_base64url(text->get_string(), kChunkBytes);
  if (!data || data->empty()) return no_answer("tool.chunk: data");
  if (data->size() > most_ - bytes_) {
    return refuse(Code::kLimit, "the tool's answer is too large");
  }
  bytes_ += data->size();
  if (parts_.empty() || parts_.back().index != *index) parts_.push_back({*index, {}});
  parts_.back().data += *data;
  return {};
}

Outcome<ToolResult> PeerAnswer::finish(json::Object payload) {
  if (fault_) return *fault_;
  const auto* content = payload.if_contains("content");
  const auto* is_error = payload.if_contains("is_error");
  if (content == nullptr || !content->is_array() || is_error == nullptr || !is_error->is_bool()) {
    return no_answer("content and is_error");
  }
  const auto& parts = content->get_array();
  if (parts.size() > kParts) {
    return refuse(Code::kLimit, "the node's answer has too many parts");
  }
  ToolResult out;
  out.is_error = is_error->get_bool();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto part = read_part(parts[i], i);
    if (!part) return std::move(part).error();
    out.content.push_back(std::move(*part));
  }
  if (used_ < parts_.size()) return no_answer("tool.chunk: of no part of the answer");
  if (auto* structured = payload.if_contains("structured")) {
    out.structured = std::move(*structured);
  }
  return out;
}

// A media type and the bytes that go with it: text is text, data is not, and what came
// in chunks may be either.
Outcome<Content> PeerAnswer::read_part(const json::Value& value, std::size_t index) {
  auto fields = json::Fields::of(value, "content");
  if (!fields) return no_answer(fields.error().message());
  auto out = read_media(*fields);
  if (!out) return out;
  auto type = fields->string("type");
  if (!type || (*type != "text" && *type != "data")) return no_answer("content: type");
  auto data = fields->has("streamed") ? take_streamed(*fields, *type, index)
                                      : read_whole(*fields, *type, out->is_text());
  if (!data) return std::move(data).error();
  if (out->is_text() && !base::is_utf8(*data)) return no_answer("content: it is no text");
  out->data = std::move(*data);
  return out;
}

Outcome<std::string> PeerAnswer::take_streamed(const json::Fields& part, std::string_view type,
                                               std::size_t index) {
  const auto* streamed = part.find("streamed");
  if (!streamed->is_bool() || !streamed->get_bool() || type != "data" || part.has("data") ||
      part.has("text")) {
    return no_answer("content: streamed");
  }
  if (used_ == parts_.size() || parts_[used_].index != index) {
    return no_answer("content: no chunks of a part");
  }
  std::string& data = parts_[used_].data;
  if (count_of(part.find("bytes"), most_) != data.size()) return no_answer("content: bytes");
  ++used_;
  return std::move(data);
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
  out.detail = cut(fault.message);
  if (!fault.detail.empty()) out.detail += ": " + cut(fault.detail);
  return out;
}

}  // namespace tool::federation
