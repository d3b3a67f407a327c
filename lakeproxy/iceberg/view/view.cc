#include "lakeproxy/iceberg/view/view.h"

#include <algorithm>
#include <cstdlib>

namespace lake::model {
namespace {

template <class T>
const T& existing(const T* found) {
  if (found == nullptr) std::abort();
  return *found;
}

}  // namespace

bool ViewVersion::same_query(const ViewVersion& other) const {
  return summary == other.summary && representations == other.representations &&
         default_catalog == other.default_catalog && default_namespace == other.default_namespace &&
         schema_id == other.schema_id;
}

const ViewVersion* ViewMetadata::find_version(std::int32_t id) const {
  const auto found = std::ranges::find(versions, id, &ViewVersion::version_id);
  return found == versions.end() ? nullptr : &*found;
}

const Schema* ViewMetadata::find_schema(std::int32_t id) const {
  const auto found = std::ranges::find(schemas, id, &Schema::schema_id);
  return found == schemas.end() ? nullptr : &*found;
}

const ViewVersion& ViewMetadata::current_version() const {
  return existing(find_version(current_version_id));
}

const Schema& ViewMetadata::current_schema() const {
  return existing(find_schema(current_version().schema_id));
}

std::string lower_dialect(std::string_view dialect) {
  std::string lower(dialect);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace lake::model
