#include "base/http/request_head.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstring>
#include <limits>

#include "base/core/text.h"

namespace base::http {
namespace {

namespace beast = boost::beast;
using ErrorCode = beast::error_code;

constexpr std::size_t kUsualFields = 12;

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// Source: RFC 9110, section 5.6.2.
bool is_token_char(char c) {
  return is_alphanumeric(c) || (c != '\0' && std::strchr("!#$%&'*+-.^_`|~", c) != nullptr);
}

// Characters of an authority without user information. Source: RFC 3986, section 3.2.
bool is_authority(std::string_view text) {
  constexpr std::string_view kOthers = "-._~%!$&'()*+,;=:[]";
  for (char c : text) {
    if (!is_alphanumeric(c) && !kOthers.contains(c)) return false;
  }
  return true;
}

bool iequals(std::string_view a, std::string_view b) {
  return beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

// Whether the request line ends with an HTTP version, of whatever number.
bool names_a_version(std::string_view head) {
  std::string_view line = head.substr(0, head.find("\r\n"));
  if (std::ranges::count(line, ' ') != 2 || line.contains('\n')) return false;
  std::string_view version = line.substr(line.rfind(' ') + 1);
  auto digit = [&](std::size_t i) { return version[i] >= '0' && version[i] <= '9'; };
  return version.size() == 8 && version.starts_with("HTTP/") && digit(5) && version[6] == '.' &&
         digit(7);
}

// Fills a RequestHead while Beast reads the grammar. The first refusal stands.
class HeadParser final : public beast::http::basic_parser<true> {
 public:
  explicit HeadParser(RequestHead& head) : head_(head) {
    header_limit(std::numeric_limits<std::uint32_t>::max());  // The connection's bound counts.
    skip(true);                                               // Bodies are framed by the caller.
  }

  std::optional<Refused> finish();

 private:
  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                       int version, ErrorCode& ec) override;
  void on_field_impl(beast::http::field field, beast::string_view name, beast::string_view value,
                     ErrorCode& ec) override;
  void on_response_impl(int, beast::string_view, int, ErrorCode&) override {}
  void on_header_impl(ErrorCode& ec) override { ec = {}; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode& ec) override { ec = {}; }
  std::size_t on_body_impl(beast::string_view, ErrorCode&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view, ErrorCode&) override {
    return 0;
  }
  void on_finish_impl(ErrorCode& ec) override { ec = {}; }

  void refuse(unsigned status, std::string_view message) {
    if (!refused_) refused_ = Refused{status, message};
  }
  void take_target(std::string_view target);
  void take_host(std::string_view value);
  void take_length(std::string_view value);
  void take_coding(std::string_view value);
  void take_expectation(std::string_view value);

  RequestHead& head_;
  std::optional<Refused> refused_;
  unsigned hosts_ = 0;
  unsigned lengths_ = 0;
  unsigned codings_ = 0;
};

void HeadParser::on_request_impl(beast::http::verb, beast::string_view method,
                                 beast::string_view target, int version, ErrorCode& ec) {
  ec = {};
  head_.request.method = base::http::parse_method({method.data(), method.size()});
  head_.http_1_0 = version == 10;
  head_.request.headers.reserve(kUsualFields);
  take_target({target.data(), target.size()});
}

void HeadParser::take_target(std::string_view target) {
  if (target.contains('#')) return refuse(400, "bad request target");
  for (std::string_view scheme : {"http://", "https://"}) {
    if (target.size() < scheme.size() || !iequals(target.substr(0, scheme.size()), scheme))
      continue;
    std::string_view rest = target.substr(scheme.size());
    std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    if (end == 0 || !is_authority(rest.substr(0, end))) return refuse(400, "bad request target");
    rest.remove_prefix(end);
    head_.request.target = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
    return;
  }
  bool whole_server = target == "*" && head_.request.method == Method::kOther;
  if (!target.starts_with('/') && !whole_server) return refuse(400, "bad request target");
  head_.request.target = target;
}

void HeadParser::on_field_impl(beast::http::field field, beast::string_view name,
                               beast::string_view text, ErrorCode& ec) {
  ec = {};
  std::string_view value(text.data(), text.size());
  using enum beast::http::field;
  switch (field) {
    case host: take_host(value); break;
    case content_length: take_length(value); break;
    case transfer_encoding: take_coding(value); break;
    case expect: take_expectation(value); break;
    default: break;
  }
  head_.request.headers.add(std::string(name.data(), name.size()), std::string(value));
}

void HeadParser::take_host(std::string_view value) {
  if (++hosts_ > 1) return refuse(400, "more than one Host");
  if (!is_authority(value)) refuse(400, "bad Host");
}

void HeadParser::take_length(std::string_view value) {
  // A list of equal lengths is lawful, and is what smuggling starts with.
  if (++lengths_ > 1) return refuse(400, "more than one Content-Length");
  std::optional<std::int64_t> length = parse_int64(value);
  if (!length || *length < 0 || value.starts_with('-')) return refuse(400, "bad Content-Length");
  head_.length = static_cast<std::uint64_t>(*length);
}

void HeadParser::take_coding(std::string_view value) {
  if (++codings_ > 1) return refuse(400, "more than one Transfer-Encoding");
  if (!iequals(value, "chunked")) return refuse(501, "transfer coding not supported");
  head_.framing = Framing::kChunked;
}

void HeadParser::take_expectation(std::string_view value) {
  if (!iequals(value, "100-continue")) return refuse(417, "expectation not supported");
  head_.expects_continue = true;
}

std::optional<Refused> HeadParser::finish() {
  if (lengths_ > 0 && codings_ > 0) return Refused{400, "Content-Length and Transfer-Encoding"};
  if (codings_ > 0 && head_.http_1_0) return Refused{400, "Transfer-Encoding in HTTP/1.0"};
  if (refused_) return refused_;
  if (hosts_ == 0 && !head_.http_1_0) return Refused{400, "no Host"};
  head_.keep_alive = keep_alive();
  head_.expects_continue = head_.expects_continue && !head_.http_1_0;
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t scanned) {
  std::size_t from = scanned < 3 ? 0 : scanned - 3;
  std::size_t end = bytes.find("\r\n\r\n", from);
  if (end == std::string_view::npos) return std::nullopt;
  return end + 4;
}

std::optional<Refused> check_partial_head(std::string_view bytes) {
  if (bytes.empty() || bytes == "\r") return std::nullopt;  // May become an empty line.
  if (!is_token_char(bytes.front())) return Refused{400, "not an HTTP request"};
  std::size_t line = bytes.find('\n');
  if (line != std::string_view::npos && bytes[line - 1] != '\r') {
    return Refused{400, "bad line ending"};
  }
  return std::nullopt;
}

std::expected<RequestHead, Refused> parse_head(std::string_view bytes) {
  RequestHead head;
  HeadParser parser(head);
  ErrorCode ec;
  std::size_t used = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
  if (ec == beast::http::error::bad_version && names_a_version(bytes)) {
    return std::unexpected(Refused{505, "HTTP version not supported"});
  }
  // Beast stops at the first empty line; so did find_head_end(), or the two
  // disagree about the end of the head and nothing after it can be trusted.
  if (ec || !parser.is_header_done() || used != bytes.size()) {
    return std::unexpected(Refused{400, "malformed request"});
  }
  if (std::optional<Refused> refused = parser.finish()) return std::unexpected(*refused);
  return head;
}

}  // namespace base::http
