#include "tests/integration/mcp_conformance_server/fixture_tools.h"

#include <fmt/format.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/crypto/encoding.h"

namespace conformance {
namespace {

namespace json = base::json;
using tool::Content;
using tool::InputNeeded;
using tool::Inputs;
using tool::Outcome;
using tool::PartOf;
using tool::ToolResult;
using Asked = FixtureTools::Asked;

constexpr std::string_view kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg"
    "gg==";
constexpr std::string_view kWav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

ToolResult text(std::string words) { return {.content = {{"text/plain", std::move(words)}}}; }

// A round that asks; the state is the tool's own.
ToolResult ask(json::Object requests, std::string state = {}) {
  ToolResult result;
  result.input_needed = InputNeeded{std::move(requests), std::move(state)};
  return result;
}

json::Object string_field(std::string_view name) {
  return {{"type", "object"},
          {"properties", json::Object{{name, {{"type", "string"}}}}},
          {"required", json::Array{json::Value(boost::json::string(name))}}};
}

json::Object elicit(std::string message, json::Object schema) {
  return {{"method", "elicitation/create"},
          {"params", {{"message", std::move(message)}, {"requestedSchema", std::move(schema)}}}};
}

json::Object sample(std::string words, int tokens) {
  json::Object message{{"role", "user"}, {"content", {{"type", "text"}, {"text", words}}}};
  return {{"method", "sampling/createMessage"},
          {"params", {{"messages", json::Array{message}}, {"maxTokens", tokens}}}};
}

json::Object list_roots() { return {{"method", "roots/list"}, {"params", json::Object()}}; }

// What the client answered to the question of that name, or null.
const json::Object* answer(const Asked& asked, std::string_view name) {
  if (!asked.call.inputs) return nullptr;
  const auto* found = asked.call.inputs->responses.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

std::string field(const json::Object& response, std::string_view name) {
  const auto* content = response.if_contains("content");
  const auto* fields = content == nullptr ? nullptr : content->if_object();
  const auto* value = fields == nullptr ? nullptr : fields->if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "unknown";
}

std::string outcome_of(const json::Object& response) {
  const auto* action = response.if_contains("action");
  const auto* content = response.if_contains("content");
  return fmt::format("action={}, content={}",
                     action == nullptr ? "" : std::string(action->as_string()),
                     content == nullptr ? "{}" : json::write(*content));
}

// One question, and what is made of its answer.
FixtureTools::Run one_question(std::string name, std::function<json::Object(const Asked&)> question,
                               std::function<std::string(const json::Object&)> words,
                               std::string state = {}) {
  return [=](const Asked& asked) -> Outcome<ToolResult> {
    if (const auto* response = answer(asked, name)) return text(words(*response));
    return ask({{name, question(asked)}}, state);
  };
}

json::Object defaults_schema() {
  return {{"type", "object"},
          {"properties",
           {{"name", {{"type", "string"}, {"description", "User name"}, {"default", "John Doe"}}},
            {"age", {{"type", "integer"}, {"description", "User age"}, {"default", 30}}},
            {"score", {{"type", "number"}, {"description", "User score"}, {"default", 95.5}}},
            {"status",
             {{"type", "string"},
              {"description", "User status"},
              {"enum", {"active", "inactive", "pending"}},
              {"default", "active"}}},
            {"verified",
             {{"type", "boolean"}, {"description", "Verification status"}, {"default", true}}}}},
          {"required", json::Array()}};
}

json::Array titled(std::string_view word) {
  json::Array out;
  for (auto [number, name] : {std::pair{1, "First"}, {2, "Second"}, {3, "Third"}}) {
    out.push_back(json::Object{{"const", fmt::format("value{}", number)},
                               {"title", fmt::format("{} {}", name, word)}});
  }
  return out;
}

json::Object enums_schema() {
  json::Array options{"option1", "option2", "option3"};
  json::Object properties{
      {"untitledSingle",
       {{"type", "string"}, {"description", "Select one option"}, {"enum", options}}},
      {"titledSingle",
       {{"type", "string"}, {"description", "Select one option"}, {"oneOf", titled("Option")}}},
      {"legacyEnum",
       {{"type", "string"},
        {"description", "Select one option"},
        {"enum", {"opt1", "opt2", "opt3"}},
        {"enumNames", {"Option One", "Option Two", "Option Three"}}}},
      {"untitledMulti",
       {{"type", "array"},
        {"description", "Select some options"},
        {"minItems", 1},
        {"maxItems", 3},
        {"items", {{"type", "string"}, {"enum", options}}}}},
      {"titledMulti",
       {{"type", "array"},
        {"description", "Select some options"},
        {"minItems", 1},
        {"maxItems", 3},
        {"items", {{"anyOf", titled("Choice")}}}}}};
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", json::Array()}};
}

json::Object ok_schema() {
  return {
      {"type", "object"}, {"properties", {{"ok", {{"type", "boolean"}}}}}, {"required", {"ok"}}};
}

}  // namespace

std::string png() { return *base::crypto::from_base64(kPng, kPng.size()); }
std::string wav() { return *base::crypto::from_base64(kWav, kWav.size()); }

FixtureTools::FixtureTools() {
  add_contents();
  add_notes();
  add_questions();
  add_rounds();
  add_changes();
  add_jobs();
}

void FixtureTools::add_job(std::string name, std::string description, Pause pause, Run run,
                           json::Object properties) {
  add(name, std::move(description), std::move(run), std::move(properties));
  fixtures_[name].pause = std::move(pause);
}

void FixtureTools::add(std::string name, std::string description, Run run,
                       json::Object properties) {
  json::Object schema{{"type", "object"}, {"properties", std::move(properties)}};
  fixtures_[std::move(name)] = {std::move(description), std::move(schema), std::move(run)};
}

// Every keyword of it has to come out as it went in.
constexpr std::string_view kSchema = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                        "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
  "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                 "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                 "phone": {"type": "string"}, "email": {"type": "string"}},
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false})";

void FixtureTools::add_contents() {
  fixtures_["json_schema_2020_12_tool"] = {"Takes a contact.",
                                           json::parse(kSchema).value().as_object(),
                                           [](const Asked&) { return text("ok"); }};
  add("test_simple_text", "Answers with a text.",
      [](const Asked&) { return text("This is a simple text response for testing."); });
  add("test_image_content", "Answers with a picture.", [](const Asked&) -> Outcome<ToolResult> {
    return ToolResult{.content = {{"image/png", png()}}};
  });
  add("test_audio_content", "Answers with a sound.", [](const Asked&) -> Outcome<ToolResult> {
    return ToolResult{.content = {{"audio/wav", wav()}}};
  });
  add("test_embedded_resource", "Answers with a resource.",
      [](const Asked&) -> Outcome<ToolResult> {
        return ToolResult{.content = {{"text/plain", "This is an embedded resource content.",
                                       PartOf::kResource, "test://embedded-resource"}}};
      });
  add("test_multiple_content_types", "Answers with parts of several kinds.",
      [](const Asked&) -> Outcome<ToolResult> {
        return ToolResult{.content = {{"text/plain", "Multiple content types test:"},
                                      {"image/png", png()},
                                      {"application/json", R"({"test":"data","value":123})",
                                       PartOf::kResource, "test://mixed-content-resource"}}};
      });
  add("test_error_handling", "Fails.", [](const Asked&) -> Outcome<ToolResult> {
    ToolResult result = text("This tool intentionally returns an error for testing");
    result.is_error = true;
    return result;
  });
}

void FixtureTools::add_notes() {
  auto notes = [](const Asked& asked) -> Outcome<ToolResult> {
    for (const char* words :
         {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
      if (asked.call.note) (*asked.call.note)("info", words);
    }
    return text("Tool with logging executed successfully");
  };
  add("test_tool_with_logging", "Notes what it does.", notes);
  add("test_logging_tool", "Notes what it does.", notes);
  add("test_tool_with_progress", "Tells how far it is.",
      [](const Asked& asked) -> Outcome<ToolResult> {
        for (int done : {0, 50, 100}) {
          if (asked.progress) {
            asked.progress(done, 100, fmt::format("Completed step {} of 100", done));
          }
        }
        return text("Tool with progress executed successfully");
      });
}

void FixtureTools::add_questions() {
  json::Object prompt{{"prompt", {{"type", "string"}}}};
  json::Object message{{"message", {{"type", "string"}}}};
  auto argument = [](const Asked& asked, std::string_view name) {
    const auto* value = asked.call.args.if_contains(name);
    return value == nullptr ? std::string() : std::string(value->as_string());
  };
  add("test_sampling", "Asks the client's model.",
      one_question(
          "answer",
          [argument](const Asked& asked) { return sample(argument(asked, "prompt"), 100); },
          [](const json::Object& response) { return "LLM response: " + field(response, "text"); }),
      prompt);
  add("test_elicitation", "Asks the client's user.",
      one_question(
          "answer",
          [argument](const Asked& asked) {
            return elicit(argument(asked, "message"), string_field("response"));
          },
          [](const json::Object& response) { return "User response: " + outcome_of(response); }),
      message);
  auto completed = [](const json::Object& response) {
    return "Elicitation completed: " + outcome_of(response);
  };
  add("test_elicitation_sep1034_defaults", "Asks with defaults.",
      one_question(
          "answer",
          [](const Asked&) { return elicit("Please review the form", defaults_schema()); },
          completed));
  add("test_elicitation_sep1330_enums", "Asks with choices.",
      one_question(
          "answer", [](const Asked&) { return elicit("Please select", enums_schema()); },
          completed));
  add("test_streaming_elicitation", "Asks the client's user.",
      one_question(
          "answer", [](const Asked&) { return elicit("Please confirm", string_field("response")); },
          completed));
  add("test_missing_capability", "Asks the client's model, whether it has one or not.",
      one_question(
          "answer", [](const Asked&) { return sample("Hello", 10); },
          [](const json::Object&) { return std::string("answered"); }));
}

void FixtureTools::add_rounds() {
  auto hello = [](const json::Object& response) {
    return fmt::format("Hello, {}!", field(response, "name"));
  };
  auto done = [](const json::Object&) { return std::string("done"); };
  add("test_input_required_result_elicitation", "Asks for a name.",
      one_question(
          "user_name",
          [](const Asked&) { return elicit("What is your name?", string_field("name")); }, hello));
  add("test_input_required_result_sampling", "Asks for a capital.",
      one_question(
          "capital_question",
          [](const Asked&) { return sample("What is the capital of France?", 100); },
          [](const json::Object& response) { return field(response, "text"); }));
  add("test_input_required_result_list_roots", "Asks for the client's roots.",
      one_question("client_roots", [](const Asked&) { return list_roots(); }, done));
  for (const char* name :
       {"test_input_required_result_request_state", "test_input_required_result_tampered_state"}) {
    add(name, "Asks, and keeps a state.", [](const Asked& asked) -> Outcome<ToolResult> {
      if (answer(asked, "confirm") != nullptr && asked.call.inputs->state == "round-1") {
        return text("state-ok");
      }
      return ask({{"confirm", elicit("Please confirm", ok_schema())}}, "round-1");
    });
  }
  add("test_input_required_result_multiple_inputs", "Asks three things.",
      [](const Asked& asked) -> Outcome<ToolResult> {
        const auto* name = answer(asked, "user_name");
        bool all = name != nullptr && answer(asked, "greeting") != nullptr &&
                   answer(asked, "client_roots") != nullptr;
        if (all) return text("Hello, " + field(*name, "name"));
        return ask({{"user_name", elicit("What is your name?", string_field("name"))},
                    {"greeting", sample("Generate a greeting", 50)},
                    {"client_roots", list_roots()}},
                   "three");
      });
  add("test_input_required_result_multi_round", "Asks twice.",
      [](const Asked& asked) -> Outcome<ToolResult> {
        if (const auto* second = answer(asked, "step2")) {
          return text(
              fmt::format("{} likes {}", asked.call.inputs->state, field(*second, "color")));
        }
        if (const auto* first = answer(asked, "step1")) {
          auto color = elicit("Step 2: What is your favorite color?", string_field("color"));
          return ask({{"step2", color}}, field(*first, "name"));
        }
        return ask({{"step1", elicit("Step 1: What is your name?", string_field("name"))}}, "-");
      });
  add("test_input_required_result_capabilities", "Asks what the client can be asked.",
      [](const Asked& asked) -> Outcome<ToolResult> {
        json::Object requests;
        if (asked.call.client.contains("elicitation")) {
          requests["user_name"] = elicit("What is your name?", string_field("name"));
        }
        if (asked.call.client.contains("sampling")) requests["greeting"] = sample("Greet", 50);
        if (requests.empty() || asked.call.inputs) return text("done");
        return ask(std::move(requests));
      });
}

void FixtureTools::add_changes() {
  using tool::mcp_ingress::Change;
  auto changes = [this](Change::Kind kind) {
    return [this, kind](const Asked&) -> Outcome<ToolResult> {
      if (tell) tell({kind, {}});
      return text("changed");
    };
  };
  add("test_trigger_tool_change", "Changes the list of tools.", changes(Change::Kind::kTools));
  add("test_trigger_prompt_change", "Changes the list of prompts.",
      changes(Change::Kind::kPrompts));
}

// What takes longer than mcp.task_after is a task for a client that knows tasks.
void FixtureTools::add_jobs() {
  using std::chrono::milliseconds;
  auto a_second = [](const Asked&) { return milliseconds(1'000); };
  auto at_first = [](const Asked& asked) { return milliseconds(asked.call.inputs ? 0 : 500); };
  auto text_argument = [](const Asked& asked, std::string_view name) {
    const auto* value = asked.call.args.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
  };
  add("greet", "Greets.",
      [=](const Asked& asked) { return text("Hello, " + text_argument(asked, "name") + "!"); },
      {{"name", {{"type", "string"}}}});
  add_job(
      "slow_compute", "Takes its time.",
      [](const Asked& asked) {
        const auto* seconds = asked.call.args.if_contains("seconds");
        double number = seconds == nullptr ? 0 : seconds->to_number<double>();
        return milliseconds(static_cast<std::int64_t>(number * 1'000));
      },
      [](const Asked&) { return text("computed"); },
      {{"seconds", {{"type", "number"}, {"minimum", 0}, {"maximum", 600}}},
       {"label", {{"type", "string"}}}});
  add_job("failing_job", "Fails after a while.", a_second, [](const Asked&) -> Outcome<ToolResult> {
    ToolResult result = text("the job failed");
    result.is_error = true;
    return result;
  });
  add_job("protocol_error_job", "Is away after a while.", a_second,
          [](const Asked&) -> Outcome<ToolResult> {
            return tool::refuse(tool::Code::kUpstream, "the job is away");
          });
  auto confirm = [](std::string message) { return elicit(std::move(message), ok_schema()); };
  add_job(
      "confirm_delete", "Asks after a while.", at_first,
      one_question(
          "confirm",
          [=](const Asked& asked) { return confirm("Delete " + text_argument(asked, "filename")); },
          [](const json::Object& response) { return "Deleted: " + outcome_of(response); }),
      {{"filename", {{"type", "string"}}}});
  add_job("multi_input", "Asks two things after a while.", at_first,
          [=](const Asked& asked) -> Outcome<ToolResult> {
            if (answer(asked, "first") != nullptr && answer(asked, "second") != nullptr) {
              return text("both are there");
            }
            return ask({{"first", elicit("What is your name?", string_field("name"))},
                        {"second", confirm("Please confirm")}});
          });
  auto once_asked = [](const Asked& asked) { return milliseconds(asked.call.inputs ? 1'000 : 0); };
  add_job("test_tool_with_task", "Asks for a name, and takes its time then.", once_asked,
          one_question(
              "user_name",
              [](const Asked&) { return elicit("What is your name?", string_field("name")); },
              [](const json::Object& response) { return "Hello, " + field(response, "name"); }));
}

std::vector<tool::Capability> FixtureTools::capabilities() const {
  std::vector<tool::Capability> all;
  for (const auto& [name, fixture] : fixtures_) {
    auto id = tool::ToolId::parse(fmt::format("{}.{}", kNamespace, name));
    tool::Capability one{.id = *id};
    one.description = fixture.description;
    one.input_schema = fixture.input_schema;
    one.limits.time = std::chrono::minutes(10);
    all.push_back(std::move(one));
  }
  return all;
}

base::Task<Outcome<ToolResult>> FixtureTools::invoke(tool::Approved<tool::Invocation> call,
                                                     tool::Progress progress) {
  namespace asio = boost::asio;
  const Fixture& found = fixtures_.find(std::string(call->tool.name()))->second;
  Asked asked{*call, progress};
  if (found.pause) {
    asio::steady_timer timer(co_await asio::this_coro::executor, found.pause(asked));
    boost::system::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (woken) co_return tool::refuse(tool::Code::kCancelled, "cancelled");
  }
  co_return found.run(asked);
}

}  // namespace conformance
