#pragma once

// Arguments of a tool come from a model or a stranger; the tool's own schema
// says which it takes. The schema is compiled once, into nodes of known kinds,
// and a keyword that is not understood is an error then and not a hole later.
// Source: JSON Schema 2020-12, "Core" and "Validation".

#include <cstdint>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/json/json.h"

namespace tool::pipeline {

struct SchemaNode;

/// Understood: type, enum, const, properties, patternProperties, required,
/// additionalProperties, unevaluatedProperties, propertyNames, dependentRequired,
/// dependentSchemas, items, prefixItems, unevaluatedItems, contains, minContains,
/// maxContains, minItems, maxItems, uniqueItems, minProperties, maxProperties,
/// minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength,
/// maxLength, pattern (RE2), oneOf, anyOf, allOf, not, if, then, else, $defs and
/// definitions, $id at every level, $anchor, $dynamicAnchor, $ref and $dynamicRef
/// within the document, and the schemas true and false.
/// Kept as notes: $schema, $vocabulary, $comment, title, description, default,
/// examples, deprecated, readOnly, writeOnly, format, contentMediaType,
/// contentEncoding, contentSchema, and names that begin with "x-".
/// Refused by name, as every other keyword: a $ref or $dynamicRef to another
/// document but the meta-schema of draft 2020-12. None is ever fetched.
/// A value; copies share the nodes. check() is safe to call from any thread.
class Schema {
 public:
  /// Errors: kUnsupported  another keyword, a pattern that RE2 does not take, or a
  ///         $ref or $dynamicRef out of the document;
  ///         kInvalid  a keyword with a value it cannot have, an $id twice, an
  ///         anchor twice in a resource, or a reference that leads nowhere or,
  ///         without a step into the value, always back to itself;
  ///         kTooLarge  over 2,000 schemas, 16 levels, 256 values in an enum,
  ///         16 branches of a oneOf, anyOf, allOf or prefixItems, a pattern
  ///         of 1 KiB, or a URI of 2 KiB.
  [[nodiscard]] static base::Result<Schema> compile(const base::json::Object& schema);

  /// Whether `value`, called `path` in messages, is as the schema says.
  /// Errors: kInvalid  it is not; the message names the member and the rule;
  ///         kTooLarge  more than 1,000,000 comparisons, 512 schemas in each
  ///         other, or a $dynamicRef that leads back to itself at one value.
  [[nodiscard]] base::Status check(const base::json::Value& value, const std::string& path) const;

 private:
  explicit Schema(std::shared_ptr<const SchemaNode> root) : root_(std::move(root)) {}
  // Of a graph that it shares ownership of.
  std::shared_ptr<const SchemaNode> root_;
};

}  // namespace tool::pipeline
