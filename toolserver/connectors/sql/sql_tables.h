#pragma once

// The tables that callers loaded. The engine knows them too, but between its
// own hundreds of views; this list is what the screen goes by.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json/json.h"

namespace tool::connectors {

struct LoadedTable {
  std::string name;  ///< As it was given.
  std::string file;  ///< Relative to data_dir.
  std::int64_t rows = 0;
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
  /// In lower case.
  [[nodiscard]] std::set<std::string> names() const;
  [[nodiscard]] std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, LoadedTable> tables_;  // Guarded by mutex_; by lower case.
};

}  // namespace tool::connectors
