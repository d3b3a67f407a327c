#pragma once

// A client's manifests are read before it is known what is in them: a list may
// leave its counts out, and packed bytes unfold. What one commit takes of memory
// is therefore bounded over all its manifests, as they are read.

#include <cstddef>

#include "lakeproxy/iceberg/manifest/manifest_reader.h"

namespace lake::operation {

/// Entries that one commit may bring or take apart.
inline constexpr std::size_t kMostEntries = 500'000;
/// Columns with statistics, over all their files.
inline constexpr std::size_t kMostStatistics = 2'000'000;
/// Of all manifests, as they are stored and, separately, unpacked.
inline constexpr std::size_t kMostStoredBytes = 256 << 20;
inline constexpr std::size_t kMostUnpackedBytes = 512 << 20;

/// One commit's. Used by one event loop.
class ManifestBudget {
 public:
  /// Of `unpacked` bytes, at most kMostUnpackedBytes.
  explicit ManifestBudget(std::size_t unpacked = kMostUnpackedBytes) : bytes_(unpacked) {}
  /// What the next manifest may have.
  [[nodiscard]] materialize::ManifestLimits left() const;
  /// `manifest` was read within left(), as it was then.
  /// Errors: kTooLarge  others were read meanwhile, and together they are over.
  [[nodiscard]] base::Status spend(const materialize::Manifest& manifest);

 private:
  std::size_t entries_ = kMostEntries;
  std::size_t statistics_ = kMostStatistics;
  std::size_t bytes_;
};

}  // namespace lake::operation
