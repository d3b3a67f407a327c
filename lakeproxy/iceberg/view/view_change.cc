#include "lakeproxy/iceberg/view/view_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/core/text.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/iceberg/view/view_history.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;

base::Status check_dialects(const ViewVersion& version) {
  std::set<std::string> dialects;
  for (const SqlRepresentation& representation : version.representations) {
    const std::string dialect = lower_dialect(representation.dialect);
    if (!dialects.insert(dialect).second) {
      return fail(ErrorKind::kInvalid,
                  fmt::format("Invalid view version: Cannot add multiple queries for dialect {}",
                              dialect))
          .with_reason(kDialectTwice);
    }
  }
  return {};
}

// Applies one update after another; one overload for each kind.
class Changer {
 public:
  /// `replaces`: one of the updates is another version of the query.
  Changer(const ViewMetadata& before, TimestampMs now_ms, bool replaces)
      : view_(before), now_ms_(now_ms), replaces_(replaces) {}

  base::Status operator()(const AssignUuid& update) {
    if (update.uuid == view_.view_uuid) return {};
    return fail(ErrorKind::kInvalid, "assign-uuid: the view has another uuid, which stays");
  }
  base::Status operator()(const UpgradeFormatVersion& update) {
    if (update.format_version == kViewFormatVersion) return {};
    return fail(ErrorKind::kInvalid, "upgrade-format-version: views have format version 1");
  }
  base::Status operator()(const AddSchema& update);
  base::Status operator()(const SetLocation& update);
  base::Status operator()(const SetProperties& update);
  base::Status operator()(const RemoveProperties& update);
  base::Status operator()(const AddViewVersion& update);
  base::Status operator()(const SetCurrentViewVersion& update);

  [[nodiscard]] ViewMetadata& view() { return view_; }
  [[nodiscard]] const std::set<std::int32_t>& added() const { return added_; }
  /// The log grows by one entry, however often the current version changed.
  void finish_log() {
    if (entry_) view_.version_log.push_back(*entry_);
  }

 private:
  ViewMetadata view_;
  TimestampMs now_ms_;
  bool replaces_;
  std::optional<std::int32_t> schema_;   ///< Added last.
  std::optional<std::int32_t> version_;  ///< Added last.
  std::set<std::int32_t> added_;
  std::optional<ViewLogEntry> entry_;
};

base::Status Changer::operator()(const AddSchema& update) {
  std::int32_t id = 0;
  for (const Schema& schema : view_.schemas) {
    if (schema.same_columns(update.schema)) {
      schema_ = schema.schema_id;
      return {};
    }
    id = std::max(id, schema.schema_id + 1);
  }
  Schema schema = update.schema;
  schema.schema_id = id;
  view_.schemas.push_back(std::move(schema));
  schema_ = id;
  return {};
}

base::Status Changer::operator()(const SetLocation& update) {
  std::string location = update.location;
  while (location.ends_with('/')) location.pop_back();
  // A view that is replaced stays where it is, as a table does.
  if (location == view_.location || replaces_) return {};
  return fail(ErrorKind::kUnsupported, "set-location: not supported");
}

base::Status Changer::operator()(const SetProperties& update) {
  for (const auto& [key, value] : update.updates) {
    RETURN_IF_ERROR(check_property_key(key));
    if (key.find('\0') != std::string::npos || value.find('\0') != std::string::npos) {
      return fail(ErrorKind::kInvalid, "set-properties: must not hold a zero byte");
    }
  }
  for (const auto& [key, value] : update.updates) view_.properties.insert_or_assign(key, value);
  return {};
}

base::Status Changer::operator()(const RemoveProperties& update) {
  for (const std::string& key : update.removals) RETURN_IF_ERROR(check_property_key(key));
  for (const std::string& key : update.removals) view_.properties.erase(key);
  return {};
}

base::Status Changer::operator()(const AddViewVersion& update) {
  ViewVersion version = update.version;
  ASSIGN_OR_RETURN(version.schema_id, resolve_last_added(version.schema_id, schema_, "schema"));
  RETURN_IF_ERROR(check_dialects(version));
  std::int32_t id = kFirstViewVersion;
  for (const ViewVersion& held : view_.versions) {
    if (held.same_query(version)) {
      version_ = held.version_id;
      return {};
    }
    id = std::max(id, held.version_id + 1);
  }
  if (view_.find_schema(version.schema_id) == nullptr) {
    return fail(ErrorKind::kInvalid,
                fmt::format("view-version: there is no schema {}", version.schema_id));
  }
  version.version_id = id;
  view_.versions.push_back(std::move(version));
  version_ = id;
  added_.insert(id);
  return {};
}

base::Status Changer::operator()(const SetCurrentViewVersion& update) {
  ASSIGN_OR_RETURN(const auto id, resolve_last_added(update.version_id, version_, "view version"));
  if (id == view_.current_version_id) return {};
  const ViewVersion* version = view_.find_version(id);
  if (version == nullptr) {
    return fail(ErrorKind::kInvalid, fmt::format("view-version-id: there is no version {}", id));
  }
  view_.current_version_id = id;
  entry_ = ViewLogEntry{added_.contains(id) ? version->timestamp_ms : now_ms_, id};
  return {};
}

base::Result<ViewMetadata> finish(Changer changer, const ViewVersion* previous) {
  ViewMetadata& view = changer.view();
  changer.finish_log();
  if (previous != nullptr) RETURN_IF_ERROR(check_dialects_kept(view, *previous));
  RETURN_IF_ERROR(forget_old_versions(view, changer.added()));
  return std::move(view);
}

}  // namespace

base::Result<ViewMetadata> new_view(const CreateView& request, const NewView& decided) {
  ViewMetadata blank;
  blank.view_uuid = decided.uuid;
  blank.location = decided.location;
  Changer changer(blank, request.version.timestamp_ms, true);
  RETURN_IF_ERROR(changer(SetProperties{request.properties}));
  RETURN_IF_ERROR(changer(AddSchema{request.schema}));
  ViewVersion version = request.version;
  version.schema_id = kLastAdded;
  RETURN_IF_ERROR(changer(AddViewVersion{std::move(version)}));
  RETURN_IF_ERROR(changer(SetCurrentViewVersion{kLastAdded}));
  return finish(std::move(changer), nullptr);
}

base::Result<ViewMetadata> change_view(const ViewMetadata& before,
                                       const std::vector<ViewUpdate>& updates, TimestampMs now_ms) {
  const bool replaces = std::ranges::any_of(updates, [](const ViewUpdate& update) {
    return std::holds_alternative<AddViewVersion>(update);
  });
  Changer changer(before, now_ms, replaces);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    base::Status applied = std::visit(changer, updates[i]);
    if (!applied) return std::move(applied).error().with_context(fmt::format("updates[{}]", i));
  }
  return finish(std::move(changer), &before.current_version());
}

base::Status check_requirement(const ViewMetadata& view, const AssertViewUuid& requirement) {
  if (view.view_uuid == requirement.uuid) return {};
  return fail(ErrorKind::kConflict,
              fmt::format("Requirement failed: view UUID does not match: "
                          "expected {}, is {}",
                          base::to_string(requirement.uuid), base::to_string(view.view_uuid)));
}

}  // namespace lake::model
