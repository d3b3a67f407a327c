#pragma once

// The process of the SQL engine: DuckDB is opened here and nowhere else. What
// a statement does to it, it does to this process.

#include <string_view>

namespace tool::connectors {

inline constexpr std::string_view kSqlRole = "sql";

/// The role's main(): answers SqlOrders over `channel`.
[[nodiscard]] int sql_child(int channel);

/// Bytes of an answer of `bytes` on the way to the service.
[[nodiscard]] constexpr std::size_t sql_answer_bytes(std::size_t bytes) {
  return bytes + (std::size_t{4} << 20);
}

}  // namespace tool::connectors
