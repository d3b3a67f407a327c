#pragma once

// A tool that is a request to another server. What a call brings is a segment of
// the path, a parameter of the query, a header's value or the body; never the
// host, another header or a second request. The address is judged when the
// connection is made, redirects are not followed, and the tool's credentials
// are in no answer.
// Source: docs/tools/own-tools.md; RFC 3986, sections 3.3 and 3.4.

#include <string>

#include "base/http/loop_clients.h"
#include "toolserver/connectors/tool_set.h"
#include "toolserver/definition/tool_definition.h"

namespace tool::http {

/// Path and query for a call.
/// Errors: E_SHAPE  a segment that a value stands in would be empty, "." or "..";
///         a value holds a NUL; more than 16 KiB.
[[nodiscard]] Outcome<std::string> target_of(const definition::HttpWork& work,
                                             const base::json::Object& args);

class HttpTool final : public connectors::Tool {
 public:
  /// `definition.work` is an HttpWork.
  /// Errors: kInvalid  the origin cannot be used.
  [[nodiscard]] static base::Result<std::unique_ptr<HttpTool>> create(
      definition::ToolDefinition definition);

  [[nodiscard]] const Capability& capability() const override { return definition_.capability; }
  /// 2xx is the answer; 400, 404, 409, 410, 413, 415 and 422 a result with
  /// is_error and the text of it; 429 and 503 E_BUSY; anything else, a redirect
  /// and a server that cannot be reached or must not be E_UPSTREAM.
  [[nodiscard]] base::Task<Outcome<ToolResult>> run(Approved<Invocation> call,
                                                    Progress progress) override;

 private:
  HttpTool(definition::ToolDefinition definition, base::http::Origin origin);
  [[nodiscard]] Outcome<base::http::ClientRequest> request_of(const base::json::Object& args) const;
  [[nodiscard]] Outcome<ToolResult> result_of(const base::http::Response& response) const;

  const definition::ToolDefinition definition_;
  base::http::LoopClients clients_;
};

}  // namespace tool::http
