#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <unordered_set>

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

class Checker {
 public:
  Status check(const SchemaNode& node, const Value& value, const std::string& path) {
    if (++steps_ > kMaxSteps) return fail(ErrorKind::kTooLarge, path + ": too much to check");
    if (node.anything == Anything::kAlways) return {};
    if (node.anything == Anything::kNever) return broken(path, "is not allowed");
    if (node.types != 0 && (node.types & type_of(value)) == 0) {
      return broken(path, "must be of type " + node.types_text);
    }
    if (node.allowed) RETURN_IF_ERROR(check_allowed(*node.allowed, value, path));
    if (value.is_number()) RETURN_IF_ERROR(check_number(node.number, value, path));
    if (value.is_string()) RETURN_IF_ERROR(check_string(node, value, path));
    if (value.is_array()) RETURN_IF_ERROR(check_array(node, value.get_array(), path));
    if (value.is_object()) RETURN_IF_ERROR(check_object(node, value.get_object(), path));
    return check_branches(node, value, path);
  }

 private:
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
    if (node.pattern &&
        !RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *node.pattern)) {
      return broken(path, "does not match the pattern");
    }
    return {};
  }

  Status check_array(const SchemaNode& node, const Array& array, const std::string& path) {
    RETURN_IF_ERROR(check_count(node.elements, array.size(), path, "elements"));
    if (node.are_elements_unique) {
      std::unordered_set<std::string> seen;
      for (const Value& element : array) {
        auto text = base::json::canonical(element);
        if (!text) return broken(path, "holds a number that cannot be compared");
        if (!seen.insert(std::move(*text)).second) return broken(path, "holds a value twice");
      }
    }
    if (!node.items) return {};
    for (std::size_t i = 0; i < array.size(); ++i) {
      RETURN_IF_ERROR(check(*node.items, array[i], fmt::format("{}[{}]", path, i)));
    }
    return {};
  }

  Status check_object(const SchemaNode& node, const Object& object, const std::string& path) {
    RETURN_IF_ERROR(check_count(node.members, object.size(), path, "members"));
    for (const std::string& name : node.required) {
      if (!object.contains(name)) return broken(join(path, name), "is missing");
    }
    if (node.properties.empty() && !node.additional) return {};
    for (const auto& member : object) {
      std::string name(member.key().data(), member.key().size());
      auto found = node.properties.find(name);
      if (found != node.properties.end()) {
        RETURN_IF_ERROR(check(*found->second, member.value(), join(path, name)));
      } else if (node.additional) {
        RETURN_IF_ERROR(check(*node.additional, member.value(), join(path, name)));
      }
    }
    return {};
  }

  Status check_branches(const SchemaNode& node, const Value& value, const std::string& path) {
    for (const auto& branch : node.all_of) RETURN_IF_ERROR(check(*branch, value, path));
    if (!node.any_of.empty()) {
      ASSIGN_OR_RETURN(std::size_t fitting, count_fitting(node.any_of, value, path));
      if (fitting == 0) return broken(path, "fits none of the forms that are allowed");
    }
    if (!node.one_of.empty()) {
      ASSIGN_OR_RETURN(std::size_t fitting, count_fitting(node.one_of, value, path));
      if (fitting != 1) return broken(path, "must fit exactly one of the forms that are allowed");
    }
    return {};
  }

  base::Result<std::size_t> count_fitting(const std::vector<NodePtr>& branches, const Value& value,
                                          const std::string& path) {
    std::size_t fitting = 0;
    for (const auto& branch : branches) {
      auto status = check(*branch, value, path);
      if (status) {
        ++fitting;
      } else if (status.error().kind() == ErrorKind::kTooLarge) {
        return std::move(status).error();
      }
    }
    return fitting;
  }

  std::size_t steps_ = 0;
};

}  // namespace

Status Schema::check(const Value& value, const std::string& path) const {
  return Checker().check(*root_, value, path);
}

}  // namespace tool::pipeline
