#pragma once

// Reads object container files written by anyone. The whole file lies in
// memory; blocks are unpacked one at a time.
// Source: Apache Avro 1.12 specification, "Object Container Files".

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/avro/codec.h"
#include "base/avro/decoder.h"
#include "base/avro/schema.h"
#include "base/avro/schema_cache.h"
#include "base/avro/value.h"
#include "base/core/result.h"

namespace base::avro {

struct ReadLimits {
  std::size_t file_bytes = 512 * 1024 * 1024;
  std::size_t block_bytes = 256 * 1024 * 1024;     ///< One block, unpacked.
  std::size_t total_bytes = 2048UL * 1024 * 1024;  ///< All blocks, unpacked.
  /// A packed block of n data is not unpacked over n times this.
  std::size_t datum_bytes = 64 * 1024 * 1024;
  std::size_t metadata_entries = 1024;
  SchemaLimits schema;
  DecodeLimits decode;
};

class ContainerReader {
 public:
  /// `file` must outlive the reader. With `schemas` the schema is taken from
  /// there, or left there.
  /// Errors: kCorrupt  not a container, or a header that breaks the format or
  ///         holds no valid schema; kUnsupported  an unknown codec;
  ///         kTooLarge  over a limit.
  [[nodiscard]] static Result<ContainerReader> open(std::string_view file, ReadLimits limits = {},
                                                    SchemaCache* schemas = nullptr);

  [[nodiscard]] const Schema& schema() const { return *schema_; }
  [[nodiscard]] Codec codec() const { return codec_; }
  /// All of the header's entries, "avro.schema" and "avro.codec" included.
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& metadata() const {
    return metadata_;
  }
  /// Null when the header has no such entry.
  [[nodiscard]] const std::string* metadata(std::string_view key) const;

  /// Of the blocks so far.
  [[nodiscard]] std::size_t unpacked_bytes() const { return total_bytes_; }

  /// The next datum, or nothing at the end of a whole file. The value stands
  /// until the next call. After an error the reader must not be used again.
  /// Errors: kCorrupt  broken block, datum or marker; kTooLarge  over a limit.
  [[nodiscard]] Result<std::optional<Value>> next();

 private:
  ContainerReader(std::string_view rest, ReadLimits limits)
      : rest_(rest), limits_(limits), decoder_(limits.decode) {}

  [[nodiscard]] Status read_header(SchemaCache* schemas);
  [[nodiscard]] Status read_metadata();
  [[nodiscard]] Status next_block();

  std::string_view rest_;
  ReadLimits limits_;
  Decoder decoder_;
  std::shared_ptr<const Schema> schema_;  ///< Not null once open.
  Codec codec_ = Codec::kNull;
  std::map<std::string, std::string, std::less<>> metadata_;
  std::string_view sync_;
  /// Behind a pointer, so that views into it outlive a move of the reader.
  std::unique_ptr<std::string> unpacked_ = std::make_unique<std::string>();
  std::string_view block_;
  std::int64_t left_ = 0;
  std::size_t total_bytes_ = 0;
};

}  // namespace base::avro
