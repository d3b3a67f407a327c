#pragma once

// A text file that the build put into the binary; see cmake/embed.cmake. The
// folder that embeds some declares the function over them.

#include <span>
#include <string_view>

namespace base::embedded {

struct Text {
  std::string_view name;  ///< The file's, without folder and extension.
  std::string_view text;
};

}  // namespace base::embedded
