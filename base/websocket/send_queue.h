#pragma once

// Frames that wait to be written. Small ones lie behind one another in one
// piece, so that they leave in one write; a large payload is moved, not copied,
// and leaves with the small frames before it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/websocket/frame_codec.h"

namespace base::ws {

class SendQueue {
 public:
  /// Written in this order. `body` is one payload or empty.
  struct Piece {
    std::string head;
    std::string body;
    [[nodiscard]] std::size_t size() const { return head.size() + body.size(); }
  };

  /// A client masks each frame with a key of its own from `random`, which must
  /// outlive the queue: RFC 6455, section 5.3.
  SendQueue(Sender sender, Random& random) : sender_(sender), random_(random) {}

  void add(Opcode opcode, std::string payload);
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  /// Of all pieces, headers included.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// The bytes to be written next. Not when empty.
  [[nodiscard]] std::string_view front() const;
  /// The first `n` of front() have been written.
  void consume(std::size_t n);
  /// Takes the first piece out. Not when empty.
  [[nodiscard]] Piece take();
  void clear();

 private:
  [[nodiscard]] std::string& open_head();
  [[nodiscard]] Mask next_mask();

  Sender sender_;
  Random& random_;
  std::list<Piece> pieces_;
  std::size_t bytes_ = 0;
  std::size_t written_ = 0;  ///< Of the first piece.
  std::array<Mask, 16> masks_{};
  std::size_t masks_left_ = 0;
};

}  // namespace base::ws
