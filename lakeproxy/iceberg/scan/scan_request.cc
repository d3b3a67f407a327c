#include "lakeproxy/iceberg/scan/scan_request.h"

#include <fmt/format.h>

#include "base/json/fields.h"

namespace lake::scan {
namespace {

using base::ErrorKind;
using base::Result;
using base::json::Fields;

Result<std::vector<std::string>> names_of(const Fields& fields, std::string_view key) {
  if (!fields.has(key)) return std::vector<std::string>();
  ASSIGN_OR_RETURN(auto names, fields.strings(key));
  if (names.size() > kMostNames) {
    return base::fail(ErrorKind::kInvalid,
                      fmt::format("{}: more than {} names", fields.path_of(key), kMostNames));
  }
  return names;
}

Result<std::optional<model::SnapshotId>> snapshot_of(const Fields& fields, std::string_view key) {
  ASSIGN_OR_RETURN(auto id, fields.opt_int64(key));
  if (!id) return std::nullopt;
  return model::SnapshotId(*id);
}

base::Status read_snapshots(const Fields& fields, ScanRequest& request) {
  ASSIGN_OR_RETURN(request.snapshot_id, snapshot_of(fields, "snapshot-id"));
  ASSIGN_OR_RETURN(auto first, snapshot_of(fields, "start-snapshot-id"));
  ASSIGN_OR_RETURN(auto last, snapshot_of(fields, "end-snapshot-id"));
  if (first.has_value() != last.has_value()) {
    return base::fail(
        ErrorKind::kInvalid,
        fmt::format("{}: is required with {}", first ? "end-snapshot-id" : "start-snapshot-id",
                    first ? "start-snapshot-id" : "end-snapshot-id"));
  }
  if (!first) return {};
  if (request.snapshot_id) {
    return base::fail(ErrorKind::kInvalid, "snapshot-id: must not stand with start-snapshot-id");
  }
  request.range = SnapshotRange{*first, *last};
  return {};
}

}  // namespace

Result<ScanRequest> scan_request_from_json(const base::json::Value& body) {
  ASSIGN_OR_RETURN(auto fields, Fields::of(body, ""));
  ScanRequest request;
  RETURN_IF_ERROR(read_snapshots(fields, request));
  ASSIGN_OR_RETURN(request.select, names_of(fields, "select"));
  ASSIGN_OR_RETURN(request.stats_fields, names_of(fields, "stats-fields"));
  if (const auto* filter = fields.find("filter")) {
    ASSIGN_OR_RETURN(request.filter, expression_from_json(*filter, "filter"));
  }
  ASSIGN_OR_RETURN(auto is_sensitive, fields.opt_boolean("case-sensitive"));
  if (!is_sensitive.value_or(true)) request.names = NameCase::kInsensitive;
  ASSIGN_OR_RETURN(auto as_then, fields.opt_boolean("use-snapshot-schema"));
  if (as_then.value_or(false)) request.schema = SchemaChoice::kSnapshot;
  ASSIGN_OR_RETURN(request.min_rows, fields.opt_int64("min-rows-requested"));
  if (request.min_rows && *request.min_rows < 0) {
    return base::fail(ErrorKind::kInvalid, "min-rows-requested: must not be negative");
  }
  return request;
}

}  // namespace lake::scan
