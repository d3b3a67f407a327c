#pragma once

// The object store answers in XML that may come from anybody who can stand in
// its place. This reads the small part of XML that S3 uses into a tree, with
// bounds; document types and entities of their own, the usual ways to make a
// reader explode or fetch, do not exist for it.
// Source: Extensible Markup Language 1.0 (fifth edition).

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace lake::storage {

struct XmlElement {
  std::string name;  ///< Without a namespace prefix.
  std::string text;  ///< What stands directly in it, decoded.
  std::vector<XmlElement> children;

  /// The first child of that name, or null.
  [[nodiscard]] const XmlElement* child(std::string_view wanted) const;
  /// The text of that child, empty when there is none.
  [[nodiscard]] std::string_view text_of(std::string_view wanted) const;
};

struct XmlLimits {
  std::size_t bytes = 16 * 1024 * 1024;
  std::size_t depth = 8;
  std::size_t elements = 50'000;
};

/// The root element. Attributes, comments and instructions are passed over.
/// Errors: kCorrupt  not such a document, or not UTF-8; kTooLarge  over a limit.
[[nodiscard]] base::Result<XmlElement> parse_xml(std::string_view document, XmlLimits limits = {});

/// Text as it stands between two tags. `text` has no control characters.
[[nodiscard]] std::string escape_xml(std::string_view text);

}  // namespace lake::storage
