#include "toolserver/connectors/sql/arrow_ipc.h"

#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "toolserver/connectors/sql/flat_builder.h"

namespace tool::connectors {
namespace {

using Ref = FlatBuilder::Ref;

constexpr std::size_t kAlign = 8;
constexpr std::int16_t kVersion5 = 4;
enum class Header : std::uint8_t { kSchema = 1, kRecordBatch = 3 };

void put_u32(std::string& out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> (8 * i));
}

void pad(std::string& out) { out.append((kAlign - out.size() % kAlign) % kAlign, '\0'); }

// A message: a mark, the length of the metadata, the metadata, the body.
std::string message(FlatBuilder builder, Header kind, Ref header, const std::string& body) {
  builder.begin_table();
  builder.field_i64(3, static_cast<std::int64_t>(body.size()));
  builder.field_ref(2, header);
  builder.field_i16(0, kVersion5);
  builder.field_u8(1, static_cast<std::uint8_t>(kind));
  Ref root = builder.end_table();
  std::string metadata = std::move(builder).finish(root);
  std::string out;
  out.reserve(8 + metadata.size() + body.size());
  put_u32(out, 0xFFFFFFFF);
  put_u32(out, static_cast<std::uint32_t>(metadata.size()));
  return out + metadata + body;
}

// The table of the type itself, by Schema.fbs.
Ref type_table(FlatBuilder& builder, const ArrowField& field) {
  Ref zone;
  bool has_zone = field.tag == ArrowTag::kTimestamp && !field.zone.empty();
  if (has_zone) zone = builder.text(field.zone);
  builder.begin_table();
  switch (field.tag) {
    case ArrowTag::kInt:
      builder.field_i32(0, field.width);
      builder.field_u8(1, field.is_signed ? 1 : 0);
      break;
    case ArrowTag::kDecimal:
      builder.field_i32(0, field.precision);
      builder.field_i32(1, field.scale);
      builder.field_i32(2, field.width);
      break;
    case ArrowTag::kTime:
      builder.field_i32(1, field.width);
      builder.field_i16(0, field.unit);
      break;
    case ArrowTag::kTimestamp:
      if (has_zone) builder.field_ref(1, zone);
      builder.field_i16(0, field.unit);
      break;
    case ArrowTag::kFloat:
    case ArrowTag::kDate:
    case ArrowTag::kInterval:
    case ArrowTag::kDuration: builder.field_i16(0, field.unit); break;
    case ArrowTag::kFixedBinary:
    case ArrowTag::kFixedList: builder.field_i32(0, field.width); break;
    default: break;
  }
  return builder.end_table();
}

Ref field_table(FlatBuilder& builder, const ArrowField& field) {
  std::vector<Ref> children;
  children.reserve(field.children.size());
  for (const ArrowField& child : field.children) children.push_back(field_table(builder, child));
  Ref list = builder.refs(children);
  Ref type = type_table(builder, field);
  Ref name = builder.text(field.name);
  builder.begin_table();
  builder.field_ref(0, name);
  builder.field_ref(3, type);
  builder.field_ref(5, list);
  builder.field_u8(1, field.nullable ? 1 : 0);
  builder.field_u8(2, static_cast<std::uint8_t>(field.tag));
  return builder.end_table();
}

// Which rows hold a value; empty when all do.
using Mask = std::vector<bool>;

// Gathers the buffers of an array and of its children, in Arrow's order. Where
// there is no value the engine leaves whatever its memory held before; that is
// not for the reader and becomes zeros.
class BatchWriter {
 public:
  base::Status add(const ArrowField& field, const ArrowArray& array, std::int64_t rows,
                   const Mask& parent);
  base::Status add_children(const ArrowField& field, const ArrowArray& array, std::int64_t rows,
                            const Mask& parent);

  std::vector<std::pair<std::int64_t, std::int64_t>> nodes;    // Rows and nulls.
  std::vector<std::pair<std::int64_t, std::int64_t>> buffers;  // Begin and length.
  std::string body;

 private:
  void put(const void* data, std::int64_t bytes) {
    if (data == nullptr) bytes = 0;
    buffers.emplace_back(static_cast<std::int64_t>(body.size()), bytes);
    if (bytes > 0) body.append(static_cast<const char*>(data), static_cast<std::size_t>(bytes));
    pad(body);
  }
  Mask put_validity(const ArrowArray& array, std::int64_t rows, const Mask& parent);
  void put_bits(const void* data, std::int64_t rows, const Mask& mask);
  void put_fixed(const void* data, std::int64_t rows, std::int64_t width, const Mask& mask);
  template <class Offset>
  std::int64_t put_offsets(const ArrowArray& array, std::int64_t rows);
};

void BatchWriter::put_bits(const void* data, std::int64_t rows, const Mask& mask) {
  const auto* bits = static_cast<const std::uint8_t*>(data);
  std::string clean(static_cast<std::size_t>((rows + 7) / 8), '\0');
  for (std::int64_t i = 0; bits != nullptr && i < rows; ++i) {
    bool holds = mask.empty() || mask[static_cast<std::size_t>(i)];
    if (!holds || (bits[i / 8] >> (i % 8) & 1) == 0) continue;
    char& byte = clean[static_cast<std::size_t>(i / 8)];
    byte = static_cast<char>(static_cast<std::uint8_t>(byte) | 1U << (i % 8));
  }
  put(clean.data(), static_cast<std::int64_t>(clean.size()));
}

void BatchWriter::put_fixed(const void* data, std::int64_t rows, std::int64_t width,
                            const Mask& mask) {
  put(data, rows * width);
  if (data == nullptr) return;
  std::size_t begin = static_cast<std::size_t>(buffers.back().first);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    auto bytes = static_cast<std::size_t>(width);
    if (!mask[i]) std::memset(body.data() + begin + i * bytes, 0, bytes);
  }
}

// Gives the rows that hold a value here and in the parent.
Mask BatchWriter::put_validity(const ArrowArray& array, std::int64_t rows, const Mask& parent) {
  const auto* bits =
      array.n_buffers > 0 ? static_cast<const std::uint8_t*>(array.buffers[0]) : nullptr;
  Mask own(static_cast<std::size_t>(rows), true);
  std::int64_t nulls = 0;
  for (std::int64_t i = 0; bits != nullptr && i < rows; ++i) {
    if ((bits[i / 8] >> (i % 8) & 1) != 0) continue;
    own[static_cast<std::size_t>(i)] = false;
    ++nulls;
  }
  nodes.emplace_back(rows, nulls);
  if (nulls == 0) {
    put(nullptr, 0);
    return parent;
  }
  put_bits(bits, rows, {});
  for (std::size_t i = 0; i < parent.size(); ++i) own[i] = own[i] && parent[i];
  return own;
}

// The end of the last item: how much there is of what the offsets point to.
template <class Offset>
std::int64_t BatchWriter::put_offsets(const ArrowArray& array, std::int64_t rows) {
  const auto* offsets = static_cast<const Offset*>(array.buffers[1]);
  put(offsets, (rows + 1) * static_cast<std::int64_t>(sizeof(Offset)));
  return offsets == nullptr ? 0 : offsets[rows];
}

base::Status BatchWriter::add_children(const ArrowField& field, const ArrowArray& array,
                                       std::int64_t rows, const Mask& parent) {
  for (std::size_t i = 0; i < field.children.size(); ++i) {
    RETURN_IF_ERROR(add(field.children[i], *array.children[i], rows, parent));
  }
  return {};
}

// The items of a list of fixed length stand also where the list is null.
Mask mask_of_items(const Mask& mask, std::int32_t count) {
  Mask items;
  items.reserve(mask.size() * static_cast<std::size_t>(count));
  for (bool holds : mask) items.insert(items.end(), static_cast<std::size_t>(count), holds);
  return items;
}

base::Status BatchWriter::add(const ArrowField& field, const ArrowArray& array, std::int64_t rows,
                              const Mask& parent) {
  if (array.offset != 0) {
    return base::fail(base::ErrorKind::kUnsupported, "a column begins inside its buffers");
  }
  if (field.tag == ArrowTag::kNull) {
    nodes.emplace_back(rows, rows);
    return {};
  }
  Mask mask = put_validity(array, rows, parent);
  switch (field.tag) {
    case ArrowTag::kBool: put_bits(array.buffers[1], rows, mask); return {};
    case ArrowTag::kUtf8:
    case ArrowTag::kBinary: {
      auto bytes = put_offsets<std::int32_t>(array, rows);
      put(array.buffers[2], bytes);
      return {};
    }
    case ArrowTag::kLargeUtf8:
    case ArrowTag::kLargeBinary: {
      auto bytes = put_offsets<std::int64_t>(array, rows);
      put(array.buffers[2], bytes);
      return {};
    }
    case ArrowTag::kList:
    case ArrowTag::kMap:
      return add_children(field, array, put_offsets<std::int32_t>(array, rows), {});
    case ArrowTag::kLargeList:
      return add_children(field, array, put_offsets<std::int64_t>(array, rows), {});
    case ArrowTag::kStruct: return add_children(field, array, rows, mask);
    case ArrowTag::kFixedList:
      return add_children(field, array, rows * field.width, mask_of_items(mask, field.width));
    case ArrowTag::kFixedBinary: put_fixed(array.buffers[1], rows, field.width, mask); return {};
    default: put_fixed(array.buffers[1], rows, field.width / 8, mask); return {};
  }
}

}  // namespace

std::string arrow_schema_message(const ArrowField& root) {
  constexpr std::int16_t kLittleEndian = 0;
  FlatBuilder builder;
  std::vector<Ref> fields;
  for (const ArrowField& field : root.children) fields.push_back(field_table(builder, field));
  Ref list = builder.refs(fields);
  builder.begin_table();
  builder.field_ref(1, list);
  builder.field_i16(0, kLittleEndian);
  Ref schema = builder.end_table();
  return message(std::move(builder), Header::kSchema, schema, {});
}

base::Result<std::string> arrow_batch_message(const ArrowField& root, const ArrowArray& array,
                                              std::int64_t rows) {
  BatchWriter writer;
  // The struct around the columns is not part of the format.
  RETURN_IF_ERROR(writer.add_children(root, array, rows, {}));
  FlatBuilder builder;
  Ref buffers = builder.pairs(writer.buffers);
  Ref nodes = builder.pairs(writer.nodes);
  builder.begin_table();
  builder.field_i64(0, rows);
  builder.field_ref(1, nodes);
  builder.field_ref(2, buffers);
  Ref batch = builder.end_table();
  return message(std::move(builder), Header::kRecordBatch, batch, writer.body);
}

std::string arrow_end() {
  std::string out;
  put_u32(out, 0xFFFFFFFF);
  put_u32(out, 0);
  return out;
}

}  // namespace tool::connectors
