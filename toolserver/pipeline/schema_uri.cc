#include "toolserver/pipeline/schema_uri.h"

#include <algorithm>
#include <optional>

namespace tool::pipeline {
namespace {

struct Parts {
  std::optional<std::string_view> scheme;
  std::optional<std::string_view> authority;
  std::string_view path;
  std::optional<std::string_view> query;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Source: RFC 3986, section 3.1.
bool is_scheme(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

// Source: RFC 3986, section 3 and appendix B.
Parts parts_of(std::string_view text) {
  Parts out;
  text = text.substr(0, text.find('#'));
  if (auto end = text.find('?'); end != std::string_view::npos) {
    out.query = text.substr(end + 1);
    text = text.substr(0, end);
  }
  if (auto end = text.find_first_of(":/");
      end != std::string_view::npos && text[end] == ':' && is_scheme(text.substr(0, end))) {
    out.scheme = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    auto end = std::min(text.find('/'), text.size());
    out.authority = text.substr(0, end);
    text.remove_prefix(end);
  }
  out.path = text;
  return out;
}

void drop_last_segment(std::string& path) {
  auto last = path.rfind('/');
  path.resize(last == std::string::npos ? 0 : last);
}

// Source: RFC 3986, section 5.2.4, step by step.
std::string without_dots(std::string_view in) {
  std::string out;
  while (!in.empty()) {
    if (in.starts_with("../")) {
      in.remove_prefix(3);
    } else if (in.starts_with("./") || in.starts_with("/./")) {
      in.remove_prefix(2);
    } else if (in == "/.") {
      in = "/";
    } else if (in.starts_with("/../")) {
      in.remove_prefix(3);
      drop_last_segment(out);
    } else if (in == "/..") {
      in = "/";
      drop_last_segment(out);
    } else if (in == "." || in == "..") {
      in = {};
    } else {
      auto end = std::min(in.find('/', 1), in.size());
      out += in.substr(0, end);
      in.remove_prefix(end);
    }
  }
  return out;
}

// Source: RFC 3986, section 5.2.3.
std::string merged(const Parts& base, std::string_view path) {
  if (base.authority && base.path.empty()) return "/" + std::string(path);
  auto last = base.path.rfind('/');
  std::string out(last == std::string_view::npos ? "" : base.path.substr(0, last + 1));
  return out += path;
}

// Source: RFC 3986, section 5.3.
std::string composed(const Parts& parts, std::string_view path) {
  std::string out;
  if (parts.scheme) out.append(*parts.scheme).append(":");
  if (parts.authority) out.append("//").append(*parts.authority);
  out += path;
  if (parts.query) out.append("?").append(*parts.query);
  return out;
}

}  // namespace

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const Parts from = parts_of(base);
  Parts to = parts_of(reference);
  if (to.scheme) return composed(to, without_dots(to.path));
  to.scheme = from.scheme;
  if (to.authority) return composed(to, without_dots(to.path));
  to.authority = from.authority;
  if (to.path.empty()) {
    if (!to.query) to.query = from.query;
    return composed(to, from.path);
  }
  if (to.path.starts_with('/')) return composed(to, without_dots(to.path));
  return composed(to, without_dots(merged(from, to.path)));
}

}  // namespace tool::pipeline
