#include "lakeproxy/derive/plan/metadata_object_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace lake::materialize {
namespace {

constexpr std::size_t kHashDigits = 16;  // As content_hash().

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_number(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end > 0;
}

bool is_hash(std::string_view text) {
  return text.size() == kHashDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Behind the snapshot stands 0; earlier releases counted there how often files were replaced.
bool is_list(std::string_view name) {
  return take(name, "snap-") && take_number(name) && take(name, "-") && take_number(name) &&
         take(name, "-") && is_hash(name);
}

bool is_manifest(std::string_view name) {
  return take_number(name) && take(name, "-") && take_number(name) && take(name, "-m") &&
         take_number(name) && take(name, "-") && is_hash(name);
}

}  // namespace

std::string manifest_location(const MetadataObjectPlace& place, std::size_t part,
                              std::string_view hash) {
  return fmt::format("{}/metadata/{}-0-m{}-{}.avro", place.table_location, place.snapshot.value,
                     part, hash);
}

std::string list_location(const MetadataObjectPlace& place, std::string_view hash) {
  return fmt::format("{}/metadata/snap-{}-0-{}.avro", place.table_location, place.snapshot.value,
                     hash);
}

bool is_published_object(std::string_view location, std::string_view table_location) {
  std::string_view name = location;
  if (!take(name, table_location) || !take(name, "/metadata/")) return false;
  if (name.starts_with("deletes-") || name.starts_with("inlined-") || name.starts_with("copy-")) {
    return true;
  }
  if (!name.ends_with(".avro")) return false;
  name.remove_suffix(std::string_view(".avro").size());
  return is_list(name) || is_manifest(name);
}

}  // namespace lake::materialize
