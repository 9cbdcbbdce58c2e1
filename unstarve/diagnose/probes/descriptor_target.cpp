#include "unstarve/diagnose/probes/descriptor_target.h"

#include <sys/xattr.h>

#include <array>
#include <string_view>
#include <system_error>

namespace unstarve {
namespace {

constexpr std::string_view kSocket = "socket:";

// The kernel names the protocol of a socket: "UNIX", "UNIX-STREAM", "TCP".
bool is_unix_socket(const std::filesystem::path& link) {
  std::array<char, 32> name{};
  return ::getxattr(link.c_str(), "system.sockprotoname", name.data(), name.size() - 1) > 0 &&
         std::string_view(name.data()).starts_with("UNIX");
}

}  // namespace

std::string DescriptorTarget::read(const std::filesystem::path& link) {
  std::error_code error;  // another thread may have closed it
  std::string target = std::filesystem::read_symlink(link, error).string();
  if (!target.starts_with(kSocket)) return target;
  if (target != socket_) {
    is_unix_ = is_unix_socket(link);
    socket_ = target;
  }
  return is_unix_ ? "unix:" + target.substr(kSocket.size()) : target;
}

}  // namespace unstarve
