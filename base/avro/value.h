#pragma once

// One decoded datum, flat: a record, its fields and all that is nested in them
// lie one after another in a single vector, parents first. Decoding the next
// datum reuses that vector, so a file of many records costs no allocation for
// each. A Value is a position in it, valid until the next datum is decoded.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/avro/schema.h"

namespace base::avro {

struct Extent {
  const char* data;
  std::size_t size;
};

/// A slot of the flat tree. Made by the decoder only.
struct Cell {
  const Node* node = nullptr;
  std::uint32_t span = 1;   ///< Slots taken by this value and what it holds.
  std::uint32_t count = 0;  ///< Values directly inside.
  union {
    std::int64_t integer = 0;
    double number;
    Extent bytes;
  };
};

class Value {
 public:
  class Iterator {
   public:
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(const Cell* cell = nullptr) : cell_(cell) {}
    Value operator*() const { return Value(cell_); }
    Iterator& operator++() {
      cell_ += cell_->span;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Cell* cell_;
  };

  explicit Value(const Cell* cell) : cell_(cell) {}

  /// The type the writer used; of a union, the branch it took.
  [[nodiscard]] const Node& node() const { return *cell_->node; }
  [[nodiscard]] Type type() const { return cell_->node->type; }
  [[nodiscard]] bool is_null() const { return type() == Type::kNull; }

  /// The value when it is of that type, else nothing.
  [[nodiscard]] std::optional<bool> boolean() const;
  /// An int or a long.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  /// A float or a double.
  [[nodiscard]] std::optional<double> number() const;
  /// Bytes, string, fixed, or the symbol of an enum.
  [[nodiscard]] std::optional<std::string_view> bytes() const;

  /// Fields of a record in the writer's order, items of an array, keys and
  /// values of a map in turn; nothing for the others.
  [[nodiscard]] Iterator begin() const { return Iterator(cell_ + 1); }
  [[nodiscard]] Iterator end() const { return Iterator(cell_ + cell_->span); }
  [[nodiscard]] std::size_t size() const { return cell_->count; }
  /// Field, item, or map slot at `index`, which is below size(). Walks: linear.
  [[nodiscard]] Value at(std::size_t index) const;
  /// A record's field by name; nothing when the writer had none.
  [[nodiscard]] std::optional<Value> field(std::string_view name) const;

 private:
  const Cell* cell_;
};

}  // namespace base::avro
