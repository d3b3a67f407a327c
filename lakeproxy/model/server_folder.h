#pragma once

// Where the server's own objects of a table lie: manifests, lists, metadata.json, files that are
// derived from the lake's rows. Their names can be guessed, and one that exists is taken for the
// server's own (ADR 0010). So they have a folder of their own, which no client's key may write:
// else a client could put a manifest under the name that the server will use next.

#include <string>
#include <string_view>

namespace lake::model {

/// Within the table's folder, whose location is without '/' at the end:
/// "<location>/metadata/lake/".
[[nodiscard]] inline std::string server_folder(std::string_view table_location) {
  return std::string(table_location).append("/metadata/lake/");
}

}  // namespace lake::model
