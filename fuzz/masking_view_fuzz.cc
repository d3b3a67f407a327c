// Any bytes as the name of a view, and as an expression that is to be said to Spark. A name that is
// one of a masking view is made of its own parts again. What Spark is told has, outside of quotes,
// nothing but words, numbers and the known signs, and closes each parenthesis that it opens.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lakeproxy/operation/spark_sql.h"
#include "lakeproxy/policy/masking_view.h"

namespace {

void check_name(std::string_view name) {
  const auto read = lake::policy::parse_masking_view_name(name);
  if (!read) return;
  const lake::policy::MaskPlan plan{.signature = read->signature};
  if (read->table.empty() || read->signature.size() != 32) std::abort();
  if (lake::policy::masking_view_name(read->table, plan) != name) std::abort();
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_ (),<>=!|").contains(c);
}

void check_sql(std::string_view sql) {
  char quote = 0;
  int open = 0;
  for (const char c : sql) {
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '\'' || c == '`') {
      quote = c;
      continue;
    }
    if (!is_plain(c)) std::abort();
    open += (c == '(' ? 1 : 0) - (c == ')' ? 1 : 0);
    if (open < 0) std::abort();
  }
  if (quote != 0 || open != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using lake::model::Type;
  using lake::model::TypeKind;
  static const lake::model::Schema schema{
      .fields = {{.id = 1, .name = "id", .type = Type(TypeKind::kLong)},
                 {.id = 2, .name = "ssn", .type = Type(TypeKind::kString)},
                 {.id = 3, .name = "a\"`'b", .type = Type(TypeKind::kString)}}};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_name(text);
  const std::string quoted = lake::operation::quote_for_spark(text);
  if (std::ranges::count(quoted, '`') % 2 != 0) std::abort();
  if (const auto sql = lake::operation::in_spark(text, schema)) check_sql(*sql);
  return 0;
}
