#include "lakeproxy/objects/canonical_location.h"

namespace lake::objects {

std::string canonical(std::string_view location) {
  constexpr std::string_view kScheme = "s3://";
  for (std::string_view other : {"s3a://", "s3n://"}) {
    if (!location.starts_with(other)) continue;
    return std::string(kScheme).append(location.substr(other.size()));
  }
  return std::string(location);
}

}  // namespace lake::objects
