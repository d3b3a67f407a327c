#pragma once

// Somebody changes what there is, and others on other event loops have asked to
// be told: a small bell between them.
// Source: Model Context Protocol 2026-07-28, "Subscriptions".

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace tool::mcp_ingress {

struct Change {
  enum class Kind : std::uint8_t { kTools, kPrompts, kResources, kResource, kTask };
  Kind kind;
  std::string uri;  ///< Of kResource, which was updated; of kTask the id.
};

/// Safe to use from any thread; outlives its listeners.
class Changes {
 public:
  /// Called under a lock, on the thread that tells: it posts, and does no more.
  using Told = std::function<void(const Change&)>;

  /// Listens until it is destroyed; no call comes after that.
  class Listener {
   public:
    Listener(Changes& changes, Told told);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

   private:
    friend class Changes;
    Changes& changes_;
    Told told_;
    std::list<Listener*>::iterator at_;
  };

  void tell(const Change& change);

 private:
  std::mutex mutex_;
  std::list<Listener*> listeners_;
};

}  // namespace tool::mcp_ingress
