#pragma once

// What an embedding program can offer to MCP clients beside tools: resources,
// prompts and completion. The service has none of its own. Each call names who
// asks; whether he may is decided before, by the scopes mcp:resources and
// mcp:prompts, and by the provider for each single thing.
// Source: Model Context Protocol 2026-07-28, "Server features".

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"
#include "toolserver/model/principal.h"

namespace tool::mcp_ingress {

using Caller = std::shared_ptr<const Principal>;  ///< Never null.

struct Resource {
  std::string uri;
  std::string name;
  std::string title;
  std::string description;
  std::string media_type;
};

struct ResourceTemplate {
  std::string uri_template;  ///< RFC 6570.
  std::string name;
  std::string title;
  std::string description;
  std::string media_type;
};

/// Safe to call from any event loop.
class ResourceProvider {
 public:
  virtual ~ResourceProvider() = default;
  /// Those that the caller may know of, in an order that stays.
  [[nodiscard]] virtual std::vector<Resource> resources(const Principal& caller) const = 0;
  [[nodiscard]] virtual std::vector<ResourceTemplate> templates(const Principal& caller) const = 0;
  /// The contents, each with its `uri`.
  /// Errors: E_TOOL  no such resource, or none that this caller may know.
  [[nodiscard]] virtual base::Task<Outcome<std::vector<Content>>> read(base::RequestContext context,
                                                                       Caller caller,
                                                                       std::string uri) = 0;
};

struct PromptArgument {
  std::string name;
  std::string description;
  bool required = false;
};

struct Prompt {
  std::string name;
  std::string title;
  std::string description;
  std::vector<PromptArgument> arguments;
};

struct PromptMessage {
  std::string role;  ///< "user" or "assistant".
  Content content;
};

struct PromptText {
  std::string description;
  std::vector<PromptMessage> messages;
  std::optional<InputNeeded> input_needed = {};  ///< In place of messages.
};

struct PromptRequest {
  std::string name;
  std::map<std::string, std::string> arguments;
  std::optional<Inputs> inputs;
  base::json::Object client;  ///< What the caller's side can do, as MCP writes it.
};

/// Safe to call from any event loop.
class PromptProvider {
 public:
  virtual ~PromptProvider() = default;
  [[nodiscard]] virtual std::vector<Prompt> prompts(const Principal& caller) const = 0;
  /// Errors: E_TOOL  no such prompt; E_SHAPE  its arguments.
  [[nodiscard]] virtual base::Task<Outcome<PromptText>> get(base::RequestContext context,
                                                            Caller caller,
                                                            PromptRequest request) = 0;
};

struct CompletionRequest {
  std::string kind;       ///< "ref/prompt" or "ref/resource".
  std::string reference;  ///< Name of the prompt, or URI or template of the resource.
  std::string argument;
  std::string value;  ///< What has been written of it.
};

struct Completion {
  std::vector<std::string> values;  ///< At most 100 are sent.
  std::optional<std::size_t> total;
};

/// Safe to call from any event loop.
class CompletionProvider {
 public:
  virtual ~CompletionProvider() = default;
  [[nodiscard]] virtual base::Task<Outcome<Completion>> complete(base::RequestContext context,
                                                                 Caller caller,
                                                                 CompletionRequest request) = 0;
};

/// Null: there are none, and clients are told so.
struct Providers {
  std::shared_ptr<ResourceProvider> resources = {};
  std::shared_ptr<PromptProvider> prompts = {};
  std::shared_ptr<CompletionProvider> completion = {};
  /// Ids of tools that a client without the Tasks extension is refused: they take longer
  /// than anybody waits.
  std::set<std::string, std::less<>> only_as_tasks = {};
};

}  // namespace tool::mcp_ingress
