#pragma once

// The parts that the tests of this folder run as children.

namespace tool::isolate {

/// Tries what it is told to, a line each; answers with the error's number.
int attack_role(int channel);
/// Answers requests, or misbehaves as they say.
int part_role(int channel);

}  // namespace tool::isolate
