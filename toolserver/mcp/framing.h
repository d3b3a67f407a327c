#pragma once

// How messages stand one after another in a stream: a line each on standard
// input and output, events on HTTP. Both are read a piece at a time, from
// somebody who may never end what he began: so both have a bound.
// Sources: Model Context Protocol, "Transports"; WHATWG HTML, "Server-sent
// events"; MCP 2026-07-28, "Streamable HTTP: Header encoding".

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace tool::mcp {

/// Parts a stream into lines at "\n"; a "\r" before it goes too. Empty lines
/// are left out.
class LineReader {
 public:
  explicit LineReader(std::size_t most_bytes) : most_(most_bytes) {}
  /// The lines that `bytes` complete.
  /// Errors: kTooLarge  a line is over the bound; nothing more can be read.
  [[nodiscard]] base::Result<std::vector<std::string>> feed(std::string_view bytes);

 private:
  const std::size_t most_;
  std::string begun_;
  bool failed_ = false;
};

struct Event {
  std::string data;
  std::string type;  ///< "message" when none is named.
  std::string id;    ///< Of this event; empty when it has none.

  friend bool operator==(const Event&, const Event&) = default;
};

/// One event of type "message", ready to be sent. `data` has no line breaks.
void append_event(std::string& out, std::string_view data);
/// What keeps a silent stream open and means nothing.
inline constexpr std::string_view kKeepAlive = ": keep-alive\n\n";

/// Parts a stream into events. Comments and fields that mean nothing to MCP are
/// left out, and so is an event without data, as the standard has it; all but
/// that which only tells an id.
class EventReader {
 public:
  explicit EventReader(std::size_t most_bytes) : most_(most_bytes) {}
  /// The events that `bytes` complete.
  /// Errors: kTooLarge  an event or a line is over the bound; nothing more can
  /// be read.
  [[nodiscard]] base::Result<std::vector<Event>> feed(std::string_view bytes);
  /// What the last `retry` field asked for, in milliseconds.
  [[nodiscard]] std::optional<std::size_t> retry() const { return retry_; }

 private:
  void take_line(std::string_view line, std::vector<Event>& events);
  void dispatch(std::vector<Event>& events);

  const std::size_t most_;
  std::string line_;
  Event event_;
  bool has_data_ = false;
  bool at_start_ = true;   // Where a byte order mark may stand.
  bool after_cr_ = false;  // The next "\n" belongs to the line before.
  bool failed_ = false;
  std::optional<std::size_t> retry_;
};

/// A text as the value of a header field: as it is where it is visible ASCII
/// without white space at its ends, else "=?base64?...?=".
[[nodiscard]] std::string encode_header(std::string_view text);
/// The text of such a value. Nothing where the base64 is broken, or where the text
/// is not UTF-8 in either form.
[[nodiscard]] std::optional<std::string> decode_header(std::string_view value);

}  // namespace tool::mcp
