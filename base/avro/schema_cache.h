#pragma once

// A writer puts the same schema into each of its files, and parsing it takes
// longer than reading a small file behind it.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/avro/schema.h"
#include "base/core/result.h"

namespace base::avro {

/// Parsed schemas by their text. Files come from strangers: what is kept is
/// bounded, and who sends many schemas makes it begin anew, no more. Safe from
/// any thread.
class SchemaCache {
 public:
  /// Keeps up to `schemas` texts of up to `text_bytes` each; with 0 nothing.
  explicit SchemaCache(std::size_t schemas = 256, std::size_t text_bytes = 64 * 1024)
      : most_(schemas), text_bytes_(text_bytes) {}

  /// The schema of that text, parsed now or before, under the limits of whoever
  /// asked first. Errors: those of Schema::parse, which are not kept.
  [[nodiscard]] Result<std::shared_ptr<const Schema>> parse(std::string_view text,
                                                            const SchemaLimits& limits = {});
  [[nodiscard]] std::size_t size() const;

 private:
  [[nodiscard]] std::shared_ptr<const Schema> find(std::string_view text) const;

  const std::size_t most_;
  const std::size_t text_bytes_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Schema>, std::less<>> schemas_;  // Guarded by mutex_.
};

}  // namespace base::avro
