#pragma once

// The resources, prompts and completions that MCP's conformance suite asks for by
// name.
// Source: @modelcontextprotocol/conformance 0.2.0-alpha.12, server scenarios.

#include "toolserver/mcp_ingress/providers.h"

namespace conformance {

[[nodiscard]] tool::mcp_ingress::Providers fixture_providers();

}  // namespace conformance
