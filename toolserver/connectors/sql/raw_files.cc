#include "toolserver/connectors/sql/raw_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/duckdb/sql_text.h"
#include "toolserver/connectors/sql/sql_functions.h"
#include "toolserver/connectors/sql/sql_names.h"
#include "toolserver/connectors/sql/sql_tree.h"

namespace tool::connectors {
namespace {

using base::json::Object;
using base::json::Value;

// The place of a file's name in the statement, by its first byte.
using Places = std::map<std::size_t, std::string>;

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

// Collects the names of files while it makes them absolute in the tree.
class Anchor {
 public:
  explicit Anchor(std::string_view data_dir) : data_dir_(data_dir) {}

  void walk(Value& tree) {
    if (tree.is_array()) {
      for (Value& item : tree.get_array()) walk(item);
      return;
    }
    Object* object = tree.if_object();
    if (object == nullptr) return;
    if (text_at(*object, "type") == "BASE_TABLE" && !object->contains("class") &&
        text_at(*object, "schema_name").empty()) {
      anchor(object->if_contains("table_name"), *object);
    }
    if (text_at(*object, "type") == "TABLE_FUNCTION") reader(*object);
    for (auto& [key, value] : *object) walk(value);
  }

  [[nodiscard]] const Places& places() const { return places_; }
  /// Of a file's name whose place the tree does not give.
  [[nodiscard]] bool is_lost() const { return is_lost_; }

 private:
  void anchor(Value* written, const Object& holder) {
    if (written == nullptr || !written->is_string()) return;
    std::string path{std::string_view(written->get_string())};
    if (!DataFile::parse(path)) return;
    const Value* place = holder.if_contains("query_location");
    if (place == nullptr || !place->is_int64() || place->get_int64() < 0) {
      is_lost_ = true;
      return;
    }
    *written = fmt::format("{}/{}", data_dir_, path);
    auto [at, is_new] = places_.try_emplace(static_cast<std::size_t>(place->get_int64()), path);
    if (!is_new && at->second != path) is_lost_ = true;
  }

  // {"function": {"function_name": ..., "children": [{"value": {"value": path}}]}}
  void reader(Object& table_function) {
    Value* call = table_function.if_contains("function");
    Object* function = call == nullptr ? nullptr : call->if_object();
    if (function == nullptr || !is_file_reader(lower_ascii(text_at(*function, "function_name")))) {
      return;
    }
    Value* children = function->if_contains("children");
    if (children == nullptr || !children->is_array() || children->get_array().empty()) return;
    Object* first = children->get_array()[0].if_object();
    Value* holder = first == nullptr ? nullptr : first->if_contains("value");
    if (holder == nullptr || !holder->is_object()) return;
    anchor(holder->get_object().if_contains("value"), *first);
  }

  const std::string_view data_dir_;
  Places places_;
  bool is_lost_ = false;
};

}  // namespace

std::optional<std::string> reader_refusal(std::string_view name,
                                          const base::json::Array& arguments) {
  if (arguments.empty()) return fmt::format("{}: no file is named", name);
  const Object* first = arguments[0].if_object();
  const Value* path = constant_of(arguments[0]);
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

base::Result<AnchoredSql> anchor_files(std::string_view sql, Value tree,
                                       std::string_view data_dir) {
  Anchor anchor(data_dir);
  anchor.walk(tree);
  if (anchor.is_lost()) {
    return base::fail(base::ErrorKind::kInvalid, "a file's name has no place in the statement");
  }
  AnchoredSql anchored{.sql = {}, .tree = std::move(tree), .files = {}};
  std::size_t done = 0;
  for (const auto& [at, path] : anchor.places()) {
    bool is_literal = sql.substr(std::min(at, sql.size())).starts_with("'" + path + "'");
    bool is_identifier = sql.substr(std::min(at, sql.size())).starts_with("\"" + path + "\"");
    if (at < done || (!is_literal && !is_identifier)) {
      return base::fail(base::ErrorKind::kInvalid,
                        fmt::format("the file {} must be named in plain quotes, after no blanks "
                                    "but those of ASCII",
                                    path));
    }
    std::string whole = fmt::format("{}/{}", data_dir, path);
    anchored.sql += sql.substr(done, at - done);
    anchored.sql +=
        is_literal ? base::duckdb::quote_literal(whole) : base::duckdb::quote_identifier(whole);
    done = at + path.size() + 2;
    if (std::ranges::find(anchored.files, path) == anchored.files.end()) {
      anchored.files.push_back(path);
    }
  }
  anchored.sql += sql.substr(done);
  return anchored;
}

bool is_same_statement(const Value& one, const Value& other) {
  if (one.kind() != other.kind()) return false;
  if (one.is_array()) {
    return std::ranges::equal(one.get_array(), other.get_array(), is_same_statement);
  }
  if (!one.is_object()) return one == other;
  const Object& left = one.get_object();
  const Object& right = other.get_object();
  return left.size() == right.size() && std::ranges::all_of(left, [&](const auto& member) {
           const Value* value = right.if_contains(member.key());
           if (value == nullptr) return false;
           bool is_place =
               member.key() == "query_location" && value->is_number() && member.value().is_number();
           return is_place || is_same_statement(member.value(), *value);
         });
}

}  // namespace tool::connectors
