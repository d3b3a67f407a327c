#include "lakeproxy/to_iceberg/definition/readable_copies.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "lakeproxy/mapping/default_text.h"
#include "lakeproxy/mapping/path_values.h"
#include "lakeproxy/mapping/type_mapping.h"
#include "lakeproxy/model/server_folder.h"

namespace lake::ducklake {
namespace {

using model::CopiedColumn;
using model::FieldId;
using model::LakeDataFile;
using model::SnapshotId;

constexpr std::size_t kSignatureDigits = 16;

// Whether files may hold the column otherwise than clients see it.
bool may_differ(const std::vector<const LakeColumn*>& spans) {
  if (shape_of(spans.front()->type) != LakeTypeShape::kPrimitive) return false;
  return std::ranges::any_of(spans, [&](const LakeColumn* span) {
    auto shown = shown_type(span->type);
    return span->initial_default.has_value() || span->type != spans.front()->type ||
           (shown && shown->how != ReadableAs::kAsIs);
  });
}

const LakeColumn* last_until(const std::vector<const LakeColumn*>& spans, SnapshotId at) {
  const LakeColumn* last = nullptr;
  for (const LakeColumn* span : spans) {
    if (span->begin <= at) last = span;
  }
  return last;
}

bool has_stats(const LakeDataFile& file, FieldId id) {
  return std::ranges::any_of(file.stats, [&](const auto& s) { return s.column_id == id; });
}

// In which type the file holds the column; null where it lacks it. The names of a file that was
// added as it is say which columns it has. A transaction of DuckDB's
// may have written it before the column came or changed, at the same snapshot: it has no
// statistics of a column that it lacks, and may hold another in its former type.
const LakeColumn* column_in_file(const std::vector<const LakeColumn*>& spans,
                                 const LakeDataFile& file, const model::AddedColumns* added) {
  const LakeColumn* then = last_until(spans, file.begin);
  if (added != nullptr) {
    return added->names.columns.contains(spans.front()->id) ? then : nullptr;
  }
  if (then == nullptr || then->begin < file.begin || file.iceberg) return then;
  if (then != spans.front()) return *std::prev(std::ranges::find(spans, then));
  return then->initial_default && !has_stats(file, then->id) ? nullptr : then;
}

// Whether a partition's value of the column's type of then is, to every reader, what DuckDB makes
// of the path's text as the type of now. It is for whole numbers and decimals; 0.1 in a path is
// another number as a DOUBLE than it was as a FLOAT.
bool stays_in_path(const LakeColumn& then, const LakeColumn& now, ShownIn in) {
  if (then.type == now.type) return true;
  auto from = iceberg_type(then.type, in);
  auto to = iceberg_type(now.type, in);
  if (!from || !to || !can_promote(*from, *to)) return false;
  using model::TypeKind;
  return from->kind() == TypeKind::kInt || from->kind() == TypeKind::kLong ||
         from->kind() == TypeKind::kDecimal;
}

// No partition has a zero, which is two values, nor a NaN.
bool is_partition_value(const model::Type& type, const model::LakeColumnStats& stats) {
  if (type.kind() != model::TypeKind::kFloat && type.kind() != model::TypeKind::kDouble)
    return true;
  return stats.nan_count == 0 && stats.min_value &&
         stats.min_value->find_first_not_of("-0.") != std::string::npos;
}

std::optional<std::string> value_in_path(std::string_view path, std::string_view name) {
  for (model::PathValue& said : model::values_in_path(path)) {
    if (said.name == name) return std::move(said.text);
  }
  return std::nullopt;
}

// Values that stand in the path of an added file reach readers as those of a partition. Where one
// of them cannot, the copy has them all: nothing where none has to, or they are not told. A
// column that the copy lacks is NULL.
std::vector<CopiedColumn> columns_of_path(const ColumnSpans& all, const LakeDataFile& file,
                                          const model::AddedColumns& added, ShownIn in,
                                          SnapshotId at) {
  std::vector<CopiedColumn> held;
  bool are_needed = false;
  for (const auto& [id, named] : added.names.columns) {
    if (!named.in_path) continue;
    auto spans = all.find(id);
    auto stats = std::ranges::find(file.stats, id, &model::LakeColumnStats::column_id);
    if (spans == all.end() || stats == file.stats.end()) return {};
    const LakeColumn* then = last_until(spans->second, file.begin);
    const LakeColumn* now = last_until(spans->second, at);
    if (then == nullptr || now == nullptr) return {};
    are_needed |= !stays_in_path(*then, *now, in);
    if (stats->null_count == file.record_count) continue;
    auto to = iceberg_type(now->type, in);
    auto text = value_in_path(file.path, named.name);
    if (!to || !text || stats->null_count != 0) return {};
    are_needed |= !is_partition_value(*to, *stats);
    held.push_back({id, now->type, std::move(*to), now->name, std::move(*text)});
  }
  return are_needed ? held : std::vector<CopiedColumn>();
}

// A column that the file lacks, and that had a value in its rows from the beginning.
std::optional<CopiedColumn> added(const LakeColumn& first, const LakeColumn& now, ShownIn in) {
  const bool is_constant = first.initial_default && *first.initial_default != kNoDefault &&
                           !first.parent && shape_of(first.type) == LakeTypeShape::kPrimitive;
  if (!is_constant) return std::nullopt;
  auto shown_first = iceberg_type(first.type, in);
  auto to = iceberg_type(now.type, in);
  if (!to || !shown_first) return std::nullopt;
  const bool says_default = in.format_version >= 3 && initial_default(first, *shown_first) &&
                            can_promote(*shown_first, *to);
  if (says_default) return std::nullopt;
  return CopiedColumn{first.id, first.type, std::move(*to), now.name, first.initial_default};
}

// Who wrote a value: DuckDB in its own type, a client in the type that it is shown in, or somebody
// whose file was added as it is, in a type that its footer says.
enum class Writer : std::uint8_t { kDuckDb, kClient, kSomebody };

std::optional<CopiedColumn> converted(const LakeColumn& then, const LakeColumn& now, Writer writer,
                                      ShownIn in) {
  if (shape_of(then.type) != LakeTypeShape::kPrimitive) return std::nullopt;
  auto held = shown_type(then.type);
  auto to = iceberg_type(now.type, in);
  if (!held || !to) return std::nullopt;
  const bool as_shown = writer != Writer::kDuckDb || held->how == ReadableAs::kAsIs;
  const bool promotes = can_promote(held->type, *to);
  if (as_shown && promotes) return std::nullopt;
  // What clients promote by themselves needs no other copy.
  if (promotes) to = held->type;
  auto from =
      writer == Writer::kClient ? lake_type(held->type) : base::Result<std::string>(then.type);
  if (!from) return std::nullopt;
  return CopiedColumn{then.id, std::move(*from), std::move(*to), ""};
}

// A value that is written in its shown type anyway: only what that cannot become by a promotion.
std::optional<CopiedColumn> changed_since(const LakeColumn& then, const LakeColumn& now,
                                          ShownIn in) {
  if (shape_of(then.type) != LakeTypeShape::kPrimitive) return std::nullopt;
  auto shown = iceberg_type(then.type, in);
  auto to = iceberg_type(now.type, in);
  if (!shown || !to || can_promote(*shown, *to)) return std::nullopt;
  return CopiedColumn{then.id, then.type, std::move(*to), ""};
}

Writer writer_of(const LakeDataFile& file, const model::AddedColumns* added_as) {
  if (added_as != nullptr && !file.iceberg) return Writer::kSomebody;
  return file.iceberg ? Writer::kClient : Writer::kDuckDb;
}

// Names do not count: a copy has those that its file had.
std::string text_of(const std::vector<CopiedColumn>& columns) {
  std::string text;
  for (const CopiedColumn& column : columns) {
    text += fmt::format("{} {} {}", column.id, column.from, column.to.to_string());
    if (column.constant) text += fmt::format(" {}:{}", column.constant->size(), *column.constant);
    text += '\n';
  }
  return text;
}

std::string digest_of(const std::string& text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return base::to_hex(digest).substr(0, kSignatureDigits);
}

// The file's own location counts: an id may be given twice where a failover lost a commit. So
// does how its columns are found: the same file may be added twice, under other names.
std::string signature_of(const model::ReadableCopy& copy) {
  std::string text = text_of(copy.columns) + copy.source;
  if (copy.added) {
    for (const auto& [id, column] : copy.added->names.columns) {
      text += fmt::format("\n{} {}:{}", id, column.name.size(), column.name);
    }
  }
  return digest_of(text);
}

// Not ".parquet": DuckLake's own clean-up takes such files for orphans. Without the id of the
// file: one that comes back after a rollback has another, and the same copy.
std::string location_of(std::string_view table, std::string_view signature) {
  return fmt::format("{}copy-{}", model::server_folder(table), signature);
}

}  // namespace

CopyRules::CopyRules(const LakeColumns& columns, GeographySpans geographies)
    : makes_copies_(columns.copies != ReadableCopies::kOff),
      in_(columns.shown_in()),
      geographies_(std::move(geographies)) {
  if (!makes_copies_) return;
  all_ = spans_of(columns);
  spans_ = all_;
  std::erase_if(spans_, [&](const auto& item) {
    return !may_differ(item.second) && !geographies_.contains(item.first);
  });
}

// A file that DuckDB wrote says geometry.
std::optional<CopiedColumn> CopyRules::as_geography(const LakeColumn& then, const LakeColumn& now,
                                                    SnapshotId at) const {
  auto spans = geographies_.find(now.id);
  if (spans == geographies_.end() || then.type != now.type) return std::nullopt;
  auto after = spans->second.upper_bound(at);
  if (after == spans->second.begin() || !std::prev(after)->second) return std::nullopt;
  return CopiedColumn{now.id, now.type, *std::prev(after)->second, ""};
}

std::vector<CopiedColumn> CopyRules::copied_columns(const LakeDataFile& file,
                                                    const model::AddedColumns* added_as,
                                                    SnapshotId at) const {
  std::vector<CopiedColumn> copied;
  if (added_as != nullptr) copied = columns_of_path(all_, file, *added_as, in_, at);
  const Writer writer = writer_of(file, added_as);
  for (const auto& [id, rows] : spans_) {
    const LakeColumn* now = last_until(rows, at);
    if (now == nullptr || (added_as != nullptr && added_as->names.stands_in_path(id))) continue;
    const LakeColumn* then = column_in_file(rows, file, added_as);
    auto column =
        then == nullptr ? added(*rows.front(), *now, in_) : converted(*then, *now, writer, in_);
    if (!column && then != nullptr && writer == Writer::kDuckDb) {
      column = as_geography(*then, *now, at);
    }
    if (column) copied.push_back(std::move(*column));
  }
  return copied;
}

// The first snapshot from which on, to `at`, the file needs the same columns.
SnapshotId CopyRules::since(const LakeDataFile& file, const model::ReadableCopy& copy) const {
  const std::string text = text_of(copy.columns);
  std::set<SnapshotId> changes;
  for (const auto& [id, rows] : spans_) {
    for (const LakeColumn* row : rows) {
      if (row->begin > file.begin && row->begin <= copy.shown_at) changes.insert(row->begin);
    }
  }
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    const SnapshotId before(change->value - 1);
    if (text_of(copied_columns(file, copy.added.get(), before)) != text) return *change;
  }
  return file.begin;
}

std::optional<model::ReadableCopy> CopyRules::copy_of(
    const LakeDataFile& file, std::shared_ptr<const model::AddedColumns> added_as,
    std::string_view table_location, SnapshotId newest) const {
  if (!makes_copies_ || (spans_.empty() && added_as == nullptr)) return std::nullopt;
  // An added file whose names are gone cannot be read at all.
  if (file.mapping_id.has_value() != (added_as != nullptr)) return std::nullopt;
  const SnapshotId at = file.end ? std::min(newest, SnapshotId(file.end->value - 1)) : newest;
  model::ReadableCopy copy{.source = file.path,
                           .added = std::move(added_as),
                           .shown_at = std::max(at, file.begin),
                           .source_bytes = file.file_size_bytes};
  copy.columns = copied_columns(file, copy.added.get(), copy.shown_at);
  if (copy.columns.empty() && !copy.added) return std::nullopt;
  copy.signature = signature_of(copy);
  copy.location = location_of(table_location, copy.signature);
  copy.since = since(file, copy);
  return copy;
}

std::optional<model::ChangedColumns> CopyRules::changed_in_rows(SnapshotId inserted_at,
                                                                SnapshotId shown_at) const {
  model::ChangedColumns changed;
  for (const auto& [id, rows] : spans_) {
    const LakeColumn* now = last_until(rows, shown_at);
    const LakeColumn* then = last_until(rows, inserted_at);
    if (now == nullptr || now == then) continue;
    auto column =
        then == nullptr ? added(*rows.front(), *now, in_) : changed_since(*then, *now, in_);
    if (column) changed.columns.push_back(std::move(*column));
  }
  if (changed.columns.empty()) return std::nullopt;
  changed.signature = digest_of(text_of(changed.columns));
  return changed;
}

void show_as_copy(model::ReadableCopy copy, LakeDataFile& file) {
  for (const CopiedColumn& column : copy.columns) {
    auto stats = std::ranges::find(file.stats, column.id, &model::LakeColumnStats::column_id);
    if (stats == file.stats.end()) continue;
    stats->column_size_bytes.reset();
    // Of a value that stands in the path they are those of the type that it had first.
    if (column.from != "interval" && !column.constant) continue;
    stats->min_value.reset();
    stats->max_value.reset();
  }
  file.path = copy.location;
  file.copy = std::move(copy);
}

bool is_copy_location(std::string_view location, std::string_view table_location) {
  const std::string begin = model::server_folder(table_location) + "copy-";
  if (!location.starts_with(begin)) return false;
  location.remove_prefix(begin.size());
  return location.size() == kSignatureDigits &&
         location.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace lake::ducklake
