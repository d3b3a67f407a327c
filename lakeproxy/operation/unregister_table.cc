#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

// The table changed between the reading and the drop so many times in a row.
constexpr int kAttempts = 20;

}  // namespace

base::Task<base::Result<std::string>> unregister_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<UnregisterTable> request) {
  for (int i = 0; i < kAttempts; ++i) {
    CO_ASSIGN_OR_RETURN(
        auto loaded, co_await catalog->loaded_tables->get_recorded(context, request->identifier));
    // The answer is the table's own metadata, and whoever has that can register its files.
    CO_RETURN_IF_ERROR(co_await check_sees_itself(context, catalog, request.principal(), loaded));
    std::string answer = ShownTable(request, *catalog, SeenTable{loaded, nullptr}).unregistered();
    auto dropped = co_await catalog->writer->keyed(request.key())
                       .unregister_table(
                           context, request->identifier,
                           std::shared_ptr<const model::LakeTable>(loaded, &loaded->table), answer);
    if (dropped) co_return answer;
    if (dropped.error().reason() != ducklake::kStale) co_return std::move(dropped).error();
  }
  co_return base::fail(base::ErrorKind::kConflict, "The table keeps changing; it is still there.")
      .with_reason(ducklake::kBusy);
}

}  // namespace lake::operation
