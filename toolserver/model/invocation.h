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
#include "toolserver/model/forwarded.h"
#include "toolserver/model/principal.h"
#include "toolserver/model/tool_id.h"

namespace tool {

/// What the caller's side answered to a tool that asked it for more: see InputNeeded.
struct Inputs {
  base::json::Object responses;  ///< By the names of the requests.
  std::string state;             ///< As the tool left it.
};

/// Tells the caller what a tool notes on its way: a level of RFC 5424 ("info"),
/// and any JSON. Called as Progress is, and dropped likewise.
using Note = std::function<void(std::string level, base::json::Value data)>;

/// A caller's name for one act, so that it is done once.
struct Idempotency {
  std::string key;                  ///< Empty for none.
  std::chrono::milliseconds age{};  ///< Since the key was first used; 0: this is the first time.
};

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
  Idempotency idem = {};                  ///< For tools that keep keys themselves.
  std::optional<Inputs> inputs = {};      ///< Of a call that is made again.
  base::json::Object client = {};         ///< What the caller's side can do, as MCP writes it.
  std::shared_ptr<const Note> note = {};  ///< Null: nobody listens.
  /// Of a call that other nodes forwarded; null for one of this node's own callers.
  std::shared_ptr<const Forwarded> forwarded = {};
};

/// What a part of an answer is to the resource it names.
enum class PartOf : std::uint8_t {
  kAnswer,    ///< Names none.
  kResource,  ///< A copy of it.
  kLink,      ///< A pointer to it, without bytes.
};

/// A part of an answer, as in MCP: text, or bytes with a media type.
struct Content {
  std::string media_type = "text/plain";
  std::string data = {};  ///< UTF-8 for text/*, JSON for application/json, else bytes.
  PartOf part_of = PartOf::kAnswer;
  std::string uri = {};   ///< Of the resource.
  std::string name = {};  ///< Of the resource that a link points to.

  /// Whether `data` is text.
  [[nodiscard]] bool is_text() const {
    return media_type.starts_with("text/") || media_type == "application/json";
  }
};

/// What a tool has to know before it can answer. Whoever carries the call asks
/// the caller's side, and makes the call again with what it answered.
struct InputNeeded {
  base::json::Object requests;  ///< {name: {method, params}}, as MCP writes them.
  std::string state;            ///< The tool's own; comes back unread and unchanged.
};

struct ToolResult {
  std::vector<Content> content;
  std::optional<base::json::Value> structured = {};
  bool is_error = false;                         ///< The tool ran and says that it failed.
  std::optional<InputNeeded> input_needed = {};  ///< In place of an answer.
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
