// Any bytes as the head of a request or of an answer. A head ends at the same place however it
// comes in; one that is taken has one framing, no control characters, and is taken again as it is
// written; and no value of an answer's field starts another field.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/http/client.h"
#include "base/http/request_head.h"
#include "base/http/response_head.h"
#include "base/websocket/handshake.h"

namespace {

using base::http::Framing;
using base::http::Headers;
using base::http::Method;
using base::http::RequestHead;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_clean(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f';
  });
}

void check_end(std::string_view bytes) {
  const auto end = base::http::find_head_end(bytes, 0);
  if (!end) return;
  require(*end >= 4 && *end <= bytes.size());
  for (std::size_t scanned : {*end / 2, *end - 1}) {
    require(!base::http::find_head_end(bytes.substr(0, scanned), 0));
    require(base::http::find_head_end(bytes, scanned) == end);
  }
}

std::string write(const RequestHead& head) {
  std::string_view method = head.request.method == Method::kOther ? std::string_view("OPTIONS")
                                                                  : to_string(head.request.method);
  std::string text(method);
  text += " " + head.request.target + (head.http_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
  for (const auto& field : head.request.headers.fields()) {
    text += field.name + ": " + field.value + "\r\n";
  }
  return text + "\r\n";
}

bool same(const Headers& a, const Headers& b) {
  return std::ranges::equal(a.fields(), b.fields(), [](const auto& one, const auto& other) {
    return one.name == other.name && one.value == other.value;
  });
}

void check_request(std::string_view bytes) {
  const auto end = base::http::find_head_end(bytes, 0);
  if (!end) return (void)base::http::check_partial_head(bytes);
  const std::string_view text = bytes.substr(0, *end);
  const auto head = base::http::parse_head(text);
  if (!head) return require(head.error().status >= 400 && !head.error().message.empty());
  // What will be taken is not refused while it is still on its way.
  for (std::size_t size : {std::size_t{1}, text.size() / 2, text.size() - 1}) {
    require(text.starts_with('\r') || !base::http::check_partial_head(text.substr(0, size)));
  }
  require(is_clean(head->request.target));
  for (const auto& field : head->request.headers.fields()) {
    require(!field.name.empty() && is_clean(field.name) && is_clean(field.value));
  }
  require(head->framing == Framing::kLength || (head->length == 0 && !head->http_1_0));
  (void)head->request.query("a");
  require(head->request.target.starts_with(head->request.path()));
  const auto again = base::http::parse_head(write(*head));
  require(again && again->request.target == head->request.target &&
          again->request.method == head->request.method && again->framing == head->framing &&
          again->length == head->length && again->keep_alive == head->keep_alive &&
          again->expects_continue == head->expects_continue &&
          same(again->request.headers, head->request.headers));
}

void check_answer(std::string_view bytes) {
  const auto answer = base::ws::parse_answer(bytes);
  if (!answer) return;
  (void)base::ws::list_of(answer->headers, "Sec-WebSocket-Protocol");
  for (const auto& field : answer->headers.fields()) {
    require(field.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  }
}

// The bytes as fields that a handler answers with, a name and a value a line.
void check_written(std::string_view bytes) {
  base::http::Response response;
  while (!bytes.empty()) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
    const std::size_t colon = std::min(line.find(':'), line.size());
    response.headers.add(std::string(line.substr(0, colon)), std::string(line.substr(colon)));
  }
  std::string out;
  base::http::append_head(out, response,
                          {.persistence = base::http::Persistence::kKeepAlive,
                           .request_id = 1,
                           .date = "Fri, 27 Nov 2026 00:00:00 GMT"});
  require(base::http::find_head_end(out, 0) == out.size());
  const auto read = base::ws::parse_answer(out);
  // Beside the handler's: Date, X-Request-Id and Content-Length.
  require(read && read->headers.fields().size() <= response.headers.fields().size() + 3);
}

void check_origin(std::string_view text) {
  const auto origin = base::http::Origin::parse(text);
  if (!origin) return;
  const std::string url = (origin->encrypted ? "https://" : "http://") + origin->authority();
  const auto again = base::http::Origin::parse(url);
  require(again && again->host == origin->host && again->port == origin->port &&
          again->encrypted == origin->encrypted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_end(bytes);
  check_request(bytes);
  check_answer(bytes);
  check_written(bytes);
  check_origin(bytes.substr(0, bytes.find('\r')));
  return 0;
}
