// Any bytes as what narrows a credential, and as the arguments of a call under
// it: refused, or read the same again from what was written of it, with the same
// word on every call; and no path gets out of its folder.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/model/argument_rules.h"
#include "toolserver/model/details.h"

namespace json = base::json;

namespace {

// Arguments of a tool that names them all.
json::Object schema_of(const json::Object& args) {
  json::Object properties;
  for (const auto& [name, value] : args) properties[name] = json::Object();
  return {{"properties", std::move(properties)}};
}

void check_same(const tool::Details& a, const tool::Details& b, const json::Object& args) {
  if (a.json() != b.json() || !a.admits(b) || !b.admits(a)) std::abort();
  auto schema = schema_of(args);
  for (std::size_t i = 0; i < a.sets().size(); ++i) {
    for (std::size_t k = 0; k < a.sets()[i]->size(); ++k) {
      auto one = (*a.sets()[i])[k].rules.check(args, schema);
      auto other = (*b.sets()[i])[k].rules.check(args, schema);
      if (one.has_value() != other.has_value()) std::abort();
      if (!one && one.error().message != other.error().message) std::abort();
    }
  }
}

void check_path(const json::Object& args) {
  const auto* path = args.if_contains("path");
  if (path == nullptr || !path->is_string()) return;
  std::string_view text = path->get_string();
  for (const char* folder : {".", "a", "/a"}) {
    if (!tool::is_within(text, folder)) continue;
    if (text.contains("/../") || text.starts_with("../") || text.ends_with("/..")) std::abort();
    if (text.starts_with('/') != (*folder == '/')) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto input = json::parse(text, {.bytes = 1 << 16, .depth = 16, .values = 10'000});
  if (!input || !input->is_object()) return 0;
  json::Object args;
  if (const auto* given = input->get_object().if_contains("args"); given && given->is_object()) {
    args = given->get_object();
  }
  check_path(args);
  if (const auto* claim = input->get_object().if_contains("details")) {
    if (auto read = tool::Details::parse(*claim)) {
      auto again = read->empty() ? tool::Details::parse(json::Array())
                                 : tool::Details::parse(read->json()[0]);
      if (!again) std::abort();
      check_same(*read, *again, args);
    }
  }
  if (const auto* sets = input->get_object().if_contains("sets")) {
    auto tool = *tool::ToolId::parse("far.tool");
    if (auto read = tool::Details::parse_sets(tool, *sets)) {
      auto again = tool::Details::parse_sets(tool, read->sets_of(tool));
      if (!again) std::abort();
      check_same(*read, *again, args);
    }
  }
  return 0;
}
