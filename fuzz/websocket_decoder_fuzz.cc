// Any bytes, cut anywhere: the decoder says the same, never holds more than its
// limit, and a message it gives is one that the codec writes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/core/text.h"
#include "base/websocket/message_decoder.h"

namespace {

using namespace base::ws;
using Event = MessageDecoder::Event;

constexpr std::size_t kLimit = 512;

// What the decoder says to `bytes`, given in steps of `step`.
std::string log_of(std::string_view bytes, Sender sender, std::size_t step) {
  MessageDecoder decoder(sender, kLimit, 4);
  std::string log;
  while (!bytes.empty()) {
    std::string_view chunk = bytes.substr(0, step);
    bytes.remove_prefix(chunk.size());
    for (;;) {
      auto [used, event] = decoder.feed(chunk);
      if (used > chunk.size()) std::abort();
      chunk.remove_prefix(used);
      if (event == Event::kNeedMore) break;
      log.push_back(static_cast<char>('0' + static_cast<int>(event)));
      if (event == Event::kMessage) {
        Message message = decoder.take_message();
        bool text = message.kind == Message::Kind::kText;
        if (message.data.size() > kLimit || (text && !base::is_utf8(message.data))) std::abort();
        log += message.data;
      } else if (event == Event::kClose) {
        return log + decoder.close().reason;
      } else if (event == Event::kViolation) {
        return log.append(to_string(decoder.violation()));
      } else if (decoder.control().size() > kMaxControlBytes) {
        std::abort();
      }
    }
  }
  return log;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Sender sender = (data[0] & 1) != 0 ? Sender::kClient : Sender::kServer;
  std::size_t step = 1 + data[0] / 2;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (log_of(bytes, sender, step) != log_of(bytes, sender, bytes.size() + 1)) std::abort();
  return 0;
}
