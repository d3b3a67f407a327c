#include "toolserver/connectors/sql/sql_faults.h"

#include <algorithm>
#include <utility>

#include "base/duckdb/errors.h"

namespace tool::connectors {
namespace {

// Where a path in a message may end.
bool ends_path(char c) {
  return static_cast<unsigned char>(c) <= 0x20 || std::string_view("\"'`,;()[]").contains(c);
}

bool begins_path(std::string_view text, std::size_t at) {
  if (text[at] != '/') return false;
  return at == 0 || ends_path(text[at - 1]) || text[at - 1] == ':' || text[at - 1] == '=';
}

// "a / b" and "/*" are SQL, not paths.
bool is_path(std::string_view word) {
  return word.size() > 1 && word[1] != '*' && word.find('/', 1) != std::string_view::npos;
}

}  // namespace

ToolResult sql_mistake(std::string message) {
  ToolResult result;
  result.content.push_back({"text/plain", std::move(message)});
  result.is_error = true;
  return result;
}

std::string without_paths(std::string_view message, std::string_view data_dir,
                          std::string_view own) {
  constexpr std::size_t kMost = 2000;
  std::string out;
  for (std::size_t at = 0; at < message.size();) {
    if (!begins_path(message, at)) {
      out += message[at++];
      continue;
    }
    std::size_t end = at;
    while (end < message.size() && !ends_path(message[end])) ++end;
    while (end > at + 1 && (message[end - 1] == ':' || message[end - 1] == '.')) --end;
    std::string_view word = message.substr(at, end - at);
    if (!data_dir.empty() && word.starts_with(data_dir) && word.size() > data_dir.size() + 1 &&
        word[data_dir.size()] == '/') {
      out += word.substr(data_dir.size() + 1);
    } else if (is_path(word) && !own.contains(word)) {
      out += "<path>";
    } else {
      out += word;
    }
    at = end;
  }
  if (out.size() > kMost) {
    std::size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;
    out = out.substr(0, end) + "...";
  }
  return out;
}

Outcome<ToolResult> engine_failure(const base::Error& error, const SqlCall& call,
                                   std::string_view data_dir, std::string_view own) {
  using base::ErrorKind;
  switch (error.kind()) {
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled:
      if (auto fault = call.ended()) return *std::move(fault);
      return refuse(Code::kTimeout, "sql: the statement was interrupted");
    case ErrorKind::kTooLarge:
      return Fault{Code::kLimit,
                   "sql: the statement needs more memory than it may have",
                   {},
                   error.detail()};
    case ErrorKind::kForbidden:
      return Fault{Code::kPolicy,
                   "sql: the engine does not allow what the statement reaches for",
                   {},
                   error.detail()};
    default: break;
  }
  if (base::duckdb::ends_database(base::duckdb::error_class(error.detail()))) {
    return Fault{Code::kInternal, "sql: the engine failed", {}, error.detail()};
  }
  std::string_view text = error.detail().empty() ? error.message() : error.detail();
  return sql_mistake(without_paths(text, data_dir, own));
}

}  // namespace tool::connectors
