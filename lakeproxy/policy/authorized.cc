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
  }
  return "";
}

base::Task<base::Result<Decision>> decide(base::RequestContext, Caller caller,
                                          std::span<const Target> targets) {
  if (caller.permission == Permission::kPublic) co_return Decision{Ground::kPublic};
  // "All of them" is no answer where there are none.
  if (caller.principal->superuser && !targets.empty()) co_return Decision{Ground::kSuperuser};
  co_return base::fail(base::ErrorKind::kForbidden, "not allowed to " + caller.principal->subject)
      .with_detail(display(targets));
}

}  // namespace lake::policy
