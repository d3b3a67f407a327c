#include "toolserver/mcp_bridge/server_link.h"

#include <algorithm>

namespace tool::bridge {

std::string answer_to(const mcp::Request& request, const LinkEvents& events) {
  if (request.method == mcp::method::kPing) return mcp::write(mcp::Answer{request.id, {}});
  if (events.asked) {
    if (auto result = events.asked(request)) {
      return mcp::write(mcp::Answer{request.id, std::move(*result)});
    }
  }
  return mcp::write(mcp::ErrorAnswer{
      request.id,
      {mcp::code::kNoMethod, "this client answers no requests of servers", std::nullopt}});
}

bool Meter::take(std::size_t bytes, bool unasked, Time now) {
  double seconds =
      before_ ? std::chrono::duration<double>(std::max(now - *before_, Time::duration(0))).count()
              : 0;
  before_ = now;
  messages_ = std::min(kMessages, messages_ + seconds * kMessagesPerSecond) - (unasked ? 1 : 0);
  bytes_ = std::min(kBytes, bytes_ + seconds * kBytesPerSecond) - static_cast<double>(bytes);
  return messages_ >= 0 && bytes_ >= 0;
}

}  // namespace tool::bridge
