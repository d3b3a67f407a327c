#pragma once

// Which delete files count for a data file.
// Source: Iceberg table specification, "Scan Planning" and "Delete Formats".

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "lakeproxy/iceberg/manifest/manifest.h"

namespace lake::scan {

/// A file of a manifest with what it inherits.
struct ListedFile {
  std::int32_t spec_id = 0;
  std::int64_t sequence_number = 0;
  const model::DataFile* file = nullptr;
};

/// The delete files of a snapshot, by their places in the order in which they were added. Borrows
/// the files.
class DeleteIndex {
 public:
  /// `is_unpartitioned`: its spec has no fields.
  void add(const ListedFile& deletes, bool is_unpartitioned);
  /// Places of the delete files of `data`, rising. A deletion vector stands for all position
  /// deletes of its data file.
  [[nodiscard]] std::vector<std::uint32_t> find(const ListedFile& data) const;
  [[nodiscard]] bool empty() const { return count_ == 0; }

 private:
  struct Delete {
    std::int64_t sequence_number;
    std::uint32_t place;
  };
  using Deletes = std::vector<Delete>;
  using ByKey = std::unordered_map<std::string, Deletes>;

  std::uint32_t count_ = 0;
  Deletes everywhere_;       ///< Equality deletes without a partition.
  ByKey equality_;           ///< By partition.
  ByKey positions_;          ///< By partition.
  ByKey positions_of_file_;  ///< By path.
  ByKey vectors_;            ///< By path.
};

/// The data file that a file of position deletes is about, by its own word or by its bounds; null
/// where it may be about several.
[[nodiscard]] const std::string* referenced_file(const model::DataFile& deletes);

}  // namespace lake::scan
