#pragma once

// The page /admin: what an operator looks at and decides by hand, on this machine
// alone. The files are the same for everybody; whatever the page shows or does it
// asks of /admin/api with its user's own token, request by request, and each has its
// scope. No cookie stands for anybody, so no other page can act in a user's name.
// Source: docs/tools/operate.md, "The page /admin"; docs/adr/0149.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/http/server.h"
#include "base/pages/page_files.h"
#include "base/runtime/workers.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/mcp_ingress/http_access.h"
#include "toolserver/pins/pin_store.h"
#include "toolserver/pipeline/consent_desk.h"
#include "toolserver/pipeline/pipeline.h"
#include "toolserver/pipeline/registry.h"
#include "toolserver/transport/credential_check.h"
#include "toolserver/transport/open_sessions.h"

namespace tool::admin {

inline constexpr std::string_view kPath = "/admin";
inline constexpr std::size_t kBodyBytes = 16 << 10;

/// What the page shows and changes; all outlive the face. Safe from any thread.
struct AdminParts {
  pipeline::Pipeline& pipeline;  ///< For the rate of requests alone.
  pipeline::ToolRegistry& registry;
  pipeline::ConsentDesk& desk;
  ConsentMemory& agreed;
  transport::OpenSessions& sessions;
  audit::AuditLog& audit;
  const base::Clock& clock;
  base::BlockingPool& pool;  ///< Files of pins and of the trail are read on it.
  std::string trail;         ///< Folder of the audit trail.
  std::vector<pins::PinStore> pins;
};

/// The files of the page.
class AdminFiles : public base::pages::PageFiles {
 public:
  AdminFiles();
};

/// Whether the path is the page's, one of its files' or one of its requests'.
[[nodiscard]] bool is_for_admin(std::string_view path);

/// How large the body of a request may be, by its head alone.
[[nodiscard]] std::size_t body_bytes_of(const base::http::Request& head);

/// What one event loop serves the page with.
struct AdminServices {
  std::shared_ptr<const AdminFiles> files;
  std::shared_ptr<const AdminParts> parts;
  std::vector<Method> methods;  ///< Of a bearer: api_key, jwt or oauth2.
  /// The rules in force now, of the loop that asks.
  std::function<transport::CredentialCheck&()> credentials;
};

/// Serves the requests for which is_for_admin() holds. One from another machine, or
/// by another name of this host than a loopback one, finds no such path.
[[nodiscard]] base::http::Handler make_admin_endpoint(AdminServices services);

}  // namespace tool::admin
