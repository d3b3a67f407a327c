#include "lakeproxy/iceberg/metadata/snapshot.h"

#include <utility>

namespace lake::model {

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::kAppend: return "append";
    case Operation::kReplace: return "replace";
    case Operation::kOverwrite: return "overwrite";
    case Operation::kDelete: return "delete";
  }
  std::unreachable();
}

std::optional<Operation> parse_operation(std::string_view text) {
  for (const Operation operation :
       {Operation::kAppend, Operation::kReplace, Operation::kOverwrite, Operation::kDelete}) {
    if (text == to_string(operation)) return operation;
  }
  return std::nullopt;
}

}  // namespace lake::model
