#pragma once

// A foreign tool is what its server says of it today. Here stands what the
// server said, and what of it somebody approved: a file for each bridge and each node,
// written by the service (what is seen) and by the operator's command (what is
// approved), each change under a lock and whole or not at all.
// Source: docs/adr/0120; docs/tools/bridge.md.

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/json/json.h"
#include "toolserver/model/fault.h"

namespace tool::pins {

/// A tool as it stands in one of the two lists.
struct PinnedTool {
  std::string pin;            ///< Capability::pin().
  base::json::Object record;  ///< Capability::to_json(), for people to compare.
  std::int64_t at_ms = 0;     ///< When it was seen or approved, since 1970.
  /// Of an approval: "operator", or "first sight" where the configuration
  /// trusts the server. Of a tool that is seen: why it cannot be offered, or empty.
  std::string note;
};

/// By tool id, each.
struct PinFile {
  std::map<std::string, PinnedTool> seen;
  std::map<std::string, PinnedTool> approved;
};

enum class PinStatus : std::uint8_t {
  kPinned,    ///< Seen as it was approved.
  kNew,       ///< Seen, and never approved.
  kChanged,   ///< Seen, and not as it was approved.
  kGone,      ///< Approved, and offered no more.
  kUnusable,  ///< Seen, and of a kind that is never offered.
};
[[nodiscard]] std::string_view name(PinStatus status);

/// Of the tool `id`, which is in one of the lists.
[[nodiscard]] PinStatus status_of(const PinFile& file, const std::string& id);

/// The file of one bridge or node. Every call reads the disk and blocks.
class PinStore {
 public:
  static constexpr std::size_t kFileBytes = 15 << 20;
  static constexpr std::size_t kApprovals = 1024;

  /// `folder` is made when it is not there; its parent must be.
  /// Errors: kUnavailable  the folder cannot be made; kForbidden  others may
  ///         write to it.
  [[nodiscard]] static base::Result<PinStore> open(const std::filesystem::path& folder,
                                                   const std::string& name,
                                                   const base::Clock& clock);

  /// Empty when there is no file yet.
  /// Errors: kUnavailable  it cannot be read; kForbidden  others may write it;
  ///         kCorrupt  it is not a file of pins; kTooLarge.
  [[nodiscard]] base::Result<PinFile> read() const;

  /// Puts `seen` in the place of what was seen before. With `trust`, a tool
  /// that can be offered and was never approved is approved as it is, up to
  /// kApprovals. Returns what stands then.
  /// Errors: as read(); kUnavailable  it cannot be written.
  [[nodiscard]] base::Result<PinFile> see(std::map<std::string, PinnedTool> seen, bool trust);

  /// Errors: kNotFound  the tool is not seen; kConflict  it is seen with another
  ///         pin than `pin`; kUnsupported  it cannot be offered; kTooLarge  over
  ///         kApprovals; and those of see().
  [[nodiscard]] base::Status approve(const std::string& id, std::string_view pin);
  /// Errors: kNotFound  it is not approved; and those of see().
  [[nodiscard]] base::Status revoke(const std::string& id);

  /// Changes with every write, by whomever; empty while there is no file.
  [[nodiscard]] std::string stamp() const;

  [[nodiscard]] std::filesystem::path path() const { return folder_ / (name_ + ".json"); }

 private:
  PinStore(std::filesystem::path folder, std::string name, const base::Clock& clock)
      : folder_(std::move(folder)), name_(std::move(name)), clock_(&clock) {}
  [[nodiscard]] base::Status write(const PinFile& file) const;

  std::filesystem::path folder_;
  std::string name_;
  const base::Clock* clock_;
};

/// What a person should look at before approving: a line for each member of the
/// record that differs, "- path: value" as approved and "+ path: value" as seen.
/// Empty when they are the same.
[[nodiscard]] std::vector<std::string> differences(const base::json::Object& approved,
                                                   const base::json::Object& seen);

}  // namespace tool::pins
