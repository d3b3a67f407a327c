#pragma once

// The files of a scan in JSON.
// Source: Iceberg REST description, "DataFile", "DeleteFile", "FileScanTask".

#include <string>
#include <unordered_set>
#include <vector>

#include "lakeproxy/iceberg/manifest/manifest.h"

namespace lake::scan {

/// The types of a spec's partition values, in its order. A column that none of the schemas has any
/// more gives "unknown", for which the value itself says how it is written.
[[nodiscard]] std::vector<model::Type> partition_types(const model::PartitionSpec& spec,
                                                       const std::vector<model::Schema>& schemas);

/// Row ids are told of tables of format version 3 alone.
enum class RowIds : std::uint8_t { kLeftOut, kTold };

/// How one file is written.
struct FileForm {
  std::int32_t spec_id = 0;
  RowIds row_ids = RowIds::kLeftOut;
  const std::vector<model::Type>* partition_types = nullptr;
  /// Columns whose statistics are told; null: none.
  const std::unordered_set<model::FieldId>* stats = nullptr;
};

/// Appends a "DataFile", or a "DeleteFile" by its content. Bounds are written as the reference
/// implementation reads them: the bytes of the binary single-value form in hexadecimal.
void append_file(std::string& out, const model::DataFile& file, const FileForm& form);

}  // namespace lake::scan
