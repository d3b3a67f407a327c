#pragma once

// A line that can be changed without a trace proves nothing. Each line holds
// the hash of the one before it and its own:
//   hash = SHA-256(prev || canonical record without "hash")
// with prev as its 32 bytes, so that a change anywhere changes every hash after
// it. The text of a line is its canonical form, which a reader demands back:
// there are no two texts of one record.
// Source: docs/wire-3.0.md, "Audit record"; RFC 8785.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/crypto/digest.h"
#include "base/json/json.h"
#include "toolserver/audit/record.h"

namespace tool::audit {

/// The end of a chain: the number and the hash of its last line. Before the
/// first line it is zero.
struct ChainHead {
  std::uint64_t seq = 0;
  base::crypto::Digest hash{};
  [[nodiscard]] std::string hash_text() const;
  friend bool operator==(const ChainHead&, const ChainHead&) = default;
};

/// The longest line, in bytes; a record of raw arguments can be as long as a
/// message.
inline constexpr std::size_t kMaxLine = 4 << 20;

/// Appends `line` with the chain's members and its line end to `out`, and moves
/// `head` on.
void link(ChainHead& head, const OpenLine& line, std::string& out);
/// The same for a record that is not a call's: `members` without hash, prev and
/// seq. Its numbers must be integers below 2^53, or the process aborts.
void link(ChainHead& head, base::json::Object members, std::string& out);

/// Why a line does not follow the one before it.
enum class LineFault : std::uint8_t {
  kNotJson,       ///< Not one JSON object, or too long.
  kNotCanonical,  ///< Another text of the same record.
  kFields,        ///< seq, prev, hash, kind, node, boot or ts is missing or malformed.
  kSeq,           ///< Not the next number: a line is missing, twice, or moved.
  kPrev,          ///< Does not name the hash of the line before.
  kHash,          ///< The record does not have the hash it names.
};
[[nodiscard]] std::string_view name(LineFault fault);

/// Checks `line` (without its end) against `head` and moves it on.
/// Returns the record. `head` is as it was when the line is refused.
[[nodiscard]] std::expected<base::json::Object, LineFault> follow(ChainHead& head,
                                                                  std::string_view line);

}  // namespace tool::audit
