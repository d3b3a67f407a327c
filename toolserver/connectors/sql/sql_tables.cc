#include "toolserver/connectors/sql/sql_tables.h"

#include "toolserver/connectors/sql/sql_names.h"

namespace tool::connectors {

void SqlTables::put(LoadedTable table) {
  std::lock_guard lock(mutex_);
  std::string key = lower_ascii(table.name);
  tables_.insert_or_assign(std::move(key), std::move(table));
}

void SqlTables::clear() {
  std::lock_guard lock(mutex_);
  tables_.clear();
}

std::optional<LoadedTable> SqlTables::find(std::string_view name) const {
  std::lock_guard lock(mutex_);
  auto found = tables_.find(lower_ascii(name));
  if (found == tables_.end()) return std::nullopt;
  return found->second;
}

std::vector<LoadedTable> SqlTables::all() const {
  std::lock_guard lock(mutex_);
  std::vector<LoadedTable> tables;
  for (const auto& [key, table] : tables_) tables.push_back(table);
  return tables;
}

std::set<std::string> SqlTables::keys() const {
  std::lock_guard lock(mutex_);
  std::set<std::string> keys;
  for (const auto& [key, table] : tables_) keys.insert(key);
  return keys;
}

std::size_t SqlTables::size() const {
  std::lock_guard lock(mutex_);
  return tables_.size();
}

}  // namespace tool::connectors
