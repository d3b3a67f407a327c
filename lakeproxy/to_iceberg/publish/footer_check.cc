#include "lakeproxy/to_iceberg/publish/footer_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/gather.h"
#include "lakeproxy/to_iceberg/definition/readable_copies.h"
#include "lakeproxy/to_iceberg/snapshot/shown_snapshots.h"

namespace lake::publish {
namespace {

using base::ErrorKind;
using model::LakeDataFile;
using model::LakeTable;
using model::SnapshotId;

constexpr base::AtOnce kFootersAtOnce{8};

using Files = std::map<std::string, const LakeDataFile*>;

// Where the lake has the file itself.
const std::string& own_path(const LakeDataFile& file) {
  return file.copy ? file.copy->source : file.path;
}

// One of the rows that an object has is enough: they share their names.
Files new_files(const Manifests& published, const model::LakeChanges& changes) {
  Files files;
  for (const auto& [id, file] : changes.data_files) {
    if (file.mapping_id && !materialize::shown_before(changes, file.begin)) {
      files.emplace(file.path, &file);
    }
  }
  if (files.empty()) return files;
  for (const auto& manifest : published) {
    for (const model::ManifestEntry& entry : *manifest.entries) {
      if (entry.status != model::EntryStatus::kDeleted) files.erase(entry.data_file.file_path);
    }
  }
  return files;
}

bool holds_no_null(const LakeDataFile& file, model::FieldId column) {
  auto stats = std::ranges::find(file.stats, column, &model::LakeColumnStats::column_id);
  return stats != file.stats.end() && stats->null_count == 0;
}

// PyIceberg looks into the file for each required column, also for one that its partition tells.
bool stands_in_path(const LakeTable& table, const LakeDataFile& file, model::FieldId column) {
  auto names = file.mapping_id ? table.name_maps.find(*file.mapping_id) : table.name_maps.end();
  return names != table.name_maps.end() && names->second.stands_in_path(column);
}

// Calls `visit` with each required part of structs, lists and maps.
void for_required_parts(const std::vector<model::Field>& fields, const auto& visit) {
  for (const model::Field& field : fields) {
    // The key of a map is never NULL.
    const bool is_map = field.type.kind() == model::TypeKind::kMap;
    for (const model::Field& part : field.type.children()) {
      const bool is_key = is_map && &part == &field.type.children().front();
      if (part.required && !is_key) visit(part);
    }
    for_required_parts(field.type.children(), visit);
  }
}

// Rows that are shown in [from, end).
struct Shown {
  SnapshotId from;
  std::optional<SnapshotId> end;
};

// Calls `visit` with each schema that counts while the rows are shown, and the first snapshot at
// which it does.
void for_schemas(const LakeTable& table, const Shown& rows, const auto& visit) {
  auto at = table.schema_at.upper_bound(rows.from);
  if (at != table.schema_at.begin()) --at;
  for (; at != table.schema_at.end() && (!rows.end || at->first < *rows.end); ++at) {
    const model::Schema* schema = table.metadata.find_schema(at->second);
    if (schema != nullptr) visit(*schema, std::max(at->first, rows.from));
  }
}

void note(ducklake::ColumnsWithNull& found, model::FieldId field, SnapshotId since) {
  auto held = found.emplace(field, since).first;
  held->second = std::min(held->second, since);
}

// Nothing keeps NULL out of a required part: DuckDB knows of none.
void add_parts(const LakeTable& table, const Shown& rows, const LakeDataFile* file,
               ducklake::ColumnsWithNull& found) {
  for_schemas(table, rows, [&](const model::Schema& schema, SnapshotId since) {
    for_required_parts(schema.fields, [&](const model::Field& part) {
      if (file == nullptr || !holds_no_null(*file, part.id)) note(found, part.id, since);
    });
  });
}

bool has_required_parts(const LakeTable& table) {
  bool has = false;
  for (const model::Schema& schema : table.metadata.schemas) {
    for_required_parts(schema.fields, [&](const model::Field&) { has = true; });
  }
  return has;
}

// Of a file that was added as it is.
void add_columns(const LakeTable& table, const Shown& rows, const LakeDataFile& file,
                 ducklake::ColumnsWithNull& found) {
  for_schemas(table, rows, [&](const model::Schema& schema, SnapshotId since) {
    for (const model::Field& field : schema.fields) {
      if (!field.required) continue;
      if (holds_no_null(file, field.id) && !stands_in_path(table, file, field.id)) continue;
      note(found, field.id, since);
    }
  });
}

base::Result<exporter::MappedFile> as_mapped(const LakeTable& table,
                                             const model::NameMapping& names,
                                             const LakeDataFile& file) {
  auto map = table.name_maps.find(*file.mapping_id);
  auto then = table.schema_at.upper_bound(file.begin);
  if (map == table.name_maps.end() || then == table.schema_at.begin()) {
    return base::fail(ErrorKind::kCorrupt,
                      fmt::format("the lake has no names for the columns of {}", own_path(file)));
  }
  const model::Schema* schema = table.metadata.find_schema(std::prev(then)->second);
  return exporter::MappedFile{own_path(file),
                              file.file_size_bytes,
                              {&map->second, &names, &table.metadata.schemas, schema}};
}

// In `found`: that clients would read the file otherwise than DuckDB. Errors: any other.
base::Task<base::Status> look_at(base::RequestContext context, exporter::Exporter* exporter,
                                 const exporter::MappedFile* file, base::Status* found) {
  *found = co_await exporter->check_mapped_file(context, file);
  if (*found || found->error().kind() == ErrorKind::kUnsupported) co_return base::Status{};
  co_return std::move(*found).error();
}

// What the table's names say of each file that is shown as it is.
base::Result<std::vector<exporter::MappedFile>> files_to_look_at(const LakeTable& table,
                                                                 const model::NameMapping& names,
                                                                 const Files& files) {
  std::vector<exporter::MappedFile> wanted;
  for (const auto& [path, file] : files) {
    ASSIGN_OR_RETURN(auto mapped, as_mapped(table, names, *file));
    if (!file->copy) wanted.push_back(std::move(mapped));
  }
  return wanted;
}

// All rows of the file at `location` get their copies; whether they have any.
bool show_copies(const std::string& location, model::LakeChanges& changes) {
  bool shown = false;
  for (auto& [id, file] : changes.data_files) {
    if (file.path != location) continue;
    auto copy = changes.copies_if_unlike.extract(id);
    if (!copy) return false;
    ducklake::show_as_copy(std::move(copy.mapped()), file);
    shown = true;
  }
  return shown;
}

}  // namespace

ducklake::ColumnsWithNull required_with_null(const LakeTable& table, const Manifests& published,
                                             const model::LakeChanges& changes) {
  ducklake::ColumnsWithNull found;
  const Files files = new_files(published, changes);
  const SnapshotId first = changes.commits.front().snapshot;
  const bool has_parts = has_required_parts(table);
  for (const auto& [id, file] : changes.data_files) {
    const Shown rows{std::max(file.begin, first), file.end};
    // A client that commits a file vouches for it.
    if (file.iceberg || (file.end && rows.from >= *file.end)) continue;
    if (files.contains(file.path)) add_columns(table, rows, file, found);
    if (has_parts && !materialize::shown_before(changes, file.begin)) {
      add_parts(table, rows, &file, found);
    }
  }
  if (!has_parts) return found;
  for (const model::LakeInlinedTable& inlined : changes.inlined) {
    for (const model::LakeInlinedRow& row : inlined.rows) {
      const Shown rows{std::max(row.begin, first), row.end};
      if (row.end && rows.from >= *row.end) continue;
      if (!materialize::shown_before(changes, row.begin)) add_parts(table, rows, nullptr, found);
    }
  }
  return found;
}

base::Task<base::Result<bool>> check_footers(base::RequestContext context,
                                             exporter::Exporter* exporter, const LakeTable* table,
                                             const Manifests* published,
                                             model::LakeChanges* changes) {
  const Files files = new_files(*published, *changes);
  if (files.empty()) co_return false;
  const auto& properties = table->metadata.properties;
  auto text = properties.find(std::string(model::kNameMappingProperty));
  CO_ASSIGN_OR_RETURN(auto names,
                      model::parse_name_mapping(text == properties.end() ? "[]" : text->second));
  CO_ASSIGN_OR_RETURN(auto wanted, files_to_look_at(*table, names, files));
  std::vector<base::Status> found(wanted.size());
  auto look = [&](std::size_t i) -> base::Task<base::Status> {
    return look_at(context, exporter, &wanted[i], &found[i]);
  };
  CO_RETURN_IF_ERROR(co_await base::gather_few(kFootersAtOnce, wanted.size(), look));
  bool needs_copies = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (found[i]) continue;
    if (!show_copies(wanted[i].location, *changes)) {
      co_return std::move(found[i]).error().with_context("table " + table->name);
    }
    needs_copies = true;
  }
  co_return needs_copies;
}

}  // namespace lake::publish
