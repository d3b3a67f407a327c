#include <fmt/format.h>

#include <algorithm>

#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

template <class T>
void at_most(Findings& out, std::string_view setting, T value, std::string_view other, T bound) {
  if (value > bound) out.push_back({setting, fmt::format("must not be above {}", other)});
}

void check_outcomes(Findings& out, const Outcomes& outcomes) {
  at_most(out, "outcomes.answer_bytes", outcomes.answer_bytes, "outcomes.bytes", outcomes.bytes);
}

void check_limits(Findings& out, const Limits& limits) {
  for (auto [setting, value] :
       {std::pair{"limits.connections_per_address", limits.connections_per_address},
        {"limits.connections_per_principal", limits.connections_per_principal},
        {"limits.unauthenticated", limits.unauthenticated}}) {
    at_most(out, setting, value, "limits.connections", limits.connections);
  }
  at_most(out, "limits.handshake_bytes", limits.handshake_bytes, "limits.message_bytes",
          limits.message_bytes);
  at_most(out, "limits.deadline", limits.deadline, "limits.max_deadline", limits.max_deadline);
  at_most(out, "limits.calls_per_second", limits.calls_per_second, "limits.burst", limits.burst);
}

// Of a configuration made by hand, whose empty members are zero: a bound of
// zero would be none.
void check_set(Findings& out, const SecureConfig& config) {
  const Limits& limits = config.limits;
  for (auto [setting, value] :
       {std::pair{"limits.connections", limits.connections},
        {"limits.message_bytes", limits.message_bytes},
        {"limits.in_flight", limits.in_flight},
        {"limits.burst", limits.burst},
        {"limits.output_bytes", limits.output_bytes},
        {"limits.send_queue_bytes", limits.send_queue_bytes},
        {"outcomes.records", config.outcomes.records},
        {"workflows.steps", config.workflows.steps},
        {"workflows.parallel", config.workflows.parallel},
        {"workflows.runs", config.workflows.runs},
        {"security.replay_cache_size", config.security.replay_cache_size}}) {
    if (value == 0) out.push_back({setting, "must be above 0"});
  }
  using std::chrono::seconds;
  Duration window = config.security.replay_window;
  if (window < seconds(5) || window > seconds(300)) {
    out.push_back({"security.replay_window", "must be 5 to 300 seconds"});
  }
  if (config.crypto.suites.empty()) {
    out.push_back({"crypto.suites", "must name at least one suite"});
  }
}

// What a message holds beside a file's bytes: envelope, paths, other members.
constexpr std::size_t kMessageFrame = 16 << 10;

std::size_t base64_bytes(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

// Any file can be moved as base64, so what is allowed must fit in that form. An
// answer of files.read has the bytes twice: as content and in `structured`.
void check_file_sizes(Findings& out, const FilesConnector& files, const Limits& limits) {
  auto fits = [&](std::string_view setting, std::size_t bytes, std::string_view other,
                  std::size_t bound) {
    if (bytes + kMessageFrame <= bound) return;
    out.push_back({setting, fmt::format("does not fit: in base64 such a call needs {} of {} bytes "
                                        "or more",
                                        other, bytes + kMessageFrame)});
  };
  std::size_t read = base64_bytes(files.read_max_bytes);
  fits("connectors.files.read_max", 2 * read, "limits.send_queue_bytes", limits.send_queue_bytes);
  fits("connectors.files.read_max", files.read_max_bytes + read, "limits.output_bytes",
       limits.output_bytes);
  if (!files.allow_write) return;
  fits("connectors.files.write_max", base64_bytes(files.write_max_bytes), "limits.message_bytes",
       limits.message_bytes);
}

void check_lake(Findings& out, const LakeConnector& lake, Mode mode) {
  if (!lake.enabled) return;
  if (lake.provider_users && mode != Mode::kEnterprise) {
    out.push_back({"connectors.lake.provider_users",
                   "needs the mode enterprise: no other has users of a provider"});
  }
  for (auto [setting, is_set] :
       {std::pair{"connectors.lake.url", !lake.url.empty()},
        {"connectors.lake.prefix", !lake.prefix.empty()},
        {"connectors.lake.name", !lake.name.empty()},
        {"connectors.lake.client_id", !lake.client_id.empty()},
        {"connectors.lake.client_secret", !lake.client_secret.empty()},
        {"connectors.lake.statement_key_path", !lake.statement_key_path.empty()},
        {"connectors.lake.store_url", !lake.store_url.empty()},
        {"connectors.lake.scratch_dir", !lake.scratch_dir.empty()}}) {
    if (!is_set) out.push_back({setting, "must be set for the lake connector"});
  }
}

void check_connectors(Findings& out, const Connectors& connectors, const Limits& limits,
                      Mode mode) {
  const SqlConnector& sql = connectors.sql;
  if (sql.enabled && sql.data_dir.empty()) {
    out.push_back({"connectors.sql.data_dir", "must be set for the SQL connector"});
  }
  check_lake(out, connectors.lake, mode);
  const FilesConnector& files = connectors.files;
  if (!files.enabled) return;
  if (files.root.empty()) {
    out.push_back({"connectors.files.root", "must be set for the files connector"});
  } else if (files.root.lexically_normal() == "/") {
    out.push_back({"connectors.files.root", "must not be the whole file system"});
  }
  if (files.extensions.empty()) {
    out.push_back({"connectors.files.extensions", "must name at least one ending"});
  }
  check_file_sizes(out, files, limits);
}

}  // namespace

Findings check_ranges(const SecureConfig& config, Role role) {
  Findings out;
  check_set(out, config);
  at_most(out, "security.session_token_lifetime", config.security.session_token_lifetime,
          "security.session_lifetime", config.security.session_lifetime);
  if (role == Role::kClient) return out;
  check_limits(out, config.limits);
  check_outcomes(out, config.outcomes);
  at_most(out, "server.ping_interval", config.server.ping_interval, "server.idle_timeout",
          config.server.idle_timeout);
  check_connectors(out, config.connectors, config.limits, config.core.mode);
  if (config.audit.path.empty()) out.push_back({"audit.path", "must be set"});
  return out;
}

Findings validate(const SecureConfig& config, Role role) {
  Findings out;
  for (auto* check : {check_mode, check_secrets, check_transport, check_cluster, check_guard,
                      check_ranges, check_ingress, check_bridges}) {
    for (auto& finding : check(config, role)) {
      if (std::ranges::find(out, finding) == out.end()) out.push_back(std::move(finding));
    }
  }
  return out;
}

}  // namespace tool::settings
