#include "lakeproxy/mapping/transform_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace lake::ducklake {

namespace {

constexpr std::string_view kEpoch = "epoch_";

bool is_of_time(model::TransformKind kind) {
  return kind == model::TransformKind::kYear || kind == model::TransformKind::kMonth ||
         kind == model::TransformKind::kDay || kind == model::TransformKind::kHour;
}

}  // namespace

bool is_ordinal(std::string_view lake_transform) { return lake_transform.starts_with(kEpoch); }

std::optional<std::string> lake_transform(const model::Transform& transform,
                                          model::LakeFormat format) {
  const std::string prefix(format >= model::LakeFormat::k1_1 ? kEpoch : "");
  switch (transform.kind) {
    case model::TransformKind::kIdentity: return "identity";
    case model::TransformKind::kYear: return prefix + "year";
    case model::TransformKind::kMonth: return prefix + "month";
    case model::TransformKind::kDay: return prefix + "day";
    case model::TransformKind::kHour: return prefix + "hour";
    case model::TransformKind::kBucket: return fmt::format("bucket({})", transform.parameter);
    default: return std::nullopt;
  }
}

std::optional<model::Transform> iceberg_transform(std::string_view lake_transform) {
  if (is_ordinal(lake_transform)) {
    const auto counted = model::parse_transform(lake_transform.substr(kEpoch.size()));
    return is_of_time(counted.kind) ? std::optional(counted) : std::nullopt;
  }
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
