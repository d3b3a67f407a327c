#pragma once

// What a tool says of itself: enough for a person or a model to call it, and
// for the pipeline to check the call. A superset of MCP's Tool.
// Source: Model Context Protocol 2025-11-25, "Tools"; docs/wire-3.0.md,
// "Capability record".

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/json/json.h"
#include "toolserver/model/principal.h"
#include "toolserver/model/tool_id.h"

namespace tool {

enum class ConsentRule : std::uint8_t { kNever, kFirst, kAlways };
enum class OriginKind : std::uint8_t { kLocal, kBridge, kPeer };

/// MCP's hints. They inform people; no check relies on them.
struct Annotations {
  bool read_only = false;
  bool destructive = true;
  bool idempotent = false;
  bool open_world = true;
};

struct CapabilityLimits {
  std::chrono::milliseconds time{30'000};
  std::size_t output_bytes = 4 << 20;
  /// Calls of this tool that run at once, where it has a bound of its own; 0: that of its
  /// connector. Not told to callers.
  std::size_t at_once = 0;
};

struct Capability {
  ToolId id;
  std::string title;
  std::string description;
  base::json::Object input_schema;                  ///< JSON Schema, type object.
  std::optional<base::json::Object> output_schema;  ///< Of `structured`.
  Annotations annotations;
  std::string version = "1";
  OriginKind origin = OriginKind::kLocal;
  std::string origin_name;  ///< The bridged server or peer; empty for local.
  // Of a bridged tool: its name there, and "sha256:<hex>" over all that its
  // server says of it, known members and others.
  std::string origin_tool;
  std::string origin_hash;
  ConsentRule consent = ConsentRule::kNever;
  /// Whether one approval may hold for all calls of the tool in a session: only
  /// for tools whose calls are alike whatever their arguments.
  bool session_consent = false;
  Mode min_mode = Mode::kSimple;
  CapabilityLimits limits;
  /// Of a prompt or a resource: what MCP clients are shown of it, by MCP's own names. In
  /// no pin: what of it must not change is in `origin_hash`.
  base::json::Object listed = {};

  /// The record as capability listing shows it, with its pin.
  [[nodiscard]] base::json::Object to_json() const;
  /// "sha256:<hex>" over the canonical tool object without the pin: any change
  /// of a word in a description changes it.
  [[nodiscard]] std::string pin() const;
};

}  // namespace tool
