#include "toolserver/mcp_ingress/changes.h"

#include <utility>

namespace tool::mcp_ingress {

Changes::Listener::Listener(Changes& changes, Told told)
    : changes_(changes), told_(std::move(told)) {
  std::lock_guard held(changes_.mutex_);
  at_ = changes_.listeners_.insert(changes_.listeners_.end(), this);
}

Changes::Listener::~Listener() {
  std::lock_guard held(changes_.mutex_);
  changes_.listeners_.erase(at_);
}

void Changes::tell(const Change& change) {
  std::lock_guard held(mutex_);
  for (Listener* one : listeners_) one->told_(change);
}

}  // namespace tool::mcp_ingress
