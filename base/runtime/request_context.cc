#include "base/runtime/request_context.h"

#include <fmt/format.h>

namespace base {

std::string RequestContext::id_text() const { return fmt::format("{:016x}", request_id); }

}  // namespace base
