#include "lakeproxy/to_iceberg/masked/mask_marks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lakeproxy/policy/masking_view.h"

namespace lake::masked {
namespace {

constexpr std::string_view kNote = "masked by policy ";

}  // namespace

void tell_masks(const policy::MaskPlan& plan, std::map<std::string, std::string>& properties) {
  for (const policy::ColumnMask& mask : plan.masks) {
    properties[std::string(kMaskProperty) + mask.column] = mask.expression;
  }
  if (plan.masks.empty()) return;
  properties[std::string(kMaskedColumnsProperty)] =
      fmt::format("{}", fmt::join(policy::masked_columns_of(plan), ","));
}

void note_mask(const policy::ColumnMask& mask, model::Field& field) {
  const std::string note = fmt::format("{}{}", kNote, mask.policy);
  field.doc = field.doc && !field.doc->empty() ? *field.doc + " (" + note + ")" : note;
}

void drop_notes(model::Schema& schema) {
  for (model::Field& field : schema.fields) {
    if (!field.doc) continue;
    std::string& doc = *field.doc;
    if (doc.starts_with(kNote)) {
      field.doc.reset();
    } else if (auto at = doc.rfind(fmt::format(" ({}", kNote));
               at != std::string::npos && doc.ends_with(')')) {
      doc.resize(at);
    }
  }
}

bool has_masking_views(const model::TableMetadata& table) {
  const auto disabled = table.properties.find(std::string(kMaskingDisabledProperty));
  return disabled == table.properties.end() || disabled->second != "true";
}

std::shared_ptr<publish::LoadedTable> marked_table(const publish::LoadedTable& base,
                                                   const policy::MaskPlan& plan) {
  model::TableMetadata told = base.metadata;
  for (model::Schema& schema : told.schemas) {
    for (model::Field& field : schema.fields) {
      const auto mask = std::ranges::find(plan.masks, field.id, &policy::ColumnMask::field);
      if (mask != plan.masks.end()) note_mask(*mask, field);
    }
  }
  tell_masks(plan, told.properties);
  const std::string filter = policy::row_filter_of(plan);
  if (!filter.empty()) told.properties[std::string(kRowFilterProperty)] = filter;
  if (has_masking_views(base.metadata)) {
    told.properties[std::string(kMaskingViewProperty)] =
        policy::masking_view_name(base.table.name, plan);
  }
  // A state keeps its ETag when its table is renamed, and plans of one signature may have policies
  // of other names: the answer tells both.
  std::string tag = base.table.name + '\x1f' + plan.signature;
  for (const policy::ColumnMask& mask : plan.masks) tag.append("\x1f").append(mask.policy);
  return publish::told_with(base, std::move(told), tag);
}

}  // namespace lake::masked
