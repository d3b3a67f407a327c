#include "base/log/line.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json/json.h"

namespace base::log {
namespace {

void append_time(std::string& out, WallTime time) {
  auto day = std::chrono::floor<std::chrono::days>(time);
  std::chrono::year_month_day date(day);
  std::chrono::hh_mm_ss clock(time - day);
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                 clock.seconds().count(), clock.subseconds().count());
}

// JSON lets DEL and the C1 controls pass as they are; a terminal obeys them.
std::string escape_terminal(std::string_view quoted) {
  std::string out;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    auto byte = static_cast<unsigned char>(quoted[i]);
    auto next = i + 1 < quoted.size() ? static_cast<unsigned char>(quoted[i + 1]) : 0U;
    if (byte == 0x7f) {
      out += "\\u007f";
    } else if (byte == 0xC2 && next < 0xA0) {
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      out += quoted[i];
    }
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out;
  json::append_quoted(out, text.substr(0, kMaxText));
  if (out.find_first_of("\x7f\xC2") != std::string::npos) return escape_terminal(out);
  return out;
}

std::string value_text(const Field::Value& value) {
  struct Show {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::to_string(number); }
    std::string operator()(std::uint64_t number) const { return fmt::to_string(number); }
    std::string operator()(std::string_view text) const { return quoted(text); }
    std::string operator()(double number) const {
      // JSON has no word for these; a string keeps the line readable.
      return std::isfinite(number) ? fmt::to_string(number) : fmt::format("\"{}\"", number);
    }
  };
  return std::visit(Show{}, value);
}

std::string json_line(const Record& record) {
  std::string out = "{\"ts\":\"";
  append_time(out, record.time);
  out += "\",\"level\":\"";
  out += to_string(record.level);
  out += "\",\"msg\":" + quoted(record.message);
  if (!record.request_id.empty()) out += ",\"request_id\":" + quoted(record.request_id);
  for (const Field& field : record.fields) {
    out += ",\"";
    out += field.key();
    out += "\":" + value_text(field.value());
  }
  out += "}\n";
  return out;
}

std::string text_line(const Record& record) {
  std::string out;
  append_time(out, record.time);
  fmt::format_to(std::back_inserter(out), " {:<7} ", to_string(record.level));
  // Escaped like a value, without the quotes: a message is a sentence.
  std::string message = quoted(record.message);
  out += std::string_view(message).substr(1, message.size() - 2);
  if (!record.request_id.empty()) out += " request_id=" + quoted(record.request_id);
  for (const Field& field : record.fields) {
    out += ' ';
    out += field.key();
    out += '=' + value_text(field.value());
  }
  out += '\n';
  return out;
}

}  // namespace

std::string_view to_string(Level level) {
  switch (level) {
    case Level::kDebug: return "debug";
    case Level::kInfo: return "info";
    case Level::kWarning: return "warning";
    case Level::kError: return "error";
  }
  return "error";
}

std::string format_line(Format format, const Record& record) {
  return format == Format::kJson ? json_line(record) : text_line(record);
}

}  // namespace base::log
