// Any bytes as SQL: what the screen lets through is one SELECT to the engine
// as well, and a text that begins with '{' is tried as a tree of its own.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/text.h"
#include "base/duckdb/engine.h"
#include "base/json/json.h"
#include "toolserver/connectors/sql/sql_screen.h"

namespace {

using base::duckdb::Engine;
using base::duckdb::Param;
using base::duckdb::Text;
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

void check(const std::string& sql, const ScreenRules& rules) {
  auto connection = engine().connect();
  require(connection.has_value());
  std::vector<Param> params{Text{sql}};
  auto rows = connection->execute("SELECT json_serialize_sql($1::VARCHAR)", params);
  if (!rows || !*rows->next() || rows->is_null(0)) return;
  auto tree = base::json::parse(rows->bytes(0), {.bytes = 16 << 20, .depth = 1024});
  if (!tree || !screen(*tree, rules).allowed()) return;
  auto count = connection->count_statements(sql);
  require(count && *count == 1);
  auto statement = connection->prepare(sql);
  if (statement) {
    require(statement->is_select());
  } else {
    require(statement.error().kind() != base::ErrorKind::kForbidden);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string sql(reinterpret_cast<const char*>(data), size);
  if (size > 16'384 || sql.contains('\0') || !base::is_utf8(sql)) return 0;
  ScreenRules rules{.tables = {"t", "u"}, .params = {1, "x", nullptr}};
  if (sql.starts_with('{')) {
    auto tree = base::json::parse(sql, {.bytes = 1 << 20, .depth = 1024});
    if (tree) (void)screen(*tree, rules);
    return 0;
  }
  check(sql, rules);
  return 0;
}
