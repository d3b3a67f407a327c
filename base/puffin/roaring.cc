#include "base/puffin/roaring.h"

#include <bit>
#include <optional>

namespace base::puffin {
namespace {

constexpr std::uint32_t kCookieWithoutRuns = 12'346;
constexpr std::uint32_t kCookieWithRuns = 12'347;  // In the low half.
constexpr std::uint32_t kMostContainers = 1 << 16;
constexpr std::uint32_t kLeastWithOffsets = 4;
constexpr std::uint32_t kMostInArray = 4096;
constexpr std::size_t kBitsetBytes = 8192;

Error corrupt(const char* message) { return fail(ErrorKind::kCorrupt, message); }

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] std::size_t size() const { return left_.size(); }
  std::optional<std::string_view> take(std::size_t count) {
    if (count > left_.size()) return std::nullopt;
    std::string_view head = left_.substr(0, count);
    left_.remove_prefix(count);
    return head;
  }
  // Little-endian.
  template <class Number>
  std::optional<Number> number() {
    auto bytes = take(sizeof(Number));
    if (!bytes) return std::nullopt;
    return read<Number>(*bytes);
  }
  template <class Number>
  static Number read(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = sizeof(Number); i-- > 0;) {
      value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
    }
    return static_cast<Number>(value);
  }

 private:
  std::string_view left_;
};

// Adds the values of containers, ascending and bounded.
class Values {
 public:
  Values(std::vector<std::int64_t>& out, std::size_t limit) : out_(out), limit_(limit) {}

  void set_base(std::uint64_t base) { base_ = base; }
  // Whether `count` more are allowed.
  [[nodiscard]] bool reserve(std::size_t count) const { return count <= limit_ - out_.size(); }
  void add(std::uint32_t low) { out_.push_back(static_cast<std::int64_t>(base_ | low)); }

 private:
  std::vector<std::int64_t>& out_;
  std::size_t limit_;
  std::uint64_t base_ = 0;
};

Status read_array(Bytes& in, std::uint32_t cardinality, Values& out) {
  auto bytes = in.take(std::size_t{2} * cardinality);
  if (!bytes) return corrupt("a bitmap's array ends early");
  std::int32_t last = -1;
  for (std::uint32_t i = 0; i < cardinality; ++i) {
    auto value = Bytes::read<std::uint16_t>(bytes->substr(std::size_t{2} * i));
    if (value <= last) return corrupt("a bitmap's array is not ascending");
    last = value;
    out.add(value);
  }
  return {};
}

Status read_bitset(Bytes& in, std::uint32_t cardinality, Values& out) {
  auto bytes = in.take(kBitsetBytes);
  if (!bytes) return corrupt("a bitmap's bit set ends early");
  std::uint32_t count = 0;
  for (char c : *bytes)
    count += static_cast<std::uint32_t>(std::popcount(static_cast<std::uint8_t>(c)));
  if (count != cardinality) return corrupt("a bitmap's bit set has another number of values");
  for (std::uint32_t i = 0; i < kBitsetBytes * 8; ++i) {
    if ((static_cast<std::uint8_t>((*bytes)[i / 8]) >> (i % 8) & 1) != 0) out.add(i);
  }
  return {};
}

Status read_runs(Bytes& in, std::uint32_t cardinality, Values& out) {
  auto runs = in.number<std::uint16_t>();
  if (!runs) return corrupt("a bitmap's runs end early");
  std::uint32_t next = 0;  // The least value that may come.
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < *runs; ++i) {
    auto start = in.number<std::uint16_t>();
    auto more = in.number<std::uint16_t>();
    if (!start || !more) return corrupt("a bitmap's runs end early");
    std::uint32_t end = std::uint32_t{*start} + *more + 1;
    if (*start < next || end > kMostContainers) return corrupt("a bitmap's runs overlap");
    count += end - *start;
    if (count > cardinality) break;
    for (std::uint32_t value = *start; value < end; ++value) out.add(value);
    next = end;
  }
  if (count != cardinality) return corrupt("a bitmap's runs have another number of values");
  return {};
}

struct Header {
  std::uint32_t containers = 0;
  std::string_view run_flags;    // One bit for each; empty without runs.
  std::string_view descriptors;  // Key and cardinality less one.

  [[nodiscard]] bool has_runs(std::uint32_t i) const {
    return !run_flags.empty() && (static_cast<std::uint8_t>(run_flags[i / 8]) >> (i % 8) & 1) != 0;
  }
  [[nodiscard]] std::uint32_t key(std::uint32_t i) const {
    return Bytes::read<std::uint16_t>(descriptors.substr(std::size_t{4} * i));
  }
  [[nodiscard]] std::uint32_t cardinality(std::uint32_t i) const {
    return Bytes::read<std::uint16_t>(descriptors.substr(std::size_t{4} * i + 2)) + 1U;
  }
};

Result<Header> read_header(Bytes& in) {
  auto cookie = in.number<std::uint32_t>();
  if (!cookie) return corrupt("a bitmap ends early");
  Header header;
  bool with_runs = (*cookie & 0xffff) == kCookieWithRuns;
  if (with_runs) {
    header.containers = (*cookie >> 16) + 1;
    auto flags = in.take((header.containers + 7) / 8);
    if (!flags) return corrupt("a bitmap ends early");
    header.run_flags = *flags;
  } else if (*cookie == kCookieWithoutRuns) {
    auto count = in.number<std::uint32_t>();
    if (!count || *count > kMostContainers) return corrupt("a bitmap has too many containers");
    header.containers = *count;
  } else {
    return corrupt("a bitmap does not begin as one");
  }
  auto descriptors = in.take(std::size_t{4} * header.containers);
  if (!descriptors) return corrupt("a bitmap ends early");
  header.descriptors = *descriptors;
  // Containers follow each other, so where each begins need not be looked up.
  bool with_offsets = !with_runs || header.containers >= kLeastWithOffsets;
  if (with_offsets && !in.take(std::size_t{4} * header.containers)) {
    return corrupt("a bitmap ends early");
  }
  return header;
}

Status read_roaring32(Bytes& in, std::uint64_t high, Values& out) {
  ASSIGN_OR_RETURN(Header header, read_header(in));
  for (std::uint32_t i = 0; i < header.containers; ++i) {
    if (i > 0 && header.key(i) <= header.key(i - 1)) {
      return corrupt("a bitmap's containers are not ascending");
    }
    std::uint32_t cardinality = header.cardinality(i);
    if (!out.reserve(cardinality)) {
      return fail(ErrorKind::kTooLarge, "a bitmap has more values than are read");
    }
    out.set_base(high << 32 | std::uint64_t{header.key(i)} << 16);
    if (header.has_runs(i)) {
      RETURN_IF_ERROR(read_runs(in, cardinality, out));
    } else if (cardinality <= kMostInArray) {
      RETURN_IF_ERROR(read_array(in, cardinality, out));
    } else {
      RETURN_IF_ERROR(read_bitset(in, cardinality, out));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::int64_t>> read_roaring64(std::string_view bytes, std::size_t limit) {
  Bytes in(bytes);
  auto bitmaps = in.number<std::uint64_t>();
  if (!bitmaps) return corrupt("a bitmap ends early");
  std::vector<std::int64_t> positions;
  Values out(positions, limit);
  std::int64_t last = -1;
  // A count that is too large runs into the end of the bytes.
  for (std::uint64_t i = 0; i < *bitmaps; ++i) {
    auto high = in.number<std::uint32_t>();
    if (!high || *high > 0x7fff'ffff || *high <= last) {
      return corrupt("a bitmap's parts are not ascending positions");
    }
    last = *high;
    RETURN_IF_ERROR(read_roaring32(in, *high, out));
  }
  if (in.size() != 0) return corrupt("a bitmap has bytes after its end");
  return positions;
}

}  // namespace base::puffin
