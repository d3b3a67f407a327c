#include "lakeproxy/iceberg/view/view_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/core/text.h"
#include "lakeproxy/iceberg/view/view_json.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;

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

}  // namespace

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

}  // namespace lake::model
