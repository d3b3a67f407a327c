#include "toolserver/mcp_bridge/param_headers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "toolserver/mcp/framing.h"

namespace tool::bridge {
namespace {

namespace json = base::json;
using base::ErrorKind;
using base::fail;

constexpr std::string_view kKeyword = "x-mcp-header";
constexpr std::size_t kDepth = 32;
constexpr std::int64_t kSafe = (std::int64_t{1} << 53) - 1;

// Source: RFC 9110, section 5.6.2.
bool is_token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.contains(c);
  });
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return out;
}

// Keywords whose values are data, in which the word means nothing.
bool holds_data(std::string_view keyword) {
  return keyword == "enum" || keyword == "const" || keyword == "default" || keyword == "examples" ||
         keyword == "required" || keyword == "dependentRequired" || keyword.starts_with("x-");
}

// Keywords whose members have names of the author's, each with a schema.
bool holds_names(std::string_view keyword) {
  return keyword == "properties" || keyword == "patternProperties" || keyword == "$defs" ||
         keyword == "definitions" || keyword == "dependentSchemas";
}

std::string text_of(const json::Value& value) {
  if (value.is_bool()) return value.get_bool() ? "true" : "false";
  if (value.is_double()) return fmt::format("{:.0f}", value.get_double());
  return value.is_string() ? std::string(value.get_string()) : json::write(value);
}

bool is_whole(const json::Value& value) {
  if (value.is_int64()) return value.get_int64() >= -kSafe && value.get_int64() <= kSafe;
  return value.is_double() && std::abs(value.get_double()) <= static_cast<double>(kSafe) &&
         std::trunc(value.get_double()) == value.get_double();
}

const json::Value* at(const json::Object& arguments, const std::vector<std::string>& path) {
  const json::Object* object = &arguments;
  const json::Value* found = nullptr;
  for (const auto& name : path) {
    found = object == nullptr ? nullptr : object->if_contains(name);
    object = found != nullptr ? found->if_object() : nullptr;
  }
  return found;
}

}  // namespace

class ParamHeaders::Reader {
 public:
  // How a schema was come to: by names of properties alone, or by another way
  // as well, on which no header may stand.
  enum class Way : std::uint8_t { kProperties, kOther };

  base::Status walk(const json::Value& schema, Way way, std::size_t depth) {
    if (const auto* items = schema.if_array()) {
      for (const auto& one : *items) RETURN_IF_ERROR(walk(one, Way::kOther, depth + 1));
      return {};
    }
    const json::Object* object = schema.if_object();
    if (object == nullptr) return {};
    if (depth > kDepth) return fail(ErrorKind::kTooLarge, "inputSchema: is too deep");
    if (const auto* name = object->if_contains(kKeyword)) {
      RETURN_IF_ERROR(add(*name, *object, way));
    }
    for (const auto& member : *object) {
      std::string_view keyword = member.key();
      if (holds_data(keyword)) continue;
      if (!holds_names(keyword) || !member.value().is_object()) {
        RETURN_IF_ERROR(walk(member.value(), Way::kOther, depth + 1));
        continue;
      }
      Way next = keyword == "properties" ? way : Way::kOther;
      for (const auto& property : member.value().get_object()) {
        path_.emplace_back(property.key());
        auto walked = walk(property.value(), next, depth + 1);
        path_.pop_back();
        RETURN_IF_ERROR(std::move(walked));
      }
    }
    return {};
  }

  std::vector<Param> found;

 private:
  base::Status add(const json::Value& name, const json::Object& schema, Way way) {
    std::string where = fmt::format("inputSchema: {}: {}", fmt::join(path_, "."), kKeyword);
    if (way != Way::kProperties || path_.empty()) {
      return fail(ErrorKind::kInvalid, where + ": may stand at properties alone");
    }
    if (!name.is_string() || !is_token(std::string_view(name.get_string()))) {
      return fail(ErrorKind::kInvalid, where + ": must be the name of a header");
    }
    const auto* type = schema.if_contains("type");
    if (type == nullptr || (*type != "string" && *type != "integer" && *type != "boolean")) {
      return fail(ErrorKind::kInvalid, where + ": is for texts, integers and booleans");
    }
    std::string header(name.get_string());
    if (!names_.insert(lower(header)).second) {
      return fail(ErrorKind::kInvalid, where + ": comes twice");
    }
    if (found.size() >= kMost) return fail(ErrorKind::kTooLarge, where + ": comes too often");
    found.push_back({path_, std::move(header)});
    return {};
  }

  std::vector<std::string> path_;
  std::set<std::string> names_;
};

base::Result<ParamHeaders> ParamHeaders::read(const json::Object& schema) {
  Reader reader;
  RETURN_IF_ERROR(reader.walk(json::Value(schema), Reader::Way::kProperties, 0));
  ParamHeaders out;
  out.all_ = std::move(reader.found);
  return out;
}

base::Result<HeaderValues> ParamHeaders::of(const json::Object& arguments) const {
  HeaderValues out;
  for (const auto& param : all_) {
    const json::Value* value = at(arguments, param.path);
    if (value == nullptr || value->is_null()) continue;
    std::string where = fmt::format("args.{}", fmt::join(param.path, "."));
    if (!value->is_string() && !value->is_bool() && !is_whole(*value)) {
      return fail(ErrorKind::kInvalid,
                  where + ": goes into a header: must be a text, a boolean or a safe integer");
    }
    std::string text = mcp::encode_header(text_of(*value));
    if (text.size() > kValueBytes) {
      return fail(ErrorKind::kTooLarge, where + ": goes into a header, which has 4 KiB at most");
    }
    out.emplace_back("Mcp-Param-" + param.header, std::move(text));
  }
  return out;
}

}  // namespace tool::bridge
