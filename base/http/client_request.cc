#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/http/client_connection.h"

namespace base::http {
namespace {

// Source: RFC 9110, section 5.6.2 (token).
bool is_token(std::string_view text) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.contains(c);
  });
}

// Anything but controls: a line break here would start a field, or a second
// request, of somebody else's choice.
bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    auto b = static_cast<unsigned char>(c);
    return (b >= 0x20 && b != 0x7f) || c == '\t';
  });
}

bool is_target(std::string_view text) {
  return text.starts_with('/') && std::ranges::all_of(text, [](char c) {
           auto b = static_cast<unsigned char>(c);
           return b > 0x20 && b < 0x7f && c != '#';
         });
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](auto n) { return equals_ignoring_case(name, n); });
}

// How the server tells where the body ends; empty where there is none.
std::string framing_of(const ClientRequest& request, const BodyStream& stream) {
  if (stream.source) {
    if (!stream.length) return "Transfer-Encoding: chunked\r\n";
    return fmt::format("Content-Length: {}\r\n", *stream.length);
  }
  const bool carries_body =
      request.body.size() > 0 || request.method == Method::kPost || request.method == Method::kPut;
  return carries_body ? fmt::format("Content-Length: {}\r\n", request.body.size()) : "";
}

}  // namespace

Result<WireRequest> WireRequest::make(const Origin& origin, const ClientRequest& request,
                                      const BodyStream& stream) {
  if (request.method == Method::kOther) return fail(ErrorKind::kInvalid, "no such method");
  if (!is_target(request.target)) return fail(ErrorKind::kInvalid, "not a request target");
  std::string head;
  auto out = std::back_inserter(head);
  fmt::format_to(out, "{} {} HTTP/1.1\r\nHost: {}\r\n", to_string(request.method), request.target,
                 origin.authority());
  for (const auto& field : request.headers.fields()) {
    if (!is_token(field.name) || !is_field_value(field.value) ||
        is_one_of(field.name, {"Transfer-Encoding", "Upgrade", "Expect", "TE"})) {
      return fail(ErrorKind::kInvalid, "a header field cannot be sent");
    }
    if (is_one_of(field.name, {"Host", "Content-Length"})) continue;
    fmt::format_to(out, "{}: {}\r\n", field.name, field.value);
  }
  head += framing_of(request, stream) + "\r\n";
  return WireRequest{.method = request.method, .head = Body(std::move(head)), .body = request.body};
}

}  // namespace base::http
