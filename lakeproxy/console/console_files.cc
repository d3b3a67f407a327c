#include "lakeproxy/console/console_files.h"

namespace base::embedded {
// By the build: index.html, *.css, *.js, *.svg.
std::span<const Text> console_pages();
std::span<const Text> console_styles();
std::span<const Text> console_scripts();
std::span<const Text> console_images();
}  // namespace base::embedded

namespace lake::console {

ConsoleFiles::ConsoleFiles()
    : PageFiles({.pages = base::embedded::console_pages(),
                 .styles = base::embedded::console_styles(),
                 .scripts = base::embedded::console_scripts(),
                 .images = base::embedded::console_images()}) {}

}  // namespace lake::console
