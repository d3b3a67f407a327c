#include "lakeproxy/operation/preview_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "lakeproxy/engine/files/transfer.h"
#include "lakeproxy/iceberg/schema/name_mapping.h"
#include "lakeproxy/to_iceberg/masked/files_to_mask.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using base::RequestContext;
using base::Result;
using base::Task;
using masked::FileToMask;
using policy::ReadKind;

/// What is left to be done with the files that are read.
struct Source {
  publish::LoadedTablePtr loaded;
  policy::MaskPlan plan;  ///< Empty where the files hold the masks.
  std::optional<model::NameMapping> mapping;
};

Task<Result<Source>> source_of(RequestContext context, Catalog* catalog, const PlanFor* found) {
  Source source{.loaded = found->loaded, .plan = {}, .mapping = std::nullopt};
  if (found->plan.kind() == ReadKind::kFileMask) {
    CO_ASSIGN_OR_RETURN(source.loaded, co_await catalog->masked_tables->get(context, found->loaded,
                                                                            found->plan.mask()));
  } else if (found->plan.mask() != nullptr) {
    source.plan = *found->plan.mask();
  }
  const auto& properties = source.loaded->metadata.properties;
  auto held = properties.find(std::string(model::kNameMappingProperty));
  if (held != properties.end()) {
    CO_ASSIGN_OR_RETURN(source.mapping, model::parse_name_mapping(held->second));
  }
  co_return source;
}

// The smallest first: they cost least, and a table's rows have no order.
Task<Result<std::vector<FileToMask>>> files_of(RequestContext context, Catalog* catalog,
                                               const Source* source) {
  CO_ASSIGN_OR_RETURN(
      auto list, co_await masked::newest_manifests(context, catalog->manifests, source->loaded));
  CO_ASSIGN_OR_RETURN(auto files,
                      masked::files_to_mask(source->loaded->metadata, list, source->plan));
  std::ranges::sort(files, {}, [](const FileToMask& file) {
    return std::tie(file.copy.source.file_size_in_bytes, file.copy.source.file_path);
  });
  co_return files;
}

// Of a file. What is wrong with it keeps it from being shown, and is no fault of the server's.
base::Error not_shown(const std::string& table, base::Error error) {
  switch (error.kind()) {
    case ErrorKind::kCorrupt:
    case ErrorKind::kTooLarge:
    case ErrorKind::kUnsupported:
      return base::fail(ErrorKind::kUnsupported,
                        fmt::format("table {}: no rows can be shown: {}", table, error.message()))
          .with_detail(error.detail());
    default: return error;
  }
}

/// One of the previews that are being read.
class Turn {
 public:
  explicit Turn(Catalog& catalog) : catalog_(&catalog) { ++catalog_->previews; }
  ~Turn() { --catalog_->previews; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Catalog* catalog_;
};

// Of the state that is shown: where copies of the newest are being made it is the one before.
void name_columns(const publish::LoadedTable& shown, Preview& preview) {
  const auto& fields = shown.metadata.current_schema().fields;
  for (const model::Field& field : fields) {
    if (preview.columns.size() == kPreviewColumns) break;
    const bool masked =
        preview.mask != nullptr && std::ranges::any_of(preview.mask->masks, [&](const auto& mask) {
          return mask.field == field.id;
        });
    preview.columns.push_back({field.name, field.type.to_string(), masked, true});
  }
  preview.more_columns = fields.size() - preview.columns.size();
}

void add_rows(exporter::FirstRows first, Preview& preview) {
  for (std::size_t i = 0; i < preview.columns.size(); ++i) {
    if (!first.shown[i]) preview.columns[i].shown = false;
  }
  std::ranges::move(first.rows, std::back_inserter(preview.rows));
}

// A value that one file has and another cannot give would look like a null there.
void blank_what_is_not_shown(Preview& preview) {
  for (std::size_t i = 0; i < preview.columns.size(); ++i) {
    if (preview.columns[i].shown) continue;
    for (auto& row : preview.rows) row[i].reset();
  }
}

Task<base::Status> read_rows(RequestContext context, Catalog* catalog, const Source* source,
                             Preview* preview) {
  CO_ASSIGN_OR_RETURN(const auto files, co_await files_of(context, catalog, source));
  const auto& name = source->loaded->table.name;
  // Loads do not wait for it.
  auto* exporter = (catalog->unhurried ? catalog->unhurried.get() : catalog)->exporter;
  exporter::ByteBudget budget(kPreviewBytes);
  bool is_all = true;
  std::size_t read = 0;
  for (const FileToMask& file : files) {
    if (preview->rows.size() == kPreviewRows || read == kPreviewFiles) break;
    const std::size_t left = kPreviewRows - preview->rows.size();
    auto first = co_await exporter->first_rows(
        context, {.file = &file.copy,
                  .mapping = source->mapping ? &*source->mapping : nullptr,
                  .bounds = {.rows = left,
                             .columns = preview->columns.size(),
                             .characters = kPreviewCharacters},
                  .budget = &budget});
    // What was found before is shown.
    const bool is_enough = !first && first.error().kind() == ErrorKind::kTooLarge && read > 0;
    if (is_enough) break;
    if (!first) co_return not_shown(name, std::move(first).error());
    is_all = is_all && first->is_all;
    add_rows(std::move(*first), *preview);
    ++read;
  }
  preview->is_all = is_all && read == files.size();
  co_return base::Status{};
}

}  // namespace

Task<Result<Preview>> preview_rows(RequestContext context, Catalog* catalog,
                                   policy::Authorized<PreviewRows> request) {
  if (catalog->previews >= kPreviewsAtOnce) {
    co_return base::fail(ErrorKind::kRateLimited, "other rows are being read; try again");
  }
  const Turn turn(*catalog);
  CO_ASSIGN_OR_RETURN(const PlanFor found, co_await plan_for(context, catalog, request->of));
  Preview preview{.roles = found.roles,
                  .kind = found.plan.kind(),
                  .reason = found.plan.reason(),
                  .mask = found.plan.mask()};
  if (preview.kind == ReadKind::kRefused) co_return preview;
  CO_ASSIGN_OR_RETURN(const Source source, co_await source_of(context, catalog, &found));
  name_columns(*source.loaded, preview);
  if (const auto* newest = source.loaded->metadata.current_snapshot()) {
    preview.snapshot_id = newest->snapshot_id;
  }
  CO_RETURN_IF_ERROR(co_await read_rows(context, catalog, &source, &preview));
  blank_what_is_not_shown(preview);
  co_return preview;
}

}  // namespace lake::operation
