#include "toolserver/session/versions.h"

#include <algorithm>
#include <charconv>

namespace tool::session {
namespace {

std::optional<std::uint16_t> short_number(std::string_view text) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint16_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint16_t> highest_minor(std::span<const Version> versions, std::uint16_t major) {
  std::optional<std::uint16_t> highest;
  for (Version version : versions) {
    if (version.major == major && (!highest || version.minor > *highest)) highest = version.minor;
  }
  return highest;
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  auto major = short_number(text.substr(0, dot)), minor = short_number(text.substr(dot + 1));
  if (!major || !minor) return std::nullopt;
  return Version{*major, *minor};
}

std::string to_string(Version version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::optional<Version> negotiate(std::span<const Version> ours, std::span<const Version> theirs) {
  std::optional<Version> best;
  for (Version version : ours) {
    auto our_minor = highest_minor(ours, version.major);
    auto their_minor = highest_minor(theirs, version.major);
    if (!their_minor) continue;
    Version candidate{version.major, std::min(*our_minor, *their_minor)};
    if (!best || candidate > *best) best = candidate;
  }
  return best;
}

bool covers(std::span<const Version> offered, Version chosen) {
  auto minor = highest_minor(offered, chosen.major);
  return minor && chosen.minor <= *minor;
}

}  // namespace tool::session
