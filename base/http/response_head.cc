#include "base/http/response_head.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace base::http {
namespace {

// Source: RFC 9110, section 15. The phrase means nothing to a client, so an
// unlisted status has none.
std::string_view reason_phrase(unsigned status) {
  switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "";
  }
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view name, std::string_view lower_case) {
  return std::ranges::equal(name, lower_case, {}, lower);
}

bool is_servers_own(std::string_view name) {
  switch (name.size()) {
    case 4: return same_name(name, "date");
    case 10: return same_name(name, "connection");
    case 12: return same_name(name, "x-request-id");
    case 14: return same_name(name, "content-length");
    case 17: return same_name(name, "transfer-encoding");
    default: return false;
  }
}

bool is_control(char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f; }

bool is_field_name(std::string_view name) {
  constexpr std::string_view kSeparators = "\"(),/:;<=>?@[\\]{} \t";
  return !name.empty() && std::ranges::none_of(name, [&](char c) {
    return is_control(c) || static_cast<unsigned char>(c) > 0x7f || kSeparators.contains(c);
  });
}

void append_value(std::string& out, std::string_view value) {
  std::size_t start = out.size();
  out.append(value);
  std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(start), out.end(), is_control, ' ');
}

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits;
  auto [end, ec] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end);
}

void append_id(std::string& out, std::uint64_t id) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kHex[(id >> shift) & 15]);
}

std::string_view connection_field(Persistence persistence) {
  switch (persistence) {
    case Persistence::kKeepAlive: return "\r\n";
    case Persistence::kKeepAliveHttp10: return "\r\nConnection: keep-alive\r\n";
    case Persistence::kClose: return "\r\nConnection: close\r\n";
    case Persistence::kUpgrade: return "\r\nConnection: Upgrade\r\n";
  }
  return "\r\nConnection: close\r\n";
}

void append_framing(std::string& out, const Response& response,
                    const std::optional<StreamFraming>& stream) {
  if (stream && !stream->length) {
    if (stream->chunked) out.append("Transfer-Encoding: chunked\r\n");
    return;
  }
  out.append("Content-Length: ");
  append_number(out, stream ? *stream->length : response.body.size());
  out.append("\r\n");
}

}  // namespace

std::string_view DateCache::at(std::chrono::steady_clock::time_point now) {
  if (now < valid_until_) return text_;
  auto wall = std::chrono::system_clock::now();
  auto second = std::chrono::floor<std::chrono::seconds>(wall);
  text_ =
      fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(second.time_since_epoch().count()));
  valid_until_ = now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                           second + std::chrono::seconds(1) - wall);
  return text_;
}

bool may_have_body(unsigned status) { return status >= 200 && status != 204 && status != 304; }

void append_head(std::string& out, const Response& response, const HeadContext& context) {
  out.append("HTTP/1.1 ");
  append_number(out, response.status);
  out.push_back(' ');
  out.append(reason_phrase(response.status));
  out.append("\r\nDate: ").append(context.date);
  out.append("\r\nX-Request-Id: ");
  append_id(out, context.request_id);
  out.append(connection_field(context.persistence));
  for (const Headers::Field& field : response.headers.fields()) {
    if (is_servers_own(field.name) || !is_field_name(field.name)) continue;
    out.append(field.name).append(": ");
    append_value(out, field.value);
    out.append("\r\n");
  }
  if (may_have_body(response.status)) append_framing(out, response, context.stream);
  out.append("\r\n");
}

}  // namespace base::http
