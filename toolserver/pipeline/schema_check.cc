#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/json/canonical.h"
#include "toolserver/pipeline/schema.h"
#include "toolserver/pipeline/schema_node.h"

namespace tool::pipeline {
namespace {

using base::ErrorKind;
using base::fail;
using base::Status;
using base::json::Array;
using base::json::Object;
using base::json::Value;

constexpr std::size_t kMaxSteps = 1'000'000;
constexpr std::size_t kMaxPath = 256;
// Schemas within schemas: the stack of the thread is finite.
constexpr std::size_t kMaxDepth = 512;

// Exact for integers of any size against each other; a double is compared as
// the real number it is.
std::partial_ordering compare(const Value& a, const Value& b) {
  if (a.is_double() || b.is_double()) {
    auto real = [](const Value& v) -> long double {
      if (v.is_double()) return v.get_double();
      return v.is_int64() ? static_cast<long double>(v.get_int64())
                          : static_cast<long double>(v.get_uint64());
    };
    return real(a) <=> real(b);
  }
  if (a.is_int64() && b.is_int64()) return a.get_int64() <=> b.get_int64();
  if (a.is_uint64() && b.is_uint64()) return a.get_uint64() <=> b.get_uint64();
  // A uint64 here is above every int64: parse() uses it for nothing smaller.
  return a.is_uint64() ? std::partial_ordering::greater : std::partial_ordering::less;
}

std::uint8_t type_of(const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null: return kNull;
    case boost::json::kind::bool_: return kBoolean;
    case boost::json::kind::int64:
    case boost::json::kind::uint64: return kInteger;
    case boost::json::kind::double_:
      return std::trunc(value.get_double()) == value.get_double() ? kInteger : kNumber;
    case boost::json::kind::string: return kString;
    case boost::json::kind::array: return kArray;
    case boost::json::kind::object: return kObject;
  }
  return 0;
}

std::uint64_t characters(std::string_view text) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string join(const std::string& path, std::string_view member) {
  std::string out = path + "." + std::string(member);
  if (out.size() > kMaxPath) out.resize(kMaxPath);
  return out;
}

double real(const Value& value) {
  if (value.is_double()) return value.get_double();
  return value.is_int64() ? static_cast<double>(value.get_int64())
                          : static_cast<double>(value.get_uint64());
}

// Exact for whole numbers. Of fractions, which have no exact form, up to the
// error of a division.
bool is_multiple(const Value& value, const Value& of) {
  if (value.is_int64() && of.is_int64()) return value.get_int64() % of.get_int64() == 0;
  constexpr double kError = 1e-9;
  constexpr double kExact = 1e6;
  double quotient = real(value) / real(of);
  if (!std::isfinite(quotient)) return false;
  if (std::abs(quotient) < kExact) return std::abs(quotient - std::round(quotient)) < kError;
  return std::fmod(real(value), real(of)) == 0;
}

bool matches(std::string_view text, const RE2& pattern) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

// The members of an object, or the elements of an array, in their order: whether a
// keyword that takes single ones has taken it ("evaluated").
// Source: "Core", 11, "Unevaluated locations".
using Marks = std::vector<bool>;

// Whether the schema has a keyword that asks which members or elements of the value the
// others left over.
bool asks_for_marks(const SchemaNode& node, const Value& value) {
  return (value.is_object() && node.unevaluated_members != nullptr) ||
         (value.is_array() && node.unevaluated_elements != nullptr);
}

class Checker {
 public:
  /// `marks` are those of a schema around this one that asks for them; null where none does.
  Status check(const SchemaNode& node, const Value& value, const std::string& path,
               Marks* marks = nullptr) {
    if (depth_ >= kMaxDepth) return fail(ErrorKind::kTooLarge, path + ": nested too deeply");
    ++depth_;
    const bool enters = entered_.empty() || entered_.back() != node.resource;
    if (enters) entered_.push_back(node.resource);
    auto status = asks_for_marks(node, value) ? check_with_rest(node, value, path, marks)
                                              : check_node(node, value, path, marks);
    if (enters) entered_.pop_back();
    --depth_;
    return status;
  }

 private:
  // What is left over is what this schema and those within it have not taken; schemas
  // beside it do not count. It takes all of that, so nothing is left to those around it.
  Status check_with_rest(const SchemaNode& node, const Value& value, const std::string& path,
                         Marks* outer) {
    Marks marks(value.is_object() ? value.get_object().size() : value.get_array().size());
    steps_ += marks.size();
    RETURN_IF_ERROR(check_node(node, value, path, &marks));
    RETURN_IF_ERROR(check_rest(node, value, path, marks));
    if (outer != nullptr) outer->assign(outer->size(), true);
    return {};
  }

  Status check_rest(const SchemaNode& node, const Value& value, const std::string& path,
                    const Marks& marks) {
    std::size_t i = 0;
    if (value.is_object()) {
      for (const auto& member : value.get_object()) {
        if (marks[i++]) continue;
        RETURN_IF_ERROR(check(*node.unevaluated_members, member.value(), join(path, member.key())));
      }
      return {};
    }
    for (const Value& element : value.get_array()) {
      const std::size_t place = i++;
      if (marks[place]) continue;
      RETURN_IF_ERROR(
          check(*node.unevaluated_elements, element, fmt::format("{}[{}]", path, place)));
    }
    return {};
  }

  Status check_node(const SchemaNode& node, const Value& value, const std::string& path,
                    Marks* marks) {
    if (++steps_ > kMaxSteps) return fail(ErrorKind::kTooLarge, path + ": too much to check");
    if (node.anything == Anything::kAlways) return {};
    if (node.anything == Anything::kNever) return broken(path, "is not allowed");
    if (node.types != 0 && (node.types & type_of(value)) == 0) {
      return broken(path, "must be of type " + node.types_text);
    }
    if (node.target != nullptr) RETURN_IF_ERROR(check(*node.target, value, path, marks));
    if (node.dynamic_target != nullptr) RETURN_IF_ERROR(check_dynamic(node, value, path, marks));
    if (node.allowed) RETURN_IF_ERROR(check_allowed(*node.allowed, value, path));
    if (node.constant) RETURN_IF_ERROR(check_allowed({*node.constant}, value, path));
    if (value.is_number()) {
      RETURN_IF_ERROR(check_number(node.number, value, path));
      if (node.multiple_of && !is_multiple(value, *node.multiple_of)) {
        return broken(path, "must be a multiple of " + base::json::write(*node.multiple_of));
      }
    }
    if (value.is_string()) RETURN_IF_ERROR(check_string(node, value, path));
    if (value.is_array()) RETURN_IF_ERROR(check_array(node, value.get_array(), path, marks));
    if (value.is_object()) {
      RETURN_IF_ERROR(check_object(node, value.get_object(), path, marks));
      for (const auto& [name, schema] : node.dependent_schemas) {
        if (value.get_object().contains(name)) RETURN_IF_ERROR(check(*schema, value, path, marks));
      }
    }
    RETURN_IF_ERROR(check_condition(node, value, path, marks));
    return check_branches(node, value, path, marks);
  }

  // A $dynamicRef has another target in another resource, so compilation cannot tell whether
  // it leads back to itself without a step into the value. While one is followed for a value,
  // the resources before it stay entered, so a second time for that value has the same target
  // and is taken for one of endlessly many.
  // Source: "Core", 9.4.1, "Guarding against infinite recursion".
  Status check_dynamic(const SchemaNode& node, const Value& value, const std::string& path,
                       Marks* marks) {
    for (auto open = followed_.rbegin(); open != followed_.rend(); ++open) {
      if (open->second != &value) break;
      if (open->first != &node) continue;
      return fail(ErrorKind::kTooLarge, path + ": a $dynamicRef leads back to itself");
    }
    followed_.emplace_back(&node, &value);
    auto status = check(dynamic_target(node), value, path, marks);
    followed_.pop_back();
    return status;
  }

  // The anchor of the outermost resource that has one of the name.
  // Source: "Core", 8.2.3.2, "Dynamic References with "$dynamicRef"".
  const SchemaNode& dynamic_target(const SchemaNode& node) {
    if (node.dynamic_name.empty()) return *node.dynamic_target;
    for (const SchemaResource* resource : entered_) {
      ++steps_;
      auto found = resource->dynamic_anchors.find(node.dynamic_name);
      if (found != resource->dynamic_anchors.end()) return *found->second;
    }
    return *node.dynamic_target;
  }

  static base::Error broken(const std::string& path, std::string_view rule) {
    return fail(ErrorKind::kInvalid, path + ": " + std::string(rule));
  }

  Status check_count(const CountBounds& bounds, std::uint64_t count, const std::string& path,
                     std::string_view unit) {
    if (bounds.minimum && count < *bounds.minimum) {
      return broken(path, fmt::format("must have {} {} or more", *bounds.minimum, unit));
    }
    if (bounds.maximum && count > *bounds.maximum) {
      return broken(path, fmt::format("must have at most {} {}", *bounds.maximum, unit));
    }
    return {};
  }

  Status check_allowed(const std::vector<std::string>& allowed, const Value& value,
                       const std::string& path) {
    auto text = base::json::canonical(value);
    steps_ += allowed.size();
    bool is_one = text && std::ranges::find(allowed, *text) != allowed.end();
    if (!is_one) return broken(path, "is none of the values that are allowed");
    return {};
  }

  Status check_number(const NumberBounds& bounds, const Value& value, const std::string& path) {
    auto shown = [](const Value& bound) { return base::json::write(bound); };
    if (bounds.minimum && compare(value, *bounds.minimum) < 0) {
      return broken(path, "must be at least " + shown(*bounds.minimum));
    }
    if (bounds.maximum && compare(value, *bounds.maximum) > 0) {
      return broken(path, "must be at most " + shown(*bounds.maximum));
    }
    if (bounds.above && compare(value, *bounds.above) <= 0) {
      return broken(path, "must be more than " + shown(*bounds.above));
    }
    if (bounds.below && compare(value, *bounds.below) >= 0) {
      return broken(path, "must be less than " + shown(*bounds.below));
    }
    return {};
  }

  Status check_string(const SchemaNode& node, const Value& value, const std::string& path) {
    const auto& string = value.get_string();
    std::string_view text(string.data(), string.size());
    const CountBounds& bounds = node.characters;
    if (bounds.minimum || bounds.maximum) {
      RETURN_IF_ERROR(check_count(bounds, characters(text), path, "characters"));
    }
    if (node.pattern && !matches(text, *node.pattern)) {
      return broken(path, "does not match the pattern");
    }
    return {};
  }

  static void mark(Marks* marks, std::size_t place) {
    if (marks != nullptr) (*marks)[place] = true;
  }

  Status check_array(const SchemaNode& node, const Array& array, const std::string& path,
                     Marks* marks) {
    RETURN_IF_ERROR(check_count(node.elements, array.size(), path, "elements"));
    if (node.are_elements_unique) {
      std::unordered_set<std::string> seen;
      for (const Value& element : array) {
        auto text = base::json::canonical(element);
        if (!text) return broken(path, "holds a number that cannot be compared");
        if (!seen.insert(std::move(*text)).second) return broken(path, "holds a value twice");
      }
    }
    for (std::size_t i = 0; i < array.size(); ++i) {
      const SchemaNode* one = i < node.prefix.size() ? node.prefix[i] : node.items;
      if (one == nullptr) break;
      RETURN_IF_ERROR(check(*one, array[i], fmt::format("{}[{}]", path, i)));
      mark(marks, i);
    }
    return check_contains(node, array, path, marks);
  }

  Status check_contains(const SchemaNode& node, const Array& array, const std::string& path,
                        Marks* marks) {
    if (node.contains == nullptr) return {};
    std::uint64_t fitting = 0;
    for (std::size_t i = 0; i < array.size(); ++i) {
      ASSIGN_OR_RETURN(bool one, fits(*node.contains, array[i], path, nullptr));
      if (!one) continue;
      ++fitting;
      mark(marks, i);
    }
    std::uint64_t least = node.contained.minimum.value_or(1);
    if (fitting < least) {
      return broken(path, fmt::format("must hold {} or more elements of the form wanted", least));
    }
    if (node.contained.maximum && fitting > *node.contained.maximum) {
      return broken(path, fmt::format("must hold at most {} elements of the form wanted",
                                      *node.contained.maximum));
    }
    return {};
  }

  Status check_object(const SchemaNode& node, const Object& object, const std::string& path,
                      Marks* marks) {
    RETURN_IF_ERROR(check_count(node.members, object.size(), path, "members"));
    for (const std::string& name : node.required) {
      if (!object.contains(name)) return broken(join(path, name), "is missing");
    }
    RETURN_IF_ERROR(check_dependent(node, object, path));
    bool any = node.names || node.additional || !node.properties.empty() ||
               !node.pattern_properties.empty();
    if (!any) return {};
    std::size_t place = 0;
    for (const auto& member : object) {
      ASSIGN_OR_RETURN(const bool is_taken, check_member(node, member, path));
      if (is_taken) mark(marks, place);
      ++place;
    }
    return {};
  }

  // Whether a keyword takes it.
  base::Result<bool> check_member(const SchemaNode& node, const boost::json::key_value_pair& member,
                                  const std::string& path) {
    std::string name(member.key());
    std::string inner = join(path, name);
    if (node.names) {
      RETURN_IF_ERROR(check(*node.names, boost::json::string(name), inner + " (its name)"));
    }
    auto found = node.properties.find(name);
    bool known = found != node.properties.end();
    if (known) RETURN_IF_ERROR(check(*found->second, member.value(), inner));
    for (const auto& [pattern, schema] : node.pattern_properties) {
      if (++steps_ > kMaxSteps) return fail(ErrorKind::kTooLarge, path + ": too much to check");
      if (!matches(name, *pattern)) continue;
      known = true;
      RETURN_IF_ERROR(check(*schema, member.value(), inner));
    }
    if (known || !node.additional) return known;
    RETURN_IF_ERROR(check(*node.additional, member.value(), inner));
    return true;
  }

  Status check_dependent(const SchemaNode& node, const Object& object, const std::string& path) {
    for (const auto& [name, others] : node.dependent_required) {
      if (!object.contains(name)) continue;
      for (const auto& other : others) {
        if (!object.contains(other)) {
          return broken(join(path, other), "is missing, which goes with " + name);
        }
      }
    }
    return {};
  }

  Status check_condition(const SchemaNode& node, const Value& value, const std::string& path,
                         Marks* marks) {
    if (node.negated) {
      ASSIGN_OR_RETURN(bool one, fits(*node.negated, value, path, nullptr));
      if (one) return broken(path, "has a form that is not allowed");
    }
    if (!node.condition) return {};
    ASSIGN_OR_RETURN(bool holds, fits(*node.condition, value, path, marks));
    const SchemaNode* next = holds ? node.then : node.otherwise;
    return next == nullptr ? Status{} : check(*next, value, path, marks);
  }

  Status check_branches(const SchemaNode& node, const Value& value, const std::string& path,
                        Marks* marks) {
    for (const auto& branch : node.all_of) RETURN_IF_ERROR(check(*branch, value, path, marks));
    if (!node.any_of.empty()) {
      ASSIGN_OR_RETURN(std::size_t fitting, count_fitting(node.any_of, value, path, marks));
      if (fitting == 0) return broken(path, "fits none of the forms that are allowed");
    }
    if (!node.one_of.empty()) {
      ASSIGN_OR_RETURN(std::size_t fitting, count_fitting(node.one_of, value, path, marks));
      if (fitting != 1) return broken(path, "must fit exactly one of the forms that are allowed");
    }
    return {};
  }

  base::Result<std::size_t> count_fitting(const std::vector<NodePtr>& branches, const Value& value,
                                          const std::string& path, Marks* marks) {
    std::size_t fitting = 0;
    for (const auto& branch : branches) {
      ASSIGN_OR_RETURN(bool one, fits(*branch, value, path, marks));
      if (one) ++fitting;
    }
    return fitting;
  }

  // What a schema has taken counts only where the value fits it.
  // Errors: kTooLarge alone, which is no answer.
  base::Result<bool> fits(const SchemaNode& node, const Value& value, const std::string& path,
                          Marks* marks) {
    Marks taken(marks == nullptr ? 0 : marks->size());
    steps_ += taken.size();
    auto status = check(node, value, path, marks == nullptr ? nullptr : &taken);
    if (!status && status.error().kind() == ErrorKind::kTooLarge) {
      return std::move(status).error();
    }
    if (!status) return false;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (taken[i]) mark(marks, i);
    }
    return true;
  }

  std::size_t steps_ = 0;
  std::size_t depth_ = 0;
  std::vector<const SchemaResource*> entered_;  // The dynamic scope, from the outermost on.
  // Each $dynamicRef that is being followed, and the value.
  std::vector<std::pair<const SchemaNode*, const Value*>> followed_;
};

}  // namespace

Status Schema::check(const Value& value, const std::string& path) const {
  return Checker().check(*root_, value, path);
}

}  // namespace tool::pipeline
