#include "base/json/fields.h"

#include <limits>

namespace base::json {
namespace {

Error must_be(const std::string& path, std::string_view rule) {
  return fail(ErrorKind::kInvalid, path + ": must be " + std::string(rule));
}

std::string index_path(const std::string& path, std::size_t i) {
  return path + '[' + std::to_string(i) + ']';
}

// The read_ functions turn one value into one type; `path` names it in errors.
Result<std::string> read_string(const Value& value, const std::string& path) {
  if (const auto* text = value.if_string()) return std::string(text->data(), text->size());
  return must_be(path, "a string");
}

Result<std::int64_t> read_int64(const Value& value, const std::string& path) {
  if (const auto* number = value.if_int64()) return *number;
  return must_be(path, value.is_uint64() ? "an integer of 64 bits with sign" : "an integer");
}

Result<std::int32_t> read_int32(const Value& value, const std::string& path) {
  using Range = std::numeric_limits<std::int32_t>;
  ASSIGN_OR_RETURN(auto number, read_int64(value, path));
  if (number < Range::min() || number > Range::max()) {
    return must_be(path, "an integer of 32 bits with sign");
  }
  return static_cast<std::int32_t>(number);
}

Result<bool> read_boolean(const Value& value, const std::string& path) {
  if (const auto* flag = value.if_bool()) return *flag;
  return must_be(path, "true or false");
}

Result<const Array*> read_array(const Value& value, const std::string& path) {
  if (const auto* array = value.if_array()) return array;
  return must_be(path, "an array");
}

template <class T>
Result<std::vector<T>> read_each(const Array& array, const std::string& path,
                                 Result<T> (*read)(const Value&, const std::string&)) {
  std::vector<T> out;
  out.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    ASSIGN_OR_RETURN(auto element, read(array[i], index_path(path, i)));
    out.push_back(std::move(element));
  }
  return out;
}

Result<Fields> read_object(const Value& value, const std::string& path) {
  return Fields::of(value, path);
}

using StringMap = std::map<std::string, std::string>;

Result<StringMap> read_string_map(const Value& value, const std::string& path) {
  const auto* object = value.if_object();
  if (object == nullptr) return must_be(path, "an object");
  StringMap out;
  for (const auto& member : *object) {
    std::string key(member.key().data(), member.key().size());
    ASSIGN_OR_RETURN(auto text, read_string(member.value(), path + '.' + key));
    out.emplace(std::move(key), std::move(text));
  }
  return out;
}

template <class T>
Result<T> read_required(const Fields& fields, std::string_view key,
                        Result<T> (*read)(const Value&, const std::string&)) {
  ASSIGN_OR_RETURN(const auto* value, fields.value(key));
  return read(*value, fields.path_of(key));
}

template <class T>
Result<std::optional<T>> read_optional(const Fields& fields, std::string_view key,
                                       Result<T> (*read)(const Value&, const std::string&)) {
  const Value* value = fields.find(key);
  if (value == nullptr) return std::optional<T>();
  ASSIGN_OR_RETURN(auto out, read(*value, fields.path_of(key)));
  return std::optional<T>(std::move(out));
}

}  // namespace

Result<Fields> Fields::of(const Value& value, std::string path) {
  const auto* object = value.if_object();
  if (object == nullptr) {
    return must_be(path.empty() ? "the document" : path, "an object");
  }
  return Fields(object, std::move(path));
}

std::string Fields::path_of(std::string_view key) const {
  if (path_.empty()) return std::string(key);
  return path_ + '.' + std::string(key);
}

const Value* Fields::find(std::string_view key) const {
  const Value* value = object_->if_contains({key.data(), key.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<const Value*> Fields::value(std::string_view key) const {
  if (const Value* value = find(key)) return value;
  return fail(ErrorKind::kInvalid, path_of(key) + ": is required");
}

Result<std::string> Fields::string(std::string_view key) const {
  return read_required(*this, key, read_string);
}
Result<std::optional<std::string>> Fields::opt_string(std::string_view key) const {
  return read_optional(*this, key, read_string);
}
Result<std::int64_t> Fields::int64(std::string_view key) const {
  return read_required(*this, key, read_int64);
}
Result<std::optional<std::int64_t>> Fields::opt_int64(std::string_view key) const {
  return read_optional(*this, key, read_int64);
}
Result<std::int32_t> Fields::int32(std::string_view key) const {
  return read_required(*this, key, read_int32);
}
Result<std::optional<std::int32_t>> Fields::opt_int32(std::string_view key) const {
  return read_optional(*this, key, read_int32);
}
Result<bool> Fields::boolean(std::string_view key) const {
  return read_required(*this, key, read_boolean);
}
Result<std::optional<bool>> Fields::opt_boolean(std::string_view key) const {
  return read_optional(*this, key, read_boolean);
}
Result<Fields> Fields::object(std::string_view key) const {
  return read_required(*this, key, read_object);
}
Result<std::optional<Fields>> Fields::opt_object(std::string_view key) const {
  return read_optional(*this, key, read_object);
}
Result<const Array*> Fields::array(std::string_view key) const {
  return read_required(*this, key, read_array);
}

Result<const Array*> Fields::opt_array(std::string_view key) const {
  if (!has(key)) return static_cast<const Array*>(nullptr);
  return array(key);
}

Result<std::vector<Fields>> Fields::objects(std::string_view key) const {
  ASSIGN_OR_RETURN(const auto* elements, array(key));
  return read_each(*elements, path_of(key), read_object);
}
Result<std::vector<Fields>> Fields::objects(std::string_view key, std::size_t most) const {
  ASSIGN_OR_RETURN(const auto* elements, array(key));
  if (elements->size() > most) {
    return fail(ErrorKind::kInvalid,
                path_of(key) + ": must have at most " + std::to_string(most) + " members");
  }
  return objects(key);
}
Result<std::vector<std::string>> Fields::strings(std::string_view key) const {
  ASSIGN_OR_RETURN(const auto* elements, array(key));
  return read_each(*elements, path_of(key), read_string);
}
Result<std::vector<std::int32_t>> Fields::int32s(std::string_view key) const {
  ASSIGN_OR_RETURN(const auto* elements, array(key));
  return read_each(*elements, path_of(key), read_int32);
}

Result<StringMap> Fields::string_map(std::string_view key) const {
  return read_required(*this, key, read_string_map);
}
Result<StringMap> Fields::opt_string_map(std::string_view key) const {
  if (!has(key)) return StringMap();
  return string_map(key);
}

}  // namespace base::json
