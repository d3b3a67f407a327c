#include "lakeproxy/ducklake/lake/namespace_mapping.h"

#include <fmt/format.h>

namespace lake::ducklake {
namespace {

constexpr char kLevelSeparator = '\x1f';

}  // namespace

std::string flat_schema_name(const model::Namespace& name) {
  return fmt::format("{}", fmt::join(name.levels, std::string_view(&kLevelSeparator, 1)));
}

std::optional<model::Namespace> namespace_of_schema(std::string_view schema_name) {
  auto parsed = model::parse_namespace(schema_name);
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

}  // namespace lake::ducklake
