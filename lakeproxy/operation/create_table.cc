#include "base/core/text.h"
#include "lakeproxy/model/metadata_change.h"
#include "lakeproxy/operation/now.h"
#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

base::Result<std::int32_t> format_version_of(const model::CreateTable& table,
                                             std::int32_t by_default) {
  ASSIGN_OR_RETURN(auto requested, model::requested_format_version(table));
  std::int32_t version = requested.value_or(by_default);
  if (version != 2) {
    return base::fail(base::ErrorKind::kUnsupported,
                      "properties.format-version: only format version 2 can be created");
  }
  return version;
}

}  // namespace

base::Task<base::Result<CreatedTable>> create_table(base::RequestContext context, Catalog* catalog,
                                                    govern::Authorized<CreateTableIn> request) {
  // A table's place follows the server's own rule; a location that a client
  // asks for is not honoured, since prefixes are what credentials are cut by.
  CO_ASSIGN_OR_RETURN(auto name_space,
                      co_await catalog->reader->load_namespace(context, request->name_space));
  CO_ASSIGN_OR_RETURN(auto version,
                      format_version_of(request->table, catalog->default_format_version));
  model::NewTable decided;
  decided.uuid = base::make_uuid_v4(*catalog->random);
  decided.location =
      catalog->writer->new_table_location(name_space, request->table.name, decided.uuid);
  decided.now_ms = now_ms(*catalog->clock);
  decided.format_version = version;
  CO_ASSIGN_OR_RETURN(auto metadata, model::new_table(request->table, decided));
  model::TableIdentifier identifier{request->name_space, request->table.name};
  if (request->table.stage_create) {
    auto existing = co_await catalog->reader->find_table(context, identifier);
    if (existing) {
      co_return base::fail(base::ErrorKind::kAlreadyExists,
                           "Table already exists: " + identifier.display());
    }
    if (existing.error().kind() != base::ErrorKind::kNotFound) {
      co_return std::move(existing).error();
    }
    co_return CreatedTable{nullptr, publish::staged_body(metadata, catalog->client_config)};
  }
  CO_RETURN_IF_ERROR(
      co_await catalog->writer->keyed(request.key())
          .create_table(context, ducklake::NewTable{identifier, std::move(metadata), {}}));
  CO_ASSIGN_OR_RETURN(auto view, co_await catalog->views->get(context, identifier));
  co_return CreatedTable{std::move(view), std::nullopt};
}

}  // namespace lake::operation
