#pragma once

// The tables that callers loaded. The engine knows them too, but between its
// own hundreds of views; this list is what the screen goes by.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "toolserver/connectors/sql/sql_screen.h"

namespace tool::connectors {

struct LoadedTable {
  std::string name;  ///< As it was given.
  std::string file;  ///< Relative to data_dir.
  std::int64_t rows = 0;
  std::size_t widest = 0;     ///< Bytes of its longest value.
  base::json::Array columns;  ///< [{"name": ..., "type": ...}]
};

/// Safe to use from any thread. Names are compared without regard to case.
class SqlTables {
 public:
  void put(LoadedTable table);
  /// False where there is none of that name.
  bool remove(std::string_view name);
  void clear();
  [[nodiscard]] std::optional<LoadedTable> find(std::string_view name) const;
  [[nodiscard]] std::vector<LoadedTable> all() const;
  /// By their names in lower case.
  [[nodiscard]] std::map<std::string, TableExtent> extents() const;
  [[nodiscard]] std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, LoadedTable> tables_;  // Guarded by mutex_; by lower case.
};

}  // namespace tool::connectors
