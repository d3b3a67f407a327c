#include "base/duckdb/sql_text.h"

namespace base::duckdb {
namespace {

std::string quote(std::string_view text, char mark) {
  std::string out(1, mark);
  for (char c : text) {
    if (c == mark) out += mark;
    out += c;
  }
  return out += mark;
}

}  // namespace

std::string quote_identifier(std::string_view name) { return quote(name, '"'); }

std::string quote_literal(std::string_view text) { return quote(text, '\''); }

std::string quote_literals(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    out += quote_literal(text);
  }
  return out += ']';
}

}  // namespace base::duckdb
