#include "base/avro/schema_cache.h"

#include <utility>

namespace base::avro {

std::shared_ptr<const Schema> SchemaCache::find(std::string_view text) const {
  std::lock_guard lock(mutex_);
  auto found = schemas_.find(text);
  return found == schemas_.end() ? nullptr : found->second;
}

Result<std::shared_ptr<const Schema>> SchemaCache::parse(std::string_view text,
                                                         const SchemaLimits& limits) {
  if (auto held = find(text)) return held;
  ASSIGN_OR_RETURN(Schema parsed, Schema::parse(text, limits));
  auto schema = std::make_shared<const Schema>(std::move(parsed));
  if (most_ > 0 && text.size() <= text_bytes_) {
    std::lock_guard lock(mutex_);
    if (schemas_.size() >= most_) schemas_.clear();
    schemas_.emplace(text, schema);
  }
  return std::shared_ptr<const Schema>(std::move(schema));
}

std::size_t SchemaCache::size() const {
  std::lock_guard lock(mutex_);
  return schemas_.size();
}

}  // namespace base::avro
