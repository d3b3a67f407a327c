#include "base/core/text.h"
#include "lakeproxy/from_iceberg/commit/table_change.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/operation/catalog/now.h"
#include "lakeproxy/operation/tables.h"

namespace lake::operation {
base::Task<base::Result<CreatedTable>> create_table(base::RequestContext context, Catalog* catalog,
                                                    policy::Authorized<CreateTableIn> request) {
  co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kAsked);
  // A table's place follows the server's own rule; a location that a client
  // asks for is not honoured, since prefixes are what credentials are cut by.
  CO_ASSIGN_OR_RETURN(auto name_space,
                      co_await catalog->reader->load_namespace(context, request->name_space));
  model::NewTable decided;
  decided.uuid = base::make_uuid_v4(*catalog->random);
  decided.location =
      catalog->writer->new_table_location(name_space, request->table.name, decided.uuid);
  decided.now_ms = now_ms(*catalog->clock);
  decided.format_version = catalog->default_format_version;
  CO_ASSIGN_OR_RETURN(auto metadata, model::new_table(request->table, decided));
  model::TableIdentifier identifier{request->name_space, request->table.name};
  if (request->table.stage_create) {
    CO_RETURN_IF_ERROR(co_await catalog->view_store->check_name_is_free(
        context, identifier, ducklake::RelationKind::kTable));
    // A client sends the properties of a staged table back with its commit, and
    // this one is not a client's to set: the commit records it again.
    metadata.properties.erase(std::string(model::kFormatVersionProperty));
    co_return CreatedTable{std::nullopt, staged_text(*catalog, metadata), metadata.location,
                           decided.uuid};
  }
  co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kPrepared);
  CO_ASSIGN_OR_RETURN(
      auto created,
      co_await catalog->writer->keyed(request.key())
          .create_table(context, ducklake::NewTable{identifier, std::move(metadata), {}}));
  CO_ASSIGN_OR_RETURN(auto entry, co_await catalog->loaded_tables->publish_created(
                                      context, identifier, std::move(created)));
  publish::LoadedTablePtr loaded = entry->loaded;
  catalog->background.spawn(finish_behind, context, std::move(identifier), std::move(entry),
                            std::vector<std::string>{});
  CO_ASSIGN_OR_RETURN(
      auto seen, co_await see_made_table(context, catalog, request.principal(), std::move(loaded)));
  co_return CreatedTable{ShownTable(request, *catalog, std::move(seen)), {}};
}

}  // namespace lake::operation
