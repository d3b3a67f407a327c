#include "lakeproxy/policy/authorized.h"

namespace lake::policy {

std::string Target::display() const {
  switch (kind_) {
    case Kind::kServer: return "server";
    case Kind::kCatalog: return "catalog";
    case Kind::kNamespace: return "namespace " + name_space_->display();
    case Kind::kTable: return "table " + name_space_->display() + "." + *name_;
    case Kind::kView: return "view " + name_space_->display() + "." + *name_;
  }
  return "";
}

bool operator==(const Target& a, const Target& b) {
  auto same = [](const auto* x, const auto* y) {
    return x == y || (x != nullptr && y != nullptr && *x == *y);
  };
  return a.kind_ == b.kind_ && same(a.name_space_, b.name_space_) && same(a.name_, b.name_);
}

std::string display(std::span<const Target> targets) {
  std::string text;
  for (const Target& target : targets) {
    if (!text.empty()) text += ", ";
    text += target.display();
  }
  return text;
}

std::string_view to_string(Ground ground) {
  switch (ground) {
    case Ground::kPublic: return "public";
    case Ground::kSuperuser: return "superuser";
    case Ground::kScope: return "scope";
  }
  return "";
}

namespace {

using auth::Access;

// The one place that says what a scope opens. A target without a namespace is the whole catalog.
bool opens(const auth::Scopes& scopes, Permission permission, const Target& target) {
  const model::Namespace* name = target.name_space();
  if (target.is_server()) return false;
  switch (permission) {
    case Permission::kListNamespaces: return name != nullptr ? scopes.show(*name) : !scopes.empty();
    case Permission::kReadNamespace:
      return name != nullptr ? scopes.open(*name, Access::kRead) : scopes.open_all(Access::kRead);
    case Permission::kWriteNamespace:
      return name != nullptr ? scopes.open(*name, Access::kWrite) : scopes.open_all(Access::kWrite);
    case Permission::kManageNamespaces: return scopes.open_all(Access::kWrite);
    case Permission::kManageCatalogs:
    case Permission::kReadOnBehalf:
    case Permission::kPublic:
    case Permission::kGreeting: break;
  }
  return false;
}

}  // namespace

base::Task<base::Result<Decision>> decide(base::RequestContext, Caller caller,
                                          std::span<const Target> targets) {
  if (is_open(caller.permission)) co_return Decision{Ground::kPublic};
  const auth::Principal& principal = *caller.principal;
  // "All of them" is no answer where there are none.
  if (principal.superuser && !targets.empty()) co_return Decision{Ground::kSuperuser};
  const bool all_open =
      principal.grants && !targets.empty() && std::ranges::all_of(targets, [&](const Target& one) {
        return opens(principal.grants->scopes, caller.permission, one);
      });
  if (all_open) co_return Decision{Ground::kScope};
  co_return base::fail(base::ErrorKind::kForbidden, "not allowed to " + principal.subject)
      .with_detail(display(targets));
}

bool may_read(const auth::Principal& principal, const model::Namespace& name) {
  return principal.superuser ||
         (principal.grants &&
          opens(principal.grants->scopes, Permission::kReadNamespace, Target::of(name)));
}

bool may_write(const auth::Principal& principal, const std::optional<model::Namespace>& name) {
  const Target target = name ? Target::of(*name) : Target::catalog();
  return principal.superuser ||
         (principal.grants && opens(principal.grants->scopes, Permission::kWriteNamespace, target));
}

bool may_see(const auth::Principal& principal, const model::Namespace& name) {
  return principal.superuser || (principal.grants && principal.grants->scopes.show(name));
}

}  // namespace lake::policy
