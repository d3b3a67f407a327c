#pragma once

// A bounded map that forgets what was used longest ago.

#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace lake::publish {

/// Values are cheap to copy (shared pointers). Each has a weight; the sum stays
/// under `capacity`, except that one value always fits; 0 keeps nothing. Safe from any thread.
template <class Value>
class LruCache {
 public:
  explicit LruCache(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] std::optional<Value> get(const std::string& key) {
    std::lock_guard lock(mutex_);
    auto found = index_.find(key);
    if (found == index_.end()) return std::nullopt;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->value;
  }

  void put(const std::string& key, Value value, std::size_t weight = 1) {
    std::lock_guard lock(mutex_);
    if (auto found = index_.find(key); found != index_.end()) drop(found->second);
    if (capacity_ == 0) return;
    order_.push_front({key, std::move(value), weight});
    index_[key] = order_.begin();
    weight_ += weight;
    while (weight_ > capacity_ && order_.size() > 1) drop(std::prev(order_.end()));
  }

  void erase(const std::string& key) {
    std::lock_guard lock(mutex_);
    if (auto found = index_.find(key); found != index_.end()) drop(found->second);
  }

  [[nodiscard]] std::size_t size() const {
    std::lock_guard lock(mutex_);
    return order_.size();
  }

 private:
  struct Item {
    std::string key;
    Value value;
    std::size_t weight;
  };
  using Order = std::list<Item>;

  void drop(typename Order::iterator item) {
    weight_ -= item->weight;
    index_.erase(item->key);
    order_.erase(item);
  }

  const std::size_t capacity_;
  std::size_t weight_ = 0;
  mutable std::mutex mutex_;
  Order order_;
  std::unordered_map<std::string, typename Order::iterator> index_;
};

}  // namespace lake::publish
