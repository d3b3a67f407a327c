#pragma once

// Iceberg clients delete rows in three ways: position-delete files for many
// data files, one deletion vector for each, and equality-delete files, which
// name no row at all. DuckLake knows one: a list of positions for each data
// file. These are the values in which Exporter translates the former into the
// latter.
// Source: Iceberg table specification, "Delete Formats".

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/schema/name_mapping.h"
#include "lakeproxy/iceberg/schema/schema.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::exporter {

/// Rows of one data file, counted from 0, ascending, each once.
using Positions = std::vector<std::int64_t>;
/// By the data file's location, in the spelling of whoever named it; no entry
/// is empty.
using PositionsByFile = std::map<std::string, Positions>;

/// The positions that one call gives at most, over all data files: 256 MiB.
inline constexpr std::size_t kMostPositionsAtOnce = 32 << 20;

/// A data file that an equality delete may apply to.
struct Candidate {
  /// Its location, size and statistics: it is read only if these allow a match.
  model::DataFile file;
  /// For a file without any field id. Without it such a file is refused.
  std::optional<model::NameMapping> names = std::nullopt;
  /// Values of top-level columns that the file does not hold: those of
  /// identity partition fields and of hive paths; nothing is null.
  std::map<model::FieldId, std::optional<model::Literal>> constants = {};
  /// Which of EqualitySearch::deletes apply to it, as indexes, ascending: the
  /// caller knows partitions and sequence numbers.
  std::vector<std::size_t> deletes;
};

struct EqualitySearch {
  storage::Location prefix;  ///< The catalog's own; nothing else is read.
  /// Holds every delete column, with its type and initial default as of now.
  model::Schema schema;
  std::vector<model::DataFile> deletes;  ///< Equality-delete files.
  std::vector<Candidate> candidates;
};

/// A DuckLake delete file that was put.
struct PutDeletes {
  std::int64_t delete_count = 0;
  std::int64_t file_size_bytes = 0;
};

}  // namespace lake::exporter
