#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

namespace json = base::json;

json::Object totals_json(const ducklake::TableTotals& totals) {
  return {{"data-files", totals.files},
          {"delete-files", totals.delete_files},
          {"bytes", totals.bytes},
          {"rows", totals.rows},
          {"inlined", totals.inlined}};
}

json::Object rewritten_json(const exporter::Rewritten& rewritten) {
  return {{"files-read", rewritten.read}, {"files-written", rewritten.written}};
}

json::Value to_json(const operation::Compacted& compacted) {
  json::Array skipped;
  for (const auto& step : compacted.done.skipped) {
    skipped.push_back(json::Object{{"step", step.step}, {"reason", step.reason}});
  }
  return json::Object{{"complete", skipped.empty()},
                      {"before", totals_json(compacted.before)},
                      {"after", totals_json(compacted.after)},
                      {"rows-flushed", compacted.done.rows_flushed},
                      {"rewritten", rewritten_json(compacted.done.rewritten)},
                      {"merged", rewritten_json(compacted.done.merged)},
                      {"snapshots-expired", compacted.done.snapshots_expired},
                      {"files-removed", compacted.files_removed},
                      {"skipped", std::move(skipped)}};
}

}  // namespace

base::Result<operation::CompactTable> compact_table_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, table_of(call));
  return operation::CompactTable{std::move(identifier)};
}

ActionResult compact_table(RequestContext context, Call* call,
                           Authorized<operation::CompactTable> request) {
  CO_ASSIGN_OR_RETURN(auto compacted, co_await operation::compact_table(context, call->catalog(),
                                                                        std::move(request)));
  co_return json_response(200, to_json(compacted));
}

}  // namespace lake::http
