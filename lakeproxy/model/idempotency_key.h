#pragma once

// A client whose answer was lost asks again, and must not be served twice. It
// names its change by a key, which travels down to the transaction that makes
// the change and is written there: what happened is known as long as it lasts.
// Source: Iceberg REST description, parameter "Idempotency-Key".

#include <string>

#include "base/core/clock.h"

namespace lake::model {

struct IdempotencyKey {
  base::Uuid id{};
  /// SHA-256 of who asks for what: tells the same request from another one
  /// under the same key.
  std::string request_hash;
};

}  // namespace lake::model
