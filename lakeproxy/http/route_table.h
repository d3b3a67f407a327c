#pragma once

#include <span>

#include "lakeproxy/http/route.h"

namespace lake::http {

/// Every route there is.
[[nodiscard]] std::span<const Route> route_table();

/// "METHOD /path" of each route of the catalog API, as /v1/config lists them.
[[nodiscard]] std::vector<std::string> announced_endpoints();

/// Where a target leads.
struct Match {
  const Route* route = nullptr;  ///< Null when no route has that path and method.
  PathParameters parameters;
  std::string allow;  ///< The methods that the path has, when the method is not one.
};

/// `path` is still percent-encoded; its parts are decoded one by one, so that
/// an encoded '/' stays inside its part.
[[nodiscard]] Match match(base::http::Method method, std::string_view path);

}  // namespace lake::http
