#include "lakeproxy/ducklake/not_there.h"

#include <string>

#include "base/core/result.h"
#include "lakeproxy/ducklake/lake_catalog.h"

namespace lake::ducklake {

base::Error no_such_namespace(const model::Namespace& name) {
  return base::fail(base::ErrorKind::kNotFound, "Namespace does not exist: " + name.display())
      .with_reason(kNoSuchNamespace);
}

base::Error no_such_table(std::string_view name) {
  return base::fail(base::ErrorKind::kNotFound, "Table does not exist: " + std::string(name))
      .with_reason(kNoSuchTable);
}

}  // namespace lake::ducklake
