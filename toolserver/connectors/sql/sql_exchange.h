#pragma once

// What the service and the process of the SQL engine say to each other. The
// engine's process runs what callers wrote, so its answers are read as a
// stranger's: bounded, checked, and refused whole.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "toolserver/connectors/sql/sql_options.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::connectors {

/// A table that was loaded before the engine began anew.
struct SavedTable {
  std::string table;
  std::string file;  ///< Relative to data_dir.
};

/// What the engine's process begins with.
struct SqlOpening {
  SqlOptions options;
  std::vector<SavedTable> tables;
};

/// A call, whose arguments the other side checks again.
struct SqlOrder {
  std::string tool;
  base::json::Object args;
  bool dry_run = false;
  /// Not empty: the statement is only judged, whether it keeps to these tables.
  std::vector<std::string> tables = {};
  std::chrono::milliseconds time{};  ///< That is left.
};

/// How far a call is.
struct SqlNote {
  double part = -1;  ///< 0 to 1; below 0 where the engine does not know.
  std::uint64_t rows = 0;
};

[[nodiscard]] std::string encode(const SqlOpening& opening);
[[nodiscard]] std::string encode(const SqlOrder& order);
[[nodiscard]] std::string encode(const SqlNote& note);
/// At most `most` bytes: what is longer is E_LIMIT to the caller.
[[nodiscard]] std::string encode(const Outcome<ToolResult>& answer, std::size_t most);

/// Errors: kInvalid  names the member.
[[nodiscard]] base::Result<SqlOpening> read_opening(std::string_view text);
[[nodiscard]] base::Result<SqlOrder> read_order(std::string_view text);
/// Nothing where it is none.
[[nodiscard]] std::optional<SqlNote> read_note(std::string_view text);
/// Errors: kCorrupt  it is none.
[[nodiscard]] base::Result<Outcome<ToolResult>> read_answer(std::string_view bytes);

}  // namespace tool::connectors
