#pragma once

// Nodes as keys of etcd below one prefix, each with a lease: the key of a node that no
// longer renews its lease is gone. A watch tells of changes; what changed is then read
// as a whole, so that no lost event can leave a node behind.
// Source: etcd 3.4, API reference v3 and "gRPC gateway"; docs/tools/discovery.md.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/core/secret.h"
#include "toolserver/discovery/registry_client.h"
#include "toolserver/discovery/source.h"

namespace tool::discovery {

/// The answer of /v3/kv/range: the key behind `prefix` is the node's id, the value a
/// JSON object with its `endpoint`. What breaks a rule is left out.
struct EtcdNodes {
  Found found;
  std::int64_t revision = 0;  ///< Of the store.
};
/// Errors: kInvalid  it is no answer of etcd.
[[nodiscard]] base::Result<EtcdNodes> read_etcd(const base::json::Value& answer,
                                                std::string_view prefix, Plain plain);

/// What a line of /v3/watch says.
enum class WatchLine : std::uint8_t {
  kNothing,  ///< The watch stands.
  kChange,   ///< Or the watch has ended, which may hide one.
  kRefused,  ///< Our credential is.
};
[[nodiscard]] WatchLine read_watch_line(std::string_view line);

struct EtcdOptions {
  std::string prefix;
  std::string user;  ///< Whose password `secret` is; empty: `secret` is a token.
  base::Secret secret;
  Plain plain = Plain::kRefused;
  std::optional<Self> self;  ///< What renew() announces.
};

class Etcd final : public Source, public Announcer {
 public:
  Etcd(std::shared_ptr<RegistryClient> client, EtcdOptions options)
      : client_(std::move(client)), options_(std::move(options)) {}

  [[nodiscard]] base::Task<base::Result<Found>> next(base::RequestContext context,
                                                     std::chrono::milliseconds longest) override;
  /// Puts this node's key, with a lease of the lifetime, and renews that. Only where
  /// `self` is set.
  [[nodiscard]] base::Task<base::Status> renew(base::RequestContext context) override;
  [[nodiscard]] base::Task<base::Status> withdraw(base::RequestContext context) override;

 private:
  using Json = base::Result<base::json::Value>;
  [[nodiscard]] RegistryClient::Call call(std::string target, base::json::Object body) const;
  [[nodiscard]] base::Task<base::Status> log_in(base::RequestContext context);
  [[nodiscard]] base::Task<Json> ask(base::RequestContext context, std::string target,
                                     base::json::Object body);
  [[nodiscard]] base::Task<base::Status> wait_for_change(base::RequestContext context,
                                                         std::chrono::milliseconds longest);
  [[nodiscard]] base::Task<base::Status> follow(base::RequestContext context);
  [[nodiscard]] base::Task<base::Result<bool>> keep_lease(base::RequestContext context);

  const std::shared_ptr<RegistryClient> client_;
  const EtcdOptions options_;
  std::string session_;        // A token that the password got; empty: none yet.
  std::int64_t revision_ = 0;  // Of the last answer; 0: none to watch from.
  std::string lease_;          // The id, as etcd writes it; empty: none.
};

}  // namespace tool::discovery
