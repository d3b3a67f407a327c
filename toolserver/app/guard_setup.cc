#include "toolserver/app/guard_setup.h"

#include <algorithm>

#include "base/crypto/verify_key.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/guard/policy_guard.h"
#include "toolserver/guard/rule_source.h"

namespace tool::app {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

base::Result<base::crypto::VerifyKey> rules_key(const settings::Path& path) {
  ASSIGN_OR_RETURN(std::string pem, read_file(path));
  auto key = base::crypto::VerifyKey::from_pem(pem);
  if (!key) return std::move(key).error().with_context("guard.rules_key_path");
  if (key->type() != base::crypto::KeyType::kEd25519) {
    return base::fail(base::ErrorKind::kInvalid, "guard.rules_key_path: must be an Ed25519 key");
  }
  return key;
}

}  // namespace

base::Result<std::shared_ptr<const guard::RuleSet>> guard_rules(const settings::Guard& guard) {
  guard::RuleSource source{guard.shipped_rules, guard.rules, std::nullopt};
  if (!guard.rules_key_path.empty()) {
    ASSIGN_OR_RETURN(source.key, rules_key(guard.rules_key_path));
  }
  auto rules = guard::load_rules(source);
  if (!rules) return std::move(rules).error().with_context("guard.rules");
  return rules;
}

guard::ScanLimits scan_limits(const settings::Guard& guard) {
  return {guard.scan_bytes, duration_cast<milliseconds>(guard.scan_time)};
}

base::Result<std::shared_ptr<pipeline::GuardStage>> policy_guard(const settings::Guard& guard,
                                                                 guard::Quarantine& quarantine) {
  if (guard.policy_url.empty()) return std::shared_ptr<pipeline::GuardStage>();
  guard::PolicyOptions options;
  options.url = guard.policy_url;
  options.timeout = duration_cast<milliseconds>(guard.policy_timeout);
  options.failure = guard.policy_fail_mode == settings::FailMode::kOpen
                        ? guard::PolicyFailure::kOpen
                        : guard::PolicyFailure::kClosed;
  options.question_bytes = guard.policy_question_bytes;
  options.cache_time = duration_cast<milliseconds>(guard.policy_cache_time);
  options.bearer = guard.policy_token;
  options.ca_file = guard.policy_ca_cert_path;
  auto made = guard::PolicyGuard::create(std::move(options), quarantine);
  if (!made) return std::move(made).error().with_context("guard.policy_url");
  return std::shared_ptr<pipeline::GuardStage>(std::move(*made));
}

milliseconds guard_time(const settings::SecureConfig& config) {
  return std::max(duration_cast<milliseconds>(config.hooks.filter_timeout), milliseconds(10'000));
}

}  // namespace tool::app
