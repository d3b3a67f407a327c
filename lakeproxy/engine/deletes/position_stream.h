#pragma once

// Positions as the engine finds them, a chunk at a time: a few bytes of a file
// may stand for millions, which need not be in the engine's memory as well as
// in ours.

#include <duckdb.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "base/core/result.h"
#include "base/duckdb/connection.h"
#include "base/duckdb/stream.h"

namespace lake::exporter {

/// The rows of a statement whose second column is a BIGINT, the position, and
/// whose first is a BIGINT or a VARCHAR. Used from one thread.
class PositionStream {
 public:
  explicit PositionStream(base::duckdb::Stream stream) : stream_(std::move(stream)) {}

  /// Steps to the next row; false after the last.
  /// Errors: kCorrupt  a null in it; those of Stream::next().
  [[nodiscard]] base::Result<bool> next();
  /// Of the row that next() reached; the text is valid until the next call.
  [[nodiscard]] std::int64_t position() const { return positions_[row_]; }
  [[nodiscard]] std::int64_t number() const;
  [[nodiscard]] std::string_view text() const;

 private:
  base::duckdb::Stream stream_;
  void* first_ = nullptr;
  std::span<const std::int64_t> positions_;
  std::size_t row_ = 0;
};

}  // namespace lake::exporter
