#include "base/websocket/send_queue.h"

#include <gtest/gtest.h>

#include "base/websocket/message_decoder.h"

namespace base::ws {
namespace {

// Bytes 1, 2, 3 and so on.
class CountingRandom final : public Random {
 public:
  void fill(std::span<std::byte> out) override {
    for (std::byte& b : out) b = std::byte(++last_);
  }

 private:
  unsigned char last_ = 0;
};

std::string drain(SendQueue& queue) {
  std::string out;
  while (!queue.empty()) {
    SendQueue::Piece piece = queue.take();
    out += piece.head + piece.body;
  }
  return out;
}

TEST(SendQueueTest, small_frames_leave_in_one_piece) {
  CountingRandom random;
  SendQueue queue(Sender::kServer, random);
  EXPECT_TRUE(queue.empty());
  queue.add(Opcode::kText, "one");
  queue.add(Opcode::kBinary, "two");
  queue.add(Opcode::kPing, "");
  EXPECT_EQ(queue.bytes(), 5u + 5u + 2u);
  EXPECT_EQ(queue.take().head, std::string("\x81\x03one\x82\x03two\x89\x00", 12));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(SendQueueTest, large_payload_follows_the_small_frames_before_it) {
  CountingRandom random;
  SendQueue queue(Sender::kServer, random);
  queue.add(Opcode::kText, "a");
  queue.add(Opcode::kBinary, std::string(100'000, 'x'));
  queue.add(Opcode::kText, "b");
  EXPECT_EQ(queue.bytes(), 3u + 10u + 100'000u + 3u);
  SendQueue::Piece first = queue.take();
  EXPECT_EQ(first.head.size(), 3u + 10u);
  EXPECT_EQ(first.body.size(), 100'000u);
  EXPECT_EQ(queue.take().head,
            "\x81\x01"
            "b");
}

TEST(SendQueueTest, any_partial_writes_send_the_same_bytes) {
  CountingRandom random;
  auto filled = [&] {
    SendQueue queue(Sender::kServer, random);
    queue.add(Opcode::kText, "first");
    queue.add(Opcode::kBinary, std::string(20'000, 'x'));
    queue.add(Opcode::kText, "last");
    return queue;
  };
  SendQueue whole = filled();
  std::string expected = drain(whole);
  for (std::size_t step : {1u, 7u, 9u, 8'000u, 30'000u}) {
    SendQueue queue = filled();
    std::string written;
    while (!queue.empty() && written.size() < 20'005) {
      std::string_view next = queue.front().substr(0, step);
      ASSERT_FALSE(next.empty());
      written += next;
      queue.consume(next.size());
      EXPECT_EQ(queue.bytes(), expected.size() - written.size());
    }
    // The rest in pieces, the first of which has been begun.
    EXPECT_EQ(written + drain(queue), expected) << step;
    EXPECT_EQ(queue.bytes(), 0u);
  }
}

TEST(SendQueueTest, client_masks_each_frame_with_a_key_of_its_own) {
  CountingRandom random;
  SendQueue queue(Sender::kClient, random);
  std::string keys;
  for (int i = 0; i < 20; ++i) {
    queue.add(Opcode::kText, "hello");
    std::string bytes = drain(queue);
    std::string key = bytes.substr(2, 4);
    EXPECT_EQ(keys.find(key), std::string::npos);
    keys += key + "|";
    MessageDecoder decoder(Sender::kClient, 100, 1);
    ASSERT_EQ(decoder.feed(bytes).event, MessageDecoder::Event::kMessage);
    EXPECT_EQ(decoder.take_message().data, "hello");
  }
}

TEST(SendQueueTest, clear_forgets_everything) {
  CountingRandom random;
  SendQueue queue(Sender::kServer, random);
  queue.add(Opcode::kText, "hello");
  queue.consume(2);
  queue.clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0u);
  queue.add(Opcode::kText, "x");
  EXPECT_EQ(drain(queue), "\x81\x01x");
}

}  // namespace
}  // namespace base::ws
