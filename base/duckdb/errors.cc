#include "base/duckdb/errors.h"

#include <algorithm>
#include <array>
#include <string>

namespace base::duckdb {
namespace {

struct Class {
  std::string_view prefix;
  duckdb_error_type type;
  ErrorKind kind;
  const char* message;
};

constexpr const char* kFailed = "the engine failed";
constexpr const char* kBadInput = "the engine refuses the statement or a value in it";

constexpr std::array kClasses{
    Class{"Out of Memory Error", DUCKDB_ERROR_OUT_OF_MEMORY, ErrorKind::kTooLarge,
          "more than the engine's memory can hold"},
    Class{"TransactionContext Error", DUCKDB_ERROR_TRANSACTION, ErrorKind::kConflict,
          "a concurrent change came first"},
    Class{"INTERRUPT Error", DUCKDB_ERROR_INTERRUPT, ErrorKind::kCancelled,
          "the engine was interrupted"},
    Class{"Permission Error", DUCKDB_ERROR_PERMISSION, ErrorKind::kForbidden,
          "the engine may not do this"},
    Class{"Not implemented Error", DUCKDB_ERROR_NOT_IMPLEMENTED, ErrorKind::kUnsupported,
          "the engine cannot do this"},
    Class{"FATAL Error", DUCKDB_ERROR_FATAL, ErrorKind::kInternal, kFailed},
    Class{"INTERNAL Error", DUCKDB_ERROR_INTERNAL, ErrorKind::kInternal, kFailed},
    Class{"Conversion Error", DUCKDB_ERROR_CONVERSION, ErrorKind::kInvalid, kBadInput},
    Class{"Invalid Input Error", DUCKDB_ERROR_INVALID_INPUT, ErrorKind::kInvalid, kBadInput},
    Class{"Out of Range Error", DUCKDB_ERROR_OUT_OF_RANGE, ErrorKind::kInvalid, kBadInput},
    Class{"Mismatch Type Error", DUCKDB_ERROR_MISMATCH_TYPE, ErrorKind::kInvalid, kBadInput},
    Class{"Decimal Error", DUCKDB_ERROR_DECIMAL, ErrorKind::kInvalid, kBadInput},
    Class{"Constraint Error", DUCKDB_ERROR_CONSTRAINT, ErrorKind::kInvalid, kBadInput},
    Class{"Parser Error", DUCKDB_ERROR_PARSER, ErrorKind::kInvalid, kBadInput},
    Class{"Syntax Error", DUCKDB_ERROR_SYNTAX, ErrorKind::kInvalid, kBadInput},
    Class{"Binder Error", DUCKDB_ERROR_BINDER, ErrorKind::kInvalid, kBadInput},
    Class{"Catalog Error", DUCKDB_ERROR_CATALOG, ErrorKind::kInvalid, kBadInput},
};

}  // namespace

duckdb_error_type error_class(std::string_view message) {
  const auto* found = std::ranges::find_if(
      kClasses, [&](const Class& entry) { return message.starts_with(entry.prefix); });
  return found == kClasses.end() ? DUCKDB_ERROR_INVALID : found->type;
}

Error engine_error(duckdb_error_type type, std::string_view message) {
  const auto* found = std::ranges::find(kClasses, type, &Class::type);
  Error error = found == kClasses.end() ? fail(ErrorKind::kInternal, kFailed)
                                        : fail(found->kind, found->message);
  if (ends_database(type)) error = std::move(error).with_reason(kEngineEnded);
  return std::move(error).with_detail(std::string(message));
}

bool ends_database(duckdb_error_type type) {
  return type == DUCKDB_ERROR_FATAL || type == DUCKDB_ERROR_INTERNAL;
}

}  // namespace base::duckdb
