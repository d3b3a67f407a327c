#include "toolserver/mcp/framing.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/core/text.h"
#include "base/crypto/encoding.h"

namespace tool::mcp {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kOpen = "=?base64?";
constexpr std::string_view kEnd = "?=";

base::Error too_large(std::string_view what) {
  return base::fail(base::ErrorKind::kTooLarge, std::string(what) + " is too large");
}

bool is_plain(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

base::Result<std::vector<std::string>> LineReader::feed(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    std::size_t end = bytes.find('\n');
    std::string_view piece = bytes.substr(0, end);
    failed_ = failed_ || begun_.size() + piece.size() > most_;
    if (failed_) return too_large("a line");
    begun_.append(piece);
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    if (begun_.ends_with('\r')) begun_.pop_back();
    if (!begun_.empty()) lines.push_back(std::move(begun_));
    begun_.clear();
  }
  return lines;
}

void append_event(std::string& out, std::string_view data) {
  out.append("event: message\ndata: ").append(data).append("\n\n");
}

base::Result<std::vector<Event>> EventReader::feed(std::string_view bytes) {
  std::vector<Event> events;
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    std::size_t end = bytes.find_first_of("\r\n");
    std::string_view piece = bytes.substr(0, end);
    failed_ = failed_ || line_.size() + event_.data.size() + piece.size() > most_;
    if (failed_) return too_large("an event");
    line_.append(piece);
    if (end == std::string_view::npos) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    std::string_view line = line_;
    if (std::exchange(at_start_, false) && line.starts_with(kByteOrderMark)) {
      line.remove_prefix(kByteOrderMark.size());
    }
    take_line(line, events);
    line_.clear();
  }
  return events;
}

void EventReader::take_line(std::string_view line, std::vector<Event>& events) {
  if (line.empty()) return dispatch(events);
  if (line.front() == ':') return;
  std::size_t colon = line.find(':');
  std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data.push_back('\n');
    event_.data.append(value);
    has_data_ = true;
  } else if (field == "event") {
    event_.type = value;
  } else if (field == "id" && !value.contains('\0')) {
    event_.id = value;
  } else if (field == "retry") {
    std::size_t time = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), time);
    if (error == std::errc() && end == value.data() + value.size()) retry_ = time;
  }
}

void EventReader::dispatch(std::vector<Event>& events) {
  Event event = std::exchange(event_, Event{});
  if (event.type.empty()) event.type = "message";
  if (std::exchange(has_data_, false) || !event.id.empty()) events.push_back(std::move(event));
}

std::string encode_header(std::string_view text) {
  bool looks_encoded = text.starts_with(kOpen) && text.ends_with(kEnd);
  if (is_plain(text) && !looks_encoded) return std::string(text);
  return std::string(kOpen) + base::crypto::to_base64(text) + std::string(kEnd);
}

std::optional<std::string> decode_header(std::string_view value) {
  if (!value.starts_with(kOpen) || !value.ends_with(kEnd)) {
    if (!base::is_utf8(value)) return std::nullopt;
    return std::string(value);
  }
  if (value.size() < kOpen.size() + kEnd.size()) return std::nullopt;
  value.remove_prefix(kOpen.size());
  value.remove_suffix(kEnd.size());
  auto text = base::crypto::from_base64(value, value.size());
  if (!text || !base::is_utf8(*text)) return std::nullopt;
  return std::move(*text);
}

}  // namespace tool::mcp
