#pragma once

// The bytes of Avro's primitive values. The caller knows its schema and calls
// in the schema's order: a record is its fields one after another.
// Source: Apache Avro 1.12 specification, "Binary Encoding".

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace base::avro {

/// Appends to one buffer; cannot fail.
class Encoder {
 public:
  /// Also int, enum symbols and union branches: all are zig-zag varints.
  void put_long(std::int64_t value) {
    auto bits = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
    char text[10];
    std::size_t size = 0;
    while (bits >= 0x80) {
      text[size++] = static_cast<char>(bits | 0x80);
      bits >>= 7;
    }
    text[size++] = static_cast<char>(bits);
    out_.append(text, size);
  }
  void put_boolean(bool value) { out_.push_back(value ? '\1' : '\0'); }
  void put_float(float value) { put_little(std::bit_cast<std::uint32_t>(value)); }
  void put_double(double value) { put_little(std::bit_cast<std::uint64_t>(value)); }
  /// Bytes or string.
  void put_bytes(std::string_view value) {
    put_long(static_cast<std::int64_t>(value.size()));
    out_.append(value);
  }
  /// As many bytes as the schema's fixed has.
  void put_fixed(std::string_view value) { out_.append(value); }
  /// The branch of a union, before its value.
  void put_branch(std::int64_t index) { put_long(index); }
  /// Before the items of an array or the pairs of a map, when there are any.
  void put_block(std::size_t count) { put_long(static_cast<std::int64_t>(count)); }
  /// After the last block of an array or a map, or alone for an empty one.
  void put_end() { out_.push_back('\0'); }

  [[nodiscard]] const std::string& buffer() const { return out_; }
  [[nodiscard]] std::string take() { return std::exchange(out_, {}); }
  void clear() { out_.clear(); }

 private:
  template <class T>
  void put_little(T bits) {
    char text[sizeof(T)];
    for (std::size_t i = 0; i < sizeof(T); ++i) text[i] = static_cast<char>(bits >> (8 * i));
    out_.append(text, sizeof(T));
  }

  std::string out_;
};

}  // namespace base::avro
