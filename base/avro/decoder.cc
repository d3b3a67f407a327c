#include "base/avro/decoder.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/core/text.h"

namespace base::avro {
namespace {

const Node& key_node() {
  static const Node node{.type = Type::kString};
  return node;
}

// One run over one datum. Functions answer whether they succeeded; what went
// wrong is kept aside, because a Result for each value would cost more than
// the value.
class Run {
 public:
  Run(std::string_view input, const DecodeLimits& limits, std::size_t budget,
      std::vector<Cell>& cells)
      : input_(input), limits_(limits), budget_(budget), cells_(cells) {}

  bool decode(const Node& node, std::size_t depth) {
    if (depth > limits_.depth) return too_large("values nested too deep");
    switch (node.type) {
      case Type::kUnion: return decode_union(node, depth);
      case Type::kRecord: return decode_record(node, depth);
      case Type::kArray: return decode_array(node, depth);
      case Type::kMap: return decode_map(node, depth);
      default: return add(node) && decode_scalar(node, cells_.back());
    }
  }

  [[nodiscard]] std::string_view rest() const { return input_; }
  [[nodiscard]] Error error() const { return fail(kind_, std::string("Avro data: ") + why_); }

 private:
  bool corrupt(const char* why) {
    why_ = why;
    kind_ = ErrorKind::kCorrupt;
    return false;
  }
  bool too_large(const char* why) {
    why_ = why;
    kind_ = ErrorKind::kTooLarge;
    return false;
  }

  bool add(const Node& node) {
    if (cells_.size() >= budget_) return too_large("too many values");
    cells_.emplace_back().node = &node;
    return true;
  }

  bool take_integer(std::int64_t& value) {
    auto taken = take_long(input_);
    if (!taken) return corrupt("a cut off or overlong integer");
    value = *taken;
    return true;
  }

  bool take_bytes(std::size_t size, Cell& cell) {
    if (size > input_.size()) return corrupt("a length beyond the end of the data");
    cell.bytes = {input_.data(), size};
    input_.remove_prefix(size);
    return true;
  }

  bool take_sized(Cell& cell) {
    std::int64_t size = 0;
    if (!take_integer(size)) return false;
    if (size < 0) return corrupt("a negative length");
    return take_bytes(static_cast<std::size_t>(size), cell);
  }

  bool take_string(Cell& cell) {
    if (!take_sized(cell)) return false;
    return is_utf8({cell.bytes.data, cell.bytes.size}) || corrupt("a string that is not UTF-8");
  }

  template <class Bits, class Number>
  bool take_number(Cell& cell) {
    if (input_.size() < sizeof(Bits)) return corrupt("a number cut off");
    Bits bits = 0;
    for (std::size_t i = 0; i < sizeof(Bits); ++i) {
      bits |= static_cast<Bits>(static_cast<unsigned char>(input_[i])) << (8 * i);
    }
    input_.remove_prefix(sizeof(Bits));
    cell.number = std::bit_cast<Number>(bits);
    return true;
  }

  bool decode_scalar(const Node& node, Cell& cell) {
    switch (node.type) {
      case Type::kBoolean: return decode_boolean(cell);
      case Type::kInt: return decode_int(cell);
      case Type::kLong: return take_integer(cell.integer);
      case Type::kFloat: return take_number<std::uint32_t, float>(cell);
      case Type::kDouble: return take_number<std::uint64_t, double>(cell);
      case Type::kBytes: return take_sized(cell);
      case Type::kString: return take_string(cell);
      case Type::kFixed: return take_bytes(node.size, cell);
      case Type::kEnum: return decode_enum(node, cell);
      default: return true;  // null takes no bytes
    }
  }

  bool decode_boolean(Cell& cell) {
    if (input_.empty()) return corrupt("a boolean cut off");
    const auto byte = static_cast<unsigned char>(input_.front());
    if (byte > 1) return corrupt("a boolean that is neither 0 nor 1");
    input_.remove_prefix(1);
    cell.integer = byte;
    return true;
  }

  bool decode_int(Cell& cell) {
    if (!take_integer(cell.integer)) return false;
    return (cell.integer >= std::numeric_limits<std::int32_t>::min() &&
            cell.integer <= std::numeric_limits<std::int32_t>::max()) ||
           corrupt("an int over 32 bits");
  }

  bool decode_enum(const Node& node, Cell& cell) {
    std::int64_t index = 0;
    if (!take_integer(index)) return false;
    if (index < 0 || static_cast<std::size_t>(index) >= node.symbols.size()) {
      return corrupt("an enum without such a symbol");
    }
    const std::string& symbol = node.symbols[static_cast<std::size_t>(index)];
    cell.bytes = {symbol.data(), symbol.size()};
    return true;
  }

  bool decode_union(const Node& node, std::size_t depth) {
    std::int64_t index = 0;
    if (!take_integer(index)) return false;
    if (index < 0 || static_cast<std::size_t>(index) >= node.branches.size()) {
      return corrupt("a union without such a branch");
    }
    return decode(*node.branches[static_cast<std::size_t>(index)], depth + 1);
  }

  bool decode_record(const Node& node, std::size_t depth) {
    const std::size_t self = cells_.size();
    if (!add(node)) return false;
    for (const Field& field : node.fields) {
      if (!decode(*field.type, depth + 1)) return false;
    }
    close(self, node.fields.size());
    return true;
  }

  // A negative count is followed by the block's size in bytes.
  bool take_block(std::int64_t& count) {
    if (!take_integer(count)) return false;
    if (count >= 0) return true;
    if (count == std::numeric_limits<std::int64_t>::min()) return corrupt("an impossible count");
    count = -count;
    std::int64_t size = 0;
    if (!take_integer(size)) return false;
    if (size < 0 || static_cast<std::size_t>(size) > input_.size()) {
      return corrupt("a block beyond the end of the data");
    }
    return true;
  }

  bool decode_array(const Node& node, std::size_t depth) {
    const std::size_t self = cells_.size();
    if (!add(node)) return false;
    std::size_t total = 0;
    for (std::int64_t count = 0;;) {
      if (!take_block(count)) return false;
      if (count == 0) break;
      for (; count > 0; --count, ++total) {
        if (!decode(*node.branches.front(), depth + 1)) return false;
      }
    }
    close(self, total);
    return true;
  }

  bool decode_map(const Node& node, std::size_t depth) {
    const std::size_t self = cells_.size();
    if (!add(node)) return false;
    std::size_t total = 0;
    for (std::int64_t count = 0;;) {
      if (!take_block(count)) return false;
      if (count == 0) break;
      for (; count > 0; --count, total += 2) {
        if (!add(key_node()) || !take_string(cells_.back())) return false;
        if (!decode(*node.branches.front(), depth + 1)) return false;
      }
    }
    close(self, total);
    return true;
  }

  void close(std::size_t self, std::size_t count) {
    cells_[self].span = static_cast<std::uint32_t>(cells_.size() - self);
    cells_[self].count = static_cast<std::uint32_t>(count);
  }

  std::string_view input_;
  const DecodeLimits& limits_;
  std::size_t budget_;
  std::vector<Cell>& cells_;
  const char* why_ = "";
  ErrorKind kind_ = ErrorKind::kCorrupt;
};

}  // namespace

std::optional<std::int64_t> take_long(std::string_view& input) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 10 && i < input.size(); ++i) {
    const auto byte = static_cast<unsigned char>(input[i]);
    if (i == 9 && byte > 1) return std::nullopt;
    bits |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      input.remove_prefix(i + 1);
      return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
    }
  }
  return std::nullopt;
}

Result<Value> Decoder::decode(const Node& schema, std::string_view& input) {
  cells_.clear();
  const std::size_t budget = std::min(limits_.datum_values, limits_.total_values - total_);
  Run run(input, limits_, budget, cells_);
  if (!run.decode(schema, 0)) return run.error();
  total_ += cells_.size();
  input = run.rest();
  return Value(cells_.data());
}

}  // namespace base::avro
