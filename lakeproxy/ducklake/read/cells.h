#pragma once

// Cells of PostgreSQL's rows as what they are in the lake.

#include <cstdint>
#include <optional>

#include "base/postgres/session.h"
#include "lakeproxy/model/ids.h"

namespace lake::ducklake {

/// Nothing for NULL.
[[nodiscard]] inline std::optional<model::SnapshotId> opt_snapshot(const base::pg::Rows& rows,
                                                                   std::size_t row,
                                                                   std::size_t column) {
  auto value = rows.opt_int64(row, column);
  return value ? std::optional<model::SnapshotId>(*value) : std::nullopt;
}

/// Of a column that holds no more than 32 bits.
[[nodiscard]] inline std::int32_t int32(const base::pg::Rows& rows, std::size_t row,
                                        std::size_t column) {
  return static_cast<std::int32_t>(rows.int64(row, column));
}

}  // namespace lake::ducklake
