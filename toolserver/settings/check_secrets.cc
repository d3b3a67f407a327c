#include <fmt/format.h>

#include <array>

#include "toolserver/settings/secret_strength.h"
#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

enum class Origin : std::uint8_t { kOurs, kTheirs };

struct Held {
  std::string_view setting;
  const base::Secret& value;
  std::size_t min_length;
  Origin origin;  // Another party chose it, and its form.
};

std::array<Held, 14> all_secrets(const SecureConfig& config) {
  return {{
      {"api_key", config.core.api_key, 24, Origin::kOurs},
      {"secret_key", config.core.secret_key, 32, Origin::kOurs},
      {"jwt_secret", config.core.jwt_secret, 32, Origin::kOurs},
      {"kdf_salt", config.core.kdf_salt, 16, Origin::kOurs},
      {"secret_key_previous", config.core.secret_key_previous, 32, Origin::kOurs},
      {"api_key_previous", config.core.api_key_previous, 24, Origin::kOurs},
      {"jwt_secret_previous", config.core.jwt_secret_previous, 32, Origin::kOurs},
      {"security.client_token", config.security.client_token, 0, Origin::kTheirs},
      {"cluster.discovery_config.token", config.cluster.discovery_config.token, 0, Origin::kTheirs},
      {"oauth2.client_secret", config.oauth2.client_secret, 0, Origin::kTheirs},
      {"hooks.bearer_token", config.hooks.bearer_token, 0, Origin::kTheirs},
      {"connectors.lake.client_secret", config.connectors.lake.client_secret, 0, Origin::kTheirs},
      {"guard.policy_token", config.guard.policy_token, 0, Origin::kTheirs},
      {"hooks.signing_secret", config.hooks.signing_secret, 32, Origin::kOurs},
  }};
}

std::string rule_of(Weakness weakness, std::size_t min_length) {
  switch (weakness) {
    case Weakness::kPublished:
      return "must not be a published example; make one with `openssl rand -base64 48`";
    case Weakness::kPlaceholder:
      return "must not be a placeholder; make one with `openssl rand -base64 48`";
    case Weakness::kShort: return fmt::format("must have at least {} characters", min_length);
    case Weakness::kRepetitive: return "must be random: it repeats itself";
    case Weakness::kSequential: return "must be random: it runs in sequence";
    case Weakness::kKeyboard: return "must be random: it runs along the keyboard";
    case Weakness::kPredictable: break;
  }
  return "must be random: it has too few different characters";
}

// One secret that holds another, or is it: who learns the one knows the other.
bool shares(const base::Secret& a, const base::Secret& b) {
  if (a.empty() || b.empty()) return false;
  constexpr std::size_t kWorthComparing = 8;
  if (a.equals(b.reveal())) return true;
  return b.reveal().size() >= kWorthComparing && a.reveal().contains(b.reveal());
}

}  // namespace

Findings check_secrets(const SecureConfig& config, Role) {
  Findings out;
  auto secrets = all_secrets(config);
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    const Held& held = secrets[i];
    if (held.value.empty()) continue;  // Whether it may be missing is check_mode's question.
    auto weakness = held.origin == Origin::kOurs ? weakness_of(held.value.reveal(), held.min_length)
                                                 : known_weakness_of(held.value.reveal());
    if (weakness) out.push_back({held.setting, rule_of(*weakness, held.min_length)});
    for (std::size_t j = 0; j < i; ++j) {
      if (!shares(held.value, secrets[j].value) && !shares(secrets[j].value, held.value)) continue;
      out.push_back(
          {held.setting, fmt::format("must have nothing in common with {}", secrets[j].setting)});
    }
  }
  return out;
}

}  // namespace tool::settings
