#pragma once
// This host, and folders that several hosts share.
//
// Threads: plain functions. Failure: none.

#include <cstdint>
#include <filesystem>
#include <string>

namespace unstarve {

// "host" if it has no name.
[[nodiscard]] std::string host_name();

// Whether other hosts may have the same folder: NFS, SMB, Lustre, Ceph, GPFS, BeeGFS, 9p and FUSE. By its nearest
// parent that exists; false if that cannot be examined.
[[nodiscard]] bool is_on_network(const std::filesystem::path& folder);
// By the type of the file system, f_type of statfs(2).
[[nodiscard]] bool is_network(std::uint32_t type) noexcept;

}  // namespace unstarve
