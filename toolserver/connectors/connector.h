#pragma once

// Where tools come from. A connector offers some capabilities and runs calls
// of them; it never sees a call that the pipeline did not approve, and it does
// not check scopes again.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime/task.h"
#include "toolserver/model/capability.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::connectors {

/// Safe to call from any event loop.
class Connector {
 public:
  virtual ~Connector() = default;

  /// Fixed for the life of the connector.
  [[nodiscard]] virtual std::vector<Capability> capabilities() const = 0;

  /// How many calls it runs at once, fixed likewise; the pipeline lets others
  /// wait, and gives no principal more than half. 0: any number.
  [[nodiscard]] virtual std::size_t most_at_once() const { return 0; }

  /// Whether the tools know an idempotency key themselves, where they are. Then a call
  /// with a key whose end is not known here is made again under that key, and E_INTERNAL
  /// of invoke() says of such a call that its end is not known.
  [[nodiscard]] virtual bool keeps_keys() const { return false; }

  /// What the operator demands of the arguments of a call, asked once the caller
  /// is authorised and before anybody is bothered. Waits for nothing.
  /// Errors: E_POLICY  names the argument and the rule.
  [[nodiscard]] virtual Outcome<void> allows(const Invocation& /*call*/) const { return {}; }

  /// Whether the text in `argument` names these tables (in lower case) and no
  /// others, as a name or in the statement that it is; asked where the caller's own
  /// rights are narrowed so, before anybody is bothered. Within the deadline of the
  /// call's context. `call` outlives the task.
  /// Errors: E_POLICY  it names others, or cannot be read; or the tool cannot tell, as
  ///         most; E_BUSY, E_LIMIT, E_TIMEOUT, E_CANCELLED, E_UPSTREAM, E_INTERNAL.
  [[nodiscard]] virtual base::Task<Outcome<void>> keeps_to_tables(const Invocation& call,
                                                                  std::string argument,
                                                                  std::vector<std::string> tables);

  /// Runs a call of one of its tools to the end, within the deadline of its
  /// context, and stops early when the coroutine is cancelled. The arguments
  /// have passed the capability's input schema.
  /// A call that fails for reasons of the tool's own (no such table, no such
  /// file) is a result with is_error, for the caller to read and correct; a
  /// Fault is a refusal: E_SHAPE, E_POLICY, E_LIMIT, E_TIMEOUT, E_CANCELLED,
  /// E_BUSY, E_UPSTREAM, E_INTERNAL.
  [[nodiscard]] virtual base::Task<Outcome<ToolResult>> invoke(Approved<Invocation> call,
                                                               Progress progress) = 0;
};

}  // namespace tool::connectors
