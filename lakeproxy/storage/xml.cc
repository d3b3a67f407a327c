#include "lakeproxy/storage/xml.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/core/text.h"

namespace lake::storage {
namespace {

base::Error corrupt(std::string message) {
  return base::fail(base::ErrorKind::kCorrupt, "XML: " + std::move(message));
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool is_name_character(char c) {
  auto b = static_cast<unsigned char>(c);
  return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == '_' ||
         b == '-' || b == '.' || b == ':' || b >= 0x80;
}

void append_utf8(std::string& out, std::uint32_t code) {
  auto push = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xC0 | code >> 6);
    push(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    push(0xE0 | code >> 12);
    push(0x80 | (code >> 6 & 0x3F));
    push(0x80 | (code & 0x3F));
  } else {
    push(0xF0 | code >> 18);
    push(0x80 | (code >> 12 & 0x3F));
    push(0x80 | (code >> 6 & 0x3F));
    push(0x80 | (code & 0x3F));
  }
}

// "#38" or "#x26", without '&' and ';'.
std::optional<std::uint32_t> numeric_reference(std::string_view name) {
  if (!name.starts_with('#')) return std::nullopt;
  name.remove_prefix(1);
  int radix = name.starts_with('x') ? 16 : 10;
  if (radix == 16) name.remove_prefix(1);
  std::uint32_t code = 0;
  auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), code, radix);
  bool whole = failed == std::errc{} && end == name.data() + name.size();
  bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (!whole || code == 0 || code > 0x10FFFF || surrogate) return std::nullopt;
  return code;
}

class Parser {
 public:
  Parser(std::string_view document, XmlLimits limits) : rest_(document), limits_(limits) {}

  base::Result<XmlElement> parse();

 private:
  base::Status markup();
  base::Status open_tag();
  base::Status close_tag();
  void close_element();
  base::Status skip_past(std::string_view end);
  base::Status character_data(std::string_view raw);
  base::Status cdata();
  base::Result<std::string_view> name();
  base::Result<bool> attributes_then_empty();
  void skip_spaces() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  std::string_view rest_;
  XmlLimits limits_;
  std::size_t elements_ = 0;
  std::vector<XmlElement> open_;  // The way from the root; children move up when closed.
  std::optional<XmlElement> root_;
};

base::Result<XmlElement> Parser::parse() {
  if (rest_.size() > limits_.bytes) {
    return base::fail(base::ErrorKind::kTooLarge, "XML: too many bytes");
  }
  if (!base::is_utf8(rest_)) return corrupt("not UTF-8");
  take("\xef\xbb\xbf");
  while (!rest_.empty()) {
    auto end = std::min(rest_.find('<'), rest_.size());
    RETURN_IF_ERROR(character_data(rest_.substr(0, end)));
    rest_.remove_prefix(end);
    if (!rest_.empty()) RETURN_IF_ERROR(markup());
  }
  if (!root_ || !open_.empty()) return corrupt("ends too early");
  return std::move(*root_);
}

base::Status Parser::markup() {
  if (take("<?")) return skip_past("?>");
  if (take("<!--")) return skip_past("-->");
  if (take("<![CDATA[")) return cdata();
  if (take("<!")) return corrupt("a document type is not accepted");
  if (take("</")) return close_tag();
  take("<");
  return open_tag();
}

base::Status Parser::skip_past(std::string_view end) {
  auto at = rest_.find(end);
  if (at == std::string_view::npos) return corrupt("ends too early");
  rest_.remove_prefix(at + end.size());
  return {};
}

base::Status Parser::cdata() {
  auto at = rest_.find("]]>");
  if (at == std::string_view::npos || open_.empty()) return corrupt("misplaced CDATA");
  open_.back().text += rest_.substr(0, at);
  rest_.remove_prefix(at + 3);
  return {};
}

base::Status Parser::character_data(std::string_view raw) {
  if (open_.empty()) {
    return std::ranges::all_of(raw, is_space) ? base::Status() : corrupt("text outside the root");
  }
  std::string& out = open_.back().text;
  while (!raw.empty()) {
    auto at = std::min(raw.find('&'), raw.size());
    out += raw.substr(0, at);
    raw.remove_prefix(at);
    if (raw.empty()) break;
    auto end = raw.find(';');
    if (end == std::string_view::npos) return corrupt("a broken reference");
    auto reference = raw.substr(1, end - 1);
    raw.remove_prefix(end + 1);
    if (auto code = numeric_reference(reference)) {
      append_utf8(out, *code);
    } else if (reference == "amp") {
      out += '&';
    } else if (reference == "lt") {
      out += '<';
    } else if (reference == "gt") {
      out += '>';
    } else if (reference == "quot") {
      out += '"';
    } else if (reference == "apos") {
      out += '\'';
    } else {
      return corrupt("an unknown reference");
    }
  }
  return {};
}

base::Result<std::string_view> Parser::name() {
  std::size_t size = 0;
  while (size < rest_.size() && is_name_character(rest_[size])) ++size;
  auto local = rest_.substr(0, size);
  rest_.remove_prefix(size);
  local.remove_prefix(local.rfind(':') + 1);  // Without a prefix that is 0.
  if (local.empty()) return corrupt("a name is missing");
  return local;
}

// Reads to the end of a start tag; true when the element ends with it.
base::Result<bool> Parser::attributes_then_empty() {
  while (true) {
    skip_spaces();
    if (take("/>")) return true;
    if (take(">")) return false;
    RETURN_IF_ERROR(name());
    skip_spaces();
    if (!take("=")) return corrupt("a broken attribute");
    skip_spaces();
    bool single = take("'");
    if (!single && !take("\"")) return corrupt("a broken attribute");
    RETURN_IF_ERROR(skip_past(single ? "'" : "\""));
  }
}

base::Status Parser::open_tag() {
  if (root_) return corrupt("a second root");
  if (open_.size() >= limits_.depth || ++elements_ > limits_.elements) {
    return base::fail(base::ErrorKind::kTooLarge, "XML: too deep or too many elements");
  }
  ASSIGN_OR_RETURN(std::string_view element, name());
  open_.push_back({.name = std::string(element)});
  ASSIGN_OR_RETURN(bool empty, attributes_then_empty());
  if (empty) close_element();
  return {};
}

base::Status Parser::close_tag() {
  ASSIGN_OR_RETURN(std::string_view element, name());
  skip_spaces();
  if (!take(">") || open_.empty() || open_.back().name != element)
    return corrupt("a wrong end tag");
  close_element();
  return {};
}

void Parser::close_element() {
  XmlElement done = std::move(open_.back());
  open_.pop_back();
  if (open_.empty()) {
    root_ = std::move(done);
  } else {
    open_.back().children.push_back(std::move(done));
  }
}

}  // namespace

const XmlElement* XmlElement::child(std::string_view wanted) const {
  auto at = std::ranges::find(children, wanted, &XmlElement::name);
  return at == children.end() ? nullptr : &*at;
}

std::string_view XmlElement::text_of(std::string_view wanted) const {
  const XmlElement* found = child(wanted);
  return found == nullptr ? std::string_view() : std::string_view(found->text);
}

base::Result<XmlElement> parse_xml(std::string_view document, XmlLimits limits) {
  return Parser(document, limits).parse();
}

std::string escape_xml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&apos;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace lake::storage
