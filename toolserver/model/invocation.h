#pragma once

// One call of a tool on its way down the pipeline, and what comes back.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json.h"
#include "base/runtime/request_context.h"
#include "toolserver/model/principal.h"
#include "toolserver/model/tool_id.h"

namespace tool {

struct Invocation {
  base::RequestContext context;  ///< Its deadline is the call's.
  std::string request_id;        ///< The caller's ULID.
  std::string session_id;
  std::string peer;  ///< Network address, without port.
  std::string traceparent;
  std::shared_ptr<const Principal> principal;  ///< Never null; of the session, for all its calls.
  Mode mode = Mode::kSimple;
  ToolId tool;
  base::json::Object args;
  std::string args_hash;  ///< "sha256:<hex>" of the canonical arguments.
  bool dry_run = false;
};

/// A part of an answer, as in MCP: text, or bytes with a media type.
struct Content {
  std::string media_type = "text/plain";
  std::string data;  ///< UTF-8 for text/*, JSON for application/json, else bytes.
};

struct ToolResult {
  std::vector<Content> content;
  std::optional<base::json::Value> structured;
  bool is_error = false;  ///< The tool ran and says that it failed.
};

/// Tells the caller how far a long call is. Called on the caller's event loop;
/// cheap, and dropped when the caller is slow.
using Progress = std::function<void(double done, std::optional<double> total, std::string note)>;

/// The proof that a call passed every check before it. Only the consent stage
/// makes one, and a connector takes nothing else.
template <class T>
class Approved {
 public:
  [[nodiscard]] const T& operator*() const { return value_; }
  [[nodiscard]] const T* operator->() const { return &value_; }

 private:
  friend class ConsentStage;
  friend class ApprovedForTest;
  explicit Approved(T value) : value_(std::move(value)) {}
  T value_;
};

}  // namespace tool
