#include "toolserver/connectors/connector.h"

namespace tool::connectors {

base::Task<Outcome<void>> Connector::keeps_to_tables(const Invocation& /*call*/,
                                                     std::string argument,
                                                     std::vector<std::string> /*tables*/) {
  co_return refuse(Code::kPolicy, "args." + argument + ": the tool cannot tell its tables");
}

}  // namespace tool::connectors
