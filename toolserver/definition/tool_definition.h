#pragma once

// What an operator says of a tool of their own in the configuration, typed and
// checked: a program of this machine, or an address that is called.
// Source: docs/tools/own-tools.md.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/http/message.h"
#include "toolserver/definition/template.h"
#include "toolserver/model/capability.h"

namespace tool::definition {

/// What the tool's answer is made of.
enum class AnswerForm : std::uint8_t {
  kText,
  kJson,  ///< One JSON text; it becomes the structured part of the result.
};

/// What a program reads from its standard input, or a request carries.
struct Payload {
  enum class Kind : std::uint8_t {
    kNone,
    kArguments,  ///< All arguments as one JSON object.
    kArgument,   ///< One of them: a text as it stands, else JSON.
  } kind = Kind::kNone;
  std::string argument;
};

/// Whether the caller sees what a program that failed wrote to stderr.
enum class ErrorOutput : std::uint8_t { kHide, kShow };

struct CommandWork {
  std::string program;  ///< Absolute path.
  std::vector<Template> arguments;
  Payload input;
  std::vector<std::pair<std::string, Template>> environment;  ///< All that it gets.
  std::string folder;                                         ///< Absolute.
  std::vector<int> ok_codes;
  ErrorOutput errors = ErrorOutput::kHide;
};

using NamedTemplate = std::pair<std::string, Template>;

struct HttpWork {
  base::http::Method method = base::http::Method::kGet;
  std::string origin;  ///< "https://host:port"; no part of it comes from a call.
  Template path;
  std::vector<NamedTemplate> query;
  std::vector<NamedTemplate> headers;
  Payload body;
  std::vector<std::string> networks;  ///< "10.0.0.0/8": allowed beside public addresses.
  std::string ca_file;                ///< PEM; the system's roots when empty.
  std::string pointer;                ///< RFC 6901: the part of the JSON that is the answer.
};

struct ToolDefinition {
  Capability capability;
  AnswerForm answer = AnswerForm::kText;
  std::vector<NamedSecret> secrets;
  std::variant<CommandWork, HttpWork> work;
  std::string source;  ///< The section as it stood, as JSON: to tell a change.
};

/// Whether nothing has changed, secrets included.
[[nodiscard]] bool are_equal(const std::vector<ToolDefinition>& a,
                             const std::vector<ToolDefinition>& b);

}  // namespace tool::definition
