#include "base/websocket/send_queue.h"

#include <span>
#include <utility>

namespace base::ws {
namespace {

// A payload over this is not copied behind others; a piece over the second has
// enough in it.
constexpr std::size_t kSmall = 16 * 1024;
constexpr std::size_t kFull = 128 * 1024;

}  // namespace

void SendQueue::add(Opcode opcode, std::string payload) {
  FrameHeader header{.final = true, .opcode = opcode, .mask = {}, .length = payload.size()};
  if (sender_ == Sender::kClient) {
    header.mask = next_mask();
    apply_mask(payload, *header.mask);
  }
  std::string& head = open_head();
  std::size_t before = head.size();
  append_header(head, header);
  if (payload.size() <= kSmall) {
    head.append(payload);
    bytes_ += head.size() - before;
  } else {
    bytes_ += head.size() - before + payload.size();
    pieces_.back().body = std::move(payload);
  }
}

// The end of a piece that takes more.
std::string& SendQueue::open_head() {
  if (pieces_.empty() || !pieces_.back().body.empty() || pieces_.back().head.size() >= kFull) {
    pieces_.emplace_back();
  }
  return pieces_.back().head;
}

Mask SendQueue::next_mask() {
  if (masks_left_ == 0) {
    random_.fill(std::as_writable_bytes(std::span(masks_)));
    masks_left_ = masks_.size();
  }
  return masks_[--masks_left_];
}

std::string_view SendQueue::front() const {
  const Piece& piece = pieces_.front();
  if (written_ < piece.head.size()) return std::string_view(piece.head).substr(written_);
  return std::string_view(piece.body).substr(written_ - piece.head.size());
}

void SendQueue::consume(std::size_t n) {
  written_ += n;
  bytes_ -= n;
  if (written_ < pieces_.front().size()) return;
  pieces_.pop_front();
  written_ = 0;
}

SendQueue::Piece SendQueue::take() {
  Piece piece = std::move(pieces_.front());
  pieces_.pop_front();
  bytes_ -= piece.size() - written_;
  std::size_t of_head = std::min(written_, piece.head.size());
  piece.head.erase(0, of_head);
  piece.body.erase(0, written_ - of_head);
  written_ = 0;
  return piece;
}

void SendQueue::clear() {
  pieces_.clear();
  bytes_ = written_ = 0;
}

}  // namespace base::ws
