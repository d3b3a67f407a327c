// Any bytes as an answer of the lake: a table or a page of a plan, and what the engine's process is
// then given comes back from its form as it was.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/fields.h"
#include "base/json/json.h"
#include "toolserver/connectors/lake/lake_catalog.h"
#include "toolserver/connectors/sql/brought_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto levels = tool::lake::levels_of(text)) {
    if (tool::lake::levels_of(tool::lake::name_of(*levels)) != levels) std::abort();
  }
  const auto json = base::json::parse(text, {.bytes = 1 << 16, .values = 10'000});
  if (!json) return 0;
  if (auto page = tool::lake::read_page(*json)) {
    for (const auto& task : page->tasks) {
      for (std::size_t at : task.deletes) {
        if (at >= page->deletes.size()) std::abort();
      }
    }
  }
  auto table = tool::lake::read_table(*json);
  if (!table) return 0;
  if (table->unreadable.empty() && table->columns.size() != table->shown.size()) std::abort();
  const base::json::Value sent(tool::connectors::to_json(
      {.name = {"n", "t"}, .columns = table->columns, .files = {{"f0"}}}));
  auto fields = base::json::Fields::of(sent, "");
  if (!fields) std::abort();
  auto read = tool::connectors::read_brought_table(*fields);
  if (!read || tool::connectors::to_json(*read) != sent.as_object()) std::abort();
  return 0;
}
