#pragma once

// The coding that S3 clients put around a body whose checksum, or whose signature, they know only
// after they have sent it: "aws-chunked". It is taken off here, since the store cannot check
// signatures by a key that it does not have.
// Source: Amazon S3 API Reference, "Signature Calculations for the Authorization Header:
// Transferring Payload in Multiple Chunks", and the same "Including Trailing Headers".

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/http/body_stream.h"
#include "lakeproxy/gateway/checksum.h"
#include "lakeproxy/gateway/signature.h"

namespace lake::gateway {

/// What x-amz-content-sha256 says of a body that is in chunks.
struct ChunkForm {
  bool is_signed = false;    ///< Each chunk has a signature.
  bool has_trailer = false;  ///< Fields follow the last one.
};
/// Nothing for a hash and for UNSIGNED-PAYLOAD. Errors: kInvalidRequest  neither those nor a form
/// of chunks, as refuse() makes it.
[[nodiscard]] base::Result<std::optional<ChunkForm>> chunk_form(std::string_view payload_hash);

struct ChunkRules {
  ChunkForm form;
  std::uint64_t length = 0;  ///< x-amz-decoded-content-length.
  std::string trailer;       ///< x-amz-trailer: the one field that follows; empty for none.
  Verified seed;             ///< Of the request; where chunks are signed.
};

/// Takes the coding off as bytes come. What it has given counts only once it is done: a chunk's
/// signature is judged after its last byte, the checksum at the end of all.
class ChunkReader {
 public:
  /// Errors: kInvalidRequest  a trailer that is no checksum, or one that the form has not.
  [[nodiscard]] static base::Result<ChunkReader> make(ChunkRules rules);

  struct Progress {
    std::size_t used;   ///< Of the bytes given.
    std::size_t given;  ///< At the start of `out`.
  };
  /// Errors, as refuse() makes them: kBadChunk, kBadDigest, kIncompleteBody  another length than
  /// was announced, kInvalidRequest  another form. Not to be called after one.
  [[nodiscard]] base::Result<Progress> feed(std::string_view bytes, std::span<char> out);
  /// All has been read and found right. Nothing may follow.
  [[nodiscard]] bool is_done() const { return at_ == At::kDone; }

 private:
  enum class At : std::uint8_t { kHead, kData, kAfterData, kTrailer, kDone };

  explicit ChunkReader(ChunkRules rules) : rules_(std::move(rules)) {}
  base::Result<bool> take_line(std::string_view& bytes);
  base::Status begin_chunk();
  base::Status end_chunk();
  base::Status take_trailer();
  base::Status finish();
  [[nodiscard]] base::Status check_signature(std::string_view shown, std::string to_sign);

  ChunkRules rules_;
  At at_ = At::kHead;
  std::string line_;
  std::uint64_t chunk_left_ = 0;
  std::uint64_t taken_ = 0;
  std::string chunk_signature_;
  std::string previous_;  ///< The signature that the next one stands on.
  std::unique_ptr<Checksum> chunk_hash_;
  std::unique_ptr<Checksum> checksum_;
  std::optional<std::string> trailing_checksum_;
  std::string trailer_signature_;
  std::size_t trailers_ = 0;
};

/// `coded` without its coding. Errors: those of `coded` and of ChunkReader.
[[nodiscard]] std::shared_ptr<base::http::BodySource> decoded(
    std::shared_ptr<base::http::BodySource> coded, ChunkReader reader);

}  // namespace lake::gateway
