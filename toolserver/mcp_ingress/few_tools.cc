#include "toolserver/mcp_ingress/few_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json/fields.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;

constexpr std::string_view kSearch = "search";
constexpr std::string_view kDescribe = "describe";
constexpr std::string_view kExecute = "execute";
constexpr std::size_t kNameBytes = 256;
constexpr std::size_t kNamespaces = 50;
constexpr std::size_t kArguments = 16;

json::Object text_schema(std::string_view description, std::size_t most) {
  return {{"type", "string"}, {"description", description}, {"maxLength", most}};
}

json::Object schema_of(json::Object properties, std::initializer_list<std::string_view> required) {
  json::Array names;
  for (std::string_view one : required) names.emplace_back(one);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(names)},
          {"additionalProperties", false}};
}

json::Object search_tool() {
  json::Object properties{
      {"query", text_schema("An action and what it acts on, such as \"send email\".",
                            tool_search::Index::kQueryBytes)},
      {"limit", {{"type", "integer"}, {"minimum", 1}, {"maximum", FewTools::kMostFound}}}};
  return {{"name", kSearch},
          {"description",
           "Finds tools by words. Answers the best first: name, description, names of arguments "
           "('?' after those that may be left out). Begin here, and search again in other words "
           "when the right one is not there."},
          {"inputSchema", schema_of(std::move(properties), {"query"})},
          {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}};
}

json::Object describe_tool() {
  json::Object properties{{"tool", text_schema("Its name, as search gives it.", kNameBytes)}};
  return {{"name", kDescribe},
          {"description", "Shows one tool whole, with the JSON Schema of its arguments."},
          {"inputSchema", schema_of(std::move(properties), {"tool"})},
          {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}};
}

json::Object execute_tool() {
  json::Object properties{
      {"tool", text_schema("Its name, as search gives it.", kNameBytes)},
      {"arguments", {{"type", "object"}, {"description", "As its schema asks."}}}};
  return {{"name", kExecute},
          {"description", "Calls a tool and answers what it answers."},
          {"inputSchema", schema_of(std::move(properties), {"tool"})},
          {"annotations", {{"readOnlyHint", false}, {"destructiveHint", true}}}};
}

ToolResult json_text(const json::Object& value) {
  ToolResult result;
  result.content.push_back({"text/plain", json::write(value)});
  return result;
}

Fault bad_argument(const base::Error& error) { return refuse(Code::kShape, error.message()); }

base::Status check_names(const json::Object& arguments,
                         std::initializer_list<std::string_view> known) {
  for (const auto& one : arguments) {
    if (std::ranges::find(known, std::string_view(one.key())) == known.end()) {
      return base::fail(base::ErrorKind::kInvalid, "args: has a member that is not known");
    }
  }
  return {};
}

base::Result<std::string> text_of(const json::Fields& fields, std::string_view member,
                                  std::size_t most) {
  ASSIGN_OR_RETURN(std::string text, fields.string(member));
  if (text.empty() || text.size() > most) {
    return base::fail(base::ErrorKind::kInvalid,
                      fmt::format("{}: must have 1 to {} bytes", fields.path_of(member), most));
  }
  return text;
}

struct Query {
  std::string words;
  std::size_t most = FewTools::kFound;
};

base::Result<Query> query_of(const json::Value& arguments) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(arguments, "args"));
  RETURN_IF_ERROR(check_names(arguments.get_object(), {"query", "limit"}));
  Query query;
  ASSIGN_OR_RETURN(query.words, text_of(fields, "query", tool_search::Index::kQueryBytes));
  ASSIGN_OR_RETURN(auto limit, fields.opt_int64("limit"));
  if (!limit) return query;
  if (*limit < 1 || std::cmp_greater(*limit, FewTools::kMostFound)) {
    return base::fail(base::ErrorKind::kInvalid,
                      fmt::format("args.limit: must be 1 to {}", FewTools::kMostFound));
  }
  query.most = static_cast<std::size_t>(*limit);
  return query;
}

base::Result<std::string> described_of(const json::Value& arguments) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(arguments, "args"));
  RETURN_IF_ERROR(check_names(arguments.get_object(), {"tool"}));
  return text_of(fields, "tool", kNameBytes);
}

struct Meant {
  std::string tool;
  json::Object arguments;
};

base::Result<Meant> meant_by(const json::Value& arguments) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(arguments, "args"));
  RETURN_IF_ERROR(check_names(arguments.get_object(), {"tool", "arguments"}));
  Meant meant;
  ASSIGN_OR_RETURN(meant.tool, text_of(fields, "tool", kNameBytes));
  const json::Value* given = fields.find("arguments");
  if (given == nullptr) return meant;
  if (!given->is_object()) {
    return base::fail(base::ErrorKind::kInvalid, "args.arguments: must be an object");
  }
  meant.arguments = given->get_object();
  return meant;
}

std::string_view text_in(const json::Object& tool, std::string_view member) {
  const auto* found = tool.if_contains(member);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : "";
}

// Null where the schema names none.
const json::Object* properties_of(const json::Object& tool) {
  const auto* schema = tool.if_contains("inputSchema");
  if (schema == nullptr || !schema->is_object()) return nullptr;
  const auto* properties = schema->get_object().if_contains("properties");
  return properties == nullptr ? nullptr : properties->if_object();
}

// "owner, repo, state?"
std::string arguments_of(const json::Object& tool) {
  const json::Object* properties = properties_of(tool);
  if (properties == nullptr) return {};
  const auto* required = tool.at("inputSchema").get_object().if_contains("required");
  const json::Array* needed = required == nullptr ? nullptr : required->if_array();
  std::string out;
  std::size_t count = 0;
  for (const auto& one : *properties) {
    if (count++ == kArguments) return out + ", ...";
    if (!out.empty()) out += ", ";
    out += std::string_view(one.key());
    bool is_needed = needed != nullptr && std::ranges::any_of(*needed, [&](const auto& name) {
                       return name.is_string() && name.get_string() == one.key();
                     });
    if (!is_needed) out += '?';
  }
  return out;
}

// Cut between characters.
std::string beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "...";
}

}  // namespace

std::optional<ToolsWanted> tools_wanted(std::string_view text) {
  if (text == "all") return ToolsWanted::kAll;
  if (text == "search") return ToolsWanted::kSearch;
  return std::nullopt;
}

FewTools::Catalog::Catalog(ToolList all) : list(std::move(all)) {
  std::vector<json::Object> tools;
  std::vector<tool_search::Described> described;
  tools.reserve(list.size);
  described.reserve(list.size);
  for (std::size_t i = 0; i < list.size; ++i) {
    const json::Object& tool = tools.emplace_back(list.tool(i));
    tool_search::Described& one = described.emplace_back();
    one.name = text_in(tool, "name");
    one.title = text_in(tool, "title");
    one.description = text_in(tool, "description");
    if (const json::Object* properties = properties_of(tool)) {
      for (const auto& property : *properties) one.parameters.emplace_back(property.key());
    }
    places.emplace(one.name, i);
    std::string space(one.name.substr(0, one.name.find('.')));
    bool has_space = space.size() < one.name.size();
    bool is_new = std::ranges::find(namespaces, space) == namespaces.end();
    if (has_space && is_new && namespaces.size() < kNamespaces) {
      namespaces.push_back(std::move(space));
    }
  }
  index = tool_search::Index(described);
}

base::Task<Outcome<bool>> FewTools::is_few(std::shared_ptr<const Call> call) {
  if (call->wanted != ToolsWanted::kDefault) co_return call->wanted == ToolsWanted::kSearch;
  if (above_ == 0) co_return false;
  auto all = co_await behind_.list(call);
  if (!all) co_return std::move(all).error();
  co_return all->size > above_;
}

base::Task<Outcome<std::shared_ptr<const FewTools::Catalog>>> FewTools::catalog(
    std::shared_ptr<const Call> call) {
  auto all = co_await behind_.list(call);
  if (!all) co_return std::move(all).error();
  auto has_etag = [&](const auto& one) { return one->list.etag == all->etag; };
  {
    std::lock_guard held(mutex_);
    auto found = std::ranges::find_if(catalogs_, has_etag);
    if (found != catalogs_.end()) {
      catalogs_.splice(catalogs_.begin(), catalogs_, found);
      co_return catalogs_.front();
    }
  }
  auto made = std::make_shared<const Catalog>(*all);
  std::lock_guard held(mutex_);
  // Another loop may have made it meanwhile.
  std::erase_if(catalogs_, has_etag);
  catalogs_.push_front(made);
  if (catalogs_.size() > kCatalogs) catalogs_.pop_back();
  co_return made;
}

base::Task<Outcome<ToolList>> FewTools::list(std::shared_ptr<const Call> call) {
  auto few = co_await is_few(call);
  if (!few) co_return std::move(few).error();
  if (!*few) co_return co_await behind_.list(call);
  static constexpr std::array kTools{search_tool, describe_tool, execute_tool};
  ToolList list;
  list.etag = "three";
  list.size = kTools.size();
  list.tool = [](std::size_t at) { return kTools.at(at)(); };
  co_return list;
}

base::Task<Outcome<ToolResult>> FewTools::call(std::shared_ptr<const Call> call, ToolCall tool) {
  bool may_be = tool.offer == Offer::kTool &&
                (tool.name == kSearch || tool.name == kDescribe || tool.name == kExecute);
  if (!may_be) co_return co_await behind_.call(call, std::move(tool));
  auto few = co_await is_few(call);
  if (!few) co_return std::move(few).error();
  if (!*few) co_return co_await behind_.call(call, std::move(tool));
  if (tool.name == kExecute) {
    auto meant = meant_by(json::Value(std::move(tool.arguments)));
    if (meant) {
      tool.name = std::move(meant->tool);
      tool.arguments = std::move(meant->arguments);
      co_return co_await behind_.call(call, std::move(tool));
    }
    if (auto admitted = behind_.admit(*call); !admitted) co_return std::move(admitted).error();
    co_return bad_argument(meant.error());
  }
  if (auto admitted = behind_.admit(*call); !admitted) co_return std::move(admitted).error();
  if (tool.name == kSearch) co_return co_await search(call, std::move(tool.arguments));
  co_return co_await describe(call, std::move(tool.arguments));
}

base::Task<Outcome<ToolResult>> FewTools::search(std::shared_ptr<const Call> call,
                                                 json::Object arguments) {
  auto query = query_of(json::Value(std::move(arguments)));
  if (!query) co_return bad_argument(query.error());
  auto found = co_await catalog(call);
  if (!found) co_return std::move(found).error();
  const Catalog& all = **found;
  json::Array tools;
  for (const auto& hit : all.index.best(query->words, query->most)) {
    json::Object tool = all.list.tool(hit.tool);
    json::Object& one = tools.emplace_back(json::Object()).get_object();
    one["name"] = tool.at("name");
    one["description"] = beginning(text_in(tool, "description"), kDescriptionBytes);
    std::string names = arguments_of(tool);
    if (!names.empty()) one["arguments"] = names;
  }
  json::Object answer;
  if (tools.empty()) {
    json::Array spaces;
    for (const auto& one : all.namespaces) spaces.emplace_back(one);
    answer["namespaces"] = std::move(spaces);
  }
  answer["tools"] = std::move(tools);
  co_return json_text(answer);
}

base::Task<Outcome<ToolResult>> FewTools::describe(std::shared_ptr<const Call> call,
                                                   json::Object arguments) {
  auto name = described_of(json::Value(std::move(arguments)));
  if (!name) co_return bad_argument(name.error());
  auto found = co_await catalog(call);
  if (!found) co_return std::move(found).error();
  auto place = (*found)->places.find(*name);
  if (place == (*found)->places.end()) co_return refuse(Code::kTool, "no such tool");
  co_return json_text((*found)->list.tool(place->second));
}

base::Task<std::string> FewTools::scope_of(std::shared_ptr<const Call> call, std::string name,
                                           json::Object arguments) {
  if (name == kExecute) {
    auto few = co_await is_few(call);
    auto meant = meant_by(json::Value(arguments));
    if (few && *few && meant) {
      co_return co_await behind_.scope_of(call, std::move(meant->tool),
                                          std::move(meant->arguments));
    }
  }
  co_return co_await behind_.scope_of(call, std::move(name), std::move(arguments));
}

}  // namespace tool::mcp_ingress
