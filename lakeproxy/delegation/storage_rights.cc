#include "lakeproxy/delegation/storage_rights.h"

#include <algorithm>
#include <optional>

#include "lakeproxy/model/server_folder.h"

namespace lake::delegation {
namespace {

using storage::Location;

std::string as_prefix(std::string_view path) {
  std::string prefix(path);
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  return prefix;
}

// Of a folder of that bucket; nothing for any other, and for the bucket itself.
std::optional<std::string> prefix_in(const std::string& bucket, const Location& folder) {
  if (folder.bucket() != bucket || folder.path().empty()) return std::nullopt;
  return as_prefix(folder.path());
}

bool is_in(const std::vector<std::string>& prefixes, std::string_view name) {
  return std::ranges::any_of(prefixes,
                             [&](const std::string& prefix) { return name.starts_with(prefix); });
}

// Whether one of the folders lies in `prefix`, or is it.
bool holds_one_of(std::string_view prefix, const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders,
                             [&](const std::string& folder) { return folder.starts_with(prefix); });
}

}  // namespace

base::Result<StorageRightsPtr> StorageRights::make(std::string bucket, const RightsPlaces& places,
                                                   KeyAccess access) {
  auto table = prefix_in(bucket, places.table);
  if (!table) {
    return base::fail(base::ErrorKind::kForbidden,
                      "the table has no folder in the lake's bucket: there are no keys for it");
  }
  StorageRights rights(std::move(bucket), access);
  rights.readable_.push_back(*table);
  if (access == KeyAccess::kReadWrite) {
    rights.writable_.push_back(*table);
    rights.write_denied_.push_back(
        model::server_folder(std::string_view(*table).substr(0, table->size() - 1)));
  }
  for (const Location& folder : places.listed) {
    auto prefix = prefix_in(rights.bucket_, folder);
    if (prefix && !prefix->starts_with(*table)) rights.readable_.push_back(std::move(*prefix));
  }
  for (const Location& folder : places.others) {
    auto prefix = prefix_in(rights.bucket_, folder);
    if (prefix && prefix->starts_with(*table)) rights.denied_.push_back(std::move(*prefix));
  }
  return std::make_shared<const StorageRights>(std::move(rights));
}

bool StorageRights::may_read(const storage::ObjectKey& key) const {
  return is_in(readable_, key.text()) && !is_in(denied_, key.text());
}

bool StorageRights::may_put(const storage::ObjectKey& key) const {
  return is_in(writable_, key.text()) && !is_in(write_denied_, key.text()) &&
         !is_in(denied_, key.text());
}

bool StorageRights::may_list(std::string_view prefix) const {
  std::string_view name = prefix;
  if (name.ends_with('/')) name.remove_suffix(1);
  // A store that reads "a//b" or "a/../b" in its own way would list something else.
  if (!storage::ObjectKey::parse(name)) return false;
  return is_in(readable_, prefix) && !is_in(denied_, prefix) && !holds_one_of(prefix, denied_);
}

}  // namespace lake::delegation
