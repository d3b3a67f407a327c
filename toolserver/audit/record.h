#pragma once

// The trail answers, long after, who called which tool, what was decided and
// what came of it. A record is a value here; chain.h makes a line of it. Words
// of strangers enter a line as JSON strings only, so none of them can end it or
// begin another.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"

namespace tool::audit {

/// Where a sealed record stands in the chain: a caller that keeps it can later
/// prove that the record was there, and by the signature that it was given out.
struct AuditReceipt {
  std::uint64_t seq = 0;
  std::string hash;       ///< 64 hexadecimal digits.
  std::string node;       ///< Empty where it is not signed, like the next two.
  std::string kid;        ///< Whose signature: as in a checkpoint.
  std::string signature;  ///< base64url.
  friend bool operator==(const AuditReceipt&, const AuditReceipt&) = default;
};

/// What the checks said. `code` is of the refusal and empty when allowed.
struct Decision {
  std::string_view stage;  ///< The stage that had the last word; a literal.
  std::optional<Code> code;
};

struct Timing {
  std::chrono::microseconds total{};
  std::chrono::microseconds tool{};     ///< In the connector.
  std::chrono::microseconds consent{};  ///< Waiting for a person.
};

/// What the tool gave back. Absent when it never ran.
struct Outcome {
  std::string_view status;  ///< "ok", "tool_error", "dry_run", or a code; a literal.
  std::uint64_t bytes = 0;
  std::uint64_t redactions = 0;
};

/// One call. Empty texts are left out of the line; texts over 1,024 bytes are
/// cut at a character's end, and bytes that are not UTF-8 become U+FFFD.
struct CallRecord {
  base::WallTime time{};
  std::string request_id;
  std::string session_id;
  std::string subject;
  std::string issuer;
  std::string_view method;  ///< Of authentication; a literal.
  Binding bound_to;         ///< Of the token, proved by its bearer; empty when it was not bound.
  std::string tool;
  std::string_view origin;  ///< "local", "bridge", "peer"; a literal.
  std::string args_mac;     ///< See AuditLog::arguments_mac().
  std::string args;         ///< The canonical arguments; only when configured, never cut.
  std::string peer;
  std::string trace;
  std::string consent;  ///< Who agreed and for what, or why nobody was asked.
  std::string flow;     ///< Of a step: the run and the step, "<run>/<name>", "/undo" behind.
  std::string guard;    ///< The verdict of the policy engine and its reason.
  std::string repeats;  ///< Id of the call whose answer this one got; empty when it ran itself.
  std::uint32_t hop = 0;
  std::string way;  ///< The nodes that forwarded it, the caller's own first, parted by spaces.
  std::optional<Decision> decision;  ///< Absent in an open record.
  std::optional<Outcome> outcome;
  std::optional<Timing> timing;
  std::uint64_t open_seq = 0;  ///< The line that opened this call; 0 for none.
};

/// A line but for what only the chain knows: the members "hash", "prev" and
/// "seq", which are put in after the bytes that these numbers count.
struct OpenLine {
  std::string text;
  std::size_t hash_at = 0;
  std::size_t prev_at = 0;
  std::size_t seq_at = 0;
};

/// Whose chain it is: in every line.
struct Origin {
  std::string node;
  std::string boot;  ///< New at every start.
};

enum class RecordKind : std::uint8_t { kOpen, kSeal };

/// The canonical members of a call's line, written in one pass: this runs twice
/// for every call.
[[nodiscard]] OpenLine open_line(const CallRecord& record, RecordKind kind, const Origin& origin);

/// The first 1,024 bytes of a text, without half a character.
[[nodiscard]] std::string_view cut_text(std::string_view text [[clang::lifetimebound]]);

/// "2026-11-21T13:52:49.000123Z". Source: RFC 3339, section 5.6.
[[nodiscard]] std::string time_text(base::WallTime time);

}  // namespace tool::audit
