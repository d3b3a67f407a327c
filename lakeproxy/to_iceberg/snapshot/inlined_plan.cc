#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lakeproxy/derive/plan/derived_object_names.h"
#include "lakeproxy/iceberg/manifest/format_version.h"
#include "lakeproxy/to_iceberg/snapshot/export_plan_parts.h"
#include "lakeproxy/to_iceberg/snapshot/shown_snapshots.h"

namespace lake::materialize {
namespace {

using model::SnapshotId;

// As DuckDB names the column in its files; Iceberg has reserved its field id.
// Source: DuckLake specification 1.0, "Row Lineage"; Iceberg table
// specification, "Reserved Field IDs".
constexpr std::string_view kRowIdColumn = "_ducklake_internal_row_id";
constexpr model::FieldId kRowIdField = 2147483540;

using Groups = std::map<SnapshotId, std::vector<model::LakeInlinedRow>>;

Groups group_rows(const model::LakeInlinedTable& inlined) {
  Groups groups;
  for (const auto& row : inlined.rows) {
    // Inserted and deleted by one commit: no snapshot ever showed it, and the
    // group's positions do not count it.
    if (row.end != row.begin) groups[row.begin].push_back(row);
  }
  for (auto& [begin, rows] : groups) {
    std::ranges::sort(rows, {}, &model::LakeInlinedRow::row_id);
  }
  return groups;
}

// One group of rows, and when the first and the last of them ended.
struct Rows {
  std::string location;
  std::string name;
  std::vector<model::LakeInlinedRow> rows;
  std::optional<SnapshotId> first_end;
  std::optional<SnapshotId> last_end;  ///< Nothing while a row is left.
};

// Null where clients see the rows as they were inserted.
const model::ChangedColumns* changed_of(const model::LakeInlinedTable& inlined, SnapshotId begin) {
  auto found = inlined.changed.find(begin);
  return found == inlined.changed.end() ? nullptr : &found->second;
}

Rows make_rows(const model::LakeTable& table, const model::LakeInlinedTable& inlined,
               SnapshotId begin, std::vector<model::LakeInlinedRow> rows) {
  const model::ChangedColumns* changed = changed_of(inlined, begin);
  const std::string signature = changed == nullptr ? "" : changed->signature;
  // A delete file names its data file, so what stands for other bytes has another name, too.
  Rows group{inlined_location(table, inlined.schema_version, begin, signature),
             fmt::format("i{}.{}{}{}", inlined.schema_version, begin.value,
                         signature.empty() ? "" : ".", signature),
             std::move(rows), std::nullopt, std::nullopt};
  bool all = true;
  for (const auto& row : group.rows) {
    all = all && row.end;
    if (!row.end) continue;
    group.first_end = std::min(group.first_end.value_or(*row.end), *row.end);
    group.last_end = std::max(group.last_end.value_or(*row.end), *row.end);
  }
  if (!all) group.last_end.reset();
  return group;
}

// One delete file for each snapshot at which more of the group's rows end,
// until all have: then the data file itself goes.
void plan_inlined_deletes(const model::LakeTable& table, const model::LakeChanges& changes,
                          const Rows& group, ExportPlan& plan) {
  std::set<SnapshotId> ends;
  for (const auto& row : group.rows) {
    if (!row.end || shown_before(changes, *row.end)) continue;
    if (auto at = shown_at(changes, *row.end)) ends.insert(*at);
  }
  for (SnapshotId at : ends) {
    DeleteGroup made{delete_location(table, group.name, at), group.location, at, std::nullopt, {}};
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      const auto& end = group.rows[i].end;
      if (end && *end <= at) made.positions.push_back(static_cast<std::int64_t>(i));
    }
    made.replaces = shown_earlier(changes, *group.first_end, at);
    if (made.positions.size() < group.rows.size()) plan.deletes.push_back(std::move(made));
  }
}

void add_row_ids(InlinedGroup& group) {
  group.columns.push_back(model::Field{.id = kRowIdField,
                                       .name = std::string(kRowIdColumn),
                                       .type = model::Type(model::TypeKind::kLong)});
  for (auto& row : group.rows) row.values.emplace_back(std::to_string(row.row_id));
}

void plan_group(const model::LakeTable& table, const model::LakeChanges& changes,
                const model::LakeInlinedTable& inlined, SnapshotId begin, Rows group,
                ExportPlan& plan) {
  bool begins_here = !shown_before(changes, begin);
  auto shown = begins_here ? shown_at(changes, begin) : std::nullopt;
  if (begins_here && !shown) return;
  std::optional<SnapshotId> gone;
  if (group.last_end && !shown_before(changes, *group.last_end)) {
    gone = shown_at(changes, *group.last_end);
  }
  // Came and went between two snapshots that are shown.
  if (begins_here && gone == shown) return;
  plan_inlined_deletes(table, changes, group, plan);
  if (gone) {
    plan.removed.push_back(
        {group.location, *gone, shown_earlier(changes, *group.first_end, *gone)});
  }
  if (begins_here) {
    InlinedGroup made{std::move(group.location), begin, inlined.columns, std::move(group.rows),
                      inlined.lake_types};
    if (auto* changed = changed_of(inlined, begin)) made.changed = changed->columns;
    if (format_version(table.metadata.format_version).lineage == RowLineage::kKept) {
      add_row_ids(made);
    }
    plan.inlined.push_back(std::move(made));
  }
}

}  // namespace

void plan_inlined(const model::LakeTable& table, const model::LakeChanges& changes,
                  ExportPlan& plan) {
  for (const auto& inlined : changes.inlined) {
    for (auto& [begin, rows] : group_rows(inlined)) {
      plan_group(table, changes, inlined, begin, make_rows(table, inlined, begin, std::move(rows)),
                 plan);
    }
  }
}

}  // namespace lake::materialize
