#include "toolserver/connectors/sql/brought_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duckdb/sql_text.h"

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
    ASSIGN_OR_RETURN(of.data_path, one.string("data_path"));
    file.deletes.push_back(std::move(of));
  }
  return file;
}

// Makes the SELECT of one table.
class View {
 public:
  View(const BroughtTable& table, const std::string& folder) : table_(table), folder_(folder) {}

  base::Result<std::string> select(const std::vector<std::vector<FileColumn>>& found);

 private:
  base::Result<std::string> projection(const std::vector<FileColumn>& file);
  base::Result<std::string> expression(const BroughtColumn& column,
                                       const std::vector<FileColumn>& file);
  [[nodiscard]] bool is_as_written(const BroughtColumn& column, const FileColumn& file) const;
  [[nodiscard]] std::string source(const std::vector<std::string>& files) const;
  [[nodiscard]] std::string without_deleted(const BroughtFile& file) const;
  [[nodiscard]] std::string path(const std::string& file) const {
    return quote_literal(folder_ + "/" + file);
  }
  [[nodiscard]] base::Error refused(std::string_view column, std::string_view why) const {
    return base::fail(ErrorKind::kUnsupported,
                      fmt::format("the table {}.{} cannot be read here: {} {}",
                                  table_.name.name_space, table_.name.table, column, why));
  }

  const BroughtTable& table_;
  const std::string& folder_;
};

// The engine matches the parts of a struct by name, so names must be those of today.
bool View::is_as_written(const BroughtColumn& column, const FileColumn& file) const {
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

base::Result<std::string> View::expression(const BroughtColumn& column,
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

base::Result<std::string> View::projection(const std::vector<FileColumn>& file) {
  std::string list;
  for (const FileColumn& column : file) {
    if (!column.id) return refused(column.name, "has no field id in a file");
  }
  for (const BroughtColumn& column : table_.columns) {
    ASSIGN_OR_RETURN(const std::string value, expression(column, file));
    list +=
        fmt::format("{}{} AS {}", list.empty() ? "" : ", ", value, quote_identifier(column.name));
  }
  return list;
}

std::string View::source(const std::vector<std::string>& files) const {
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back(folder_ + "/" + file);
  return fmt::format("read_parquet({}, hive_partitioning = false)",
                     base::duckdb::quote_literals(paths));
}

std::string View::without_deleted(const BroughtFile& file) const {
  std::string deleted;
  for (const BroughtDeletes& one : file.deletes) {
    deleted += fmt::format("{}SELECT pos FROM read_parquet({}) WHERE file_path = {}",
                           deleted.empty() ? "" : " UNION ALL ", path(one.file),
                           quote_literal(one.data_path));
  }
  return fmt::format(
      "(SELECT * FROM read_parquet({}, file_row_number = true, hive_partitioning = false)) AS kept "
      "ANTI JOIN ({}) AS deleted ON kept.file_row_number = deleted.pos",
      path(file.file), deleted);
}

// Files that are alike are read together, so that a table of many costs one reader.
base::Result<std::string> View::select(const std::vector<std::vector<FileColumn>>& found) {
  std::map<std::string, std::vector<std::string>> alike;
  std::string query;
  const auto add = [&](const std::string& list, const std::string& from) {
    query += fmt::format("{}SELECT {} FROM {}", query.empty() ? "" : " UNION ALL ", list, from);
  };
  for (std::size_t i = 0; i < table_.files.size(); ++i) {
    ASSIGN_OR_RETURN(std::string list, projection(found[i]));
    if (table_.files[i].deletes.empty()) {
      alike[std::move(list)].push_back(table_.files[i].file);
    } else {
      add(list, without_deleted(table_.files[i]));
    }
  }
  for (const auto& [list, files] : alike) add(list, source(files));
  if (!query.empty()) return query;
  ASSIGN_OR_RETURN(const std::string none, projection({}));
  return fmt::format("SELECT {} WHERE false", none);
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
      deletes.push_back(Object{{"file", one.file}, {"data_path", one.data_path}});
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
  ASSIGN_OR_RETURN(
      auto rows, connection.execute(
                     fmt::format("SELECT name, coalesce(num_children, 0)::BIGINT, field_id::BIGINT "
                                 "FROM parquet_schema({})",
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
    left.push_back(rows.int64(1));
  }
  return columns;
}

base::Result<std::string> view_of(const BroughtTable& table,
                                  const std::vector<std::vector<FileColumn>>& found,
                                  const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string select, View(table, folder).select(found));
  return fmt::format("CREATE VIEW memory.{}.{} AS {}", quote_identifier(table.name.name_space),
                     quote_identifier(table.name.table), select);
}

}  // namespace tool::connectors
