#pragma once

// The engine can do far more than answer questions: read files and addresses,
// write, change settings, run text as SQL. A query is let through only when
// its parsed tree holds nothing but what is known to compute from loaded
// tables; the text itself is never looked at, so quotes, comments and escapes
// hide nothing. What the screen does not know, it refuses.
//
// The tree is the engine's own, of json_serialize_sql; the caller of screen()
// gives exactly that to the engine which it then lets run the statement.
// Source: DuckDB 1.5.5, json_serialize_sql.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/json/json.h"

namespace tool::connectors {

enum class RawFiles : std::uint8_t { kRefused, kAllowed };

/// How much a table can bring into a query.
struct TableExtent {
  double rows = 0;
  std::size_t widest = 0;  ///< Bytes of its longest value.
};

struct ScreenRules {
  /// Tables that callers loaded, by their names in lower case.
  std::map<std::string, TableExtent> tables;
  RawFiles raw_files = RawFiles::kRefused;
  /// Values of $1 and on: some functions are judged by an argument.
  base::json::Array params;
};

struct Verdict {
  enum class Kind : std::uint8_t {
    kAllowed,
    kRefused,       ///< By a rule, or because it could not be decided.
    kTooMuch,       ///< Would make more than memory limits can stop.
    kUnknownTable,  ///< Nothing wrong but that there is no such table.
    kUnreadable,    ///< The engine does not parse the text; `reason` is its own.
  };
  Kind kind = Kind::kAllowed;
  std::string reason;        ///< Names what: "the function read_csv is not allowed".
  bool names_files = false;  ///< Only where raw files are allowed.

  [[nodiscard]] bool allowed() const { return kind == Kind::kAllowed; }
};

/// Judges what json_serialize_sql gave for a text. Pure.
[[nodiscard]] Verdict screen(const base::json::Value& tree, const ScreenRules& rules);

}  // namespace tool::connectors
