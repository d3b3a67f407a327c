#include "lakeproxy/storage/location_rules.h"

#include <algorithm>
#include <optional>

#include "base/core/text.h"

namespace lake::storage {
namespace {

constexpr std::size_t kMaxKeyBytes = 1024;
constexpr std::size_t kMinBucketBytes = 3;
constexpr std::size_t kMaxBucketBytes = 63;

base::Error invalid(std::string message) {
  return base::fail(base::ErrorKind::kInvalid, std::move(message));
}

// Controls, and the two code points of three bytes that XML has no form for
// (U+FFFE, U+FFFF): an object named so could be neither listed nor deleted.
// Source: Extensible Markup Language 1.0, section 2.2.
bool is_carried_by_xml(std::string_view text) {
  return std::ranges::none_of(text,
                              [](char c) {
                                auto b = static_cast<unsigned char>(c);
                                return b < 0x20 || b == 0x7f;
                              }) &&
         !text.contains("\xef\xbf\xbe") && !text.contains("\xef\xbf\xbf");
}

bool has_plain_segments(std::string_view path) {
  while (true) {
    auto end = std::min(path.find('/'), path.size());
    auto segment = path.substr(0, end);
    if (segment.empty() || segment == "." || segment == "..") return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

// The rules for a name that is not empty and does not end with '/'.
std::optional<base::Error> fault_in(std::string_view path) {
  if (path.empty()) return invalid("must not be empty");
  if (path.size() > kMaxKeyBytes) return invalid("must not be over 1024 bytes");
  if (!base::is_utf8(path) || !is_carried_by_xml(path)) {
    return invalid("must be UTF-8 without control characters");
  }
  if (!has_plain_segments(path)) return invalid("must have no empty, '.' or '..' segment");
  return std::nullopt;
}

std::string_view without_trailing_slash(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

std::optional<base::Error> fault_in_place(std::string_view path) {
  if (path.contains('?') || path.contains('#')) return invalid("must have no '?' and no '#'");
  return fault_in(without_trailing_slash(path));
}

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

constexpr std::string_view kScheme = "s3://";

std::optional<std::string_view> without_scheme(std::string_view url) {
  for (std::string_view scheme :
       {kScheme, std::string_view("s3a://"), std::string_view("s3n://")}) {
    if (url.starts_with(scheme)) return url.substr(scheme.size());
  }
  return std::nullopt;
}

}  // namespace

base::Result<ObjectKey> ObjectKey::parse(std::string_view text) {
  if (auto fault = fault_in(text)) return std::move(*fault).with_context("object key");
  return ObjectKey(text);
}

bool is_bucket_name(std::string_view text) {
  if (text.size() < kMinBucketBytes || text.size() > kMaxBucketBytes) return false;
  if (!is_lower_or_digit(text.front()) || !is_lower_or_digit(text.back())) return false;
  bool like_an_address =
      std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; }) &&
      text.contains('.');
  return !like_an_address && !text.contains("..") && std::ranges::all_of(text, [](char c) {
    return is_lower_or_digit(c) || c == '-' || c == '.';
  });
}

std::string canonical(std::string_view location) {
  auto rest = without_scheme(location);
  return rest ? std::string(kScheme).append(*rest) : std::string(location);
}

base::Result<Location> Location::parse(std::string_view url) {
  auto rest = without_scheme(url);
  if (!rest) return invalid("location: must start with s3://");
  auto slash = std::min(rest->find('/'), rest->size());
  auto bucket = rest->substr(0, slash);
  if (!is_bucket_name(bucket)) return invalid("location: must name a bucket");
  auto path = slash == rest->size() ? std::string_view() : rest->substr(slash + 1);
  if (!path.empty()) {
    if (auto fault = fault_in_place(path)) return std::move(*fault).with_context("location");
  }
  return Location(bucket, path);
}

std::string Location::text() const { return std::string(kScheme) + bucket_ + "/" + path_; }

base::Result<ObjectKey> Location::key() const {
  if (path_.empty() || path_.ends_with('/')) return invalid("location: must name an object");
  return ObjectKey::parse(path_);
}

base::Result<Location> join(const Location& folder, std::string_view relative) {
  if (auto fault = fault_in_place(relative)) return std::move(*fault).with_context("path");
  std::string path(without_trailing_slash(folder.path()));
  if (!path.empty()) path += '/';
  path += relative;
  // Both parts keep the rules; together they may still be too long.
  if (auto fault = fault_in_place(path)) return std::move(*fault).with_context("path");
  return Location(folder.bucket(), path);
}

base::Result<ObjectKey> key_in(const std::string& bucket, std::string_view location) {
  ASSIGN_OR_RETURN(Location place, Location::parse(location));
  if (place.bucket() != bucket) {
    return base::fail(base::ErrorKind::kForbidden,
                      "not in the lake's bucket: " + std::string(location));
  }
  return place.key();
}

bool is_under(const Location& place, const Location& folder) {
  if (place.bucket() != folder.bucket()) return false;
  auto prefix = without_trailing_slash(folder.path());
  std::string_view path = place.path();
  if (prefix.empty()) return !path.empty();
  return path.size() > prefix.size() + 1 && path.starts_with(prefix) && path[prefix.size()] == '/';
}

}  // namespace lake::storage
