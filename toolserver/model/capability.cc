#include "toolserver/model/capability.h"

#include <cstdlib>

#include "base/json/canonical.h"
#include "toolserver/model/digest.h"

namespace tool {
namespace {

using base::json::Array;
using base::json::Object;

base::json::Value text(std::string_view value) { return boost::json::string(value); }

std::string_view name(ConsentRule rule) {
  switch (rule) {
    case ConsentRule::kNever: return "never";
    case ConsentRule::kFirst: return "first";
    case ConsentRule::kAlways: return "always";
  }
  std::abort();
}

std::string_view name(OriginKind kind) {
  switch (kind) {
    case OriginKind::kLocal: return "local";
    case OriginKind::kBridge: return "bridge";
    case OriginKind::kPeer: return "peer";
  }
  std::abort();
}

Object annotations_json(const Annotations& hints) {
  return Object{{"readOnlyHint", hints.read_only},
                {"destructiveHint", hints.destructive},
                {"idempotentHint", hints.idempotent},
                {"openWorldHint", hints.open_world}};
}

Object origin_json(const Capability& capability) {
  Object origin{{"kind", text(name(capability.origin))}};
  if (!capability.origin_name.empty()) {
    std::string_view key = capability.origin == OriginKind::kPeer ? "node" : "server";
    origin[key] = text(capability.origin_name);
  }
  if (!capability.origin_tool.empty()) origin["tool"] = text(capability.origin_tool);
  if (!capability.origin_hash.empty()) origin["h"] = text(capability.origin_hash);
  return origin;
}

// The whole tool object; what is not in here is not pinned.
Object pinned_json(const Capability& capability) {
  Object json;
  json["id"] = text(capability.id.text());
  json["name"] = text(capability.id.name());
  if (!capability.title.empty()) json["title"] = text(capability.title);
  json["description"] = text(capability.description);
  json["inputSchema"] = capability.input_schema;
  if (capability.output_schema) json["outputSchema"] = *capability.output_schema;
  json["annotations"] = annotations_json(capability.annotations);
  json["version"] = text(capability.version);
  json["origin"] = origin_json(capability);
  json["requires"] = Object{{"scopes", Array{text(invoke_scope(capability.id))}},
                            {"consent", text(name(capability.consent))},
                            {"min_mode", text(name(capability.min_mode))}};
  json["limits"] = Object{{"time_ms", capability.limits.time.count()},
                          {"output_bytes", capability.limits.output_bytes}};
  return json;
}

}  // namespace

Object Capability::to_json() const {
  Object json = pinned_json(*this);
  json["pin"] = Object{{"alg", "sha256"}, {"h", text(pin())}, {"state", "pinned"}};
  return json;
}

std::string Capability::pin() const {
  Object json = pinned_json(*this);
  // A foreign schema may hold integers that have no canonical text. Its own
  // order of members then stands in: stricter, and still a change for a change.
  auto canonical = base::json::canonical(json);
  return digest(canonical ? *canonical : base::json::write(json));
}

}  // namespace tool
