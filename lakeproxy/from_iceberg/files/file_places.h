#pragma once

// A client that may write one table must not make the server, or whoever gets
// keys for that table, read the files of another one. So the files that a client
// adds lie in the table's own folder, or where the administrator has said that
// files for any table may lie. What our keys do not reach at all, a local path or
// another bucket, is recorded as it is and opened by nobody here.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/from_iceberg/rows/lake_files.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::operation {

class FilePlaces {
 public:
  /// Of the table at `location`. `catalog` outlives it.
  /// Errors: kInvalid  not a location.
  [[nodiscard]] static base::Result<FilePlaces> of(const Catalog& catalog,
                                                   const std::string& location);

  /// Whether it lies in the table's folder, or in one of LAKEPROXY_FILE_PREFIXES.
  [[nodiscard]] bool has(const std::string& file) const;
  /// A data file that a client adds. Errors: kInvalid  in the bucket, and not here.
  [[nodiscard]] base::Status check_data_file(const std::string& file) const;
  /// A delete file that a client adds: it will be read. Errors: kInvalid  not here.
  [[nodiscard]] base::Status check_delete_file(const std::string& file) const;
  /// All that one snapshot adds. Errors: kInvalid.
  [[nodiscard]] base::Status check(const std::vector<ducklake::AddedFile>& data,
                                   const std::vector<ducklake::AddedFile>& deletes) const;

 private:
  FilePlaces(const Catalog& catalog, storage::Location folder, std::string folder_text)
      : catalog_(&catalog), folder_(std::move(folder)), folder_text_(std::move(folder_text)) {}
  [[nodiscard]] base::Error refused(const std::string& file) const;

  const Catalog* catalog_;
  storage::Location folder_;
  std::string folder_text_;  ///< Canonical.
};

/// Data files that an equality delete applies to are searched here. Those that lie
/// elsewhere in the bucket are, too, where the lake's own clients have added them.
/// `table` is null for one that the commit makes.
/// Errors: kInvalid  names one that an Iceberg client has added; those of LakeReader.
[[nodiscard]] base::Task<base::Status> check_searched(base::RequestContext context,
                                                      Catalog* catalog,
                                                      const model::LakeTable* table,
                                                      std::string location,
                                                      std::vector<std::string> files);

}  // namespace lake::operation
