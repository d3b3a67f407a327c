#include "lakeproxy/iceberg/view/view_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "base/core/text.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/iceberg/view/view_json.h"

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

// What a new version of a view may not lose, and which old ones it keeps.
// Source: Iceberg view specification, "View properties".
constexpr std::string_view kHistorySize = "version.history.num-entries";
constexpr std::string_view kDropDialect = "replace.drop-dialect.allowed";
constexpr std::size_t kDefaultHistorySize = 10;

std::set<std::string> dialects_of(const ViewVersion& version) {
  std::set<std::string> dialects;
  for (const SqlRepresentation& representation : version.representations) {
    dialects.insert(lower_dialect(representation.dialect));
  }
  return dialects;
}

base::Result<std::size_t> history_size(const ViewMetadata& view) {
  const auto wanted = view.properties.find(std::string(kHistorySize));
  if (wanted == view.properties.end()) return kDefaultHistorySize;
  const auto size = base::parse_int64(wanted->second);
  if (!size || *size < 1 || static_cast<std::size_t>(*size) > kMaxViewVersions) {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: must be a number from 1 to {}", kHistorySize, kMaxViewVersions));
  }
  return static_cast<std::size_t>(*size);
}

// The entries after the last one whose version is gone.
void shorten_log(ViewMetadata& view) {
  auto gone = [&](const ViewLogEntry& entry) {
    return view.find_version(entry.version_id) == nullptr;
  };
  const auto last = std::find_if(view.version_log.rbegin(), view.version_log.rend(), gone);
  view.version_log.erase(view.version_log.begin(), last.base());
}

// A view that is switched to and fro, or gets schemas that it does not use,
// must not grow beyond what can be read again.
void bound(ViewMetadata& view) {
  if (view.version_log.size() > kMaxViewVersions) {
    view.version_log.erase(view.version_log.begin(),
                           view.version_log.end() - static_cast<std::ptrdiff_t>(kMaxViewVersions));
  }
  if (view.schemas.size() <= kMaxViewVersions) return;
  std::set<std::int32_t> used;
  for (const ViewVersion& version : view.versions) used.insert(version.schema_id);
  std::erase_if(view.schemas,
                [&](const Schema& schema) { return !used.contains(schema.schema_id); });
}

// Errors: kInvalid  the current version lacks a dialect of `previous`, and the
//         property "replace.drop-dialect.allowed" is not true.
base::Status check_dialects_kept(const ViewMetadata& view, const ViewVersion& previous) {
  const auto allowed = view.properties.find(std::string(kDropDialect));
  if (allowed != view.properties.end() && lower_dialect(allowed->second) == "true") return {};
  const auto before = dialects_of(previous);
  const auto after = dialects_of(view.current_version());
  if (std::ranges::includes(after, before)) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("Cannot replace view due to loss of view dialects ({}=false): previous "
                          "dialects: {}; new dialects: {}",
                          kDropDialect, fmt::join(before, ", "), fmt::join(after, ", ")));
}

// Leaves as many versions as "version.history.num-entries" says, the highest
// ids; the current one and those in `added` always stay. The log loses what
// stands before an entry of a version that is gone. Log and schemas stay
// within kMaxViewVersions: first entries and schemas without a version go.
// Errors: kInvalid  the property is not a number from 1 to 1000.
base::Status forget_old_versions(ViewMetadata& view, const std::set<std::int32_t>& added) {
  ASSIGN_OR_RETURN(const auto wanted, history_size(view));
  std::set<std::int32_t> kept = added;
  kept.insert(view.current_version_id);
  std::vector<std::int32_t> ids;
  for (const ViewVersion& version : view.versions) ids.push_back(version.version_id);
  std::ranges::sort(ids, std::greater<>());
  for (const std::int32_t id : ids) {
    if (kept.size() >= wanted) break;
    kept.insert(id);
  }
  const auto forgotten = std::erase_if(view.versions, [&](const ViewVersion& version) {
    return !kept.contains(version.version_id);
  });
  if (forgotten > 0) shorten_log(view);
  bound(view);
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
