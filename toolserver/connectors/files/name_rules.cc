#include "toolserver/connectors/files/name_rules.h"

#include <algorithm>
#include <array>

#include "base/core/text.h"

namespace tool::files {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;

constexpr std::string_view kReserved = ".tool-files-";
constexpr std::string_view kReservedEnd = ".part";
constexpr std::size_t kRandomBytes = 16;
constexpr std::size_t kExtensionBytes = 32;

bool is_extension(std::string_view text) {
  return !text.empty() && text.size() <= kExtensionBytes && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

}  // namespace

std::string_view extension_of(std::string_view name) {
  std::size_t dot = name.rfind('.');
  if (dot == name.npos || dot == 0) return {};
  return name.substr(dot + 1);
}

std::string temporary_name(base::Random& random) {
  std::array<std::uint8_t, kRandomBytes> bytes{};
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return std::string(kReserved) + base::to_hex(bytes) + std::string(kReservedEnd);
}

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(kReserved) || !name.ends_with(kReservedEnd)) return false;
  if (name.size() != kReserved.size() + 2 * kRandomBytes + kReservedEnd.size()) return false;
  std::string_view middle = name.substr(kReserved.size(), 2 * kRandomBytes);
  return middle.find_first_not_of("0123456789abcdef") == middle.npos;
}

Result<NameRules> NameRules::make(const FilesOptions& options) {
  if (options.extensions.empty()) {
    return fail(ErrorKind::kInvalid, "extensions: at least one must be allowed");
  }
  if (!std::ranges::all_of(options.extensions, is_extension)) {
    return fail(ErrorKind::kInvalid,
                "extensions: each must be 1 to 32 letters, digits, '_' or '-', without a dot");
  }
  return NameRules(options.extensions, options.allow_hidden);
}

bool NameRules::allows_file(std::string_view name) const {
  return std::ranges::find(extensions_, extension_of(name)) != extensions_.end();
}

bool NameRules::allows_segment(std::string_view name) const {
  if (name.starts_with(kReserved)) return false;
  return hidden_ == Permission::kAllowed || !name.starts_with('.');
}

bool NameRules::allows_segments(const RelativePath& path) const {
  return std::ranges::all_of(path.segments(),
                             [this](const std::string& name) { return allows_segment(name); });
}

}  // namespace tool::files
