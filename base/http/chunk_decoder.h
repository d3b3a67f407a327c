#pragma once

// Takes the chunked coding off a body as the bytes come, keeping nothing but
// the body itself. The coding's own bytes are bounded too: a client could
// otherwise send chunk extensions or trailers for ever and no body at all.
// Source: RFC 9112, section 7.1.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace base::http {

class ChunkDecoder {
 public:
  enum class State : std::uint8_t { kMore, kDone, kMalformed, kTooLarge };

  /// The body may hold `body_bytes`; extensions and trailers, thrown away, may
  /// hold `overhead_bytes` together.
  ChunkDecoder(std::size_t body_bytes, std::size_t overhead_bytes)
      : body_left_(body_bytes), overhead_left_(overhead_bytes) {}

  struct Progress {
    std::size_t used;  ///< Of the bytes given; after kDone the rest is the next request.
    State state;
  };
  /// Appends what `bytes` hold of the body to `body`. Not to be called again
  /// after a state other than kMore.
  [[nodiscard]] Progress feed(std::string_view bytes, std::string& body);

 private:
  enum class At : std::uint8_t {
    kSizeStart,
    kSize,
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailerStart,
    kTrailer,
    kTrailerLf,
    kEndLf,
    kDone,
  };

  State step(char c);
  State size_digit(char c);
  State spend_overhead(char c);

  At at_ = At::kSizeStart;
  unsigned digits_ = 0;
  std::uint64_t chunk_left_ = 0;
  std::size_t body_left_;
  std::size_t overhead_left_;
};

}  // namespace base::http
