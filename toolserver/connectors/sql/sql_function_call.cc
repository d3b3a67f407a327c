#include "toolserver/connectors/sql/sql_function_call.h"

#include <fmt/format.h>

#include <utility>

#include "toolserver/connectors/sql/raw_files.h"
#include "toolserver/connectors/sql/sql_functions.h"
#include "toolserver/connectors/sql/sql_names.h"
#include "toolserver/connectors/sql/sql_tree.h"

namespace tool::connectors {
namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;

std::unexpected<std::string> refused(std::string_view what, std::string_view name) {
  return std::unexpected(fmt::format("the {} {} is not allowed", what, shown(name)));
}

const Array* arguments_of(const Object& function) {
  const Value* children = function.if_contains("children");
  return children == nullptr ? nullptr : children->if_array();
}

// `column.upper()` parses as upper in a schema `column`, so any schema may
// stand there but those that exist; the name alone decides what it is.
std::optional<std::string> fault_of_qualifiers(const Object& function) {
  std::string schema = lower_ascii(text_at(function, "schema"));
  std::string catalog = lower_ascii(text_at(function, "catalog"));
  if ((catalog.empty() || catalog == "system") && !is_engine_name(schema) && schema != "temp") {
    return std::nullopt;
  }
  return fmt::format("functions of {}.{} are not allowed", shown(catalog), shown(schema));
}

}  // namespace

std::optional<std::string> fault_of_function(const Object& call) {
  std::string name = lower_ascii(text_at(call, "function_name"));
  if (!is_pure_function(name) || arguments_of(call) == nullptr) {
    return refused("function", name).error();
  }
  return fault_of_qualifiers(call);
}

std::expected<TableFunctionCall, std::string> judge_table_function(const Object& table,
                                                                   const ScreenRules& rules) {
  const Value* call = table.if_contains("function");
  const Object* function = call == nullptr ? nullptr : call->if_object();
  if (function == nullptr || text_at(*function, "class") != "FUNCTION") {
    return std::unexpected("a table function that is not a plain call is not allowed");
  }
  std::string name = lower_ascii(text_at(*function, "function_name"));
  std::string schema = lower_ascii(text_at(*function, "schema"));
  const Array* arguments = arguments_of(*function);
  bool reads_files = rules.raw_files == RawFiles::kAllowed && is_file_reader(name);
  if ((!schema.empty() && schema != "main") || (!is_pure_table_function(name) && !reads_files) ||
      arguments == nullptr) {
    return refused("table function", name);
  }
  if (auto fault = fault_of_qualifiers(*function)) return std::unexpected(*std::move(fault));
  TableFunctionCall out{.function = function, .reads_files = reads_files};
  if (reads_files) {
    if (auto reason = reader_refusal(name, *arguments)) return std::unexpected(*std::move(reason));
  }
  return out;
}

}  // namespace tool::connectors
