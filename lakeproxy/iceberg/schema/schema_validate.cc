#include <fmt/format.h>

#include <boost/algorithm/string/case_conv.hpp>
#include <locale>
#include <unordered_map>
#include <unordered_set>

#include "base/core/text.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::size_t kMaxFields = 20'000;
constexpr std::size_t kMaxNameBytes = 1024;
/// Ids above are Iceberg's own. Source: Iceberg table specification, "Reserved Field IDs".
constexpr FieldId kMaxFieldId = 2147483447;

struct Place {
  const Field* field = nullptr;
  bool under_collection = false;  ///< In a list or map, where no single value stands for a row.
  bool under_optional = false;
};

/// Walks a schema once, checks each field and keeps where it stands.
class Walk {
 public:
  base::Status fields(const std::vector<Field>& fields, const Place& parent,
                      const std::string& prefix) {
    std::unordered_map<std::string, std::string_view> names;
    for (const Field& field : fields) {
      const std::string path = prefix.empty() ? field.name : prefix + "." + field.name;
      RETURN_IF_ERROR(check_name(field, path));
      RETURN_IF_ERROR(check_is_new(names, field, path));
      RETURN_IF_ERROR(check_id(field, path));
      const Place here{&field, parent.under_collection, parent.under_optional || !field.required};
      places_.emplace(field.id, here);
      RETURN_IF_ERROR(children(field, here, path));
    }
    return {};
  }

  [[nodiscard]] const Place* find(FieldId id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? nullptr : &found->second;
  }

 private:
  // DuckDB tells no cases of ASCII letters apart, and opens no lake with two such columns.
  static base::Status check_is_new(std::unordered_map<std::string, std::string_view>& names,
                                   const Field& field, const std::string& path) {
    const auto [held, is_new] = names.emplace(
        boost::algorithm::to_lower_copy(field.name, std::locale::classic()), field.name);
    if (is_new) return {};
    if (held->second == field.name) {
      return fail(ErrorKind::kInvalid, fmt::format("column {}: name is used twice", path));
    }
    return fail(ErrorKind::kInvalid,
                fmt::format("column {}: its name is that of column {} to DuckDB, which tells no "
                            "upper from lower case",
                            path, held->second));
  }

  base::Status children(const Field& field, Place here, const std::string& path) {
    const TypeKind kind = field.type.kind();
    here.under_collection |= kind == TypeKind::kList || kind == TypeKind::kMap;
    return fields(field.type.children(), here, path);
  }

  static base::Status check_name(const Field& field, const std::string& path) {
    if (field.name.empty()) {
      return fail(ErrorKind::kInvalid,
                  fmt::format("column {} (id {}): name is empty", path, field.id));
    }
    if (field.name.size() > kMaxNameBytes || !base::is_utf8(field.name)) {
      return fail(ErrorKind::kInvalid,
                  fmt::format("column with id {}: name must be UTF-8 of at most {} bytes", field.id,
                              kMaxNameBytes));
    }
    return {};
  }

  base::Status check_id(const Field& field, const std::string& path) {
    // Spark numbers the columns of a new table from 0; they are numbered afresh.
    if (field.id < 0 || field.id > kMaxFieldId) {
      return fail(ErrorKind::kInvalid,
                  fmt::format("column {}: id {} must be 0 to {}", path, field.id, kMaxFieldId));
    }
    if (places_.contains(field.id)) {
      return fail(ErrorKind::kInvalid,
                  fmt::format("column {}: id {} is used twice", path, field.id));
    }
    if (places_.size() >= kMaxFields) {
      return fail(ErrorKind::kInvalid, fmt::format("schema has more than {} columns", kMaxFields));
    }
    return {};
  }

  std::unordered_map<FieldId, Place> places_;
};

/// Source: Iceberg table specification, "Identifier Field IDs".
base::Status check_identifier(const Place* place, FieldId id) {
  const auto broken = [id](std::string_view rule) {
    return fail(ErrorKind::kInvalid, fmt::format("identifier field {}: {}", id, rule));
  };
  if (place == nullptr) return broken("no column has this id");
  const TypeKind kind = place->field->type.kind();
  if (!place->field->type.is_primitive() || kind == TypeKind::kVariant) {
    return broken("must be of a primitive type");
  }
  if (kind == TypeKind::kFloat || kind == TypeKind::kDouble) {
    return broken("must not be float or double");
  }
  if (place->under_collection) return broken("must not be inside a list or map");
  if (place->under_optional) return broken("must be required, with all that hold it");
  return {};
}

}  // namespace

base::Status validate(const Schema& schema) {
  Walk walk;
  RETURN_IF_ERROR(walk.fields(schema.fields, Place{}, ""));
  std::unordered_set<FieldId> seen;
  for (const FieldId id : schema.identifier_field_ids) {
    RETURN_IF_ERROR(check_identifier(walk.find(id), id));
    if (!seen.insert(id).second) {
      return fail(ErrorKind::kInvalid, fmt::format("identifier field {}: is listed twice", id));
    }
  }
  return {};
}

}  // namespace lake::model
