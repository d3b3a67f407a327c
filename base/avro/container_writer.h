#pragma once

// Writes an object container file: header with schema and metadata, then
// blocks. The schema's text is the caller's and goes in byte for byte. Nothing
// random goes in, so that equal input gives equal files.
// Source: Apache Avro 1.12 specification, "Object Container Files".

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/avro/codec.h"
#include "base/avro/encoder.h"

namespace base::avro {

using SyncMarker = std::array<char, 16>;
/// In the order given. Keys starting with "avro." are the format's own.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// The first 16 bytes of SHA-256 over the schema and the metadata. Readers
/// here and elsewhere go by block sizes, so nothing rests on its being a secret.
[[nodiscard]] SyncMarker derive_sync_marker(std::string_view schema, const Metadata& metadata);

/// What stands before the blocks of a file. Many files have the same one, and
/// making it costs more than a small block behind it.
struct ContainerHeader {
  std::string bytes;  ///< Magic, metadata, sync marker: as they stand in the file.
  SyncMarker sync{};
  Codec codec = Codec::kNull;
};

/// The marker is derived from `schema` and `metadata`.
[[nodiscard]] ContainerHeader make_container_header(std::string_view schema,
                                                    const Metadata& metadata, Codec codec);

class ContainerWriter {
 public:
  explicit ContainerWriter(const ContainerHeader& header);
  /// The marker is derived from `schema` and `metadata`.
  ContainerWriter(std::string_view schema, const Metadata& metadata, Codec codec);
  ContainerWriter(std::string_view schema, const Metadata& metadata, Codec codec, SyncMarker sync);

  /// Put one datum here, then call end_datum().
  [[nodiscard]] Encoder& encoder() { return block_; }
  void end_datum();

  /// Bytes so far, the open block apart.
  [[nodiscard]] std::size_t size() const { return file_.size(); }
  /// The whole file. The writer is spent.
  [[nodiscard]] std::string finish() &&;

 private:
  void flush();

  Codec codec_;
  SyncMarker sync_;
  std::string file_;
  Encoder block_;
  std::int64_t count_ = 0;
};

}  // namespace base::avro
