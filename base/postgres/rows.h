#pragma once

// Rows over a libpq result, and the owner of such a result.

#include <libpq-fe.h>

#include <memory>

#include "base/postgres/session.h"

namespace base::pg {

struct ResultClear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, ResultClear>;

/// Takes a result of status PGRES_TUPLES_OK or PGRES_COMMAND_OK in text format.
[[nodiscard]] RowsPtr make_rows(ResultPtr result);

}  // namespace base::pg
