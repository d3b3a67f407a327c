#include "toolserver/mcp_ingress/http_request.h"

#include <fmt/format.h>

#include <utility>

#include "toolserver/mcp/framing.h"

namespace tool::mcp_ingress {
namespace {

namespace http = base::http;
namespace method = mcp::method;

std::unexpected<Reply> mismatch(std::string message) {
  return std::unexpected(error_reply(400, mcp::code::kHeaderMismatch, std::move(message)));
}

// The member that Mcp-Name repeats; empty: the method has none.
std::string_view named_member(std::string_view name) {
  if (name == method::kCallTool || name == method::kGetPrompt) return "name";
  if (name == method::kReadResource) return "uri";
  if (name == method::kGetTask || name == method::kUpdateTask || name == method::kCancelTask) {
    return "taskId";
  }
  return {};
}

bool has_media_type(const http::Headers& headers, std::string_view field, std::string_view type) {
  for (const auto& one : headers.fields()) {
    if (!one.is(field)) continue;
    std::string_view rest = one.value;
    while (!rest.empty()) {
      std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      item = item.substr(0, item.find(';'));
      while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
      while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
      if (item == type) return true;
    }
  }
  return false;
}

}  // namespace

std::expected<std::optional<std::string>, Reply> one_field(const http::Headers& headers,
                                                           std::string_view name) {
  std::optional<std::string> found;
  for (const auto& field : headers.fields()) {
    if (!field.is(name)) continue;
    if (found) return mismatch(fmt::format("{}: must be there once", name));
    found = field.value;
  }
  return found;
}

std::expected<mcp::Revision, Reply> revision_of(const http::Headers& headers,
                                                const mcp::RequestMeta& meta,
                                                const Dispatcher& dispatcher) {
  auto field = one_field(headers, "MCP-Protocol-Version");
  if (!field) return std::unexpected(std::move(field).error());
  if (!*field) {
    if (!meta.version.empty() || !dispatcher.serves_sessions()) {
      return mismatch("MCP-Protocol-Version: must be there");
    }
    // Clients of 2025-03-26 had no such field.
    return dispatcher.served(std::string(mcp::name(mcp::Revision::k2025_03_26)));
  }
  if (!meta.version.empty() && meta.version != **field) {
    return mismatch("MCP-Protocol-Version: must be that of _meta");
  }
  auto revision = dispatcher.served(**field);
  if (!revision || !mcp::is_stateless(*revision)) return revision;
  if (meta.version.empty() || !meta.client_capabilities) {
    return std::unexpected(
        error_reply(400, mcp::code::kInvalidParams,
                    fmt::format("_meta: must have {} and {}", mcp::meta::kVersion,
                                mcp::meta::kClientCapabilities)));
  }
  return revision;
}

std::expected<void, Reply> check_fields(const http::Headers& headers, const mcp::Request& request) {
  auto named = one_field(headers, "Mcp-Method");
  if (!named) return std::unexpected(std::move(named).error());
  if (*named != request.method) return mismatch("Mcp-Method: must be the method of the body");
  std::string_view member = named_member(request.method);
  if (member.empty()) return {};
  auto field = one_field(headers, "Mcp-Name");
  if (!field) return std::unexpected(std::move(field).error());
  const auto* value = request.params.if_contains(member);
  std::string_view wanted =
      value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "";
  auto written = *field ? mcp::decode_header(**field) : std::nullopt;
  if (written != wanted) {
    return mismatch(fmt::format("Mcp-Name: must be params.{} of the body", member));
  }
  return {};
}

Accepts accepts_of(const http::Headers& headers) {
  if (!headers.get("Accept") || has_media_type(headers, "Accept", "*/*")) return {true, true};
  return {has_media_type(headers, "Accept", "application/json") ||
              has_media_type(headers, "Accept", "application/*"),
          has_media_type(headers, "Accept", "text/event-stream")};
}

bool is_json(const http::Headers& headers) {
  return has_media_type(headers, "Content-Type", "application/json");
}

}  // namespace tool::mcp_ingress
