#include "base/avro/container_reader.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace base::avro {
namespace {

constexpr std::string_view kMagic("Obj\x01", 4);
constexpr std::size_t kSyncBytes = 16;

Error corrupt(std::string_view what) {
  return fail(ErrorKind::kCorrupt, std::string("Avro file: ").append(what));
}

std::optional<std::string_view> take_bytes(std::string_view& input) {
  auto size = take_long(input);
  if (!size || *size < 0 || static_cast<std::uint64_t>(*size) > input.size()) return std::nullopt;
  std::string_view bytes = input.substr(0, static_cast<std::size_t>(*size));
  input.remove_prefix(bytes.size());
  return bytes;
}

}  // namespace

Result<ContainerReader> ContainerReader::open(std::string_view file, ReadLimits limits,
                                              SchemaCache* schemas) {
  if (file.size() > limits.file_bytes) {
    return fail(ErrorKind::kTooLarge, "Avro file: the file is too large");
  }
  if (!file.starts_with(kMagic)) return corrupt("not an object container file");
  ContainerReader reader(file.substr(kMagic.size()), limits);
  RETURN_IF_ERROR(reader.read_header(schemas));
  return reader;
}

const std::string* ContainerReader::metadata(std::string_view key) const {
  auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

Status ContainerReader::read_header(SchemaCache* schemas) {
  RETURN_IF_ERROR(read_metadata());
  if (rest_.size() < kSyncBytes) return corrupt("the header is cut off");
  sync_ = rest_.substr(0, kSyncBytes);
  rest_.remove_prefix(kSyncBytes);

  if (const std::string* name = metadata("avro.codec")) {
    auto codec = parse_codec(*name);
    if (!codec) return fail(ErrorKind::kUnsupported, "Avro file: unknown codec");
    codec_ = *codec;
  }
  const std::string* text = metadata("avro.schema");
  if (text == nullptr) return corrupt("the header has no schema");
  SchemaCache none(0);
  auto schema = (schemas == nullptr ? none : *schemas).parse(*text, limits_.schema);
  if (!schema) {
    if (schema.error().kind() == ErrorKind::kTooLarge) return schema.error();
    return corrupt(schema.error().message());
  }
  schema_ = std::move(*schema);
  return {};
}

Status ContainerReader::read_metadata() {
  while (true) {
    auto count = take_long(rest_);
    if (!count) return corrupt("the header is cut off");
    if (*count == 0) return {};
    if (*count < 0) {
      // The size of the block in bytes follows a negative count.
      if (*count == std::numeric_limits<std::int64_t>::min() || !take_long(rest_)) {
        return corrupt("the header's metadata are broken");
      }
      *count = -*count;
    }
    for (; *count > 0; --*count) {
      auto key = take_bytes(rest_);
      auto value = key ? take_bytes(rest_) : std::nullopt;
      if (!value) return corrupt("the header's metadata are broken");
      if (metadata_.size() >= limits_.metadata_entries) {
        return fail(ErrorKind::kTooLarge, "Avro file: too many metadata entries");
      }
      metadata_.insert_or_assign(std::string(*key), std::string(*value));
    }
  }
}

Status ContainerReader::next_block() {
  auto count = take_long(rest_);
  if (!count || *count < 0) return corrupt("a block with a broken count");
  auto data = take_bytes(rest_);
  if (!data || rest_.size() < kSyncBytes) return corrupt("a block is cut off");
  if (rest_.substr(0, kSyncBytes) != sync_) return corrupt("a block without the sync marker");
  rest_.remove_prefix(kSyncBytes);

  block_ = *data;
  if (codec_ != Codec::kNull && *count == 0) {
    // Nothing is to be found in it. Twenty bytes of a file that has a million such
    // blocks must not cost what unpacking one costs.
    block_ = {};
  } else if (codec_ != Codec::kNull) {
    std::size_t limit = std::min(limits_.block_bytes, limits_.total_bytes - total_bytes_);
    // A block of a few data that unpacks to a hundred million bytes is a bomb.
    if (std::cmp_less(*count, limit / limits_.datum_bytes + 1)) {
      limit = std::min(limit, static_cast<std::size_t>(*count) * limits_.datum_bytes);
    }
    ASSIGN_OR_RETURN(*unpacked_, decompress(codec_, *data, limit));
    block_ = *unpacked_;
  }
  total_bytes_ += block_.size();
  left_ = *count;
  return {};
}

Result<std::optional<Value>> ContainerReader::next() {
  while (left_ == 0) {
    if (!block_.empty()) return corrupt("a block with bytes behind its last datum");
    if (rest_.empty()) return std::optional<Value>();
    RETURN_IF_ERROR(next_block());
  }
  ASSIGN_OR_RETURN(Value value, decoder_.decode(schema_->root(), block_));
  --left_;
  return std::optional<Value>(value);
}

}  // namespace base::avro
