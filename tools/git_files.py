"""The files of a git checkout that the checks of this folder read."""

import subprocess
from pathlib import Path


def git_files(root: Path, endings: tuple[str, ...]) -> list[str]:
    """Returns the names with these endings, sorted, of existing files that git tracks or would add.

    Raises:
        ValueError: `root` is not in a git checkout.
    """
    try:
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                                capture_output=True, text=True, check=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", "").strip() or str(error)
        raise ValueError(f"list the files of {root}: {reason}; expected a folder of a git checkout") from error
    return sorted(name for name in set(listed) if name.endswith(endings) and (root / name).is_file())
