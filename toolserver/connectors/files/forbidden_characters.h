#pragma once

// Characters that make a path look like another one, or that some later reader
// of the name (a shell, a log, a normalising file system) would take for a dot
// or a slash. No file that a tool should touch needs them, so they are refused
// before any path is built.
// Sources: Unicode 15, "Default_Ignorable_Code_Point", "Bidi_Control",
// compatibility decompositions to U+002E, U+002F and U+005C; UTS 39, section 4.

namespace tool::files {

/// Whether a path may not hold this code point: controls, white space other
/// than U+0020, invisible and direction-changing characters, look-alikes of
/// '.', '/' and '\', noncharacters.
[[nodiscard]] bool is_forbidden(char32_t code_point);

}  // namespace tool::files
