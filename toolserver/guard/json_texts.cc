#include "toolserver/guard/json_texts.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/json/pointer.h"

namespace tool::guard {
namespace {

constexpr std::uint64_t kLongNumber = 100'000'000'000;  // Twelve digits.

class Walk {
 public:
  explicit Walk(const VisitText& visit) : visit_(visit) {}

  // As deep as the document, which the parser has bounded.
  base::Status value(base::json::Value& at) {  // NOLINT(misc-no-recursion)
    if (const auto* text = at.if_string()) {
      return visit_(TextRole::kValue, std::string(std::string_view(*text)), pointer_, at);
    }
    if (auto* object = at.if_object()) return members(*object);
    if (auto* array = at.if_array()) return elements(*array);
    return number(at);
  }

 private:
  base::Status members(base::json::Object& object) {  // NOLINT(misc-no-recursion)
    for (auto& [name, member] : object) {
      std::size_t length = pointer_.size();
      base::json::append_token(pointer_, name);
      RETURN_IF_ERROR(visit_(TextRole::kName, name, pointer_, member));
      RETURN_IF_ERROR(value(member));
      pointer_.resize(length);
    }
    return {};
  }
  base::Status elements(base::json::Array& array) {  // NOLINT(misc-no-recursion)
    std::size_t index = 0;
    for (auto& element : array) {
      std::size_t length = pointer_.size();
      pointer_ += fmt::format("/{}", index++);
      RETURN_IF_ERROR(value(element));
      pointer_.resize(length);
    }
    return {};
  }
  base::Status number(base::json::Value& at) {
    bool is_long = (at.is_uint64() && at.get_uint64() >= kLongNumber) ||
                   (at.is_int64() && (at.get_int64() >= static_cast<std::int64_t>(kLongNumber)));
    if (!is_long) return {};
    return visit_(TextRole::kNumber, base::json::write(at), pointer_, at);
  }

  const VisitText& visit_;
  std::string pointer_;
};

}  // namespace

base::Status each_text(base::json::Value& document, const VisitText& visit) {
  return Walk(visit).value(document);
}

}  // namespace tool::guard
