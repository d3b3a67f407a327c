#include "toolserver/connectors/sql/brought_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duckdb/sql_text.h"
#include "toolserver/connectors/sql/sql_names.h"

namespace tool::connectors {
namespace {

using base::ErrorKind;
using base::duckdb::quote_identifier;
using base::duckdb::quote_literal;
using base::json::Array;
using base::json::Fields;
using base::json::Object;

constexpr std::size_t kMostColumns = 10'000;
constexpr std::size_t kMostFiles = 100'000;

// Names that the service gave: they need no quoting and lead nowhere.
base::Result<std::string> file_name(const Fields& fields, std::string_view member) {
  ASSIGN_OR_RETURN(std::string name, fields.string(member));
  const bool plain = !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (plain) return name;
  return base::fail(ErrorKind::kInvalid, fields.path_of(member) + ": must be a plain name");
}

base::Result<BroughtColumn> read_column(const Fields& fields) {
  BroughtColumn column;
  ASSIGN_OR_RETURN(column.id, fields.int32("id"));
  ASSIGN_OR_RETURN(column.name, fields.string("name"));
  ASSIGN_OR_RETURN(column.type, fields.string("type"));
  ASSIGN_OR_RETURN(column.is_elsewhere, fields.boolean("is_elsewhere"));
  ASSIGN_OR_RETURN(column.elements, fields.int32s("elements"));
  ASSIGN_OR_RETURN(auto below, fields.objects("fields", kMostColumns));
  for (const Fields& one : below) {
    ASSIGN_OR_RETURN(std::int32_t id, one.int32("id"));
    ASSIGN_OR_RETURN(column.fields[id], one.string("name"));
  }
  return column;
}

base::Result<BroughtFile> read_file(const Fields& fields) {
  BroughtFile file;
  ASSIGN_OR_RETURN(file.file, file_name(fields, "file"));
  ASSIGN_OR_RETURN(auto deletes, fields.objects("deletes", kMostFiles));
  for (const Fields& one : deletes) {
    BroughtDeletes of;
    ASSIGN_OR_RETURN(of.file, file_name(one, "file"));
    ASSIGN_OR_RETURN(of.data_path, one.opt_string("data_path"));
    file.deletes.push_back(std::move(of));
  }
  return file;
}

// Makes what is selected of each file.
class Projection {
 public:
  explicit Projection(const BroughtTable& table) : table_(table) {}

  base::Result<std::string> of(const std::vector<FileColumn>& file);

 private:
  base::Result<std::string> expression(const BroughtColumn& column,
                                       const std::vector<FileColumn>& file);
  [[nodiscard]] bool is_as_written(const BroughtColumn& column, const FileColumn& file) const;
  [[nodiscard]] base::Error refused(std::string_view column, std::string_view why) const {
    return base::fail(ErrorKind::kUnsupported,
                      fmt::format("the table {}.{} cannot be read here: {} {}",
                                  table_.name.name_space, table_.name.table, column, why));
  }

  const BroughtTable& table_;
};

// The engine matches the parts of a struct by name, so names must be those of today.
bool Projection::is_as_written(const BroughtColumn& column, const FileColumn& file) const {
  const auto is_element = [&](std::int32_t id) {
    return std::ranges::find(column.elements, id) != column.elements.end();
  };
  const bool known = std::ranges::all_of(file.below, [&](const auto& one) {
    auto named = column.fields.find(one.first);
    return is_element(one.first) || (named != column.fields.end() && named->second == one.second);
  });
  return known && std::ranges::all_of(column.fields, [&](const auto& one) {
           return file.below.contains(one.first);
         });
}

base::Result<std::string> Projection::expression(const BroughtColumn& column,
                                                 const std::vector<FileColumn>& file) {
  auto found = std::ranges::find(file, std::optional(column.id), &FileColumn::id);
  if (found == file.end()) {
    if (column.is_elsewhere)
      return refused(column.name,
                     "is not in a file, and its value is a default or the partition's");
    return fmt::format("CAST(NULL AS {})", column.type);
  }
  if (!is_as_written(column, *found)) {
    return refused(column.name, "was changed inside since a file was written");
  }
  return fmt::format("CAST({} AS {})", quote_identifier(found->name), column.type);
}

base::Result<std::string> Projection::of(const std::vector<FileColumn>& file) {
  std::string list;
  for (const FileColumn& column : file) {
    if (!column.id) return refused(column.name, "has no field id in a file");
  }
  for (const BroughtColumn& column : table_.columns) {
    ASSIGN_OR_RETURN(const std::string value, expression(column, file));
    list +=
        fmt::format("{}{} AS {}", list.empty() ? "" : ", ", value, quote_identifier(column.name));
  }
  // The engine has no view without columns; a statement that counts rows names none.
  if (list.empty()) list = "CAST(NULL AS BOOLEAN) AS \"no column of this table is named\"";
  return list;
}

// The engine's own columns of a reader, which a file's column of that name would stand before.
constexpr std::string_view kFileNumber = "file_index";
constexpr std::string_view kRowNumber = "file_row_number";

bool hides_engines_own(const std::vector<FileColumn>& file) {
  return std::ranges::any_of(file, [](const FileColumn& column) {
    const std::string name = lower_ascii(column.name);
    return name == kFileNumber || name == kRowNumber;
  });
}

std::string kinds_of(const std::vector<FileColumn>& file) {
  std::string kinds;
  for (const FileColumn& column : file) kinds += column.name + '\0' + column.kinds + '\0';
  return kinds;
}

// Rows of deleted positions are left out by the numbers of file and row; `first` is the number that
// the first of the files has in the table of deleted rows.
std::string select_of(const BroughtTable& table, const FilesAlike& alike, std::size_t first,
                      const std::string& folder, const std::string& deleted) {
  std::vector<std::string> paths;
  for (std::size_t at : alike.files) paths.push_back(folder + "/" + table.files[at].file);
  const std::string reader = fmt::format("read_parquet({}, hive_partitioning = false)",
                                         base::duckdb::quote_literals(paths));
  if (!alike.has_deletes) return fmt::format("SELECT {} FROM {}", alike.projection, reader);
  return fmt::format(
      "SELECT {} FROM {} AS kept ANTI JOIN {} AS deleted ON CAST(kept.{} AS BIGINT) + {} = "
      "deleted.file AND kept.{} = deleted.pos",
      alike.projection, reader, deleted, kFileNumber, first, kRowNumber);
}

}  // namespace

Object to_json(const BroughtTable& table) {
  Array columns, files;
  for (const BroughtColumn& column : table.columns) {
    Array fields, elements;
    for (const auto& [id, name] : column.fields)
      fields.push_back(Object{{"id", id}, {"name", name}});
    for (std::int32_t id : column.elements) elements.emplace_back(id);
    columns.push_back(Object{{"id", column.id},
                             {"name", column.name},
                             {"type", column.type},
                             {"is_elsewhere", column.is_elsewhere},
                             {"fields", std::move(fields)},
                             {"elements", std::move(elements)}});
  }
  for (const BroughtFile& file : table.files) {
    Array deletes;
    for (const BroughtDeletes& one : file.deletes) {
      Object of{{"file", one.file}};
      if (one.data_path) of["data_path"] = *one.data_path;
      deletes.push_back(std::move(of));
    }
    files.push_back(Object{{"file", file.file}, {"deletes", std::move(deletes)}});
  }
  return {{"namespace", table.name.name_space},
          {"table", table.name.table},
          {"columns", std::move(columns)},
          {"files", std::move(files)}};
}

base::Result<BroughtTable> read_brought_table(const Fields& fields) {
  BroughtTable table;
  ASSIGN_OR_RETURN(table.name.name_space, fields.string("namespace"));
  ASSIGN_OR_RETURN(table.name.table, fields.string("table"));
  ASSIGN_OR_RETURN(auto columns, fields.objects("columns", kMostColumns));
  for (const Fields& one : columns) {
    ASSIGN_OR_RETURN(BroughtColumn column, read_column(one));
    table.columns.push_back(std::move(column));
  }
  ASSIGN_OR_RETURN(auto files, fields.objects("files", kMostFiles));
  for (const Fields& one : files) {
    ASSIGN_OR_RETURN(BroughtFile file, read_file(one));
    table.files.push_back(std::move(file));
  }
  return table;
}

// The rows are the tree from its root on, depth first: a row of n children is followed by them.
base::Result<std::vector<FileColumn>> columns_of(base::duckdb::Connection& connection,
                                                 const std::string& path) {
  ASSIGN_OR_RETURN(auto rows,
                   connection.execute(fmt::format(
                       "SELECT name, coalesce(num_children, 0)::BIGINT, field_id::BIGINT, "
                       "concat_ws(' ', type, type_length, converted_type, logical_type, "
                       "scale, \"precision\") FROM parquet_schema({})",
                       quote_literal(path))));
  std::vector<FileColumn> columns;
  std::vector<std::int64_t> left;  // Children to come, of each level that is open.
  while (true) {
    ASSIGN_OR_RETURN(const bool any, rows.next());
    if (!any) break;
    while (!left.empty() && left.back() == 0) left.pop_back();
    const std::size_t depth = left.size();
    if (depth > 0) --left.back();
    const std::string name(rows.bytes(0));
    std::optional<std::int32_t> id;
    if (!rows.is_null(2)) id = static_cast<std::int32_t>(rows.int64(2));
    if (depth == 1) {
      columns.push_back({.name = name, .id = id});
    } else if (depth > 1 && id) {
      columns.back().below.emplace(*id, name);
    }
    if (depth > 0) columns.back().kinds += fmt::format("{} {} {};", depth, name, rows.bytes(3));
    if (depth > 0 && rows.int64(1) == 0) ++columns.back().leaves;
    left.push_back(rows.int64(1));
  }
  return columns;
}

base::Result<std::vector<FilesAlike>> files_alike(
    const BroughtTable& table, const std::vector<std::vector<FileColumn>>& found) {
  std::map<std::string, FilesAlike> groups;
  for (std::size_t i = 0; i < table.files.size(); ++i) {
    ASSIGN_OR_RETURN(std::string list, Projection(table).of(found[i]));
    const bool has_deletes = !table.files[i].deletes.empty();
    if (has_deletes && hides_engines_own(found[i])) {
      return base::fail(
          ErrorKind::kUnsupported,
          fmt::format("the table {}.{} cannot be read here: a file with deleted rows has a column "
                      "named {} or {}",
                      table.name.name_space, table.name.table, kFileNumber, kRowNumber));
    }
    std::string key = list + '\0' + kinds_of(found[i]) + (has_deletes ? "-" : "");
    FilesAlike& group = groups[std::move(key)];
    group.projection = std::move(list);
    group.has_deletes = has_deletes;
    group.files.push_back(i);
  }
  std::vector<FilesAlike> alike;
  for (auto& [key, group] : groups) alike.push_back(std::move(group));
  if (!alike.empty()) return alike;
  ASSIGN_OR_RETURN(std::string none, Projection(table).of({}));
  return std::vector<FilesAlike>{{.projection = std::move(none), .files = {}}};
}

std::string view_of(const BroughtTable& table, const std::vector<FilesAlike>& alike,
                    const std::string& folder, const std::string& deleted) {
  std::string query;
  std::size_t first = 0;
  for (const FilesAlike& group : alike) {
    query += query.empty() ? "" : " UNION ALL ";
    query += group.files.empty() ? fmt::format("SELECT {} WHERE false", group.projection)
                                 : select_of(table, group, first, folder, deleted);
    first += group.files.size();
  }
  return fmt::format("CREATE VIEW memory.{}.{} AS {}", quote_identifier(table.name.name_space),
                     quote_identifier(table.name.table), query);
}

}  // namespace tool::connectors
