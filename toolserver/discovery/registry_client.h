#pragma once

// JSON over HTTP, as Consul and etcd's gateway speak it: over TLS or to this machine,
// with answers that are bounded, whatever the server sends.

#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/http/client.h"
#include "base/http/stream_client.h"
#include "base/json/json.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace tool::discovery {

/// Belongs to one event loop.
class RegistryClient {
 public:
  static constexpr std::size_t kAnswerBytes = 1 << 20;

  /// `ca_file` is a PEM with the only roots trusted; the system's when empty.
  /// Errors: kInvalid  not an http or https URL of an origin and perhaps a path;
  ///         kForbidden  plaintext to another host than this one.
  [[nodiscard]] static base::Result<std::shared_ptr<RegistryClient>> create(std::string url,
                                                                            std::string ca_file);

  struct Call {
    base::http::Method method = base::http::Method::kGet;
    std::string target;  ///< Behind the path of the URL.
    base::http::Headers headers;
    base::json::Object body;  ///< Sent unless the method is kGet.
  };
  struct Answer {
    base::http::Headers headers;
    base::json::Value body;  ///< Null where there was none.
  };
  /// Errors: those of base::http::Client; kForbidden  401 or 403; kNotFound  404;
  ///         kUnavailable  another status than 200; kInvalid  not JSON.
  [[nodiscard]] base::Task<base::Result<Answer>> send(base::RequestContext context, Call call);

  /// An answer that comes in lines, for as long as the context's deadline allows.
  /// Errors: as send().
  [[nodiscard]] base::Task<base::Result<base::http::BodyStream>> follow(
      base::RequestContext context, Call call);

 private:
  RegistryClient(base::http::Origin origin, std::string path, std::string ca_file);
  [[nodiscard]] base::http::ClientRequest request(Call call) const;

  const base::http::Origin origin_;
  const std::string path_;
  const base::http::ClientOptions options_;
  std::unique_ptr<base::http::Client> client_;
  std::unique_ptr<base::http::StreamClient> stream_client_;
};

}  // namespace tool::discovery
