#pragma once

// What an operator decides about the SQL tools. The defaults give callers the
// tables that were loaded, and nothing else of the machine.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/core/result.h"
#include "toolserver/isolate/walls.h"

namespace tool::connectors {

struct SqlOptions {
  /// The folder whose files sql.load reads; absolute. Empty: no files at all,
  /// and sql.load is not offered.
  std::string data_dir;
  /// Takes the engine's own fence around data_dir away. The screen stays.
  bool enable_external_access = false;
  /// Lets queries name files of data_dir: read_parquet, read_csv, read_json and
  /// FROM 'file.csv', with paths relative to data_dir.
  bool allow_raw_file_sql = false;
  std::uint64_t memory_bytes = 512ULL << 20;  ///< All calls and tables together.
  unsigned threads = 2;
  std::size_t rows = 10'000;       ///< Of one answer; more is cut.
  std::size_t bytes = 8ULL << 20;  ///< Of one answer; more is E_LIMIT.
  std::chrono::milliseconds time{30'000};
  /// At once; more are E_BUSY. Of one principal half of them, at least one.
  std::size_t calls = 8;
  /// Tables are brought by the service, as NAMESPACE.TABLE, for one statement: brought_tables.h.
  /// Then data_dir holds their files, and callers can neither load nor name any.
  bool brings_tables = false;
  std::size_t tables = 64;  ///< Loaded at once; more are E_LIMIT.
  std::size_t statement_bytes = 64 << 10;
  std::size_t params = 256;
  std::size_t param_bytes = 64 << 10;  ///< Of one text; a query may copy it into each row.
  /// Whether the engine starts where the kernel lacks one of its walls.
  isolate::Demand demand = isolate::Demand::kWhatThereIs;
};

/// Errors: kInvalid  a number is 0 or over its bound, or data_dir is not an
///         existing folder named by an absolute path; names the option.
[[nodiscard]] base::Status check(const SqlOptions& options);

}  // namespace tool::connectors
