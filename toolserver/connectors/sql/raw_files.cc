#include "toolserver/connectors/sql/raw_files.h"

#include <fmt/format.h>

#include "toolserver/connectors/sql/sql_functions.h"
#include "toolserver/connectors/sql/sql_growth.h"
#include "toolserver/connectors/sql/sql_names.h"

namespace tool::connectors {
namespace {

using base::json::Object;
using base::json::Value;

bool is(const Object& object, std::string_view key, std::string_view text) {
  const Value* value = object.if_contains(key);
  return value != nullptr && value->is_string() && value->get_string() == text;
}

void anchor(Value* name, const std::string& data_dir) {
  if (name == nullptr || !name->is_string()) return;
  std::string_view path(name->get_string());
  if (DataFile::parse(path)) *name = data_dir + "/" + std::string(path);
}

// {"function": {"function_name": ..., "children": [{"value": {"value": path}}]}}
void anchor_reader(Object& table_function, const std::string& data_dir) {
  Value* call = table_function.if_contains("function");
  Object* function = call == nullptr ? nullptr : call->if_object();
  if (function == nullptr) return;
  const Value* name = function->if_contains("function_name");
  Value* children = function->if_contains("children");
  if (name == nullptr || !name->is_string() || children == nullptr || !children->is_array() ||
      children->get_array().empty() || !is_file_reader(lower_ascii(name->get_string()))) {
    return;
  }
  Object* first = children->get_array()[0].if_object();
  Value* holder = first == nullptr ? nullptr : first->if_contains("value");
  if (holder == nullptr || !holder->is_object()) return;
  anchor(holder->get_object().if_contains("value"), data_dir);
}

std::string_view text_at(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

// `header = true` is a comparison to the parser, `header := true` an alias.
std::string_view option_name(const Object& argument) {
  const Value* left = argument.if_contains("left");
  if (text_at(argument, "class") != "COMPARISON" || left == nullptr || !left->is_object()) {
    return text_at(argument, "alias");
  }
  const Value* names = left->get_object().if_contains("column_names");
  if (names == nullptr || !names->is_array() || names->get_array().size() != 1 ||
      !names->get_array()[0].is_string()) {
    return {};
  }
  return names->get_array()[0].get_string();
}

}  // namespace

std::optional<std::string> reader_refusal(std::string_view name,
                                          const base::json::Array& arguments) {
  if (arguments.empty()) return fmt::format("{}: no file is named", name);
  const Object* first = arguments[0].if_object();
  const Value* path = constant_of(arguments[0], {});
  if (first == nullptr || text_at(*first, "class") != "CONSTANT" || path == nullptr ||
      !path->is_string()) {
    return fmt::format("{}: the file must be one constant name", name);
  }
  auto file = DataFile::parse(path->get_string());
  if (!file) return fmt::format("{}: {}", name, file.error().message());
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const Object* argument = arguments[i].if_object();
    std::string_view option = argument == nullptr ? std::string_view() : option_name(*argument);
    if (!is_reader_option(lower_ascii(option))) {
      return fmt::format("{}: the option {} is not allowed", name, option.substr(0, 64));
    }
  }
  return std::nullopt;
}

void anchor_files(Value& tree, const std::string& data_dir) {
  if (tree.is_array()) {
    for (Value& item : tree.get_array()) anchor_files(item, data_dir);
    return;
  }
  Object* object = tree.if_object();
  if (object == nullptr) return;
  if (is(*object, "type", "BASE_TABLE") && is(*object, "schema_name", "") &&
      !object->contains("class")) {
    anchor(object->if_contains("table_name"), data_dir);
  }
  if (is(*object, "type", "TABLE_FUNCTION")) anchor_reader(*object, data_dir);
  for (auto& [key, value] : *object) anchor_files(value, data_dir);
}

}  // namespace tool::connectors
