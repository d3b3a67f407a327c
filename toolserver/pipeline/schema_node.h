#pragma once

// A schema after it was understood: what schema_compile.cc makes and
// schema_check.cc walks.

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"

namespace tool::pipeline {

struct SchemaNode;
using NodePtr = std::unique_ptr<const SchemaNode>;

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

struct SchemaNode {
  Anything anything = Anything::kConstrained;
  std::uint8_t types = 0;  ///< Zero allows all.
  std::string types_text;  ///< For messages.

  std::optional<std::vector<std::string>> allowed;  ///< enum and const, canonical.

  std::unordered_map<std::string, NodePtr> properties;
  std::vector<std::string> required;
  NodePtr additional;  ///< Null allows all.
  CountBounds members;

  NodePtr items;
  CountBounds elements;
  bool are_elements_unique = false;

  NumberBounds number;
  CountBounds characters;
  std::unique_ptr<const RE2> pattern;

  std::vector<NodePtr> one_of;
  std::vector<NodePtr> any_of;
  std::vector<NodePtr> all_of;
};

}  // namespace tool::pipeline
