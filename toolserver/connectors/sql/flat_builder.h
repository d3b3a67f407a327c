#pragma once

// Arrow's messages carry their metadata as FlatBuffers: tables that point
// forward. This writes them from the back, as the format is meant to be
// written; only what Arrow's schema needs.
// Source: FlatBuffers, "Internals" (binary format), version 1.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tool::connectors {

class FlatBuilder {
 public:
  /// Where a finished part begins, counted from the end of the buffer.
  struct Ref {
    std::uint32_t from_end = 0;
  };

  [[nodiscard]] Ref text(std::string_view text);
  [[nodiscard]] Ref refs(std::span<const Ref> items);
  /// Structs of two 64-bit numbers each.
  [[nodiscard]] Ref pairs(std::span<const std::pair<std::int64_t, std::int64_t>> items);

  /// A table: begin, then its fields, then end. Nothing else is written
  /// between the two.
  void begin_table();
  void field_i64(unsigned slot, std::int64_t value) {
    field(slot, 8, static_cast<std::uint64_t>(value));
  }
  void field_i32(unsigned slot, std::int32_t value) {
    field(slot, 4, static_cast<std::uint32_t>(value));
  }
  void field_i16(unsigned slot, std::int16_t value) {
    field(slot, 2, static_cast<std::uint16_t>(value));
  }
  void field_u8(unsigned slot, std::uint8_t value) { field(slot, 1, value); }
  void field_ref(unsigned slot, Ref value);
  [[nodiscard]] Ref end_table();

  /// The buffer, whose root is `root`; a multiple of 8 bytes.
  [[nodiscard]] std::string finish(Ref root) &&;

 private:
  void align(std::size_t to, std::size_t coming);
  void put(std::size_t bytes, std::uint64_t value);
  void put_ref(Ref to);
  void field(unsigned slot, std::size_t bytes, std::uint64_t value);
  void note(unsigned slot);

  std::string reversed_;
  std::vector<std::uint32_t> slots_;  // Of the open table; 0 is absent.
  std::size_t table_begin_ = 0;
};

}  // namespace tool::connectors
