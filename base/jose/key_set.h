#pragma once

// The keys that may have signed a token, each under its name. A name has one
// key: where two claim it, the set is not made.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/jose/jws.h"

namespace base::jose {

/// A value; thread-safe while nobody adds.
class KeySet {
 public:
  /// Errors: kInvalid  the verifier has no kid; kAlreadyExists  the kid is taken.
  [[nodiscard]] Status add(Verifier verifier);
  /// The key of that name, valid while the set is unchanged; or null.
  [[nodiscard]] const Verifier* find(std::string_view kid) const;
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  std::map<std::string, Verifier, std::less<>> keys_;
};

}  // namespace base::jose
