#pragma once

// One signed exchange with the object store, with the retries that its faults
// call for. A store of many machines answers now and then with "slow down" or
// not at all; what may be repeated is repeated here and nowhere above.

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/http/client.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/measure/wait_meter.h"
#include "lakeproxy/storage/sigv4.h"

namespace lake::storage {

/// Where the bucket's name stands in a URL.
enum class Addressing { kPath, kVirtualHost };

struct S3Request {
  base::http::Method method = base::http::Method::kGet;
  std::string key;  ///< Empty for the bucket itself.
  std::vector<Parameter> query = {};
  base::http::Headers headers = {};
  base::http::Body body = {};
  std::string payload_hash = {};  ///< SHA-256 of the body in hexadecimal; empty: computed.
  base::http::Headers unsigned_headers = {};  ///< Sent as well; the signature says nothing of them.
};

struct RequesterOptions {
  base::http::Origin origin;  ///< Of the endpoint; the bucket is put before it if asked.
  std::string region;
  std::string bucket;
  Credentials credentials;
  Addressing addressing = Addressing::kPath;
  base::http::ClientOptions client;
  unsigned tries = 3;
  std::chrono::milliseconds first_pause{100};  ///< Doubled before each further try.
};

/// Used from one event loop. `clock` and `random` outlive it.
class Requester {
 public:
  Requester(RequesterOptions options, const base::Clock& clock, base::Random& random);

  /// `meter` outlives the requester.
  void measure_with(measure::WaitMeter& meter) { meter_ = &meter; }

  /// Sends a request whose repetition does no harm, up to options.tries times
  /// within the deadline, with a random pause before each repetition.
  /// Any answer that is not a temporary failure is a success here, whatever
  /// its status.
  /// Errors: kUnavailable  no answer, or a temporary failure to the last;
  ///         kOutcomeUnknown  a change was sent and never answered;
  ///         kTimeout, kTooLarge, kCancelled  as http::Client::send.
  [[nodiscard]] base::Task<base::Result<base::http::Response>> send(base::RequestContext context,
                                                                    S3Request request);

 private:
  [[nodiscard]] base::http::ClientRequest sign(const S3Request& request);
  base::Task<base::Result<base::http::Response>> exchange(base::RequestContext context,
                                                          base::http::ClientRequest request);
  [[nodiscard]] std::chrono::milliseconds pause_before(unsigned attempt);

  RequesterOptions options_;
  std::string host_;
  Signer signer_;
  const base::Clock& clock_;
  base::Random& random_;
  std::unique_ptr<base::http::Client> client_;
  measure::WaitMeter* meter_ = nullptr;
};

}  // namespace lake::storage
