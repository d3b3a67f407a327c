#include "lakeproxy/ducklake/lake/not_there.h"

#include <string>

#include "base/core/result.h"

namespace lake::ducklake {

base::Error no_such_namespace(const model::Namespace& name) {
  return base::fail(base::ErrorKind::kNotFound, "Namespace does not exist: " + name.display())
      .with_reason(kNoSuchNamespace);
}

base::Error no_such_table(std::string_view name) {
  return base::fail(base::ErrorKind::kNotFound, "Table does not exist: " + std::string(name))
      .with_reason(kNoSuchTable);
}

base::Error no_such_view(std::string_view name) {
  return base::fail(base::ErrorKind::kNotFound, "View does not exist: " + std::string(name))
      .with_reason(kNoSuchView);
}

}  // namespace lake::ducklake
