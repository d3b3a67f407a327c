#include "lakeproxy/ducklake/lake/change_log.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/core/text.h"

namespace lake::ducklake {
namespace {

constexpr std::size_t kMaxLine = 16 * 1024 * 1024;

enum class Value { kId, kSchema, kInSchema };

struct Word {
  std::string_view text;
  ChangeKind kind;
  Value value;
};

constexpr std::array kWords{
    Word{"inserted_into_table", ChangeKind::kInserted, Value::kId},
    Word{"deleted_from_table", ChangeKind::kDeleted, Value::kId},
    Word{"inlined_insert", ChangeKind::kInlinedInsert, Value::kId},
    Word{"inlined_delete", ChangeKind::kInlinedDelete, Value::kId},
    Word{"altered_table", ChangeKind::kAlteredTable, Value::kId},
    Word{"dropped_table", ChangeKind::kDroppedTable, Value::kId},
    Word{"inline_flush", ChangeKind::kInlineFlush, Value::kId},
    Word{"flushed_inlined", ChangeKind::kInlineFlush, Value::kId},
    Word{"merge_adjacent", ChangeKind::kMergeAdjacent, Value::kId},
    Word{"rewrite_delete", ChangeKind::kRewriteDelete, Value::kId},
    Word{"compacted_table", ChangeKind::kCompacted, Value::kId},
    Word{"created_schema", ChangeKind::kCreatedSchema, Value::kSchema},
    Word{"created_table", ChangeKind::kCreatedTable, Value::kInSchema},
    Word{"created_view", ChangeKind::kCreatedView, Value::kInSchema},
    Word{"created_scalar_macro", ChangeKind::kCreatedMacro, Value::kInSchema},
    Word{"created_table_macro", ChangeKind::kCreatedMacro, Value::kInSchema},
    Word{"dropped_schema", ChangeKind::kDroppedSchema, Value::kId},
    Word{"dropped_view", ChangeKind::kDroppedView, Value::kId},
    Word{"dropped_scalar_macro", ChangeKind::kDroppedMacro, Value::kId},
    Word{"dropped_table_macro", ChangeKind::kDroppedMacro, Value::kId},
    Word{"altered_view", ChangeKind::kAlteredView, Value::kId},
};

// Takes a name in double quotes, quotes inside doubled, off the front.
std::optional<std::string> take_name(std::string_view& text) {
  if (!text.starts_with('"')) return std::nullopt;
  std::string name;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      if (i + 1 >= text.size() || text[i + 1] != '"') {
        text.remove_prefix(i + 1);
        return name;
      }
      ++i;
    }
    name.push_back(text[i]);
  }
  return std::nullopt;
}

// As many as there are: schemas are nested from DuckLake 1.1 on.
std::optional<std::vector<std::string>> take_names(std::string_view& text) {
  std::vector<std::string> names;
  do {
    if (!names.empty()) text.remove_prefix(1);
    auto name = take_name(text);
    if (!name) return std::nullopt;
    names.push_back(std::move(*name));
  } while (text.starts_with('.'));
  return names;
}

std::optional<std::int64_t> take_id(std::string_view& text) {
  const std::size_t end = std::min(text.find(','), text.size());
  auto id = base::parse_int64(text.substr(0, end));
  text.remove_prefix(end);
  return id && *id >= 0 ? id : std::nullopt;
}

std::optional<LakeChange> take_change(std::string_view& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto* word = std::ranges::find(kWords, text.substr(0, colon), &Word::text);
  if (word == kWords.end()) return std::nullopt;
  text.remove_prefix(colon + 1);
  LakeChange change{.kind = word->kind};
  if (word->value == Value::kId) {
    auto id = take_id(text);
    if (!id) return std::nullopt;
    change.id = *id;
    return change;
  }
  auto names = take_names(text);
  if (!names || (word->value == Value::kInSchema && names->size() < 2)) return std::nullopt;
  change.names = std::move(*names);
  return change;
}

bool is_of_a_table(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kDroppedTable:
    case ChangeKind::kAlteredTable:
    case ChangeKind::kInserted:
    case ChangeKind::kDeleted:
    case ChangeKind::kInlinedInsert:
    case ChangeKind::kInlinedDelete:
    case ChangeKind::kInlineFlush:
    case ChangeKind::kMergeAdjacent:
    case ChangeKind::kRewriteDelete:
    case ChangeKind::kCompacted: return true;
    default: return false;
  }
}

}  // namespace

std::vector<model::TableId> ChangeLog::tables() const {
  std::vector<model::TableId> ids;
  for (const LakeChange& change : changes) {
    if (is_of_a_table(change.kind)) ids.emplace_back(change.id);
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

ChangeLog parse_changes(std::string_view changes_made) {
  ChangeLog log;
  if (changes_made.size() > kMaxLine) return {.changes = {}, .unknown = true};
  while (!changes_made.empty()) {
    auto change = take_change(changes_made);
    const bool ends = changes_made.empty();
    if (!change || (!ends && changes_made.front() != ',')) {
      log.unknown = true;
      return log;
    }
    log.changes.push_back(std::move(*change));
    if (!ends) changes_made.remove_prefix(1);
  }
  return log;
}

bool touches_table(std::string_view changes_made, model::TableId table) {
  const ChangeLog log = parse_changes(changes_made);
  if (log.unknown) return true;
  const auto tables = log.tables();
  return std::ranges::binary_search(tables, table);
}

bool redefines_table(std::string_view changes_made, model::TableId table) {
  const ChangeLog log = parse_changes(changes_made);
  return log.unknown || std::ranges::any_of(log.changes, [&](const LakeChange& change) {
           return change.id == table.value && (change.kind == ChangeKind::kAlteredTable ||
                                               change.kind == ChangeKind::kDroppedTable);
         });
}

}  // namespace lake::ducklake
