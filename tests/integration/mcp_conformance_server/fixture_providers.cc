#include "tests/integration/mcp_conformance_server/fixture_providers.h"

#include <fmt/format.h>

#include "tests/integration/mcp_conformance_server/fixture_tools.h"

namespace conformance {
namespace {

namespace json = base::json;
using namespace tool::mcp_ingress;  // NOLINT: what this file implements.
using tool::Code;
using tool::Content;
using tool::Outcome;
using tool::PartOf;
using tool::Principal;

constexpr std::string_view kBefore = "test://template/";
constexpr std::string_view kAfter = "/data";

Content contents_of(std::string media_type, std::string data, std::string uri) {
  return {std::move(media_type), std::move(data), PartOf::kResource, std::move(uri)};
}

class Resources final : public ResourceProvider {
 public:
  std::vector<Resource> resources(const Principal&) const override {
    return {{"test://static-text", "static-text", "Text", "A text that stays.", "text/plain"},
            {"test://static-binary", "static-binary", "Picture", "A picture.", "image/png"},
            {"test://watched-resource", "watched-resource", "Watched", "A text.", "text/plain"}};
  }
  std::vector<ResourceTemplate> templates(const Principal&) const override {
    return {
        {"test://template/{id}/data", "template", "Template", "Data by id.", "application/json"}};
  }
  base::Task<Outcome<std::vector<Content>>> read(base::RequestContext, Caller,
                                                 std::string uri) override {
    std::vector<Content> out;
    if (uri == "test://static-text") {
      out.push_back(
          contents_of("text/plain", "This is the content of the static text resource.", uri));
    } else if (uri == "test://static-binary") {
      out.push_back(contents_of("image/png", png(), uri));
    } else if (uri == "test://watched-resource") {
      out.push_back(contents_of("text/plain", "Watched resource content", uri));
    } else if (uri.starts_with(kBefore) && uri.ends_with(kAfter)) {
      std::string id = uri.substr(kBefore.size(), uri.size() - kBefore.size() - kAfter.size());
      out.push_back(
          contents_of("application/json",
                      json::write(json::Object{
                          {"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}}),
                      uri));
    } else {
      co_return tool::refuse(Code::kTool, "no such resource");
    }
    co_return out;
  }
};

PromptMessage says(Content content) { return {"user", std::move(content)}; }

std::string argument(const PromptRequest& request, const char* name) {
  auto found = request.arguments.find(name);
  return found == request.arguments.end() ? std::string() : found->second;
}

PromptText needs_context(const PromptRequest& request) {
  PromptText text;
  const auto* response =
      request.inputs ? request.inputs->responses.if_contains("user_context") : nullptr;
  if (response != nullptr) {
    text.messages.push_back(says({"text/plain", "In context: " + json::write(*response)}));
    return text;
  }
  json::Object schema{{"type", "object"},
                      {"properties", {{"context", {{"type", "string"}}}}},
                      {"required", {"context"}}};
  json::Object question{{"method", "elicitation/create"},
                        {"params",
                         {{"message", "What context should the prompt use?"},
                          {"requestedSchema", std::move(schema)}}}};
  text.input_needed = tool::InputNeeded{{{"user_context", std::move(question)}}, {}};
  return text;
}

class Prompts final : public PromptProvider {
 public:
  std::vector<Prompt> prompts(const Principal&) const override {
    return {
        {"test_simple_prompt", "Simple", "Without arguments.", {}},
        {"test_prompt_with_arguments",
         "With arguments",
         "With two arguments.",
         {{"arg1", "The first.", true}, {"arg2", "The second.", true}}},
        {"test_prompt_with_embedded_resource",
         "With a resource",
         "With a resource.",
         {{"resourceUri", "Its URI.", true}}},
        {"test_prompt_with_image", "With a picture", "With a picture.", {}},
        {"test_input_required_result_prompt", "Asks", "Asks for a context.", {}},
    };
  }
  base::Task<Outcome<PromptText>> get(base::RequestContext, Caller,
                                      PromptRequest request) override {
    PromptText text;
    if (request.name == "test_simple_prompt") {
      text.messages.push_back(says({"text/plain", "This is a simple prompt for testing."}));
    } else if (request.name == "test_prompt_with_arguments") {
      text.messages.push_back(
          says({"text/plain", fmt::format("Prompt with arguments: arg1='{}', arg2='{}'",
                                          argument(request, "arg1"), argument(request, "arg2"))}));
    } else if (request.name == "test_prompt_with_embedded_resource") {
      text.messages.push_back(
          says(contents_of("text/plain", "Embedded resource content for testing.",
                           argument(request, "resourceUri"))));
      text.messages.push_back(says({"text/plain", "Please process the embedded resource above."}));
    } else if (request.name == "test_prompt_with_image") {
      text.messages.push_back(says({"image/png", png()}));
      text.messages.push_back(says({"text/plain", "Please analyze the image above."}));
    } else if (request.name == "test_input_required_result_prompt") {
      text = needs_context(request);
    } else {
      co_return tool::refuse(Code::kTool, "no such prompt");
    }
    co_return text;
  }
};

class Completions final : public CompletionProvider {
 public:
  base::Task<Outcome<Completion>> complete(base::RequestContext, Caller,
                                           CompletionRequest request) override {
    Completion out;
    for (const char* one : {"paris", "park", "party"}) {
      if (std::string_view(one).starts_with(request.value)) out.values.emplace_back(one);
    }
    out.total = out.values.size();
    co_return out;
  }
};

}  // namespace

Providers fixture_providers() {
  return {std::make_shared<Resources>(), std::make_shared<Prompts>(),
          std::make_shared<Completions>()};
}

}  // namespace conformance
