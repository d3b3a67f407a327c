#pragma once

// The rows of a statement as the engine makes them, in chunks of its own: what
// was read and passed on needs no memory any more, so a result may be larger
// than memory. For readers that know the engine's types.

#include <duckdb.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace base::duckdb {

/// Used from one thread; its statement and connection outlive it.
class Stream {
 public:
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  [[nodiscard]] const std::vector<std::string>& names() const;
  /// The columns' types; they live as long as the stream.
  [[nodiscard]] const std::vector<duckdb_logical_type>& types() const;
  [[nodiscard]] duckdb_arrow_options arrow_options() const;

  /// The next chunk, with at least one row, valid until the next call; null
  /// after the last.
  /// Errors: kTimeout, kCancelled, kTooLarge, kInvalid (a value), kInternal.
  [[nodiscard]] Result<duckdb_data_chunk> next();

 private:
  friend class Statement;
  struct Impl;
  explicit Stream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace base::duckdb
