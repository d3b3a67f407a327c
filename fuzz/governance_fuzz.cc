// Any bytes as what an administrator writes of governance: no fault; what is read has a name that
// is read as the same object, and a signature cuts into arguments that a signature can be made of
// again.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "lakeproxy/governance/governance_objects.h"
#include "lakeproxy/governance/policy_signature.h"

namespace {

using namespace lake::governance;

constexpr std::array kCollections{Collection::kTags,
                                  Collection::kObjectTags,
                                  Collection::kMaskingPolicies,
                                  Collection::kRowAccessPolicies,
                                  Collection::kPolicyAttachments,
                                  Collection::kRoles,
                                  Collection::kRoleGrants,
                                  Collection::kObjectGrants};

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

void check_signature(std::string_view text) {
  auto arguments = parse_signature(text);
  if (!arguments) return;
  std::string again = "(";
  for (const Argument& argument : *arguments) {
    again += (again.size() > 1 ? ", " : "") + quoted(argument.name) + " " + argument.type;
  }
  again += ")";
  if (again.size() > 4096) return;  // Quotes made it longer than a signature may be.
  auto reread = parse_signature(again);
  if (!reread || *reread != *arguments) std::abort();
}

void check_object(Collection collection, const base::json::Value& body) {
  auto object = object_from_json(collection, body);
  if (!object) return;
  const base::json::Object name = name_of(*object);
  if (const auto* policy = std::get_if<Policy>(&*object)) {
    check_signature(policy->signature);
    return;  // Its name alone is no policy.
  }
  auto named = object_from_json(collection, base::json::Value(name));
  if (!named || name_of(*named) != name) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_signature(text);
  if (auto schema = schema_of(text)) {
    auto again = schema_of(schema_text(*schema));
    if (!again || *again != *schema) std::abort();
  }
  auto body = base::json::parse(text);
  if (!body) return 0;
  for (const Collection collection : kCollections) check_object(collection, *body);
  return 0;
}
