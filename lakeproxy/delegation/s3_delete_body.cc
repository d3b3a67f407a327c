#include <algorithm>

#include "lakeproxy/delegation/s3_request.h"
#include "lakeproxy/storage/xml.h"

namespace lake::delegation {
namespace {

using base::Result;
using storage::ObjectKey;
using storage::XmlElement;

constexpr std::size_t kMaxObjects = 1000;  // A rule of S3.
// A thousand keys of 1,024 bytes, some of them escaped.
constexpr storage::XmlLimits kLimits{.bytes = 4 << 20, .depth = 3, .elements = 2 * kMaxObjects + 3};

base::Error malformed(std::string message) {
  return base::fail(base::ErrorKind::kInvalid, "body: " + std::move(message)).with_reason(kBadBody);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Readers of XML differ in what they make of comments and instructions within a name, of CDATA, of
// prefixes and of attributes that they do not expect. No client writes any of them.
bool is_plain_tag(std::string_view tag) {
  constexpr std::string_view kTags[] = {"Delete", "/Delete", "Object", "/Object",
                                        "Key",    "/Key",    "Quiet",  "/Quiet"};
  constexpr std::string_view kNameSpaces[] = {
      R"(Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/")",
      R"(Delete xmlns='http://s3.amazonaws.com/doc/2006-03-01/')"};
  return std::ranges::find(kTags, tag) != std::end(kTags) ||
         std::ranges::find(kNameSpaces, tag) != std::end(kNameSpaces);
}

// The declaration at the front, which says nothing but UTF-8; the rest of the document.
Result<std::string_view> after_declaration(std::string_view body) {
  if (!body.starts_with("<?xml ")) return body;
  auto end = body.find("?>");
  std::string_view declaration = body.substr(0, end);
  bool other = declaration.contains("encoding") && !declaration.contains("UTF-8") &&
               !declaration.contains("utf-8");
  if (end == std::string_view::npos || other) return malformed("must be UTF-8");
  return body.substr(end + 2);
}

base::Status check_tags(std::string_view body) {
  for (auto at = body.find('<'); at != std::string_view::npos; at = body.find('<', at + 1)) {
    auto end = body.find('>', at);
    if (end == std::string_view::npos || !is_plain_tag(body.substr(at + 1, end - at - 1))) {
      return malformed("takes Delete, Object, Key and Quiet alone, without versions");
    }
  }
  return {};
}

Result<ObjectKey> key_of(const XmlElement& object) {
  if (object.children.size() != 1 || object.children[0].name != "Key" || !is_blank(object.text) ||
      !object.children[0].children.empty()) {
    return malformed("an object has one key and nothing else");
  }
  std::string_view text = object.children[0].text;
  // Some readers cut spaces at the ends off.
  if (text.starts_with(' ') || text.ends_with(' ') || text.contains('\\')) {
    return malformed("a key that has more than one reading");
  }
  auto key = ObjectKey::parse(text);
  if (!key) return std::move(key).error().with_reason(kBadBody);
  return key;
}

}  // namespace

Result<std::vector<ObjectKey>> read_delete_body(std::string_view body) {
  ASSIGN_OR_RETURN(std::string_view document, after_declaration(body));
  RETURN_IF_ERROR(check_tags(document));
  auto root = storage::parse_xml(document, kLimits);
  if (!root) return malformed(root.error().message());
  if (root->name != "Delete" || !is_blank(root->text)) return malformed("must be Delete");
  std::vector<ObjectKey> keys;
  for (const XmlElement& child : root->children) {
    if (child.name == "Quiet" && child.children.empty()) continue;
    if (child.name != "Object") return malformed("must hold objects");
    if (keys.size() == kMaxObjects) return malformed("more than 1,000 objects");
    ASSIGN_OR_RETURN(ObjectKey key, key_of(child));
    keys.push_back(std::move(key));
  }
  if (keys.empty()) return malformed("names no object");
  return keys;
}

}  // namespace lake::delegation
