#pragma once

// A schema after it was understood: what schema_compiler.h makes and
// schema_check.cc walks.

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"

namespace tool::pipeline {

struct SchemaNode;
/// Owned by the SchemaGraph. A $ref lets nodes point to each other in circles.
using NodePtr = const SchemaNode*;

enum class Anything : std::uint8_t { kConstrained, kAlways, kNever };

// One bit for each name of "type"; kInteger is not kNumber.
enum TypeBit : std::uint8_t {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kNumber = 8,
  kString = 16,
  kArray = 32,
  kObject = 64,
};

struct NumberBounds {
  std::optional<base::json::Value> minimum;
  std::optional<base::json::Value> maximum;
  std::optional<base::json::Value> above;
  std::optional<base::json::Value> below;
};

struct CountBounds {
  std::optional<std::uint64_t> minimum;
  std::optional<std::uint64_t> maximum;
};

/// The document's root, or a schema below it that has an "$id": what a $dynamicRef asks
/// the resources that a check has entered.
struct SchemaResource {
  std::unordered_map<std::string, NodePtr> dynamic_anchors;
};

struct SchemaNode {
  const SchemaResource* resource = nullptr;  ///< That it stands in.
  Anything anything = Anything::kConstrained;
  std::uint8_t types = 0;  ///< Zero allows all.
  std::string types_text;  ///< For messages.

  std::optional<std::vector<std::string>> allowed;  ///< enum, canonical.
  std::optional<std::string> constant;              ///< const, canonical.

  std::unordered_map<std::string, NodePtr> properties;
  std::vector<std::pair<std::unique_ptr<const RE2>, NodePtr>> pattern_properties;
  std::vector<std::string> required;
  std::vector<std::pair<std::string, std::vector<std::string>>> dependent_required;
  std::vector<std::pair<std::string, NodePtr>> dependent_schemas;
  NodePtr names = nullptr;
  NodePtr additional = nullptr;  ///< Null allows all.
  NodePtr unevaluated_members = nullptr;
  CountBounds members;

  std::vector<NodePtr> prefix;
  NodePtr items = nullptr;  ///< Of the elements after the prefix.
  NodePtr unevaluated_elements = nullptr;
  NodePtr contains = nullptr;
  CountBounds contained;
  CountBounds elements;
  bool are_elements_unique = false;

  NumberBounds number;
  std::optional<base::json::Value> multiple_of;
  CountBounds characters;
  std::unique_ptr<const RE2> pattern;

  std::vector<NodePtr> one_of;
  std::vector<NodePtr> any_of;
  std::vector<NodePtr> all_of;
  NodePtr negated = nullptr;
  NodePtr condition = nullptr;
  NodePtr then = nullptr;
  NodePtr otherwise = nullptr;
  NodePtr target = nullptr;  ///< Of $ref.

  NodePtr dynamic_target = nullptr;  ///< Of $dynamicRef, where the name below decides nothing.
  /// The anchor that the entered resources are asked for, from the outermost on; empty where
  /// the target is the same in each of them.
  std::string dynamic_name;
};

/// All nodes of a schema.
struct SchemaGraph {
  std::vector<std::unique_ptr<SchemaNode>> nodes;
  std::vector<std::unique_ptr<SchemaResource>> resources;
  NodePtr root = nullptr;
};

}  // namespace tool::pipeline
