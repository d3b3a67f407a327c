#pragma once

// What the metadata of a table tells a principal of its masks, for the reader's engine: which
// columns are masked and how, which rows are kept, and a note in the docs of those columns. Where
// the masks are in the files it tells what was done; elsewhere, what is to be done.
// Source: specification, section 2.2; design, "Governance bodies".

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/schema.h"
#include "lakeproxy/policy/read_plan.h"
#include "lakeproxy/to_iceberg/publish/loaded_table.h"

namespace lake::masked {

inline constexpr std::string_view kMaskedColumnsProperty = "lakeproxy.masked-columns";
/// Followed by a column's name.
inline constexpr std::string_view kMaskProperty = "lakeproxy.mask.";
inline constexpr std::string_view kRowFilterProperty = "iceberg.row-filter";
/// The view that applies it all, in the table's namespace.
inline constexpr std::string_view kMaskingViewProperty = "lakeproxy.masking-view-name";
/// "true" where the table has no such views.
inline constexpr std::string_view kMaskingDisabledProperty = "lakeproxy.masking-disabled";

/// Adds the properties of masks; those of rows are the caller's to add.
void tell_masks(const policy::MaskPlan& plan, std::map<std::string, std::string>& properties);
/// Puts a note behind the field's doc.
void note_mask(const policy::ColumnMask& mask, model::Field& field);
/// Takes such notes off: a client that changes a table sends back the schema that it was shown.
void drop_notes(model::Schema& schema);

[[nodiscard]] bool has_masking_views(const model::TableMetadata& table);

/// The table of everybody, with what the reader's engine has to apply for this plan. Its files
/// are the table's own.
[[nodiscard]] std::shared_ptr<publish::LoadedTable> marked_table(const publish::LoadedTable& base,
                                                                 const policy::MaskPlan& plan);

}  // namespace lake::masked
