#include "lakeproxy/governance/policy_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/core/text.h"
#include "base/duckdb/engine.h"
#include "base/duckdb/sql_text.h"
#include "base/json/fields.h"
#include "lakeproxy/governance/policy_functions.h"

namespace lake::governance {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::duckdb::quote_identifier;
using base::duckdb::Text;
using base::json::Object;
using base::json::Value;

constexpr std::size_t kMostBytes = 8192;
constexpr std::size_t kMostWords = 200;  // Of the engine, in an error.
constexpr std::chrono::seconds kTime{5};
constexpr std::uint64_t kMemory = 64ULL << 20;
constexpr std::string_view kSelect = "SELECT ";

/// What stands for an argument while the engine writes the expression. No body may hold it.
constexpr std::string_view kStandIn = "lakeproxy_argument_";

base::Error broken(std::string_view field, std::string_view rule) {
  return fail(ErrorKind::kInvalid, fmt::format("{}: {}", field, rule));
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return lower;
}

// The engine's first line: what follows repeats the statement.
std::string words_of(std::string_view message) {
  return base::shorten(message.substr(0, message.find('\n')), kMostWords);
}

// What the engine says to SQL of an administrator's.
base::Error refusal(std::string_view field, const base::Error& error) {
  if (error.kind() == ErrorKind::kTimeout || error.kind() == ErrorKind::kTooLarge) {
    return broken(field, "the engine needs too much time or memory for it");
  }
  if (error.kind() == ErrorKind::kInternal && error.detail().empty()) return error;
  return broken(field, words_of(error.detail()));
}

struct Trial {
  std::unique_ptr<base::duckdb::Engine> engine;
  base::duckdb::Connection connection;
};

// An engine that nobody else uses: nothing of one body is there for the next one.
Result<Trial> open_trial() {
  ASSIGN_OR_RETURN(auto engine,
                   base::duckdb::Engine::open({.memory_bytes = kMemory, .scratch_bytes = 0}));
  ASSIGN_OR_RETURN(auto connection, engine->connect());
  connection.set_deadline(std::chrono::steady_clock::now() + kTime);
  return Trial{std::move(engine), std::move(connection)};
}

// A source without rows of columns with these names and types.
std::string no_rows(const std::vector<Argument>& columns) {
  std::string list;
  for (const Argument& column : columns) {
    if (!list.empty()) list += ", ";
    list += fmt::format("CAST(NULL AS {}) AS {}", column.type, quote_identifier(column.name));
  }
  return fmt::format("FROM (SELECT {}) AS lakeproxy_rows WHERE false", list);
}

std::string_view member(const Object& object, std::string_view name) {
  const Value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "";
}

bool is_empty(const Object& object, std::string_view name) {
  const Value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return true;
  return value->is_array() && value->get_array().empty();
}

bool has_no_map(const Object& object) {
  const Value* map = object.if_contains("cte_map");
  return map == nullptr || (map->is_object() && is_empty(map->get_object(), "map"));
}

// The one expression of `SELECT expression`, with nothing around it; null for any other statement.
Value* only_expression(Value& serialized) {
  Object& root = serialized.as_object();
  Value* statements = root.if_contains("statements");
  if (statements == nullptr || statements->as_array().size() != 1) return nullptr;
  Object& node = statements->as_array().front().as_object().at("node").as_object();
  if (member(node, "type") != "SELECT_NODE") return nullptr;
  for (const char* part : {"modifiers", "where_clause", "group_expressions", "group_sets", "having",
                           "sample", "qualify"}) {
    if (!is_empty(node, part)) return nullptr;
  }
  if (!has_no_map(node) || member(node.at("from_table").as_object(), "type") != "EMPTY") {
    return nullptr;
  }
  base::json::Array& list = node.at("select_list").as_array();
  return list.size() == 1 ? &list.front() : nullptr;
}

}  // namespace

/// Makes one CompiledBody in one engine.
class BodyCompiler {
 public:
  explicit BodyCompiler(Trial trial) : trial_(std::move(trial)) {}

  base::Status read_signature(std::string_view signature);
  base::Status read_body(std::string_view body);
  /// Finds the type, and tries the body on no row.
  base::Status try_body();
  [[nodiscard]] CompiledBody& body() { return body_; }

 private:
  Result<std::string> ask(std::string_view sql, std::string_view text, std::string_view field);
  Result<Value> parse(std::string_view expression, std::string_view field);
  base::Status put_stand_ins(Value& value);
  Result<std::string> type_of(std::string_view select, std::string_view field);
  void cut(std::string_view text);

  Trial trial_;
  CompiledBody body_;
};

// One text for a text.
Result<std::string> BodyCompiler::ask(std::string_view sql, std::string_view text,
                                      std::string_view field) {
  const std::vector<base::duckdb::Param> params{Text{text}};
  auto rows = trial_.connection.execute(sql, params);
  if (!rows) return refusal(field, rows.error());
  auto there = rows->next();
  if (!there) return refusal(field, there.error());
  return std::string(rows->bytes(0));
}

Result<Value> BodyCompiler::parse(std::string_view expression, std::string_view field) {
  ASSIGN_OR_RETURN(const std::string text,
                   ask("SELECT json_serialize_sql($1::VARCHAR)::VARCHAR",
                       std::string(kSelect) + std::string(expression), field));
  auto parsed = base::json::parse(text, {.depth = 256});
  if (!parsed) return broken(field, "it is nested too deep");
  if (const std::string_view error = member(parsed->as_object(), "error_message"); !error.empty()) {
    return broken(field, words_of(error));
  }
  return parsed;
}

// The type of the first column of a SELECT, as the engine writes it.
Result<std::string> BodyCompiler::type_of(std::string_view select, std::string_view field) {
  auto rows =
      trial_.connection.execute(fmt::format("SELECT column_type FROM (DESCRIBE {})", select));
  if (!rows) return refusal(field, rows.error());
  auto there = rows->next();
  if (!there) return refusal(field, there.error());
  return std::string(rows->bytes(0));
}

base::Status BodyCompiler::read_signature(std::string_view signature) {
  ASSIGN_OR_RETURN(body_.arguments_, parse_signature(signature));
  for (Argument& argument : body_.arguments_) {
    ASSIGN_OR_RETURN(Value cast,
                     parse(fmt::format("CAST(NULL AS {})", argument.type), "signature"));
    const Value* only = only_expression(cast);
    const bool is_type = only != nullptr && member(only->as_object(), "class") == "CAST" &&
                         member(only->as_object(), "alias").empty() &&
                         member(only->as_object().at("child").as_object(), "class") == "CONSTANT";
    if (!is_type) {
      return broken("signature", fmt::format("the argument {} has no type", argument.name));
    }
    ASSIGN_OR_RETURN(const std::string text, ask("SELECT json_deserialize_sql($1::VARCHAR::JSON)",
                                                 base::json::write(cast), "signature"));
    ASSIGN_OR_RETURN(argument.type, type_of(text, "signature"));
  }
  return {};
}

// Puts a stand-in where an argument stands.
base::Status BodyCompiler::put_stand_ins(Value& value) {
  if (base::json::Array* array = value.if_array()) {
    for (Value& part : *array) RETURN_IF_ERROR(put_stand_ins(part));
    return {};
  }
  Object* object = value.if_object();
  if (object == nullptr || member(*object, "class") == "CONSTANT") return {};
  if (member(*object, "class") == "COLUMN_REF") {
    base::json::Array& names = object->at("column_names").as_array();
    const std::string_view name = names.front().as_string();
    auto found = std::ranges::find_if(
        body_.arguments_, [&](const Argument& other) { return same_name(other.name, name); });
    if (names.size() != 1 || found == body_.arguments_.end()) {
      return broken("body", fmt::format("{} is none of the signature's arguments", name));
    }
    names.front() = fmt::format("{}{}", kStandIn, found - body_.arguments_.begin());
    return {};
  }
  // Without a schema, wherever it is run: check_expression() has let "main" pass.
  if (member(*object, "class") == "FUNCTION") (*object)["schema"] = "";
  for (auto& part : *object) RETURN_IF_ERROR(put_stand_ins(part.value()));
  return {};
}

void BodyCompiler::cut(std::string_view text) {
  while (true) {
    const std::size_t at = text.find(kStandIn);
    body_.pieces_.push_back({std::string(text.substr(0, at)), -1});
    if (at == std::string_view::npos) return;
    text.remove_prefix(at + kStandIn.size());
    std::int64_t argument = 0;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      argument = argument * 10 + (text.front() - '0');
      text.remove_prefix(1);
    }
    body_.pieces_.back().argument = argument;
  }
}

base::Status BodyCompiler::read_body(std::string_view body) {
  if (body.size() > kMostBytes) return broken("body", "must be at most 8192 bytes");
  if (!base::is_utf8(body) || body.contains('\0')) {
    return broken("body", "must be UTF-8 without zeros");
  }
  if (lower_case(body).contains(kStandIn)) {
    return broken("body", fmt::format("must not hold {}", kStandIn));
  }
  ASSIGN_OR_RETURN(Value parsed, parse(body, "body"));
  Value* expression = only_expression(parsed);
  if (expression == nullptr) return broken("body", "must be one expression");
  if (base::Status good = check_expression(*expression); !good) {
    return broken("body", good.error().message());
  }
  RETURN_IF_ERROR(put_stand_ins(*expression));
  ASSIGN_OR_RETURN(const std::string text, ask("SELECT json_deserialize_sql($1::VARCHAR::JSON)",
                                               base::json::write(parsed), "body"));
  if (!text.starts_with(kSelect)) return broken("body", "must be one expression");
  cut(std::string_view(text).substr(kSelect.size()));
  return {};
}

base::Status BodyCompiler::try_body() {
  std::vector<Argument> columns = body_.arguments_;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].name = fmt::format("{}{}", kStandIn, i);
    names.push_back(quote_identifier(columns[i].name));
  }
  const std::string select = fmt::format("SELECT {} {}", body_.over(names), no_rows(columns));
  ASSIGN_OR_RETURN(body_.type_, type_of(select, "body"));
  auto run = trial_.connection.execute(select);
  if (!run) return refusal("body", run.error());
  return {};
}

namespace {

Result<BodyCompiler> compiled(std::string_view signature, std::string_view body) {
  ASSIGN_OR_RETURN(Trial trial, open_trial());
  BodyCompiler compiler(std::move(trial));
  RETURN_IF_ERROR(compiler.read_signature(signature));
  RETURN_IF_ERROR(compiler.read_body(body));
  RETURN_IF_ERROR(compiler.try_body());
  return compiler;
}

// Whether two texts are the same type: the engine writes "DECIMAL(18,2)", others put a space in.
bool same_type(std::string_view a, std::string_view b) {
  auto packed = [](std::string_view text) {
    std::string kept = lower_case(text);
    std::erase(kept, ' ');
    return kept;
  };
  return packed(a) == packed(b);
}

// `value` of one type as another. By way of a text there is a cast from each type to each; what
// does not fit is NULL, since a cast that fails would tell the value in its error.
std::string as_type(std::string value, std::string_view type, std::string_view wanted) {
  if (same_type(type, wanted)) return value;
  if (!same_type(type, "VARCHAR")) value = fmt::format("CAST({} AS VARCHAR)", value);
  if (same_type(wanted, "VARCHAR")) return value;
  return fmt::format("TRY_CAST({} AS {})", value, wanted);
}

}  // namespace

std::string CompiledBody::over(const std::vector<std::string>& values) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    text += piece.text;
    if (piece.argument >= 0) text += values.at(static_cast<std::size_t>(piece.argument));
  }
  return text;
}

Object CompiledBody::to_json() const {
  base::json::Array arguments, pieces;
  for (const Argument& argument : arguments_) {
    arguments.push_back(Object{{"name", argument.name}, {"type", argument.type}});
  }
  for (const Piece& piece : pieces_) {
    pieces.push_back(Object{{"text", piece.text}, {"argument", piece.argument}});
  }
  return {{"arguments", std::move(arguments)}, {"pieces", std::move(pieces)}, {"type", type_}};
}

namespace {

Result<CompiledBody::Piece> piece_of(const base::json::Fields& fields, std::size_t arguments) {
  CompiledBody::Piece piece;
  ASSIGN_OR_RETURN(piece.text, fields.string("text"));
  ASSIGN_OR_RETURN(piece.argument, fields.int64("argument"));
  if (piece.argument >= static_cast<std::int64_t>(arguments)) {
    return fail(ErrorKind::kCorrupt, "a compiled policy names an argument that it has not");
  }
  return piece;
}

}  // namespace

Result<CompiledBody> CompiledBody::from_json(const Value& value) {
  auto read = [&]() -> Result<CompiledBody> {
    ASSIGN_OR_RETURN(auto fields, base::json::Fields::of(value, "compiled"));
    CompiledBody body;
    ASSIGN_OR_RETURN(auto arguments, fields.objects("arguments"));
    for (const auto& one : arguments) {
      Argument& argument = body.arguments_.emplace_back();
      ASSIGN_OR_RETURN(argument.name, one.string("name"));
      ASSIGN_OR_RETURN(argument.type, one.string("type"));
    }
    ASSIGN_OR_RETURN(auto pieces, fields.objects("pieces"));
    for (const auto& one : pieces) {
      ASSIGN_OR_RETURN(auto piece, piece_of(one, body.arguments_.size()));
      body.pieces_.push_back(std::move(piece));
    }
    ASSIGN_OR_RETURN(body.type_, fields.string("type"));
    return body;
  };
  auto body = read();
  if (!body) return fail(ErrorKind::kCorrupt, body.error().message());
  return body;
}

Result<CompiledBody> compile_mask(std::string_view signature, std::string_view body) {
  ASSIGN_OR_RETURN(BodyCompiler compiler, compiled(signature, body));
  const CompiledBody& mask = compiler.body();
  if (mask.arguments().size() != 1) {
    return broken("signature", "a mask must have one argument");
  }
  return std::move(compiler.body());
}

Result<CompiledBody> compile_filter(std::string_view signature, std::string_view body) {
  ASSIGN_OR_RETURN(BodyCompiler compiler, compiled(signature, body));
  if (compiler.body().type() != "BOOLEAN") {
    return broken("body", fmt::format("must be BOOLEAN, and is {}", compiler.body().type()));
  }
  return std::move(compiler.body());
}

std::string mask_expression(const CompiledBody& mask, std::string_view column,
                            std::string_view column_type) {
  const std::string& wanted = mask.arguments().front().type;
  std::string masked = mask.over({as_type(quote_identifier(column), column_type, wanted)});
  return as_type(std::move(masked), mask.type(), column_type);
}

std::string filter_predicate(const CompiledBody& filter, const std::vector<Argument>& columns) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    values.push_back(
        as_type(quote_identifier(columns[i].name), columns[i].type, filter.arguments().at(i).type));
  }
  return filter.over(values);
}

base::Status try_expression(std::string_view expression, const std::vector<Argument>& columns) {
  ASSIGN_OR_RETURN(Trial trial, open_trial());
  auto run = trial.connection.execute(fmt::format("SELECT {} {}", expression, no_rows(columns)));
  if (run) return {};
  const base::Error error = refusal("", run.error());
  if (error.kind() != ErrorKind::kInvalid) return error;
  return fail(ErrorKind::kInvalid, words_of(run.error().detail()));
}

}  // namespace lake::governance
