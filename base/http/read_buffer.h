#pragma once

// Bytes received and not yet used. Small while a connection waits, so that
// thousands of idle ones cost little; grows to the bound of its user.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace base::http {

class ReadBuffer {
 public:
  [[nodiscard]] std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }

  /// Room for at least one and at most `want` bytes after those held.
  [[nodiscard]] std::span<char> prepare(std::size_t want) {
    if (capacity_ - end_ < std::min(want, kLeastRoom)) make_room(want);
    return {data_.get() + end_, std::min(want, capacity_ - end_)};
  }
  /// The first `n` bytes of what prepare() gave have been received.
  void commit(std::size_t n) { end_ += n; }
  /// The first `n` bytes held are used up.
  void consume(std::size_t n) {
    begin_ += n;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  /// Gives the memory of a large message back; only while empty.
  void shrink() {
    if (capacity_ <= kSmall) return;
    data_.reset();
    capacity_ = 0;
  }

 private:
  static constexpr std::size_t kSmall = 4096;
  static constexpr std::size_t kLeastRoom = 1024;

  void make_room(std::size_t want) {
    std::size_t held = size();
    std::size_t needed = held + std::min(want, kLeastRoom);
    if (needed <= capacity_) {
      std::copy(data_.get() + begin_, data_.get() + end_, data_.get());
    } else {
      std::size_t grown = std::max({kSmall, needed, std::min(2 * capacity_, held + want)});
      auto bigger = std::make_unique_for_overwrite<char[]>(grown);
      std::copy(data_.get() + begin_, data_.get() + end_, bigger.get());
      data_ = std::move(bigger);
      capacity_ = grown;
    }
    begin_ = 0;
    end_ = held;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace base::http
