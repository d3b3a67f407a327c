#include "lakeproxy/publish/nan_counts.h"

#include "lakeproxy/materialize/snapshot/shown_snapshots.h"

namespace lake::publish {
namespace {

bool is_float(const model::LakeTable& table, model::FieldId column) {
  for (const model::Schema& schema : table.metadata.schemas) {
    const model::Field* field = schema.find(column);
    if (field == nullptr) continue;
    if (field->type.kind() == model::TypeKind::kFloat ||
        field->type.kind() == model::TypeKind::kDouble) {
      return true;
    }
  }
  return false;
}

// Columns whose NaN count only a look into the file tells.
std::vector<model::FieldId> uncounted(const model::LakeTable& table,
                                      const model::LakeDataFile& file) {
  std::vector<model::FieldId> columns;
  if (file.iceberg) return columns;  // Its client said what it knows.
  for (const auto& stats : file.stats) {
    bool none = stats.contains_nan == false || stats.null_count == file.record_count;
    if (!none && !stats.nan_count && is_float(table, stats.column_id)) {
      columns.push_back(stats.column_id);
    }
  }
  return columns;
}

}  // namespace

base::Task<base::Status> complete_nan_counts(base::RequestContext context,
                                             exporter::Exporter* exporter,
                                             ducklake::LakeWriter* writer,
                                             const model::LakeTable* table,
                                             model::LakeChanges* changes) {
  std::vector<ducklake::LakeWriter::NanCount> made;
  for (auto& [id, file] : changes->data_files) {
    if (materialize::shown_before(*changes, file.begin)) continue;
    auto columns = uncounted(*table, file);
    if (columns.empty()) continue;
    CO_ASSIGN_OR_RETURN(auto counts, co_await exporter->count_nans(context, file.path, columns));
    for (auto& stats : file.stats) {
      auto count = counts.find(stats.column_id);
      if (count == counts.end()) continue;
      stats.nan_count = count->second;
      made.push_back({id, stats.column_id, count->second});
    }
  }
  if (made.empty()) co_return base::Status{};
  co_return co_await writer->record_nan_counts(context, std::move(made));
}

}  // namespace lake::publish
