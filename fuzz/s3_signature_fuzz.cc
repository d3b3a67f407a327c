// Any bytes where a client of the S3 gateway shows its key: each reader answers without a fault,
// and nothing is taken that was not signed. The first line of the input is the target, the second
// the session token, the rest the Authorization field.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/secret.h"
#include "base/http/message.h"
#include "lakeproxy/gateway/keys.h"
#include "lakeproxy/gateway/signature.h"

namespace {

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  base::http::Request request;
  request.target = "/" + std::string(take_line(rest));
  const std::string_view token = take_line(rest);
  request.headers.add("Host", "127.0.0.1:8182");
  request.headers.add("x-amz-date", "20260131T235959Z");
  request.headers.add("x-amz-content-sha256", "UNSIGNED-PAYLOAD");
  request.headers.add("Authorization", std::string(rest));
  const base::WallTime now(std::chrono::seconds(1'769'903'999));
  auto shown = lake::gateway::read_authorization(request.headers);
  if (!shown) return 0;
  const base::Secret secret("a secret that the input cannot know");
  if (lake::gateway::verify_signature(*shown, request, secret, shown->region, now)) std::abort();
  static base::SystemRandom random;
  static auto keys =
      lake::gateway::Keys::create(base::Secret(std::string(32, 's')), base::Secret(), random);
  if (!keys || keys->open(shown->access_key_id, token, now)) std::abort();
  return 0;
}
