#pragma once

// The files of a foreign table's snapshot, with what tells which delete file
// applies to which data file, and what its delete files of every kind become: DuckLake's,
// as those of a client's commit do.
// Source: Iceberg table specification, "Sequence Number Inheritance", "First Row ID
// Inheritance", "Scan Planning".

#include <cstdint>
#include <string>
#include <vector>

#include "lakeproxy/from_iceberg/rows/lake_files.h"
#include "lakeproxy/from_iceberg/rows/row_deletes.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

struct SequencedFile {
  ducklake::AddedFile added;
  std::int64_t sequence_number = 0;
};

struct ForeignFiles {
  std::vector<SequencedFile> data;  ///< With the row ids that they have.
  std::vector<SequencedFile> deletes;
};

/// `location` lies under the catalog's prefix. Errors: kInvalid  names `what`.
[[nodiscard]] base::Status check_foreign_place(const Catalog& catalog, const std::string& what,
                                               const std::string& location);

/// What is missing or does not parse is the client's fault; the store being away is not.
[[nodiscard]] base::Error as_client_fault(base::Error error, const std::string& what);

/// Reads the manifest list at `list` and its manifests.
/// Errors: kInvalid  one is outside of the catalog's prefix, missing or broken;
///         kTooLarge  over 500,000 files; kUnavailable, kTimeout.
[[nodiscard]] base::Task<base::Result<ForeignFiles>> read_foreign_files(
    base::RequestContext context, Catalog* catalog, std::string list);

/// The deletes of `files.data`, each of which is a file that the first snapshot
/// of the new table adds, by its index. Puts DuckLake's delete files under the
/// table's location; nothing names these before the table is made. Deletes of
/// other files count for nothing. What is pointed to outlives the task.
/// A data file that stands in the table several times, and not with the same deleted rows, is
/// copied there, and `files` names the copies.
/// Errors: those of Exporter and convert_deletes(); kInvalid  such a file is not in the store, or
///         lies in another bucket; kUnsupported  it is over 256 MiB, or they are over 64.
[[nodiscard]] base::Task<base::Result<ducklake::RowDeletes>> convert_foreign_deletes(
    base::RequestContext context, Catalog* catalog, const model::TableMetadata* metadata,
    ForeignFiles* files);

}  // namespace lake::operation
