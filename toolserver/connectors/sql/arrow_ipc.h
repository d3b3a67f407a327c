#pragma once

// Columns for readers of Arrow: the engine's own buffers behind small headers,
// in the streaming format, without compression and dictionaries.
// Source: Arrow Columnar Format 1.5, "Serialization and Interprocess
// Communication (IPC)"; Schema.fbs and Message.fbs, metadata version V5.

#include <string>

#include "base/core/result.h"
#include "toolserver/connectors/sql/arrow_type.h"

namespace tool::connectors {

constexpr const char* kArrowMediaType = "application/vnd.apache.arrow.stream";

/// The message that a stream begins with. `root` is a kStruct of the columns.
[[nodiscard]] std::string arrow_schema_message(const ArrowField& root);

/// The message for the first `rows` rows of `array`, a struct of the columns.
/// Errors: kUnsupported  an array that begins inside its buffers.
[[nodiscard]] base::Result<std::string> arrow_batch_message(const ArrowField& root,
                                                            const ArrowArray& array,
                                                            std::int64_t rows);

/// The bytes that a stream ends with.
[[nodiscard]] std::string arrow_end();

}  // namespace tool::connectors
