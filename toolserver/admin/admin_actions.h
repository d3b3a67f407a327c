#pragma once

// What the page may ask for, each with its scope. An action reads its own members,
// does one thing, records whatever it changes before it does so, and answers JSON.
// Source: docs/tools/operate.md, "The page /admin".

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/http/message.h"
#include "base/json/json.h"
#include "base/runtime/task.h"
#include "toolserver/admin/admin_face.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"

namespace tool::admin {

/// Of one request whose sender is known and has the action's scope.
struct Asked {
  std::shared_ptr<const AdminParts> parts;
  std::shared_ptr<const Principal> caller;
  base::http::Request request;  ///< For its query.
  base::json::Object body;      ///< Of a POST.
};

/// Errors: E_SHAPE  a member; E_TOOL  there is none; E_PIN  it changed since; E_CONSENT
///         nobody waits any more; E_POLICY  a question of one's own; E_BUSY  it cannot
///         be recorded, or a file not be read, just now.
using Answer = Outcome<base::json::Object>;

struct Action {
  base::http::Method method = base::http::Method::kGet;
  std::string_view path;   ///< Behind "/admin/api/".
  std::string_view scope;  ///< Without which nobody does it.
  base::Task<Answer> (*run)(Asked asked);
};

/// All of them.
[[nodiscard]] std::span<const Action> actions();

}  // namespace tool::admin
