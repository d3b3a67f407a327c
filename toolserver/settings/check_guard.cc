#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

// Whoever can change a rule file could switch the guard off.
void check_rules(Findings& out, const Guard& guard) {
  bool has_key = !guard.rules_key_path.empty();
  if (!guard.rules.empty() && !has_key && !guard.allow_unsigned_rules) {
    out.push_back({"guard.rules_key_path",
                   "must be set for guard.rules, or guard.allow_unsigned_rules be 1"});
  }
  if (has_key && guard.allow_unsigned_rules) {
    out.push_back({"guard.allow_unsigned_rules", "must be 0 where guard.rules_key_path is set"});
  }
}

}  // namespace

Findings check_guard(const SecureConfig& config, Role role) {
  Findings out;
  if (role == Role::kClient) return out;
  check_rules(out, config.guard);
  return out;
}

}  // namespace tool::settings
