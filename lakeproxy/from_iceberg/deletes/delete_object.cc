#include "lakeproxy/from_iceberg/deletes/delete_object.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "lakeproxy/derive/exporter.h"

namespace lake::operation {

base::Task<base::Result<ducklake::DeleteObject>> put_delete_object(
    base::RequestContext context, Catalog* catalog, std::string folder, std::string data_file,
    std::vector<std::int64_t> positions) {
  ducklake::DeleteObject object;
  // DuckLake's own form of name: its clean-up finds what no commit names.
  object.location = fmt::format("{}/ducklake-{}-delete.parquet", folder,
                                base::to_string(base::make_uuid_v4(*catalog->random)));
  CO_ASSIGN_OR_RETURN(auto done,
                      co_await catalog->exporter->put_delete_file(
                          context, object.location, std::move(data_file), std::move(positions)));
  object.delete_count = done.delete_count;
  object.file_size_bytes = done.file_size_bytes;
  co_return object;
}

}  // namespace lake::operation
