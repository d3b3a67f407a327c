#pragma once

// What clients ask of views: the closed set of changes and conditions, one
// value type for each.
// Source: Iceberg REST description, "ViewUpdate", "ViewRequirement",
// "CreateViewRequest" and "RegisterViewRequest".

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "lakeproxy/iceberg/update/table_update.h"
#include "lakeproxy/iceberg/view/view.h"

namespace lake::model {

/// Its schema id may be -1: the schema added last in the same request.
struct AddViewVersion {
  ViewVersion version;
};
/// -1 means the version added last in the same request.
struct SetCurrentViewVersion {
  std::int32_t version_id;
};

using ViewUpdate =
    std::variant<AssignUuid, UpgradeFormatVersion, AddSchema, SetLocation, SetProperties,
                 RemoveProperties, AddViewVersion, SetCurrentViewVersion>;

struct AssertViewUuid {
  base::Uuid uuid;
};

struct ViewCommit {
  std::vector<AssertViewUuid> requirements;
  std::vector<ViewUpdate> updates;
};

struct CreateView {
  std::string name;
  Schema schema;
  ViewVersion version;  ///< Its ids do not count: both are the first.
  std::map<std::string, std::string> properties;
};

struct RegisterView {
  std::string name;
  std::string metadata_location;
};

}  // namespace lake::model
