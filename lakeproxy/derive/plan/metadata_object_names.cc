#include "lakeproxy/derive/plan/metadata_object_names.h"

#include <fmt/format.h>

#include "lakeproxy/model/server_folder.h"

namespace lake::materialize {

std::string manifest_location(const MetadataObjectPlace& place, std::size_t part,
                              std::string_view hash) {
  return fmt::format("{}{}-0-m{}-{}.avro", model::server_folder(place.table_location),
                     place.snapshot.value, part, hash);
}

std::string list_location(const MetadataObjectPlace& place, std::string_view hash) {
  return fmt::format("{}snap-{}-0-{}.avro", model::server_folder(place.table_location),
                     place.snapshot.value, hash);
}

bool is_published_object(std::string_view location, std::string_view table_location) {
  const std::string folder = model::server_folder(table_location);
  return location.size() > folder.size() && location.starts_with(folder);
}

}  // namespace lake::materialize
