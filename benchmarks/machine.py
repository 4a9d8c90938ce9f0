"""What the machine gave: an absolute number is worth as much as the cores that it was measured on.

A virtual machine that wants to run is at times not let: its host has given the core to another one.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Final, NamedTuple, Self

# Of the numbers in a line of /proc/stat: user, nice, system, irq, softirq, and what was stolen.
_WORKED: Final = (0, 1, 2, 5, 6)
_STOLEN: Final = 7


class MachineTime(NamedTuple):
    """How long all cores have worked so far, and how long they wanted to and were not let, in ticks."""

    worked: int
    stolen: int

    @classmethod
    def now(cls) -> Self:
        """Return what the kernel has counted so far; one that does not count has counted nothing."""
        counted = Path("/proc/stat")
        return cls.read(counted.read_text(encoding="ascii")) if counted.exists() else cls(0, 0)

    @classmethod
    def read(cls, text: str) -> Self:
        """Return what /proc/stat says of all cores together, in its first line."""
        ticks = [int(number) for number in text.split("\n", 1)[0].split()[1:]]
        return cls(sum(ticks[place] for place in _WORKED), ticks[_STOLEN])

    def share_stolen(self, until: MachineTime) -> float:
        """Return which share of the time that was wanted until then was given to others."""
        stolen = until.stolen - self.stolen
        return stolen / max(stolen + until.worked - self.worked, 1)

    def told(self, until: MachineTime) -> str:
        """Return what is to be kept in mind with what was measured until then."""
        return (
            f"On {os.cpu_count()} cores and Python {platform.python_version()}; the host gave "
            f"{self.share_stolen(until):.0%} of the time that was wanted to others."
        )
