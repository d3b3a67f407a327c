#pragma once

// Which statements one connection has prepared, under which names. The least
// recently used goes when there are too many; the server must be told, and
// that waits until the connection is outside a transaction.

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace base::pg {

class StatementCache {
 public:
  /// Keeps at most `capacity` (at least 1) statements.
  explicit StatementCache(std::size_t capacity) : capacity_(capacity) {}

  /// The name of a prepared statement, or null. Valid until add() or forget().
  [[nodiscard]] const std::string* find(std::string_view sql);
  /// Makes a new name, never used before on this connection, and may push
  /// another statement out. Valid until the next add() or forget().
  const std::string& add(std::string_view sql);
  /// The statement of this name turned out not to be prepared.
  void forget(const std::string& name);
  /// Every statement is to be prepared anew.
  void forget_all() { stale_ = true; }

  [[nodiscard]] std::size_t size() const { return by_sql_.size(); }
  /// The statements that make the server drop what nobody uses any more; empty
  /// most of the time. Afterwards the cache counts on their success.
  [[nodiscard]] std::vector<std::string> take_cleanup();

 private:
  struct Entry {
    std::string sql;
    std::string name;
  };
  std::size_t capacity_;
  std::size_t made_ = 0;
  bool stale_ = false;
  std::list<Entry> entries_;  // Most recently used first; the keys below view into it.
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_sql_;
  std::vector<std::string> pushed_out_;
};

}  // namespace base::pg
