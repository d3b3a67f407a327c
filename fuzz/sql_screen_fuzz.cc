// Any bytes as SQL: what the screen lets through is one statement to the engine
// as well (json_serialize_sql takes nothing but SELECT), with names of files made absolute it is
// the same SELECT, and a text that begins with '{' is tried as a tree of its own.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/text.h"
#include "base/duckdb/engine.h"
#include "base/json/json.h"
#include "toolserver/connectors/sql/raw_files.h"
#include "toolserver/connectors/sql/sql_screen.h"
#include "toolserver/connectors/sql/statement_needs.h"

namespace {

using base::duckdb::Engine;
using base::duckdb::Param;
using base::duckdb::Text;
using tool::connectors::RawFiles;
using tool::connectors::screen;
using tool::connectors::ScreenRules;

void require(bool holds) {
  if (!holds) std::abort();
}

// Without any folder, so that a hole shows as a refusal of the engine's.
Engine& engine() {
  static const std::unique_ptr<Engine> only = [] {
    auto opened = Engine::open({.memory_bytes = 64 << 20, .scratch_bytes = 0});
    require(opened.has_value());
    return std::move(*opened);
  }();
  return *only;
}

std::optional<base::json::Value> tree_of(base::duckdb::Connection& connection,
                                         const std::string& sql) {
  std::vector<Param> params{Text{sql}};
  auto rows = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", params);
  if (!rows || !*rows->next() || rows->is_null(0)) return std::nullopt;
  auto tree = base::json::parse(rows->bytes(0), {.bytes = 16 << 20, .depth = 1024});
  if (!tree) return std::nullopt;
  return *std::move(tree);
}

void check(const std::string& sql, const ScreenRules& rules) {
  auto connection = engine().connect();
  require(connection.has_value());
  auto tree = tree_of(*connection, sql);
  if (!tree) return;
  tool::connectors::Verdict verdict = screen(*tree, rules);
  if (!verdict.allowed()) return;
  std::string runs = sql;
  if (verdict.names_files) {
    auto anchored = tool::connectors::anchor_files(sql, *std::move(tree), "/no/such \"folder'--");
    if (!anchored) return;
    auto again = tree_of(*connection, anchored->sql);
    // Where it differs, the connector refuses it; here that is a find.
    require(again && tool::connectors::is_same_statement(anchored->tree, *again));
    runs = anchored->sql;
  }
  auto count = connection->count_statements(runs);
  // It is not prepared: the engine computes what is constant then, and may need
  // all the memory that there is.
  require(count && *count == 1);
}

// Of tables that are brought: what a statement names is all that it is let through with.
void check_named(const std::string& sql) {
  auto connection = engine().connect();
  require(connection.has_value());
  auto tree = tree_of(*connection, sql);
  if (!tree) return;
  using tool::connectors::Naming;
  const auto verdict = screen(*tree, {.tables = {}, .naming = Naming::kNamed});
  if (!verdict.allowed()) return;
  require(!verdict.names_files);
  ScreenRules rules{.tables = {}, .naming = Naming::kBrought};
  require(screen(*tree, rules).allowed() == verdict.named.empty());
  for (const auto& name : verdict.named) rules.tables.insert(name.key());
  require(screen(*tree, rules).allowed());
  // What it needs of them is told of these alone, and is read again.
  const auto needs = tool::connectors::needs_of(*tree, {});
  for (const auto& one : needs.conditions) require(rules.tables.contains(one.table.key()));
  base::json::Object sent;
  tool::connectors::add_to(sent, needs);
  const base::json::Value value(std::move(sent));
  require(tool::connectors::read_needs(*base::json::Fields::of(value, "")).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string sql(reinterpret_cast<const char*>(data), size);
  if (size > 16'384 || sql.contains('\0') || !base::is_utf8(sql)) return 0;
  ScreenRules rules{.tables = {"t", "u"}};
  if (sql.starts_with('{')) {
    auto tree = base::json::parse(sql, {.bytes = 1 << 20, .depth = 1024});
    if (tree) (void)screen(*tree, rules);
    return 0;
  }
  check(sql, rules);
  rules.raw_files = RawFiles::kAllowed;
  check(sql, rules);
  check_named(sql);
  return 0;
}
