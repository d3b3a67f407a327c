#pragma once

// Which version of the wire both ends speak.
// Source: docs/wire-3.0.md, section 4.3.

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tool::session {

struct Version {
  std::uint16_t major = 3;
  std::uint16_t minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

/// "3.0": two numbers up to 999 without leading zeros. Nothing otherwise.
[[nodiscard]] std::optional<Version> parse_version(std::string_view text);
[[nodiscard]] std::string to_string(Version version);

/// For each major in both lists the lower of the two highest minors; of these
/// the highest. Nothing when no major is in both.
[[nodiscard]] std::optional<Version> negotiate(std::span<const Version> ours,
                                               std::span<const Version> theirs);

/// Whether a client that offered `offered` can be given `chosen`: a minor may
/// be lower than the one offered, never higher, and the major must be there.
[[nodiscard]] bool covers(std::span<const Version> offered, Version chosen);

}  // namespace tool::session
