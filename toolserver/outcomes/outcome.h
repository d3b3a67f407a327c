#pragma once

// What became of a call, as it is kept for whoever asks again: the answer that
// its caller got, or the refusal. Written to a file and read back, so that it
// outlives the process.
// Source: docs/wire-3.0.md, sections 9.1 and 9.2.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "toolserver/audit/record.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::outcomes {

/// Which call it is, and whose.
struct CallName {
  std::string principal;  ///< Of pipeline::key_of().
  std::string tool;       ///< The id.
  std::string request_id;
  std::string key;        ///< Idempotency key; empty for none.
  std::string args_hash;  ///< "sha256:<hex>" of the canonical arguments.
};

/// An answer as its caller got it.
struct Answer {
  ToolResult result;
  std::chrono::milliseconds time{};  ///< In the tool.
  std::size_t bytes = 0;
  std::uint64_t redactions = 0;
};

/// How a call ended. Without answer and fault: it did, and that is all that is kept.
struct Ended {
  std::string status;  ///< As in the audit record: "ok", "tool_error", or a code.
  audit::AuditReceipt receipt;
  std::optional<Answer> answer;
  std::optional<Fault> fault;

  /// Bytes that it holds, about.
  [[nodiscard]] std::size_t size() const;
};

/// A call that was begun, as a file has it. Without `ended`: nobody knows.
struct Kept {
  CallName name;  ///< Without the key, which is in the file's name as a digest.
  base::WallTime began{};
  base::WallTime ended_at{};
  std::optional<Ended> ended;
};

[[nodiscard]] std::string write_kept(const Kept& kept);
/// Errors: kInvalid  not what write_kept() writes; names the member.
[[nodiscard]] base::Result<Kept> read_kept(std::string_view text);

/// Names the record of a key: 64 hexadecimal digits over principal, tool and key.
[[nodiscard]] std::string key_digest(const CallName& name);

}  // namespace tool::outcomes
