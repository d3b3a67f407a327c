#pragma once

// The engine can do far more than answer questions: read files and addresses,
// write, change settings, run text as SQL. A query is let through only when
// its parsed tree holds nothing but what is known to compute from loaded
// tables; the text itself is never looked at, so quotes, comments and escapes
// hide nothing. What the screen does not know, it refuses. How much a query takes
// is none of its business: the engine's process has walls.
//
// The tree is the engine's own, of json_serialize_sql; the caller of screen()
// gives exactly that to the engine which it then lets run the statement.
// Source: DuckDB 1.5.5, json_serialize_sql.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/json/json.h"

namespace tool::connectors {

enum class RawFiles : std::uint8_t { kRefused, kAllowed };
/// Whether a caller may know which tables there are.
enum class TableNames : std::uint8_t { kTold, kSecret };

/// A table of a catalog behind the engine, as a statement spells it: "sales".orders.
struct QualifiedName {
  std::string name_space;
  std::string table;
  /// In lower case: the engine takes names that differ in case alone for one.
  [[nodiscard]] std::string key() const;
  friend auto operator<=>(const QualifiedName&, const QualifiedName&) = default;
};

/// Which names a statement may have in FROM.
enum class Naming : std::uint8_t {
  kLoaded,   ///< Those of ScreenRules::tables.
  kNamed,    ///< NAMESPACE.TABLE, whatever they are: the verdict lists them.
  kBrought,  ///< NAMESPACE.TABLE, each with its key() in ScreenRules::tables.
};

struct ScreenRules {
  std::set<std::string> tables;  ///< That callers loaded, in lower case.
  RawFiles raw_files = RawFiles::kRefused;
  TableNames names = TableNames::kTold;
  Naming naming = Naming::kLoaded;
};

struct Verdict {
  enum class Kind : std::uint8_t {
    kAllowed,
    kRefused,       ///< By a rule, or because it could not be decided.
    kUnknownTable,  ///< Nothing wrong but that there is no such table.
    kUnreadable,    ///< The engine does not parse the text; `reason` is its own.
  };
  Kind kind = Kind::kAllowed;
  std::string reason;                  ///< Names what: "the function read_csv is not allowed".
  bool names_files = false;            ///< Only where raw files are allowed.
  std::set<QualifiedName> named = {};  ///< Of Naming::kNamed.

  [[nodiscard]] bool allowed() const { return kind == Kind::kAllowed; }
};

/// Judges what json_serialize_sql gave for a text. Pure.
[[nodiscard]] Verdict screen(const base::json::Value& tree, const ScreenRules& rules);

}  // namespace tool::connectors
