#pragma once

// A policy's expression in the dialect of Spark, where it is the same question there. DuckDB and
// Spark differ in quotes, escapes, functions, casts and numbers; what is not known to mean the
// same in both is not translated.
// Source: Spark SQL reference, "Literals", "Identifiers", "Built-in Functions".

#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::operation {

/// `name` in backticks.
[[nodiscard]] std::string quote_for_spark(std::string_view name);

/// `expression` is as the policies' compiler writes it, over columns of `schema`. Nothing: it may
/// mean something else there.
[[nodiscard]] std::optional<std::string> in_spark(std::string_view expression,
                                                  const model::Schema& schema);

}  // namespace lake::operation
