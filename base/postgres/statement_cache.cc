#include "base/postgres/statement_cache.h"

#include <fmt/format.h>

#include <algorithm>

namespace base::pg {

const std::string* StatementCache::find(std::string_view sql) {
  if (stale_) return nullptr;
  auto found = by_sql_.find(sql);
  if (found == by_sql_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return &found->second->name;
}

const std::string& StatementCache::add(std::string_view sql) {
  // Only a stale cache knows the text already; the old name goes with the rest.
  if (auto old = by_sql_.find(sql); old != by_sql_.end()) forget(std::string(old->second->name));
  if (entries_.size() >= capacity_) {
    pushed_out_.push_back(entries_.back().name);
    by_sql_.erase(entries_.back().sql);
    entries_.pop_back();
  }
  entries_.push_front({std::string(sql), fmt::format("s{}", ++made_)});
  by_sql_.emplace(entries_.front().sql, entries_.begin());
  return entries_.front().name;
}

void StatementCache::forget(const std::string& name) {
  std::erase(pushed_out_, name);
  auto entry = std::ranges::find(entries_, name, &Entry::name);
  if (entry == entries_.end()) return;
  by_sql_.erase(entry->sql);
  entries_.erase(entry);
}

std::vector<std::string> StatementCache::take_cleanup() {
  std::vector<std::string> statements;
  if (stale_) {
    // By name would fail for one that the server no longer has.
    stale_ = false;
    by_sql_.clear();
    entries_.clear();
    statements.emplace_back("DEALLOCATE ALL");
  } else {
    for (const auto& name : pushed_out_) statements.push_back("DEALLOCATE " + name);
  }
  pushed_out_.clear();
  return statements;
}

}  // namespace base::pg
