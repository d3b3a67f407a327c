// Any text as the signature and the body of a policy: it is refused, or its pieces are the whole
// of it: kept as JSON they are the same, and put together over quoted names they are one expression
// of the same type again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "lakeproxy/governance/policy_body.h"
#include "lakeproxy/governance/policy_signature.h"

namespace {

using namespace lake::governance;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

void check(const CompiledBody& body, bool is_mask) {
  const auto stored = CompiledBody::from_json(base::json::Value(body.to_json()));
  require(stored && *stored == body);
  std::vector<std::string> names;
  std::string signature = "(";
  for (const Argument& argument : body.arguments()) {
    names.push_back(quoted(argument.name));
    signature += (names.size() > 1 ? ", " : "") + names.back() + " " + argument.type;
  }
  signature += ")";
  const std::string text = body.over(names);
  if (text.size() > 4'096 || signature.size() > 4'096) return;
  const auto again = is_mask ? compile_mask(signature, text) : compile_filter(signature, text);
  require(again && again->type() == body.type());
}

}  // namespace

// The signature, a line end, and the body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  if (size > 2'048) return 0;
  const std::size_t end = std::min(all.find('\n'), all.size());
  const std::string_view signature = all.substr(0, end);
  const std::string_view body = all.substr(std::min(end + 1, all.size()));
  if (const auto value = base::json::parse(all)) (void)CompiledBody::from_json(*value);
  if (!parse_signature(signature)) return 0;
  if (const auto mask = compile_mask(signature, body)) check(*mask, true);
  if (const auto filter = compile_filter(signature, body)) check(*filter, false);
  return 0;
}
