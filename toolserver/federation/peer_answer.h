#pragma once

// The answer of another node to one call: large content in chunks before it, then the
// res. A node is authenticated, and may lie all the same: what is gathered is bounded by
// this node, and every byte has its place in the answer or there is none.
// Source: docs/wire-3.0.md, sections 9 and 18.3; docs/adr/0139, 0160.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/fields.h"
#include "base/json/json.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::federation {

/// Of one call; not thread-safe.
class PeerAnswer {
 public:
  static constexpr std::size_t kParts = 1'024;
  static constexpr std::size_t kChunkBytes = 48 << 10;

  /// Takes `most` bytes in chunks.
  explicit PeerAnswer(std::size_t most) : most_(most) {}

  /// The payload of a tool.chunk. After an error nothing more is taken, and what was
  /// gathered is let go of.
  /// Errors: E_UPSTREAM  it breaks section 9; E_LIMIT  over the bytes that are taken.
  [[nodiscard]] Outcome<void> take_chunk(const base::json::Object& payload);

  /// The payload of the res; last.
  /// Errors: E_UPSTREAM  it is no answer, or not the one that the chunks belong to;
  ///         E_LIMIT  over kParts.
  [[nodiscard]] Outcome<ToolResult> finish(base::json::Object payload);

  /// The error of take_chunk(), once there was one: this node's word, not the other's.
  [[nodiscard]] const std::optional<Fault>& fault() const { return fault_; }

 private:
  struct Gathered {
    std::size_t index = 0;  // Of the part.
    std::string data;
  };
  [[nodiscard]] Outcome<void> gather(const base::json::Object& payload);
  [[nodiscard]] Outcome<Content> read_part(const base::json::Value& value, std::size_t index);
  [[nodiscard]] Outcome<std::string> take_streamed(const base::json::Fields& part,
                                                   std::string_view type, std::size_t index);

  const std::size_t most_;
  std::size_t bytes_ = 0;
  std::vector<Gathered> parts_;  // In the order of the answer.
  std::size_t used_ = 0;         // Of those: how many have their place.
  std::optional<Fault> fault_;
};

/// What a caller is told of a refusal by `peer`: whose it is and its code. The
/// words are the peer's, which no filter has seen: they are for the log.
[[nodiscard]] Fault relayed(std::string_view peer, Fault fault);

}  // namespace tool::federation
