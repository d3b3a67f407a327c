#pragma once

// The governed lake as tools. Each call asks the lake as the caller, with this service as the one
// who acts: so masks and row policies are the lake's own, and its audit trail names both. A query
// runs in a process of its own without a network, over files that the lake signed for and that no
// other query sees.

#include <functional>
#include <memory>

#include "base/core/clock.h"
#include "base/http/loop_clients.h"
#include "base/runtime/workers.h"
#include "toolserver/connectors/connector.h"
#include "toolserver/connectors/lake/lake_catalog.h"
#include "toolserver/connectors/lake/lake_options.h"
#include "toolserver/connectors/lake/lake_tokens.h"
#include "toolserver/connectors/lake/query_files.h"
#include "toolserver/isolate/part_client.h"

namespace tool::lake {

/// What a request of this call has in X-Request-Id at the lake, and in its audit trail: the first
/// eight bytes of SHA-256 of the call's id, in hexadecimal.
[[nodiscard]] std::uint64_t request_id_of(std::string_view call_id);

class LakeConnector final : public connectors::Connector {
 public:
  using OnEvent = std::function<void(const isolate::PartEvent&)>;

  /// Asks nothing of the lake yet. `pool`, `clock` and `random` outlive it. main() has begun with
  /// run_if_child() and the role of sql_child().
  /// Errors: kInvalid  the scratch folder.
  [[nodiscard]] static base::Result<std::unique_ptr<LakeConnector>> open(LakeOptions options,
                                                                         base::BlockingPool& pool,
                                                                         const base::Clock& clock,
                                                                         base::Random& random,
                                                                         OnEvent on_event = {});

  [[nodiscard]] std::vector<Capability> capabilities() const override;
  [[nodiscard]] std::size_t most_at_once() const override { return options_.calls; }
  /// Errors: E_POLICY  a caller that another issuer than options.issuer vouches for, or that other
  ///         nodes forwarded.
  [[nodiscard]] Outcome<void> allows(const Invocation& call) const override;
  [[nodiscard]] base::Task<Outcome<ToolResult>> invoke(Approved<Invocation> call,
                                                       Progress progress) override;

 private:
  LakeConnector(LakeOptions options, std::unique_ptr<ScratchFolder> scratch,
                base::BlockingPool& pool, const base::Clock& clock, base::Random& random,
                OnEvent on_event);

  [[nodiscard]] base::Task<LakeAnswer<ToolResult>> answer(const Invocation* call,
                                                          base::RequestContext context,
                                                          Progress progress);
  [[nodiscard]] base::Task<LakeAnswer<ToolResult>> query(const Invocation* call,
                                                         LakeCatalog* catalog,
                                                         base::RequestContext context,
                                                         Progress progress);

  const LakeOptions options_;
  const std::unique_ptr<ScratchFolder> scratch_;
  base::BlockingPool& pool_;
  const base::Clock& clock_;
  base::Random& random_;
  const OnEvent on_event_;
  base::http::LoopClients catalog_;
  base::http::LoopClients store_;
  LakeTokens tokens_;
};

}  // namespace tool::lake
