#include "bench/requests/rebase.h"

#include "base/json/json.h"

namespace bench {
namespace {

using base::json::Value;

void stand_on(Value& commit, const Value& metadata) {
  const Value& parent = metadata.at("current-snapshot-id");
  for (Value& requirement : commit.at("requirements").as_array()) {
    if (requirement.at("type") == "assert-ref-snapshot-id") {
      requirement.as_object()["snapshot-id"] = parent;
    }
  }
  for (Value& update : commit.at("updates").as_array()) {
    if (update.at("action") != "add-snapshot") continue;
    auto& snapshot = update.at("snapshot").as_object();
    snapshot["parent-snapshot-id"] = parent;
    snapshot["sequence-number"] = metadata.at("last-sequence-number").to_number<std::int64_t>() + 1;
    snapshot["timestamp-ms"] = metadata.at("last-updated-ms").to_number<std::int64_t>() + 1;
  }
}

}  // namespace

base::Result<std::string> rebase(std::string_view commit, std::string_view loaded) {
  ASSIGN_OR_RETURN(auto request, base::json::parse(commit));
  ASSIGN_OR_RETURN(auto table, base::json::parse(loaded));
  // Boost.JSON throws where a member is missing or of another type.
  try {
    stand_on(request, table.at("metadata"));
  } catch (const std::exception& fault) {
    return base::fail(base::ErrorKind::kInvalid, "a commit cannot be put on the table as it is")
        .with_detail(fault.what());
  }
  return base::json::write(request);
}

}  // namespace bench
