#pragma once

// Names become parts of object keys. A name that is plain stays readable; any
// other is cleaned and told apart by a piece of its uuid, so that no name can
// leave its folder or meet another's.

#include <string>
#include <string_view>

namespace lake::ducklake {

/// `name` when it is made of letters, digits, '_' and '-' and short; else the
/// cleaned name and the first part of `uuid`.
[[nodiscard]] std::string path_name(std::string_view name, std::string_view uuid);

/// The cleaned name and the first part of `uuid`, always: a table that is
/// dropped and made again must not meet its old files.
[[nodiscard]] std::string unique_path_name(std::string_view name, std::string_view uuid);

}  // namespace lake::ducklake
