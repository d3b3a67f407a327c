#include <fmt/format.h>

#include "base/core/text.h"
#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::size_t kMaxKeyBytes = 1024;

}  // namespace

base::Status check_property_key(std::string_view key) {
  if (key.empty() || key.size() > kMaxKeyBytes || !base::is_utf8(key)) {
    return fail(ErrorKind::kInvalid,
                fmt::format("property key: must be 1 to {} bytes of UTF-8", kMaxKeyBytes));
  }
  if (key.starts_with(kReservedPropertyPrefix)) {
    return fail(ErrorKind::kForbidden, fmt::format("property {} is reserved", key));
  }
  return {};
}

base::Status set_properties(TableMetadata& table,
                            const std::map<std::string, std::string>& updates) {
  for (const auto& [key, value] : updates) RETURN_IF_ERROR(check_property_key(key));
  for (const auto& [key, value] : updates) table.properties.insert_or_assign(key, value);
  return {};
}

base::Status remove_properties(TableMetadata& table, const std::vector<std::string>& removals) {
  for (const std::string& key : removals) RETURN_IF_ERROR(check_property_key(key));
  for (const std::string& key : removals) table.properties.erase(key);
  return {};
}

}  // namespace lake::model
