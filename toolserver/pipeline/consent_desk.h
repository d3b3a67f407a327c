#pragma once

// Questions that wait for a person who looks at a page, in place of a hook that
// somebody has to build: each stands on the desk until somebody decides or its time
// is over. What nobody decided is no.
// Source: docs/tools/operate.md, "The page /admin"; docs/adr/0149.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "toolserver/pipeline/consent_hook.h"

namespace tool::pipeline {

/// Safe to use from any event loop and thread.
class ConsentDesk final : public ConsentHook {
 public:
  static constexpr std::size_t kMost = 256;        ///< Questions at once.
  static constexpr std::size_t kOfPrincipal = 32;  ///< Of one principal.

  /// Waits for decide(). Whoever asks ends it at its deadline.
  /// Errors: E_BUSY  the desk is full, or this principal's part of it; E_CANCELLED
  ///         the question is not waited for any more.
  [[nodiscard]] base::Task<Outcome<ConsentAnswer>> ask(base::RequestContext context,
                                                       ConsentQuestion question) override;

  struct Open {
    std::uint64_t id = 0;  ///< Of this desk, never used twice.
    ConsentQuestion question;
  };
  /// Those that wait, the oldest first.
  [[nodiscard]] std::vector<Open> open() const;
  /// False where the question does not wait any more.
  [[nodiscard]] bool decide(std::uint64_t id, ConsentAnswer answer);

 private:
  struct Waiting;
  [[nodiscard]] Outcome<std::uint64_t> put(std::shared_ptr<Waiting> waiting);

  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;                                  // Guarded by mutex_.
  std::map<std::uint64_t, std::shared_ptr<Waiting>> open_;  // Guarded by mutex_.
};

}  // namespace tool::pipeline
