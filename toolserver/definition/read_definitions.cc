#include "toolserver/definition/read_definitions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/canonical.h"
#include "toolserver/definition/keys.h"
#include "toolserver/definition/read_work.h"
#include "toolserver/definition/section.h"

namespace tool::definition {
namespace {

using base::config::Bytes;
using base::json::Object;
using std::chrono::microseconds;

constexpr std::size_t kMaxTools = 256;
constexpr std::size_t kMaxParameters = 64;
constexpr std::size_t kMaxTitle = 256;
constexpr std::size_t kMaxDescription = 8'192;
constexpr std::uint64_t kMiB = 1 << 20;

// "optional" stands beside the schema of a parameter and is no part of it.
void read_parameters(Section& tool, Capability& capability) {
  Object properties;
  base::json::Array required;
  const Object* parameters = tool.section("parameters");
  if (parameters != nullptr && parameters->size() > kMaxParameters) {
    tool.fault("parameters", "must have at most 64");
    return;
  }
  if (parameters != nullptr) {
    for (const auto& member : *parameters) {
      std::string key = fmt::format("parameters.{}", std::string_view(member.key()));
      if (!is_place_name(member.key())) {
        tool.fault(key, "a name has 1 to 64 letters, digits, '_' and '-', and no digit first");
      } else if (!member.value().is_object()) {
        tool.fault(key, "must be a section with a JSON Schema");
      } else {
        Object schema = member.value().get_object();
        const auto* optional = schema.if_contains("optional");
        if (optional != nullptr && !optional->is_bool()) {
          tool.fault(key + ".optional", "must be true or false");
        }
        bool is_optional = optional != nullptr && optional->is_bool() && optional->get_bool();
        if (!is_optional) required.push_back(boost::json::string(member.key()));
        schema.erase("optional");
        properties.emplace(member.key(), std::move(schema));
      }
    }
  }
  capability.input_schema = {{"type", "object"},
                             {"properties", std::move(properties)},
                             {"required", std::move(required)},
                             {"additionalProperties", false}};
}

ConsentRule consent_of(Section& tool, bool read_only) {
  auto word = std::get<std::string>(
      tool.value("consent", base::config::ChoiceType{{"never", "first", "always"}},
                 read_only ? "never" : "always"));
  if (word == "never") return ConsentRule::kNever;
  return word == "first" ? ConsentRule::kFirst : ConsentRule::kAlways;
}

AnswerForm read_answer(Section& tool, Capability& capability) {
  bool json = std::get<std::string>(tool.value("answer", base::config::ChoiceType{{"text", "json"}},
                                               "text")) == "json";
  if (const Object* schema = tool.section("answer_schema")) {
    if (!json) tool.fault("answer_schema", "goes with answer = \"json\"");
    capability.output_schema = *schema;
  }
  return json ? AnswerForm::kJson : AnswerForm::kText;
}

void read_limits(Section& tool, Capability& capability) {
  auto time = std::get<microseconds>(tool.value(
      "timeout", base::config::DurationType{std::chrono::milliseconds(10), std::chrono::minutes(5)},
      "30"));
  capability.limits.time = std::chrono::duration_cast<std::chrono::milliseconds>(time);
  capability.limits.output_bytes =
      std::get<Bytes>(tool.value("answer_max", base::config::BytesType{1, 64 * kMiB}, "1MiB"))
          .count;
  capability.limits.at_once = static_cast<std::size_t>(
      std::get<std::int64_t>(tool.value("at_once", base::config::IntegerType{1, 256}, "4")));
}

void read_tool(Section& tool, ToolId id, const ReadOptions& options, ReadTools& out) {
  ToolDefinition definition{.capability = {.id = std::move(id)}};
  Capability& capability = definition.capability;
  capability.title = tool.text("title", kMaxTitle);
  capability.description = tool.text("description", kMaxDescription, Section::Lines::kMany);
  if (capability.description.empty()) tool.fault("description", "must say what the tool does");
  bool read_only = tool.flag("read_only", false);
  capability.annotations = {.read_only = read_only,
                            .destructive = !read_only && tool.flag("destructive", true),
                            .idempotent = tool.flag("idempotent", read_only),
                            .open_world = tool.flag("open_world", true)};
  capability.consent = consent_of(tool, read_only);
  read_parameters(tool, capability);
  definition.answer = read_answer(tool, capability);
  read_limits(tool, capability);
  definition.secrets = read_secrets(tool, options, out.files);
  if (!read_work(tool, definition, options)) return;
  definition.source = base::json::write(base::json::Value(tool.table()));
  out.tools.push_back(std::move(definition));
}

bool same_secrets(const std::vector<NamedSecret>& a, const std::vector<NamedSecret>& b) {
  return std::ranges::equal(a, b, [](const NamedSecret& x, const NamedSecret& y) {
    return x.name == y.name && x.value.equals(y.value.reveal());
  });
}

}  // namespace

ReadTools read_definitions(const base::json::Object& section, const ReadOptions& options) {
  ReadTools out;
  Faults faults;
  Section tools(section, std::string(kSpace), faults);
  if (section.size() > kMaxTools) faults.add("tools: must be at most 256");
  for (const auto& member : section) {
    std::string_view name = member.key();
    auto id = ToolId::parse(fmt::format("{}.{}", kSpace, name));
    if (!id) {
      tools.fault(name, "a tool's name has 1 to 64 of a-z, 0-9, '_' and '-', a letter first");
    } else if (!member.value().is_object()) {
      tools.fault(name, "must be a section: [tools.NAME]");
    } else if (out.tools.size() < kMaxTools) {
      Section tool(member.value().get_object(), fmt::format("{}.{}", kSpace, name), faults);
      read_tool(tool, std::move(*id), options, out);
    }
  }
  out.faults = std::move(faults).take();
  return out;
}

bool are_equal(const std::vector<ToolDefinition>& a, const std::vector<ToolDefinition>& b) {
  return std::ranges::equal(a, b, [](const ToolDefinition& x, const ToolDefinition& y) {
    return x.capability.id == y.capability.id && x.source == y.source &&
           same_secrets(x.secrets, y.secrets);
  });
}

std::string markdown() {
  std::string out =
      "\n## Tools of your own\n\n"
      "Sections of a TOML file, one for each tool: `[tools.NAME]` is the tool `tools.NAME`. They "
      "are no settings: "
      "the environment and YAML files cannot hold\nthem. [tools/own-tools.md](tools/own-tools.md) "
      "shows how they are "
      "used. A change takes a restart.\n";
  return out + key_table("Every tool", kCommonKeys) +
         key_table("kind = \"command\"", kCommandKeys) + key_table("kind = \"http\"", kHttpKeys);
}

}  // namespace tool::definition
