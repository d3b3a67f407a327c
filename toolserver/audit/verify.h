#pragma once

// The question an auditor asks of the trail: is it whole, who vouches for it,
// and which calls never came to an end? Reads any number of files in bounded
// memory and changes nothing, so it may run beside the service.
//
// A chain alone proves nothing against who can write the folder. What counts is
// a signature by the process that wrote the lines: within one run of the service
// its next checkpoint; over a restart the "start" line, which says how many
// lines were taken over without any.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "toolserver/audit/checkpoint.h"
#include "toolserver/audit/record.h"

namespace tool::audit {

/// Lines by their numbers, both ends included.
struct LineRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  friend bool operator==(const LineRange&, const LineRange&) = default;
};

struct VerifyOptions {
  /// The first line there must be; without it the first file's name says which,
  /// since older files may be archived.
  std::optional<std::uint64_t> first_seq;
  /// An end of more than twice as many lines without a checkpoint is a fault. A
  /// signed "start" line that names another number goes before.
  std::uint64_t checkpoint_records = 1'000;
  /// Receipts that must be in the trail, and checkpoints that a witness has:
  /// the only proof against an end that was cut off.
  std::vector<AuditReceipt> expected;
  std::vector<ChainHead> witnessed;
  /// Lines taken over without a signature that the operator knows of.
  std::vector<LineRange> accepted;
};

/// The first line that is not as it was written.
struct BrokenLine {
  std::string file;
  std::uint64_t line = 0;    ///< In the file, from 1.
  std::uint64_t offset = 0;  ///< Of its first byte.
  std::uint64_t seq = 0;     ///< The number the line should have.
  /// A LineFault's name, "signature" (no key made this checkpoint, and no later
  /// start vouches for it), "covers" (it vouches for another chain),
  /// "weaker_key" (the shared secret made it, after a key pair had),
  /// "too_long", or "torn" (not at the end).
  std::string_view rule;
};

/// Lines that a service took over at its start although nobody had signed them:
/// whoever could write the folder until then could have changed them.
struct UnsignedLines {
  LineRange range;
  std::uint64_t lines = 0;  ///< Checkpoints apart.
  std::uint64_t start = 0;  ///< The "start" line that took them over.
  bool is_accepted = false;
};

struct OpenCall {
  std::uint64_t seq = 0;
  std::string request_id;
  std::string tool;
};

/// Who signed, from which line on.
struct UsedKey {
  std::string kid;
  std::uint64_t first_seq = 0;
  std::uint64_t checkpoints = 0;
};

enum class Verdict : std::uint8_t {
  kIntact,
  kUnsigned,  ///< No change is seen, and some lines could have been changed unseen.
  kBroken,
};
[[nodiscard]] std::string_view name(Verdict verdict);

/// Lists hold the first hundred; counts are of all.
struct VerifyReport {
  std::string path;
  std::uint64_t files = 0;
  std::uint64_t first_seq = 1;
  std::uint64_t lines = 0;
  std::uint64_t calls = 0;    ///< Sealed and allowed.
  std::uint64_t refused = 0;  ///< Refused: a line each, or counted in a summary.
  std::uint64_t starts = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t lost = 0;        ///< Lines that the service could not write.
  std::uint64_t torn_bytes = 0;  ///< After the last whole line: a crash, or a write under way.
  AuditReceipt head;
  std::optional<BrokenLine> broken;  ///< What follows it was not read.
  std::uint64_t interrupted_count = 0;
  std::vector<OpenCall> interrupted;  ///< Opened, and the service ended before their seal.
  std::uint64_t unfinished = 0;       ///< Opened since the last start, and no seal yet.
  std::vector<UnsignedLines> taken_over;
  std::uint64_t signed_seq = 0;     ///< The last line that a checkpoint covers.
  std::uint64_t unsigned_tail = 0;  ///< Lines after it, checkpoints apart.
  bool is_tail_too_long = false;    ///< The service would have signed them.
  bool signatures_checked = false;  ///< False without keys: the chain alone is checked.
  std::vector<UsedKey> keys;
  std::vector<AuditReceipt> missing;
  std::vector<ChainHead> missing_witnessed;

  [[nodiscard]] Verdict verdict() const;
  [[nodiscard]] bool is_intact() const { return verdict() == Verdict::kIntact; }
  [[nodiscard]] base::json::Object to_json() const;
  /// What is proven and what is not, in sentences; ends with a line end.
  [[nodiscard]] std::string to_text() const;
};

/// `path` is a trail's folder, or one file of it. Blocks.
/// Errors: kNotFound  no trail there; kUnavailable  it cannot be read.
/// Source: docs/wire-3.0.md, "Audit record".
[[nodiscard]] base::Result<VerifyReport> verify(const std::string& path, const CheckpointKeys& keys,
                                                const VerifyOptions& options = {});

}  // namespace tool::audit
