#include "base/jose/key_set.h"

namespace base::jose {

Status KeySet::add(Verifier verifier) {
  if (verifier.kid().empty()) {
    return fail(ErrorKind::kInvalid, "a key of a set must have a kid");
  }
  std::string kid = verifier.kid();
  if (!keys_.emplace(std::move(kid), std::move(verifier)).second) {
    return fail(ErrorKind::kAlreadyExists, "the set has a key of this kid already");
  }
  return {};
}

const Verifier* KeySet::find(std::string_view kid) const {
  auto found = keys_.find(kid);
  return found == keys_.end() ? nullptr : &found->second;
}

}  // namespace base::jose
