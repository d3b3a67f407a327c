#include "lakeproxy/mapping/transform_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace lake::ducklake {

std::optional<std::string> lake_transform(const model::Transform& transform) {
  switch (transform.kind) {
    case model::TransformKind::kIdentity: return "identity";
    case model::TransformKind::kYear: return "year";
    case model::TransformKind::kMonth: return "month";
    case model::TransformKind::kDay: return "day";
    case model::TransformKind::kHour: return "hour";
    case model::TransformKind::kBucket: return fmt::format("bucket({})", transform.parameter);
    default: return std::nullopt;
  }
}

std::optional<model::Transform> iceberg_transform(std::string_view lake_transform) {
  std::string text(lake_transform);
  // "bucket(4)" there, "bucket[4]" here.
  std::ranges::replace(text, '(', '[');
  std::ranges::replace(text, ')', ']');
  model::Transform transform = model::parse_transform(text);
  switch (transform.kind) {
    case model::TransformKind::kIdentity:
    case model::TransformKind::kBucket:
    case model::TransformKind::kYear:
    case model::TransformKind::kMonth:
    case model::TransformKind::kDay:
    case model::TransformKind::kHour: return transform;
    default: return std::nullopt;
  }
}

}  // namespace lake::ducklake
