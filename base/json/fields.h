#pragma once

// Reads the members of an object into strong types. Each error names the whole
// path of the member and the rule: "updates[0].snapshot.snapshot-id: must be
// an integer".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"

namespace base::json {

/// A view of an object and its path; the object must outlive it. Every error
/// is kInvalid. The opt_ forms take an absent member and null for nothing.
class Fields {
 public:
  /// Errors: kInvalid  `value` is not an object.
  [[nodiscard]] static Result<Fields> of(const Value& value, std::string path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path_of(std::string_view key) const;
  /// The member, or null when absent or JSON null.
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The member, which must be there and not null.
  [[nodiscard]] Result<const Value*> value(std::string_view key) const;

  [[nodiscard]] Result<std::string> string(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::string>> opt_string(std::string_view key) const;
  [[nodiscard]] Result<std::int64_t> int64(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::int64_t>> opt_int64(std::string_view key) const;
  [[nodiscard]] Result<std::int32_t> int32(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::int32_t>> opt_int32(std::string_view key) const;
  [[nodiscard]] Result<bool> boolean(std::string_view key) const;
  [[nodiscard]] Result<std::optional<bool>> opt_boolean(std::string_view key) const;
  [[nodiscard]] Result<Fields> object(std::string_view key) const;
  [[nodiscard]] Result<std::optional<Fields>> opt_object(std::string_view key) const;
  [[nodiscard]] Result<const Array*> array(std::string_view key) const;
  /// Null when absent.
  [[nodiscard]] Result<const Array*> opt_array(std::string_view key) const;
  /// An array of objects, each with its path.
  [[nodiscard]] Result<std::vector<Fields>> objects(std::string_view key) const;
  /// The same; kInvalid where there are more than `most`.
  [[nodiscard]] Result<std::vector<Fields>> objects(std::string_view key, std::size_t most) const;
  [[nodiscard]] Result<std::vector<std::string>> strings(std::string_view key) const;
  [[nodiscard]] Result<std::vector<std::int32_t>> int32s(std::string_view key) const;
  /// An object whose members are all strings. Empty when absent in opt_.
  [[nodiscard]] Result<std::map<std::string, std::string>> string_map(std::string_view key) const;
  [[nodiscard]] Result<std::map<std::string, std::string>> opt_string_map(
      std::string_view key) const;

 private:
  Fields(const Object* object, std::string path) : object_(object), path_(std::move(path)) {}
  const Object* object_;
  std::string path_;
};

}  // namespace base::json
