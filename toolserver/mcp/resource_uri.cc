#include "toolserver/mcp/resource_uri.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tool::mcp {
namespace {

constexpr std::size_t kMostParts = 16;

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_small(c) || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Source: RFC 3986, section 2.3; and the escapes of section 2.1.
bool is_unreserved(char c) {
  return is_letter(c) || is_digit(c) || std::string_view("-._~%").contains(c);
}
// With section 2.2.
bool is_of_uri(char c) {
  return is_unreserved(c) || std::string_view(":/?#[]@!$&'()*+,;=").contains(c);
}

bool escapes_are_whole(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return false;
  }
  return true;
}

// What a server may take for another path than the one that it was approved for.
bool has_odd_path(std::string_view uri) {
  std::string plain;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    if (uri[i] != '%') {
      plain += uri[i];
      continue;
    }
    std::string code(uri.substr(i + 1, 2));
    std::ranges::transform(code, code.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (code == "2f" || code == "5c" || code == "00") return true;
    if (code == "2e") {
      plain += '.';
    } else {
      plain += "%" + code;
    }
    i += 2;
  }
  std::string_view rest = plain;
  while (true) {
    std::size_t end = rest.find_first_of("/?#:;=&");
    std::string_view segment = rest.substr(0, end);
    if (segment == "." || segment == "..") return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
}

base::Error bad_template(std::string rule) {
  return base::fail(base::ErrorKind::kInvalid, "uriTemplate: " + std::move(rule));
}

bool is_variable(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '.';
  });
}

}  // namespace

bool is_uri(std::string_view text) {
  std::size_t colon = text.find(':');
  if (text.size() > kUriBytes || colon == std::string_view::npos || !is_letter(text[0])) {
    return false;
  }
  bool has_scheme = std::ranges::all_of(text.substr(0, colon), [](char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  });
  return has_scheme && colon + 1 < text.size() && std::ranges::all_of(text, is_of_uri) &&
         escapes_are_whole(text);
}

std::string outer_uri(std::string_view server, std::string_view uri) {
  std::string out(server);
  std::ranges::replace(out, '_', '.');
  out += '+';
  out += uri;
  return out;
}

std::optional<ServerUri> inner_uri(std::string_view outer) {
  if (outer.size() > kOuterUriBytes) return std::nullopt;
  std::size_t plus = outer.find('+');
  if (plus == std::string_view::npos || plus == 0 || plus > 64) return std::nullopt;
  std::string server(outer.substr(0, plus));
  bool is_name = is_small(server[0]) && std::ranges::all_of(server, [](char c) {
                   return is_small(c) || is_digit(c) || c == '-' || c == '.';
                 });
  std::string_view uri = outer.substr(plus + 1);
  if (!is_name || !is_uri(uri)) return std::nullopt;
  std::ranges::replace(server, '.', '_');
  return ServerUri{std::move(server), std::string(uri)};
}

base::Result<UriTemplate> UriTemplate::parse(std::string_view text) {
  if (text.size() > kTemplateBytes) return bad_template("is over 1,024 bytes");
  UriTemplate out(text);
  std::string shape;  // With an 'x' for each expression: it must be a URI.
  std::size_t expressions = 0;
  while (!text.empty()) {
    std::size_t open = text.find('{');
    if (open > 0) {
      std::string literal(text.substr(0, open));
      shape += literal;
      out.parts_.push_back({Part::Kind::kLiteral, std::move(literal)});
      text.remove_prefix(std::min(open, text.size()));
      continue;
    }
    std::size_t close = text.find('}');
    if (close == std::string_view::npos) return bad_template("'{' has no '}'");
    std::string_view name = text.substr(1, close - 1);
    bool is_reserved = name.starts_with('+');
    if (is_reserved) name.remove_prefix(1);
    if (!is_variable(name)) return bad_template("an expression is neither {name} nor {+name}");
    if (!shape.contains(':')) return bad_template("its scheme must be a word");
    if (++expressions > kMostParts) return bad_template("has more than 16 expressions");
    out.parts_.push_back({is_reserved ? Part::Kind::kReserved : Part::Kind::kSimple, {}});
    shape += 'x';
    text.remove_prefix(close + 1);
  }
  if (!is_uri(shape)) return bad_template("is not of a URI");
  return out;
}

// All ways at once: `ends` holds where what was matched so far may end.
bool UriTemplate::matches(std::string_view uri) const {
  std::vector<bool> ends(uri.size() + 1, false);
  ends[0] = true;
  for (const Part& part : parts_) {
    std::vector<bool> next(uri.size() + 1, false);
    if (part.kind == Part::Kind::kLiteral) {
      for (std::size_t at = 0; at + part.text.size() <= uri.size(); ++at) {
        if (ends[at] && uri.substr(at).starts_with(part.text)) next[at + part.text.size()] = true;
      }
    } else {
      auto* is_allowed = part.kind == Part::Kind::kSimple ? is_unreserved : is_of_uri;
      bool is_within = false;  // Whether the expression may go on at `at`.
      for (std::size_t at = 0; at < uri.size(); ++at) {
        is_within = (is_within || ends[at]) && is_allowed(uri[at]);
        next[at + 1] = is_within;
      }
    }
    ends = std::move(next);
  }
  return ends[uri.size()] && !has_odd_path(uri);
}

}  // namespace tool::mcp
