#pragma once

// The URI that a reference stands for. Only names are made of it: nothing here,
// or behind it, opens a connection.

#include <string>
#include <string_view>

namespace tool::pipeline {

/// `reference` read against `base`, which is absolute: "item" at
/// "https://a.example/list" is "https://a.example/item". Without its fragment, and
/// without the segments "." and "..". Any text has an answer; one that is no URI
/// gives a name that nothing else has.
/// Source: RFC 3986, section 5.2, the strict form.
[[nodiscard]] std::string resolve_uri(std::string_view base, std::string_view reference);

}  // namespace tool::pipeline
