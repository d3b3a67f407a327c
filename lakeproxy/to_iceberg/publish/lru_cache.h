#pragma once

// A map that forgets what was used longest ago, bounded in values and in the
// memory that they take: one table may need a thousand times what another does.

#include <functional>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/metrics/registry.h"

namespace lake::publish {

struct CacheLimits {
  std::size_t values = 0;  ///< 0 keeps nothing.
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
};

/// Values are cheap to copy (shared pointers). Their bytes are the caller's estimate; the sum
/// stays within the limits, except that one value always fits. Safe from any thread.
template <class Value>
class LruCache {
 public:
  explicit LruCache(CacheLimits limits) : limits_(limits) {}

  /// Shows how much it holds; before its first use. The gauges' registry outlives it.
  void show_on(base::metrics::Gauge values, base::metrics::Gauge bytes) {
    values_gauge_ = values;
    bytes_gauge_ = bytes;
  }

  [[nodiscard]] std::optional<Value> get(const std::string& key) {
    std::lock_guard lock(mutex_);
    auto found = index_.find(key);
    if (found == index_.end()) return std::nullopt;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->value;
  }

  void put(const std::string& key, Value value, std::size_t bytes = 0) {
    std::lock_guard lock(mutex_);
    if (auto found = index_.find(key); found != index_.end()) drop(found->second);
    if (limits_.values > 0) {
      order_.push_front({key, std::move(value), bytes});
      index_[key] = order_.begin();
      bytes_ += bytes;
      drop_what_is_over();
    }
    show();
  }

  /// Another estimate of the bytes of `value`, if the key still has it.
  void reweigh(const std::string& key, const Value& value, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    auto found = index_.find(key);
    if (found == index_.end() || !(found->second->value == value)) return;
    bytes_ += bytes - found->second->bytes;
    found->second->bytes = bytes;
    order_.splice(order_.begin(), order_, found->second);
    drop_what_is_over();
    show();
  }

  void erase(const std::string& key) {
    std::lock_guard lock(mutex_);
    if (auto found = index_.find(key); found != index_.end()) drop(found->second);
    show();
  }

  [[nodiscard]] std::size_t size() const {
    std::lock_guard lock(mutex_);
    return order_.size();
  }
  [[nodiscard]] std::size_t bytes() const {
    std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct Item {
    std::string key;
    Value value;
    std::size_t bytes;
  };
  using Order = std::list<Item>;

  [[nodiscard]] bool is_over() const {
    return order_.size() > limits_.values || bytes_ > limits_.bytes;
  }
  void drop_what_is_over() {
    while (is_over() && order_.size() > 1) drop(std::prev(order_.end()));
  }
  void drop(typename Order::iterator item) {
    bytes_ -= item->bytes;
    index_.erase(item->key);
    order_.erase(item);
  }
  void show() const {
    if (values_gauge_) values_gauge_->set(static_cast<std::int64_t>(order_.size()));
    if (bytes_gauge_) bytes_gauge_->set(static_cast<std::int64_t>(bytes_));
  }

  const CacheLimits limits_;
  std::size_t bytes_ = 0;
  std::optional<base::metrics::Gauge> values_gauge_;
  std::optional<base::metrics::Gauge> bytes_gauge_;
  mutable std::mutex mutex_;
  Order order_;
  std::unordered_map<std::string, typename Order::iterator> index_;
};

}  // namespace lake::publish
