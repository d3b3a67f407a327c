#include "base/json/json.h"
#include "base/json/zero_escape.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/iceberg/view/view_json.h"
#include "lakeproxy/operation/views.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::operation {
namespace {

using base::ErrorKind;

constexpr std::string_view kMember = "metadata-location";

bool is_in_lake(const Catalog& catalog, const std::string& location) {
  auto place = storage::Location::parse(location);
  auto lake = storage::Location::parse(catalog.lake.data_path);
  return place && lake && storage::is_under(*place, *lake);
}

// Only our own prefix is read: our keys must not fetch for a client what the
// client could not.
base::Task<base::Result<model::ViewMetadata>> read_file(base::RequestContext context,
                                                        Catalog* catalog, std::string location) {
  if (!is_in_lake(*catalog, location)) {
    co_return base::fail(ErrorKind::kInvalid, "must be under " + catalog->lake.data_path)
        .with_context(kMember);
  }
  auto text = co_await catalog->manifests->bytes(context, location);
  if (!text && text.error().kind() == ErrorKind::kNotFound) {
    co_return base::fail(ErrorKind::kInvalid, "no such object").with_context(kMember);
  }
  if (!text) co_return std::move(text).error();
  auto json = base::json::parse(*text);
  if (!json) co_return std::move(json).error().with_context(kMember);
  if (base::json::has_zero_escape(*text)) {
    co_return base::fail(base::ErrorKind::kInvalid, "\\u0000 must stand in no name and no text")
        .with_context(kMember);
  }
  auto metadata = model::view_metadata_from_json(*json);
  if (!metadata) co_return std::move(metadata).error().with_context(kMember);
  for (const auto& [key, value] : metadata->properties) {
    CO_RETURN_IF_ERROR(model::check_property_key(key));
  }
  co_return metadata;
}

}  // namespace

base::Task<base::Result<ViewAnswer>> register_view(base::RequestContext context, Catalog* catalog,
                                                   policy::Authorized<RegisterViewIn> request) {
  const model::TableIdentifier identifier{request->name_space, request->view.name};
  CO_ASSIGN_OR_RETURN(auto parent, co_await find_view_place(context, catalog, identifier));
  CO_ASSIGN_OR_RETURN(auto metadata,
                      co_await read_file(context, catalog, request->view.metadata_location));
  // A view that comes from elsewhere keeps all but its place.
  if (!is_in_lake(*catalog, metadata.location)) {
    metadata.location =
        catalog->writer->new_table_location(parent, identifier.name, metadata.view_uuid);
  }
  co_return co_await put_new_view(context, catalog, request.key(), identifier, std::move(metadata));
}

}  // namespace lake::operation
