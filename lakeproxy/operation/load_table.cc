#include <fmt/format.h>

#include "base/json/json.h"
#include "lakeproxy/operation/tables.h"
#include "lakeproxy/to_iceberg/publish/table_at.h"

namespace lake::operation {
namespace {

model::JsonText shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

base::Task<base::Result<ShownTable>> load_table(base::RequestContext context, Catalog* catalog,
                                                policy::Authorized<LoadTable> request) {
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await catalog->loaded_tables->get(context, request->identifier));
  co_return ShownTable(request, *catalog, std::move(loaded));
}

base::Task<base::Result<TableAt>> load_table_at(base::RequestContext context, Catalog* catalog,
                                                policy::Authorized<LoadTable> request) {
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await catalog->loaded_tables->get(context, request->identifier));
  auto snapshot = publish::find_snapshot(*loaded, *request->snapshot_id);
  if (!snapshot) {
    co_return base::fail(
        base::ErrorKind::kNotFound,
        fmt::format("snapshot-id: the table has no snapshot {}", request->snapshot_id->value));
  }
  co_return TableAt{ShownTable(request, *catalog, std::move(loaded)), *snapshot};
}

// From here on: what of a loaded table its caller is told (shown_table.h).

// The forms of one table are so many representations, each with what the caller alone is told.
std::string ShownTable::etag(model::SnapshotSelection snapshots,
                             std::optional<model::SnapshotId> at) const {
  return fmt::format("{}-{}{}{}", loaded_->etag, config_->tag,
                     at ? fmt::format("-at-{}", at->value) : "",
                     snapshots == model::SnapshotSelection::kRefs ? "-refs" : "");
}

AnswerText ShownTable::text(model::SnapshotSelection snapshots) const {
  return {loaded_->body_of(snapshots), config_->text};
}

AnswerText ShownTable::text_at(model::SnapshotId snapshot,
                               model::SnapshotSelection snapshots) const {
  return {shared(publish::body_at(*loaded_, snapshot, snapshots)), config_->text};
}

AnswerText ShownTable::packed_text(const publish::PackedText& packed) const {
  return {model::JsonText(packed, &packed->bytes), shared(config_->packed.after(*packed))};
}

std::optional<AnswerText> ShownTable::packed(model::SnapshotSelection snapshots) const {
  auto packed = loaded_->packed_of(snapshots).get();
  if (packed == nullptr) return std::nullopt;
  return packed_text(packed);
}

base::Task<base::Result<AnswerText>> ShownTable::pack(base::RequestContext context,
                                                      Catalog* catalog,
                                                      model::TableIdentifier identifier,
                                                      model::SnapshotSelection snapshots) const {
  CO_ASSIGN_OR_RETURN(auto packed, co_await catalog->loaded_tables->packed(
                                       context, std::move(identifier), loaded_, snapshots));
  co_return packed_text(packed);
}

std::string ShownTable::unregistered() const {
  std::string body = R"({"metadata-location":)";
  base::json::append_quoted(body, loaded_->metadata_location);
  return body.append(R"(,"metadata":)").append(loaded_->document()).append("}");
}

AnswerText staged_text(const Catalog& catalog, const model::TableMetadata& metadata) {
  return {shared(publish::staged_body(metadata)), catalog.client_config->text};
}

}  // namespace lake::operation
