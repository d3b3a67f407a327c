#pragma once

// An S3 service in front of the object store, for stores that make no short-lived keys of their
// own: clients sign with keys of ours (keys.h), each request is held against what their principal
// may do now, and is sent on under the server's own keys. Bodies stream through.
// Source: Amazon S3 API Reference, 2006-03-01.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/http/server.h"
#include "base/http/stream_client.h"
#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/delegation/s3_request.h"
#include "lakeproxy/delegation/storage_rights.h"
#include "lakeproxy/gateway/keys.h"
#include "lakeproxy/gateway/signature.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/storage/requester.h"
#include "lakeproxy/storage/sigv4.h"

namespace lake::gateway {

struct GatewayOptions {
  /// Where clients find the gateway: they put the bucket into the path. What they sign names it.
  delegation::S3Address address;
  delegation::S3Address store;
  std::string region;  ///< Of both.
  storage::Credentials credentials;
  base::http::ClientOptions client;
  /// How long rights are remembered, and so the longest time until a change of them counts.
  std::chrono::microseconds rights_time{};
};

/// What became of requests; shared by the event loops.
struct GatewayMetrics {
  explicit GatewayMetrics(base::metrics::Registry& metrics);

  base::metrics::Counter allowed;
  base::metrics::Counter refused;  ///< By a rule.
  base::metrics::Counter failed;   ///< Nobody could tell, or the store is away.
  base::metrics::Counter received_bytes;
  base::metrics::Counter sent_bytes;
};

/// What the gateway of one event loop stands on; all outlives it.
struct GatewayServices {
  Keys* keys = nullptr;
  /// Who a principal of a key is now. Errors: kForbidden  nobody any more, or somebody else.
  std::function<base::Result<auth::Principal>(const auth::Principal&)> current_principal;
  /// The catalog of that name. Errors: those of http::reach_catalog().
  std::function<base::Task<base::Result<std::shared_ptr<operation::Catalog>>>(
      base::RequestContext, auth::Principal, std::string name)>
      reach_catalog;
  const base::Clock* clock = nullptr;
  const GatewayMetrics* metrics = nullptr;
  std::optional<base::log::Logger> log;
};

/// Of one event loop.
class Gateway {
 public:
  Gateway(GatewayOptions options, GatewayServices services);

  /// Answers a request. Never fails: errors are S3's.
  [[nodiscard]] base::Task<base::http::StreamedResponse> handle(
      base::RequestContext context, base::http::StreamedRequest request);

 private:
  struct Call;
  /// What a key opens now.
  struct Opened {
    delegation::StorageRightsPtr rights;
    std::shared_ptr<operation::Catalog> catalog;
    base::WallTime until;
  };
  using Stage = base::Task<base::Status> (Gateway::*)(base::RequestContext, Call*);
  static const Stage kStages[];

  base::Task<base::Result<base::http::StreamedResponse>> answer(base::RequestContext context,
                                                                Call* call);
  base::Task<base::Status> check_key(base::RequestContext context, Call* call);
  base::Task<base::Status> take_body(base::RequestContext context, Call* call);
  base::Task<base::Status> read_operation(base::RequestContext context, Call* call);
  base::Task<base::Status> find_rights(base::RequestContext context, Call* call);
  base::Task<base::Status> check_rights(base::RequestContext context, Call* call);
  base::Task<base::Status> check_recorded(base::RequestContext context, Call* call);
  base::Task<base::Result<base::http::StreamedResponse>> forward(base::RequestContext context,
                                                                 Call* call);

  base::Task<base::Result<Opened>> open(base::RequestContext context, Grant grant);
  base::Task<base::Result<delegation::StorageRightsPtr>> rights_of(base::RequestContext context,
                                                                   operation::Catalog* catalog,
                                                                   auth::Principal principal,
                                                                   Grant grant);
  void remember(const std::string& key_id, Opened opened);
  void note(const base::RequestContext& context, const Call& call, const base::Error& error) const;

  GatewayOptions options_;
  GatewayServices services_;
  storage::Signer signer_;
  std::unique_ptr<base::http::StreamClient> store_;
  std::map<std::string, Opened, std::less<>> opened_;  ///< By the id of the key.
};

/// Answers to requests that reach no handler.
[[nodiscard]] base::http::Refusal make_refusal();

}  // namespace lake::gateway
