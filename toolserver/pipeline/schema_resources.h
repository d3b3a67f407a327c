#pragma once

// A schema may hold schemas with an "$id" of their own, and anchors: names by which a
// reference finds them. All of them are found within the one document of a tool.
// Source: JSON Schema 2020-12, "Core", 8.2 and 9.1 to 9.3.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/core/result.h"
#include "toolserver/pipeline/schema_node.h"

namespace tool::pipeline {

/// A schema resource while its document is compiled: the document's root, or a schema
/// below it that has an "$id".
struct Resource {
  std::string uri;                                   ///< Absolute, without a fragment.
  std::string pointer;                               ///< Of its root, from the document's root.
  const base::json::Value* root;                     ///< Lives as long as the document.
  SchemaResource* node;                              ///< What remains of it after compilation.
  std::unordered_map<std::string, NodePtr> anchors;  ///< Of both keywords.
};

enum class AnchorKind { kPlain, kDynamic };

/// The resources of one document. Not for several threads.
class SchemaResources {
 public:
  explicit SchemaResources(SchemaGraph& graph) : graph_(graph) {}

  /// Adds the schema `root` at `pointer`, whose "$id" is `id`, read against the resource
  /// `around` it. A document's root has none around it, and may have an empty `id`: a
  /// relative reference is then read against a base that no other document has.
  /// Errors: kInvalid  a fragment in `id`, or a resource of that URI is there;
  ///         kTooLarge  a URI of over 2 KiB.
  base::Result<Resource*> open(const Resource* around, std::string_view id, std::string pointer,
                               const base::json::Value& root);

  /// Errors: kInvalid  `name` is no name, or the resource has it already.
  base::Status add_anchor(Resource& resource, std::string_view name, NodePtr schema,
                          AnchorKind kind);

  /// The URI, without a fragment, that `reference` means in the resource `from`.
  /// Errors: kTooLarge  a URI of over 2 KiB.
  static base::Result<std::string> uri_of(const Resource& from, std::string_view reference);

  /// Null when the document has none of that URI.
  [[nodiscard]] Resource* find(std::string_view uri) const;

  /// Whether more than one resource has a $dynamicAnchor of that name.
  [[nodiscard]] bool is_overridden(const std::string& name) const;

 private:
  SchemaGraph& graph_;
  std::unordered_map<std::string, std::size_t> dynamic_anchors_;  // How many of a name.
  std::map<std::string, std::unique_ptr<Resource>, std::less<>> by_uri_;
};

}  // namespace tool::pipeline
