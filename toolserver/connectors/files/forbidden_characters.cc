#include "toolserver/connectors/files/forbidden_characters.h"

#include <algorithm>
#include <array>

namespace tool::files {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Sorted, without overlap.
constexpr auto kForbidden = std::to_array<Range>({
    {0x0000, 0x001F},    // Controls.
    {0x005C, 0x005C},    // Backslash.
    {0x007F, 0x00A0},    // DEL, C1 controls, no-break space.
    {0x00AD, 0x00AD},    // Soft hyphen.
    {0x0337, 0x0338},    // Overlays that turn a letter into one with a slash.
    {0x034F, 0x034F},    // Combining grapheme joiner.
    {0x0589, 0x0589},    // Armenian full stop.
    {0x061C, 0x061C},    // Arabic letter mark.
    {0x06D4, 0x06D4},    // Arabic full stop.
    {0x0701, 0x0702},    // Syriac full stops.
    {0x115F, 0x1160},    // Hangul fillers.
    {0x1680, 0x1680},    // Ogham space.
    {0x17B4, 0x17B5},    // Invisible Khmer vowels.
    {0x180B, 0x180F},    // Mongolian selectors and separator.
    {0x2000, 0x200F},    // Spaces, zero-width characters, direction marks.
    {0x2024, 0x2026},    // One, two and three dot leaders.
    {0x2028, 0x202F},    // Separators, direction overrides, narrow space.
    {0x2044, 0x2044},    // Fraction slash.
    {0x205F, 0x206F},    // Mathematical space, joiners, isolates.
    {0x20E5, 0x20E5},    // Reverse solidus overlay.
    {0x2100, 0x2101},    // a/c, a/s in one character.
    {0x2105, 0x2106},    // c/o, c/u in one character.
    {0x2215, 0x2216},    // Division slash, set minus.
    {0x2488, 0x249B},    // Digits with a full stop.
    {0x2571, 0x2572},    // Box-drawing diagonals.
    {0x27CB, 0x27CB},    // Rising diagonal.
    {0x27CD, 0x27CD},    // Falling diagonal.
    {0x29F5, 0x29F9},    // Reverse solidus operator to big reverse solidus.
    {0x2E4F, 0x2E4F},    // Cornish verse divider.
    {0x3000, 0x3002},    // Ideographic space, comma, full stop.
    {0x3164, 0x3164},    // Hangul filler.
    {0xA4F8, 0xA4F8},    // Lisu letter that looks like a full stop.
    {0xD800, 0xDFFF},    // Surrogates.
    {0xFDD0, 0xFDEF},    // Noncharacters.
    {0xFE00, 0xFE0F},    // Variation selectors.
    {0xFE12, 0xFE12},    // Vertical ideographic full stop.
    {0xFE19, 0xFE19},    // Vertical ellipsis.
    {0xFE30, 0xFE30},    // Vertical two dot leader.
    {0xFE52, 0xFE52},    // Small full stop.
    {0xFE68, 0xFE68},    // Small reverse solidus.
    {0xFEFF, 0xFEFF},    // Byte order mark.
    {0xFF01, 0xFF0F},    // Fullwidth punctuation, '.' and '/' among it.
    {0xFF1A, 0xFF20},    // Fullwidth ':' to '@'.
    {0xFF3B, 0xFF40},    // Fullwidth '[' to '`', the backslash among it.
    {0xFF5B, 0xFF61},    // Fullwidth '{' to halfwidth ideographic full stop.
    {0xFFA0, 0xFFA0},    // Halfwidth Hangul filler.
    {0xFFE0, 0xFFFF},    // Fullwidth signs, specials, noncharacters.
    {0x1D16D, 0x1D17A},  // Musical dots and invisible controls.
    {0x1F100, 0x1F100},  // Digit zero with a full stop.
    {0xE0000, 0xE0FFF},  // Tags, variation selectors.
});

}  // namespace

bool is_forbidden(char32_t code_point) {
  if (code_point > 0x10FFFF || (code_point & 0xFFFE) == 0xFFFE) return true;
  const auto* range = std::ranges::lower_bound(kForbidden, code_point, {}, &Range::last);
  return range != kForbidden.end() && code_point >= range->first;
}

}  // namespace tool::files
