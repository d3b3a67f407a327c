#include "toolserver/pipeline/schema_resources.h"

#include <algorithm>

#include "toolserver/pipeline/schema_uri.h"

namespace tool::pipeline {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Status;

// What a relative reference is read against where no "$id" says it. The scheme is nobody's.
// Source: RFC 3986, section 5.1.4.
constexpr std::string_view kDefaultBase = "schema:/";
constexpr std::size_t kMaxUri = 2'048;

// With both of them bounded so is each URI that is made of them, however many there are.
Result<std::string> bounded_uri(std::string_view base, std::string_view reference) {
  reference = reference.substr(0, reference.find('#'));
  if (reference.size() <= kMaxUri) {
    std::string uri = resolve_uri(base, reference);
    if (uri.size() <= kMaxUri) return uri;
  }
  return fail(ErrorKind::kTooLarge, "a URI of more than 2 KiB");
}

// Source: JSON Schema 2020-12, "Core", 8.2.2.
bool is_anchor(std::string_view name) {
  auto begins = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && begins(name.front()) && std::ranges::all_of(name, [&](char c) {
    return begins(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

}  // namespace

Result<Resource*> SchemaResources::open(const Resource* around, std::string_view id,
                                        std::string pointer, const base::json::Value& root) {
  auto fragment = id.find('#');
  if (fragment != std::string_view::npos && fragment + 1 != id.size()) {
    return fail(ErrorKind::kInvalid, "$id: must have no fragment");
  }
  ASSIGN_OR_RETURN(auto uri, bounded_uri(around ? around->uri : kDefaultBase, id));
  auto [at, is_fresh] = by_uri_.try_emplace(uri);
  if (!is_fresh) return fail(ErrorKind::kInvalid, "$id: stands there twice");
  SchemaResource* node = graph_.resources.emplace_back(std::make_unique<SchemaResource>()).get();
  at->second = std::make_unique<Resource>(
      Resource{.uri = std::move(uri), .pointer = std::move(pointer), .root = &root, .node = node});
  return at->second.get();
}

Status SchemaResources::add_anchor(Resource& resource, std::string_view name, NodePtr schema,
                                   AnchorKind kind) {
  if (!is_anchor(name)) {
    return fail(ErrorKind::kInvalid,
                "must be a letter or '_', then letters, digits, '-', '_' and '.'");
  }
  if (!resource.anchors.emplace(name, schema).second) {
    return fail(ErrorKind::kInvalid, "stands there twice in its resource");
  }
  if (kind == AnchorKind::kPlain) return {};
  resource.node->dynamic_anchors.emplace(name, schema);
  ++dynamic_anchors_[std::string(name)];
  return {};
}

Result<std::string> SchemaResources::uri_of(const Resource& from, std::string_view reference) {
  return bounded_uri(from.uri, reference);
}

Resource* SchemaResources::find(std::string_view uri) const {
  auto found = by_uri_.find(uri);
  return found == by_uri_.end() ? nullptr : found->second.get();
}

bool SchemaResources::is_overridden(const std::string& name) const {
  auto found = dynamic_anchors_.find(name);
  return found != dynamic_anchors_.end() && found->second > 1;
}

}  // namespace tool::pipeline
