#pragma once

// Nodes as instances of one service of Consul: those that pass their checks, asked for
// by blocking queries, so that a change is known at once. Consul answers 200 to who may
// not read: with fewer instances, or none. That must not look like nodes that left.
// Source: Consul HTTP API v1, "Health", "Blocking queries", "Filtered results",
// "Agent: service", "Agent: check"; docs/tools/discovery.md; docs/adr/0163.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/core/secret.h"
#include "toolserver/discovery/registry_client.h"
#include "toolserver/discovery/source.h"

namespace tool::discovery {

/// The answer of /v1/health/service: an instance is the node that its Meta names as
/// `node_id`, at Meta's `endpoint`, else at its Address (else that of its Consul node)
/// and Port. What breaks a rule is left out.
/// Errors: kInvalid  it is no list.
[[nodiscard]] base::Result<Found> read_consul(const base::json::Value& answer, Plain plain);

/// The same, of an answer with its headers. One that was filtered is partial.
/// Errors: as above; kForbidden  all was filtered out.
[[nodiscard]] base::Result<Found> read_consul(const RegistryClient::Answer& answer, Plain plain);

struct ConsulOptions {
  std::string service;
  base::Secret token;  ///< X-Consul-Token; none when empty.
  Plain plain = Plain::kRefused;
  std::optional<Self> self;  ///< What renew() announces.
};

class Consul final : public Source, public Announcer {
 public:
  Consul(std::shared_ptr<RegistryClient> client, ConsulOptions options)
      : client_(std::move(client)), options_(std::move(options)) {}

  [[nodiscard]] base::Task<base::Result<Found>> next(base::RequestContext context,
                                                     std::chrono::milliseconds longest) override;
  /// Registers an instance with a check that is critical when this is not called
  /// within the lifetime. Only where `self` is set.
  [[nodiscard]] base::Task<base::Status> renew(base::RequestContext context) override;
  [[nodiscard]] base::Task<base::Status> withdraw(base::RequestContext context) override;

 private:
  [[nodiscard]] RegistryClient::Call call(base::http::Method method, std::string target) const;
  [[nodiscard]] base::Task<base::Status> check_anonymous(base::RequestContext context,
                                                         std::string service);
  [[nodiscard]] base::Task<base::Status> enroll(base::RequestContext context);
  [[nodiscard]] std::string instance() const;

  const std::shared_ptr<RegistryClient> client_;
  const ConsulOptions options_;
  std::uint64_t index_ = 0;  // Of the last answer; 0: none to wait from.
  bool enrolled_ = false;
};

}  // namespace tool::discovery
