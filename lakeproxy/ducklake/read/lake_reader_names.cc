#include "base/json/fields.h"
#include "lakeproxy/ducklake/lake/lake_path.h"
#include "lakeproxy/ducklake/lake/name_page.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/ducklake/lake/not_there.h"
#include "lakeproxy/ducklake/read/reader_impl.h"

namespace lake::ducklake {
namespace {

using base::RequestContext;
using base::Result;
using base::Task;
using base::pg::param;
using base::pg::Query;
using base::pg::Rows;

constexpr char kLevelSeparator = '\x1f';

// One row more than the page holds tells whether there is a next one.
base::pg::Param row_limit(const PageRequest& page) {
  return param(static_cast<std::int64_t>(page.size) + 1);
}

Page<model::Namespace> namespace_page(const Rows& rows, const std::vector<std::string>& parent,
                                      std::size_t size) {
  Page<model::Namespace> page;
  for (std::size_t i = 0; i < rows.size() && i < size; ++i) {
    model::Namespace name{parent};
    name.levels.emplace_back(rows.text(i, 0));
    page.items.push_back(std::move(name));
  }
  if (rows.size() > size && size > 0) page.next = page.items.back().levels.back();
  return page;
}

Result<std::map<std::string, std::string>> properties_of(const Rows& rows, std::size_t column) {
  if (rows.is_null(0, column)) return std::map<std::string, std::string>{};
  base::json::Object wrapped;
  ASSIGN_OR_RETURN(wrapped["properties"], base::json::parse(rows.text(0, column)));
  const base::json::Value value(std::move(wrapped));
  ASSIGN_OR_RETURN(auto fields, base::json::Fields::of(value, ""));
  return fields.string_map("properties");
}

}  // namespace

Task<Result<Page<model::Namespace>>> LakeReader::list_namespaces(
    RequestContext context, std::optional<model::Namespace> parent, PageRequest page) {
  std::string prefix;
  if (parent) prefix = flat_schema_name(*parent) + kLevelSeparator;
  std::vector<Query> queries;
  queries.push_back({impl_->sql.list_schemas, {param(prefix), param(page.after), row_limit(page)}});
  if (parent) queries.push_back({impl_->sql.find_schema, {param(flat_schema_name(*parent))}});
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->pool->read(context, std::move(queries)));
  if (parent && rows[1]->empty()) co_return no_such_namespace(*parent);
  co_return namespace_page(*rows[0], parent ? parent->levels : std::vector<std::string>{},
                           page.size);
}

Task<Result<NamespaceInfo>> LakeReader::load_namespace(RequestContext context,
                                                       model::Namespace name) {
  Query query{impl_->sql.load_schema, {param(flat_schema_name(name))}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->pool->query(context, std::move(query)));
  if (rows->empty()) co_return no_such_namespace(name);
  NamespaceInfo info{.id = model::NamespaceId(rows->int64(0, 0)), .name = std::move(name)};
  info.location = without_trailing_slash(
      resolve_path(rows->text(0, 3), {rows->text(0, 1), rows->opt_boolean(0, 2).value_or(true)}));
  CO_ASSIGN_OR_RETURN(info.properties, properties_of(*rows, 4));
  co_return info;
}

Task<Result<Page<std::string>>> LakeReader::list_tables(RequestContext context,
                                                        model::Namespace name_space,
                                                        PageRequest page) {
  const std::string schema = flat_schema_name(name_space);
  std::vector<Query> queries;
  queries.push_back({impl_->sql.list_tables, {param(schema), param(page.after), row_limit(page)}});
  queries.push_back({impl_->sql.find_schema, {param(schema)}});
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->pool->read(context, std::move(queries)));
  if (rows[1]->empty()) co_return no_such_namespace(name_space);
  co_return name_page(*rows[0], page.size);
}

Task<Result<model::TableId>> LakeReader::find_table(RequestContext context,
                                                    model::TableIdentifier identifier) {
  Query query{impl_->sql.find_table,
              {param(flat_schema_name(identifier.name_space)), param(identifier.name)}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->pool->query(context, std::move(query)));
  if (rows->empty()) co_return no_such_table(identifier.display());
  co_return model::TableId(rows->int64(0, 0));
}

Task<Result<std::vector<model::TableIdentifier>>> LakeReader::identify(
    RequestContext context, std::vector<model::TableId> tables) {
  std::vector<std::int64_t> ids;
  for (model::TableId table : tables) ids.push_back(table.value);
  Query query{impl_->sql.identify, {base::pg::array_param(ids)}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->pool->query(context, std::move(query)));
  std::vector<model::TableIdentifier> names;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    auto name_space = namespace_of_schema(rows->text(i, 0));
    if (!name_space) continue;
    names.push_back({std::move(*name_space), std::string(rows->text(i, 1))});
  }
  co_return names;
}

}  // namespace lake::ducklake
