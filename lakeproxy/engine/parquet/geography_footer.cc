#include "lakeproxy/engine/parquet/geography_footer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/parquet/column_ranges.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;

constexpr int kMostDepth = 32;

// The types of the compact form.
enum : std::uint8_t {
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

// Reads the compact form. What is cut off or none of it makes the reader broken: it gives zeros
// from then on, and every loop ends. An element has one byte at least.
class Compact {
 public:
  explicit Compact(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool is_broken() const { return is_broken_; }
  [[nodiscard]] std::size_t at() const { return at_; }

  std::int64_t number() {
    const std::uint64_t zigzag = varint();
    return static_cast<std::int64_t>(zigzag >> 1) ^ -static_cast<std::int64_t>(zigzag & 1);
  }

  // `each` reads or skips a value of the field's type. The last field's id.
  template <class Each>
  std::int64_t fields(Each each) {
    std::int64_t id = 0;
    for (;;) {
      const std::uint8_t head = byte();
      if (is_broken_ || head == 0) return id;
      const std::int64_t next = (head >> 4) != 0 ? id + (head >> 4) : number();
      // Writers have them in order, and one twice has two meanings.
      if (next <= id || next > INT16_MAX) is_broken_ = true;
      id = next;
      if (!is_broken_) each(id, static_cast<std::uint8_t>(head & 0xf));
    }
  }

  template <class Each>
  void list(Each each) {
    const std::uint8_t head = byte();
    const std::uint64_t size = (head >> 4) == 15 ? varint() : head >> 4;
    for (std::uint64_t i = 0; i < size && !is_broken_; ++i) {
      each(static_cast<std::uint8_t>(head & 0xf));
    }
  }

  void skip_field(std::uint8_t type, int depth = 0) {
    if (type != kTrue && type != kFalse) skip(type, depth);
  }

  void reject() { is_broken_ = true; }

 private:
  std::uint8_t byte() {
    if (at_ < bytes_.size() && !is_broken_) return static_cast<std::uint8_t>(bytes_[at_++]);
    is_broken_ = true;
    return 0;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t part = byte();
      value |= std::uint64_t{part & 0x7fU} << shift;
      if ((part & 0x80) == 0) return value;
    }
    is_broken_ = true;
    return 0;
  }

  void pass(std::uint64_t count) {
    if (count > bytes_.size() - at_) is_broken_ = true;
    if (!is_broken_) at_ += static_cast<std::size_t>(count);
  }

  void skip_map(int depth) {
    const std::uint64_t size = varint();
    const std::uint8_t types = size == 0 ? 0 : byte();
    for (std::uint64_t i = 0; i < size && !is_broken_; ++i) {
      skip(types >> 4, depth);
      skip(types & 0xf, depth);
    }
  }

  void skip(std::uint8_t type, int depth) {
    if (depth > kMostDepth) is_broken_ = true;
    if (is_broken_) return;
    switch (type) {
      case kTrue:
      case kFalse:
      case kByte: return pass(1);
      case kI16:
      case kI32:
      case kI64: varint(); return;
      case kDouble: return pass(8);
      case kBinary: return pass(varint());
      case kList:
      case kSet: return list([&](std::uint8_t of) { skip(of, depth + 1); });
      case kMap: return skip_map(depth + 1);
      case kStruct:
        fields([&](std::int64_t, std::uint8_t of) { skip_field(of, depth + 1); });
        return;
      default: is_broken_ = true;
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool is_broken_ = false;
};

// Numbers of fields in parquet.thrift.
constexpr std::int64_t kSchema = 2, kRowGroups = 4;                     // FileMetaData
constexpr std::int64_t kPhysicalType = 1, kChildren = 5, kOldType = 6;  // SchemaElement
constexpr std::int64_t kFieldId = 9, kLogicalType = 10;
constexpr std::int64_t kColumns = 1;                     // RowGroup
constexpr std::int64_t kColumnMetadata = 3;              // ColumnChunk
constexpr std::int64_t kBoxes = 17;                      // ColumnMetaData
constexpr std::int64_t kGeometry = 17, kGeography = 18;  // LogicalType
constexpr std::int64_t kOther = 0;                       // None of its fields.
constexpr std::int64_t kByteArray = 6;                   // Type

constexpr char kStop = 0;

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
  return bytes;
}

// EdgeInterpolationAlgorithm, by its place; a type's parameters were checked when it was read.
std::uint64_t algorithm_number(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames{"spherical", "vincenty", "thomas", "andoyer",
                                                   "karney"};
  const auto* found = std::ranges::find(kNames, name);
  return found == kNames.end() ? 0 : static_cast<std::uint64_t>(found - kNames.begin());
}

constexpr std::string_view kBetween = ", ";

// A LogicalType of GeographyType. A default is said by leaving it out.
std::string logical_type(const model::Type& type) {
  const std::string_view parameters = type.parameters();
  const std::size_t comma = parameters.find(kBetween);
  const std::string_view crs = parameters.substr(0, comma);
  std::string made{static_cast<char>(kStruct)};
  made += varint(2 * kGeography);
  if (!crs.empty()) {
    made += static_cast<char>(1 << 4 | kBinary);
    made += varint(crs.size());
    made += crs;
  }
  if (comma != std::string_view::npos) {
    const int step = crs.empty() ? 2 : 1;
    made += static_cast<char>(step << 4 | kI32);
    made += varint(2 * algorithm_number(parameters.substr(comma + kBetween.size())));
  }
  made += kStop;
  made += kStop;
  return made;
}

struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
};

class Editing {
 public:
  Editing(std::string_view footer, const Geographies& columns)
      : footer_(footer), columns_(columns), in_(footer) {}

  base::Result<std::string> run() {
    in_.fields([&](std::int64_t id, std::uint8_t type) {
      if (id == kSchema && type == kList) return in_.list([&](std::uint8_t of) { element(of); });
      if (id == kRowGroups && type == kList) return in_.list([&](std::uint8_t of) { group(of); });
      in_.skip_field(type);
    });
    if (other_) {
      return fail(ErrorKind::kCorrupt,
                  fmt::format("the column of field id {} is no geometry in the file", *other_));
    }
    if (in_.is_broken() || in_.at() != footer_.size() || leaves_.empty()) {
      return fail(ErrorKind::kCorrupt, "its footer is not Parquet's");
    }
    return edited();
  }

 private:
  struct Element {
    bool is_leaf = true;
    bool is_bytes = false;
    std::int64_t id = -1;
    std::int64_t last_field = 0;
    std::optional<std::size_t> type_begin;
    std::size_t type_end = 0;
    std::int64_t logical = kGeometry;  // One that says nothing is taken for one.
  };

  void element(std::uint8_t type) {
    Element found;
    if (type != kStruct) return in_.reject();
    found.last_field = in_.fields([&](std::int64_t id, std::uint8_t of) {
      if (id == kPhysicalType && of == kI32) {
        found.is_bytes = in_.number() == kByteArray;
      } else if (id == kChildren && of == kI32) {
        found.is_leaf = in_.number() == 0;
      } else if (id == kOldType && of == kI32) {
        in_.skip_field(of);
        found.logical = kOther;
      } else if (id == kFieldId && of == kI32) {
        found.id = in_.number();
      } else if (id == kLogicalType && of == kStruct) {
        found.type_begin = in_.at();
        found.logical = in_.fields([&](std::int64_t, std::uint8_t one) { in_.skip_field(one); });
        found.type_end = in_.at();
      } else {
        in_.skip_field(of);
      }
    });
    if (!in_.is_broken()) take(found);
  }

  void take(const Element& found) {
    const auto wanted = found.id < 0 || found.id > INT32_MAX
                            ? columns_.end()
                            : columns_.find(static_cast<model::FieldId>(found.id));
    const bool is_wanted = wanted != columns_.end();
    if (found.is_leaf) leaves_.push_back(is_wanted);
    if (!is_wanted) return;
    const bool is_geometry = found.is_leaf && found.is_bytes &&
                             (found.logical == kGeometry || found.logical == kGeography);
    // Without a logical type one is put behind the last field, which must be before it.
    if (!is_geometry || (!found.type_begin && found.last_field >= kLogicalType)) {
      other_ = found.id;
      return;
    }
    std::string type = logical_type(wanted->second);
    if (found.type_begin) {
      edits_.push_back({*found.type_begin, found.type_end, std::move(type)});
    } else {
      const auto head = static_cast<char>((kLogicalType - found.last_field) << 4 | kStruct);
      edits_.push_back({in_.at() - 1, in_.at() - 1, head + type});
    }
  }

  void group(std::uint8_t type) {
    if (type != kStruct) return in_.reject();
    in_.fields([&](std::int64_t id, std::uint8_t of) {
      if (id != kColumns || of != kList) return in_.skip_field(of);
      std::size_t leaf = 0;
      in_.list([&](std::uint8_t one) { chunk(one, leaf++); });
    });
  }

  void chunk(std::uint8_t type, std::size_t leaf) {
    if (type != kStruct || leaf >= leaves_.size()) return in_.reject();
    in_.fields([&](std::int64_t id, std::uint8_t of) {
      if (id != kColumnMetadata || of != kStruct) return in_.skip_field(of);
      in_.fields([&](std::int64_t part, std::uint8_t one) {
        const std::size_t begin = in_.at();
        in_.skip_field(one);
        // An empty one says nothing, and no field behind it has to move.
        if (part == kBoxes && one == kStruct && leaves_[leaf]) {
          edits_.push_back({begin, in_.at(), std::string(1, kStop)});
        }
      });
    });
  }

  [[nodiscard]] std::string edited() const {
    std::string made;
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
      made += footer_.substr(at, edit.begin - at);
      made += edit.text;
      at = edit.end;
    }
    made += footer_.substr(at);
    return made;
  }

  std::string_view footer_;
  const Geographies& columns_;
  Compact in_;
  std::vector<bool> leaves_;  // Whether it is one of the columns.
  std::vector<Edit> edits_;   // In their order.
  std::optional<std::int64_t> other_;
};

base::Result<std::string> read_part(std::ifstream& file, std::uint64_t begin, std::uint64_t size) {
  std::string bytes(size, '\0');
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!file) return fail(ErrorKind::kInternal, "a scratch file cannot be read");
  return bytes;
}

std::string length_of(const std::string& footer) {
  std::string bytes;
  for (std::size_t i = 0; i < 4; ++i) bytes += static_cast<char>(footer.size() >> 8 * i & 0xff);
  return bytes;
}

}  // namespace

base::Result<std::string> geography_footer(std::string_view footer, const Geographies& columns) {
  return Editing(footer, columns).run();
}

base::Status write_geography_footer(const std::string& path, const Geographies& columns) {
  constexpr std::uint64_t kEndBytes = 8;  // The footer's length and the magic.
  std::error_code failed;
  const std::uint64_t size = std::filesystem::file_size(path, failed);
  if (failed) return fail(ErrorKind::kInternal, "a scratch file cannot be read");
  std::ifstream file(path, std::ios::binary);
  const std::uint64_t last = std::min(size, kEndBytes + 4);
  ASSIGN_OR_RETURN(const std::string tail, read_part(file, size - last, last));
  ASSIGN_OR_RETURN(const std::uint64_t begin, footer_begin(tail, size));
  ASSIGN_OR_RETURN(const std::string footer, read_part(file, begin, size - kEndBytes - begin));
  ASSIGN_OR_RETURN(const std::string made, geography_footer(footer, columns));
  RETURN_IF_ERROR(write_file_at(path, begin, made + length_of(made) + "PAR1"));
  std::filesystem::resize_file(path, begin + made.size() + kEndBytes, failed);
  if (failed) return fail(ErrorKind::kInternal, "a scratch file cannot be written");
  return {};
}

}  // namespace lake::exporter
