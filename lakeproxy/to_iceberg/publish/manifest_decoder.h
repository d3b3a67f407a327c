#pragma once

// A manifest of some megabytes takes a second to decode, and an event loop that
// does it answers nobody meanwhile. Large ones are decoded on threads of their
// own; small ones, which nearly all are, at once.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/byte_budget.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"
#include "lakeproxy/iceberg/manifest/manifest_reader.h"

namespace lake::publish {

/// What is decoded on the event loop: about 5 ms of work.
inline constexpr std::size_t kSmallStored = 32 << 10;
inline constexpr std::size_t kSmallUnpacked = 512 << 10;

/// One for the process; safe from any thread. Outlives its tasks.
class ManifestDecoder {
 public:
  /// `bytes` may be taken from the budget at once.
  explicit ManifestDecoder(std::size_t bytes, unsigned threads = 2)
      : budget_(bytes), pool_(threads) {}

  /// Errors: those of materialize::read_manifest_list().
  [[nodiscard]] base::Task<base::Result<std::vector<model::ManifestFile>>> list(
      std::string file, materialize::ManifestLimits limits = {});
  /// Errors: those of materialize::read_manifest().
  [[nodiscard]] base::Task<base::Result<materialize::Manifest>> manifest(
      std::string file, materialize::ManifestLimits limits = {});

  /// What of a metadata file is as large. `call` must not throw.
  template <class Call>
  auto run(Call call) {
    return pool_.run(std::move(call));
  }

  [[nodiscard]] materialize::ManifestHeaders& headers() { return headers_; }
  /// For what clients name, from before it is brought here until nothing of it is
  /// held: stored and unpacked bytes.
  [[nodiscard]] base::ByteBudget& budget() { return budget_; }

 private:
  materialize::ManifestHeaders headers_;
  base::ByteBudget budget_;
  base::BlockingPool pool_;
};

}  // namespace lake::publish
