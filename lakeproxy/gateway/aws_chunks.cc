#include "lakeproxy/gateway/aws_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/predicate.hpp>
#include <charconv>
#include <cstring>

#include "base/core/text.h"
#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "lakeproxy/gateway/s3_error.h"

namespace lake::gateway {
namespace {

using base::Result;
using base::Status;

constexpr std::size_t kMaxLine = 512;
constexpr std::size_t kMaxTrailers = 2;  // The checksum and its signature.
constexpr std::string_view kSignatureOf = ";chunk-signature=";
constexpr std::string_view kTrailerSignature = "x-amz-trailer-signature:";
constexpr std::string_view kHashOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

base::Error malformed(const char* why) { return refuse(s3::kInvalidRequest, why); }

// At most 15 digits, so that no sum of sizes overflows.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t size = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size, 16);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text.size() <= 15 ? std::optional(size) : std::nullopt;
}

std::string hex_of_base64(const std::string& text) {
  return base::crypto::to_hex(base::crypto::from_base64(text, 64).value_or(""));
}

class DecodedBody final : public base::http::BodySource {
 public:
  DecodedBody(std::shared_ptr<base::http::BodySource> coded, ChunkReader reader)
      : coded_(std::move(coded)),
        reader_(std::move(reader)),
        buffer_(std::make_unique_for_overwrite<char[]>(base::http::kStreamStep)) {}

  base::Task<Result<std::size_t>> read(std::span<char> into) override {
    for (;;) {
      if (!held_.empty()) {
        CO_ASSIGN_OR_RETURN(const auto progress, reader_.feed(held_, into));
        held_.remove_prefix(progress.used);
        if (progress.given > 0) co_return progress.given;
      }
      if (!held_.empty()) continue;
      CO_ASSIGN_OR_RETURN(const std::size_t n,
                          co_await coded_->read({buffer_.get(), base::http::kStreamStep}));
      if (n == 0 && !reader_.is_done()) co_return refuse(s3::kIncompleteBody, "no last chunk");
      if (n == 0) co_return std::size_t{0};
      held_ = {buffer_.get(), n};
    }
  }

 private:
  std::shared_ptr<base::http::BodySource> coded_;
  ChunkReader reader_;
  std::unique_ptr<char[]> buffer_;
  std::string_view held_;  ///< Of buffer_, and not yet fed.
};

}  // namespace

Result<std::optional<ChunkForm>> chunk_form(std::string_view payload_hash) {
  const bool hash = payload_hash.size() == 64 && std::ranges::all_of(payload_hash, [](char c) {
                      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                    });
  if (hash || payload_hash == "UNSIGNED-PAYLOAD") return std::nullopt;
  if (payload_hash == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD") return ChunkForm{true, false};
  if (payload_hash == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER") return ChunkForm{true, true};
  if (payload_hash == "STREAMING-UNSIGNED-PAYLOAD-TRAILER") return ChunkForm{false, true};
  return malformed("x-amz-content-sha256");
}

Result<ChunkReader> ChunkReader::make(ChunkRules rules) {
  ChunkReader reader(std::move(rules));
  const ChunkRules& held = reader.rules_;
  if (held.form.has_trailer == held.trailer.empty()) return malformed("x-amz-trailer");
  if (!held.trailer.empty()) {
    reader.checksum_ = Checksum::of_field(held.trailer);
    if (reader.checksum_ == nullptr) return malformed("x-amz-trailer: no checksum");
  }
  reader.previous_ = held.seed.signature;
  return reader;
}

// Whether a line is whole; it is in line_ then, without its end.
Result<bool> ChunkReader::take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t size = std::min(end == std::string_view::npos ? end : end + 1, bytes.size());
  if (line_.size() + size > kMaxLine) return malformed("a line of the coding is too long");
  line_.append(bytes.substr(0, size));
  bytes.remove_prefix(size);
  if (end == std::string_view::npos) return false;
  if (!line_.ends_with("\r\n")) return malformed("a line of the coding has another end");
  line_.resize(line_.size() - 2);
  return true;
}

Status ChunkReader::begin_chunk() {
  std::string_view line = line_;
  const std::size_t semicolon = std::min(line.find(';'), line.size());
  const auto size = parse_size(line.substr(0, semicolon));
  const std::string_view rest = line.substr(semicolon);
  if (!size) return malformed("the size of a chunk");
  if (rules_.form.is_signed) {
    if (!rest.starts_with(kSignatureOf) || rest.size() != kSignatureOf.size() + 64) {
      return malformed("a chunk has no signature");
    }
    chunk_signature_ = rest.substr(kSignatureOf.size());
    chunk_hash_ = Checksum::of_field("x-amz-checksum-sha256");
  } else if (!rest.empty()) {
    return malformed("a chunk has an extension");
  }
  if (*size > rules_.length - taken_) return refuse(s3::kIncompleteBody, "longer than announced");
  chunk_left_ = *size;
  taken_ += *size;
  if (*size > 0) {
    at_ = At::kData;
    return {};
  }
  if (taken_ != rules_.length) return refuse(s3::kIncompleteBody, "shorter than announced");
  RETURN_IF_ERROR(end_chunk());
  at_ = At::kTrailer;
  return {};
}

Status ChunkReader::check_signature(std::string_view shown, std::string to_sign) {
  const auto digest = base::crypto::hmac_sha256(rules_.seed.signing_key, to_sign);
  std::string expected = base::crypto::to_hex(base::crypto::view(digest));
  if (!base::crypto::equal(expected, shown)) return refuse(s3::kBadChunk);
  previous_ = std::move(expected);
  return {};
}

Status ChunkReader::end_chunk() {
  at_ = At::kHead;
  if (!rules_.form.is_signed) return {};
  return check_signature(chunk_signature_,
                         fmt::format("AWS4-HMAC-SHA256-PAYLOAD\n{}\n{}\n{}\n{}\n{}",
                                     rules_.seed.time, rules_.seed.scope, previous_, kHashOfNothing,
                                     hex_of_base64(chunk_hash_->finish())));
}

// The empty line after the last of them ends the body.
Status ChunkReader::take_trailer() {
  if (line_.empty()) return finish();
  if (!rules_.form.has_trailer || ++trailers_ > kMaxTrailers) return malformed("a trailer");
  if (line_.starts_with(kTrailerSignature)) {
    trailer_signature_ = line_.substr(kTrailerSignature.size());
    return {};
  }
  const std::size_t colon = line_.find(':');
  const bool expected = colon != std::string::npos && !trailing_checksum_ &&
                        boost::algorithm::iequals(line_.substr(0, colon), rules_.trailer);
  if (!expected) return malformed("a trailer that was not announced");
  trailing_checksum_ = line_.substr(colon + 1);
  if (trailing_checksum_->starts_with(' ')) trailing_checksum_->erase(0, 1);
  return {};
}

Status ChunkReader::finish() {
  at_ = At::kDone;
  if (!rules_.form.has_trailer) return {};
  if (!trailing_checksum_) return malformed("the trailer is missing");
  if (rules_.form.is_signed) {
    const std::string fields = fmt::format("{}:{}\n", rules_.trailer, *trailing_checksum_);
    const auto hash = base::crypto::sha256(fields);
    RETURN_IF_ERROR(check_signature(
        trailer_signature_,
        fmt::format("AWS4-HMAC-SHA256-TRAILER\n{}\n{}\n{}\n{}", rules_.seed.time, rules_.seed.scope,
                    previous_, base::crypto::to_hex(base::crypto::view(hash)))));
  }
  if (checksum_->finish() != *trailing_checksum_) return refuse(s3::kBadDigest);
  return {};
}

Result<ChunkReader::Progress> ChunkReader::feed(std::string_view bytes, std::span<char> out) {
  const std::size_t all = bytes.size();
  std::size_t given = 0;
  while (!bytes.empty()) {
    if (at_ == At::kDone) return refuse(s3::kIncompleteBody, "more follows the last chunk");
    if (at_ == At::kData) {
      const std::size_t n = static_cast<std::size_t>(
          std::min<std::uint64_t>(chunk_left_, std::min(bytes.size(), out.size() - given)));
      if (n == 0) break;  // No room.
      const std::string_view part = bytes.substr(0, n);
      std::memcpy(out.data() + given, part.data(), n);
      if (chunk_hash_) chunk_hash_->update(part);
      if (checksum_) checksum_->update(part);
      given += n;
      bytes.remove_prefix(n);
      chunk_left_ -= n;
      if (chunk_left_ == 0) at_ = At::kAfterData;
      continue;
    }
    ASSIGN_OR_RETURN(const bool whole, take_line(bytes));
    if (!whole) break;
    switch (at_) {
      case At::kHead: RETURN_IF_ERROR(begin_chunk()); break;
      case At::kAfterData:
        if (!line_.empty()) return malformed("a chunk is longer than its size");
        RETURN_IF_ERROR(end_chunk());
        break;
      case At::kTrailer: RETURN_IF_ERROR(take_trailer()); break;
      default: break;
    }
    line_.clear();
  }
  return Progress{all - bytes.size(), given};
}

std::shared_ptr<base::http::BodySource> decoded(std::shared_ptr<base::http::BodySource> coded,
                                                ChunkReader reader) {
  return std::make_shared<DecodedBody>(std::move(coded), std::move(reader));
}

}  // namespace lake::gateway
