#pragma once

// The question an auditor asks of the trail: is it whole, who vouches for it,
// and which calls never came to an end? Reads any number of files in bounded
// memory and changes nothing, so it may run beside the service.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "toolserver/audit/checkpoint.h"
#include "toolserver/audit/record.h"

namespace tool::audit {

struct VerifyOptions {
  /// The first line there should be; more than 1 when older files were archived.
  std::uint64_t first_seq = 1;
  /// A stretch of more than twice as many lines without a checkpoint is a fault.
  std::uint64_t checkpoint_records = 1'000;
  /// Receipts that must be in the trail: the only proof against an end that was
  /// cut off after the last checkpoint.
  std::vector<AuditReceipt> expected;
};

/// The first line that is not as it was written.
struct BrokenLine {
  std::string file;
  std::uint64_t line = 0;    ///< In the file, from 1.
  std::uint64_t offset = 0;  ///< Of its first byte.
  std::uint64_t seq = 0;     ///< The number the line should have.
  /// A LineFault's name, "signature" (no key made this checkpoint), "covers"
  /// (it vouches for another chain), "too_long", or "torn" (not at the end).
  std::string_view rule;
};

struct UnsignedStretch {
  std::uint64_t from = 0;  ///< seq of the first line without a signature.
  std::uint64_t lines = 0;
};

struct OpenCall {
  std::uint64_t seq = 0;
  std::string request_id;
  std::string tool;
};

/// Lists hold the first hundred; counts are of all.
struct VerifyReport {
  std::uint64_t files = 0;
  std::uint64_t lines = 0;
  std::uint64_t calls = 0;    ///< Sealed and allowed.
  std::uint64_t refused = 0;  ///< Sealed and refused.
  std::uint64_t starts = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t lost = 0;        ///< Lines that the service could not write.
  std::uint64_t torn_bytes = 0;  ///< After the last whole line: a crash, or a write under way.
  AuditReceipt head;
  std::optional<BrokenLine> broken;  ///< What follows it was not read.
  std::uint64_t interrupted_count = 0;
  std::vector<OpenCall> interrupted;  ///< Opened, and the service ended before their seal.
  std::uint64_t unfinished = 0;       ///< Opened since the last start, and no seal yet.
  std::vector<UnsignedStretch> unsigned_stretches;
  std::uint64_t unsigned_tail = 0;  ///< Lines after the last one that a checkpoint covers.
  bool signatures_checked = false;  ///< False without keys: the chain alone is checked.
  std::vector<AuditReceipt> missing;

  /// Nothing was changed, as far as it can be told.
  [[nodiscard]] bool is_intact() const {
    return !broken && unsigned_stretches.empty() && missing.empty();
  }
  /// For programs and people.
  [[nodiscard]] base::json::Object to_json() const;
};

/// `path` is a trail's folder, or one file of it. Blocks.
/// Errors: kNotFound  no trail there; kUnavailable  it cannot be read.
/// Source: docs/wire-3.0.md, "Audit record".
[[nodiscard]] base::Result<VerifyReport> verify(const std::string& path, const CheckpointKeys& keys,
                                                const VerifyOptions& options = {});

}  // namespace tool::audit
