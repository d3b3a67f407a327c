#include "toolserver/connectors/sql/raw_files.h"

#include "toolserver/connectors/sql/sql_functions.h"
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

}  // namespace

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
