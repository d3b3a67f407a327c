#include "toolserver/federation/peer_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/crypto/encoding.h"
#include "base/json/canonical.h"
#include "base/json/fields.h"
#include "toolserver/federation/proof/forward_proof.h"
#include "toolserver/mcp/tool_values.h"
#include "toolserver/model/digest.h"
#include "toolserver/model/look_alike.h"

namespace tool::federation {
namespace {

namespace json = base::json;

constexpr std::size_t kParts = 1'024;
constexpr std::size_t kMediaType = 255;
constexpr std::size_t kPartBytes = 16 << 20;
constexpr std::size_t kNameBytes = 129;
constexpr std::size_t kWordsBytes = 256;
constexpr std::int64_t kMostTime = 300'000;
constexpr std::int64_t kMostOutput = 64 << 20;
constexpr std::chrono::milliseconds kLongestRetry{60'000};

base::Error broken(std::string why) {
  return base::fail(base::ErrorKind::kInvalid, std::move(why));
}

std::string cut(std::string_view text, std::size_t bytes) {
  return std::string(text.substr(0, bytes));
}

// The way to the tool's own node. Nothing where it leads by us, or in a circle.
base::Result<std::string> way_of(std::string_view peer, std::string_view self,
                                 const json::Fields& record) {
  std::string way(peer);
  std::set<std::string, std::less<>> nodes{std::string(peer), std::string(self)};
  ASSIGN_OR_RETURN(auto origin, record.object("origin"));
  ASSIGN_OR_RETURN(std::string kind, origin.string("kind"));
  if (kind != "peer") return way;
  ASSIGN_OR_RETURN(std::string further, origin.string("node"));
  std::size_t steps = 1;
  for (std::string_view rest = further; !rest.empty();) {
    auto slash = std::min(rest.find('/'), rest.size());
    auto node = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (!base::jose::is_key_id(node)) return broken("origin.node: must be names of nodes");
    if (!nodes.emplace(node).second) return broken("the way to it is a loop");
    if (++steps > kMostHops) return broken("the way to it is too long");
    way += '/' + std::string(node);
  }
  return way;
}

base::Result<Capability> read_one(std::string_view peer, std::string_view self,
                                  const json::Value& value) {
  auto canonical = json::canonical(value);
  if (!canonical) return broken(canonical.error().message());
  if (canonical->size() > kRecordBytes) return broken("it is over 128 KiB");
  ASSIGN_OR_RETURN(auto record, json::Fields::of(value, "record"));
  ASSIGN_OR_RETURN(std::string text, record.string("id"));
  ASSIGN_OR_RETURN(auto there, ToolId::parse(text));
  ASSIGN_OR_RETURN(auto here, far_id(peer, there));
  ASSIGN_OR_RETURN(auto said, mcp::read_tool(value));
  Capability out{.id = std::move(here)};
  ASSIGN_OR_RETURN(out.origin_name, way_of(peer, self, record));
  ASSIGN_OR_RETURN(auto limits, record.object("limits"));
  ASSIGN_OR_RETURN(auto time, limits.int64("time_ms"));
  ASSIGN_OR_RETURN(auto bytes, limits.int64("output_bytes"));
  if (time < 1 || bytes < 1) return broken("limits: must be over 0");
  out.title = std::move(said.title);
  out.description = std::move(said.description);
  out.input_schema = std::move(said.input_schema);
  out.output_schema = std::move(said.output_schema);
  out.annotations = said.annotations;
  ASSIGN_OR_RETURN(out.version, record.string("version"));
  out.origin = OriginKind::kPeer;
  out.origin_tool = there.text();
  out.origin_hash = digest(*canonical);
  out.limits.time = std::chrono::milliseconds(std::min(time, kMostTime));
  out.limits.output_bytes = static_cast<std::size_t>(std::min(bytes, kMostOutput));
  return out;
}

std::string name_of(const json::Value& value, std::size_t index) {
  if (value.is_object()) {
    const auto* id = value.get_object().if_contains("id");
    if (id != nullptr && id->is_string()) return cut(id->get_string(), kNameBytes);
  }
  return fmt::format("#{}", index);
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

FarTools read_tools(std::string_view peer, std::string_view self, const json::Array& records) {
  FarTools out;
  std::map<std::string, std::vector<Capability>> by_look;
  std::size_t count = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto read = read_one(peer, self, records[i]);
    if (!read) {
      out.left_out.push_back({name_of(records[i], i), cut(read.error().message(), kWordsBytes)});
    } else if (count >= kFarTools) {
      out.left_out.push_back({name_of(records[i], i), "the node lists too many tools"});
    } else {
      ++count;
      by_look[look_of(read->id.name())].push_back(std::move(*read));
    }
  }
  for (auto& [look, same] : by_look) {
    if (same.size() == 1) {
      out.usable.push_back(std::move(same.front()));
      continue;
    }
    // Which of them is meant by the name here cannot be told.
    for (const auto& one : same) {
      out.left_out.push_back({one.origin_tool, "its name here looks like that of another"});
    }
  }
  std::ranges::sort(out.usable, {}, [](const Capability& one) -> const ToolId& { return one.id; });
  return out;
}

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
