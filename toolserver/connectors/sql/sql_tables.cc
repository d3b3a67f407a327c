#include "toolserver/connectors/sql/sql_tables.h"

#include "toolserver/connectors/sql/sql_names.h"

namespace tool::connectors {

void SqlTables::put(LoadedTable table) {
  std::lock_guard lock(mutex_);
  std::string key = lower_ascii(table.name);
  tables_.insert_or_assign(std::move(key), std::move(table));
}

bool SqlTables::remove(std::string_view name) {
  std::lock_guard lock(mutex_);
  return tables_.erase(lower_ascii(name)) > 0;
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

std::set<std::string> SqlTables::names() const {
  std::lock_guard lock(mutex_);
  std::set<std::string> names;
  for (const auto& [key, table] : tables_) names.insert(key);
  return names;
}

std::size_t SqlTables::size() const {
  std::lock_guard lock(mutex_);
  return tables_.size();
}

}  // namespace tool::connectors
