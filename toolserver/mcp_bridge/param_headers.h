#pragma once

// Arguments that a server wants as HTTP headers too, so that what stands before
// it can route a call without reading its body. The server names the arguments
// in the tool's schema; a name that breaks a rule makes the whole tool unusable,
// since a half of the headers would be another call.
// Source: Model Context Protocol 2026-07-28, "Streamable HTTP: Custom Headers
// from Tool Parameters".

#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"

namespace tool::bridge {

/// Names and values of header fields.
using HeaderValues = std::vector<std::pair<std::string, std::string>>;

/// The arguments of one tool that become headers. A value.
class ParamHeaders {
 public:
  static constexpr std::size_t kMost = 64;             ///< Of one tool.
  static constexpr std::size_t kValueBytes = 4 << 10;  ///< As it is sent.

  /// Of a tool's `inputSchema`.
  /// Errors: kInvalid  an `x-mcp-header` that is no token, comes twice (whatever
  ///         the case), or stands at anything but a text, integer or boolean that
  ///         `properties` alone lead to; kTooLarge  more than kMost.
  [[nodiscard]] static base::Result<ParamHeaders> read(const base::json::Object& schema);

  /// `Mcp-Param-NAME` for each argument that is given and not null.
  /// Errors: kInvalid  a value is no text, no boolean and no integer below 2^53;
  ///         kTooLarge  one is over kValueBytes.
  [[nodiscard]] base::Result<HeaderValues> of(const base::json::Object& arguments) const;

  [[nodiscard]] bool empty() const { return all_.empty(); }

 private:
  struct Param {
    std::vector<std::string> path;  // Names of properties, from the root.
    std::string header;
  };
  class Reader;
  std::vector<Param> all_;
};

}  // namespace tool::bridge
