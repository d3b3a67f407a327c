#include "base/avro/value.h"

namespace base::avro {

std::optional<bool> Value::boolean() const {
  if (type() != Type::kBoolean) return std::nullopt;
  return cell_->integer != 0;
}

std::optional<std::int64_t> Value::integer() const {
  if (type() != Type::kInt && type() != Type::kLong) return std::nullopt;
  return cell_->integer;
}

std::optional<double> Value::number() const {
  if (type() != Type::kFloat && type() != Type::kDouble) return std::nullopt;
  return cell_->number;
}

std::optional<std::string_view> Value::bytes() const {
  switch (type()) {
    case Type::kBytes:
    case Type::kString:
    case Type::kFixed:
    case Type::kEnum: return std::string_view(cell_->bytes.data, cell_->bytes.size);
    default: return std::nullopt;
  }
}

Value Value::at(std::size_t index) const {
  Iterator it = begin();
  for (; index > 0; --index) ++it;
  return *it;
}

std::optional<Value> Value::field(std::string_view name) const {
  if (type() != Type::kRecord) return std::nullopt;
  Iterator it = begin();
  for (const Field& candidate : node().fields) {
    if (candidate.name == name) return *it;
    ++it;
  }
  return std::nullopt;
}

}  // namespace base::avro
