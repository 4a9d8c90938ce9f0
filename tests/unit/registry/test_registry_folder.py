"""A folder of manifests is followed through everything that people and machines do to files."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.clock import SystemClock
from aviso_core.errors import Unavailable
from aviso_core.registry.base import Unreadable, Withdrawn
from aviso_core.registry.folder import FolderRegistry, open_folder_registry, stamps_of
from support.registries import ManualClock, manifest, schema

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
    from pathlib import Path

    from aviso_core.registry.follower import Follower
    from aviso_core.schema.model import Schema

_SETTLE_SECONDS: Final = 5.0
_NEVER_SECONDS: Final = 3600.0


class Followed:
    """A folder that is looked at when a test says so, and what its follower was told."""

    def __init__(
        self,
        registry: FolderRegistry,
        follower: Follower,
        clock: ManualClock,
        changes: list[dict[str, str]],
    ) -> None:
        self.registry = registry
        self.follower = follower
        self.clock = clock
        self.changes = changes

    @property
    def served(self) -> dict[str, str]:
        """Event type → the description of what is in force."""
        return descriptions(self.follower)

    @property
    def reasons(self) -> dict[str, str]:
        return {name: refused.reason for name, refused in self.follower.refused.items()}

    async def settle(self) -> None:
        """Look, let the time pass that a change must have settled for, and look again."""
        await self.registry.look()
        self.clock.advance(_SETTLE_SECONDS)
        await self.registry.look()


def descriptions(follower: Follower) -> dict[str, str]:
    return {name: one.schema.description for name, one in follower.catalog.event_types.items()}


@asynccontextmanager
async def following(folder: Path, configured: Iterable[Schema]) -> AsyncIterator[Followed]:
    clock = ManualClock()
    changes: list[dict[str, str]] = []
    async with (
        open_folder_registry(
            folder,
            clock=clock,
            interval_seconds=_NEVER_SECONDS,
            settle_seconds=_SETTLE_SECONDS,
            configured=configured,
        ) as registry,
        registry.follow(lambda follower: changes.append(descriptions(follower))) as follower,
    ):
        yield Followed(registry, follower, clock, changes)


def run(
    folder: Path, story: Callable[[Followed], Awaitable[None]], *, configured: Iterable[Schema] = ()
) -> None:
    async def main() -> None:
        async with asyncio.timeout(30), following(folder, configured) as followed:
            await story(followed)

    asyncio.run(main())


def write(path: Path, *names: str, description: str = "") -> None:
    """Write a file with the manifests of event types."""
    manifests = [json.dumps(manifest(name, description=description)) for name in names]
    path.write_text("\n---\n".join(manifests), encoding="utf-8")


def test_what_lies_in_the_folder_is_served_at_once(tmp_path: Path) -> None:
    """Without waiting for anything to settle: there is nothing to keep yet."""
    write(tmp_path / "all.yaml", "storms", "buoys")
    write(tmp_path / "runs.json", "runs")
    write(tmp_path / "Winds.YAML", "winds")
    write(tmp_path / "Tides.Json", "tides")
    write(tmp_path / ".hidden.yaml", "hidden")
    write(tmp_path / "notes.txt", "notes")
    (tmp_path / "folder.yaml").mkdir()

    async def story(followed: Followed) -> None:
        assert followed.follower.is_loaded
        assert set(followed.served) == {"storms", "buoys", "runs", "winds", "tides"}
        assert len(followed.changes) == 1

    run(tmp_path, story)


def test_a_change_is_taken_in_once_it_has_settled(tmp_path: Path) -> None:
    """A file that is still being written may look like a shorter manifest."""
    write(tmp_path / "storms.yaml", "storms", description="old")

    async def story(followed: Followed) -> None:
        write(tmp_path / "storms.yaml", "storms", description="being written")
        await followed.registry.look()
        followed.clock.advance(_SETTLE_SECONDS - 1)
        write(tmp_path / "storms.yaml", "storms", description="as it is meant to be")
        await followed.registry.look()
        followed.clock.advance(_SETTLE_SECONDS - 1)
        await followed.registry.look()
        assert followed.served == {"storms": "old"}
        followed.clock.advance(1)
        await followed.registry.look()
        assert followed.served == {"storms": "as it is meant to be"}
        assert len(followed.changes) == 2

    run(tmp_path, story)


def test_what_changes_together_is_one_change(tmp_path: Path) -> None:
    write(tmp_path / "storms.yaml", "storms")
    write(tmp_path / "buoys.yaml", "buoys")

    async def story(followed: Followed) -> None:
        write(tmp_path / "storms.yaml", "storms", description="new")
        write(tmp_path / "runs.yaml", "runs")
        (tmp_path / "buoys.yaml").unlink()
        await followed.settle()
        assert followed.changes[1:] == [{"storms": "new", "runs": ""}]

    run(tmp_path, story)


def test_looking_at_an_unchanged_folder_changes_nothing(tmp_path: Path) -> None:
    """Nor does a file that was written again as it was."""
    write(tmp_path / "storms.yaml", "storms")

    async def story(followed: Followed) -> None:
        await followed.settle()
        (tmp_path / "again.yaml").write_bytes((tmp_path / "storms.yaml").read_bytes())
        (tmp_path / "again.yaml").rename(tmp_path / "storms.yaml")
        await followed.settle()
        assert len(followed.changes) == 1

    run(tmp_path, story)


def test_a_file_is_replaced_by_renaming(tmp_path: Path) -> None:
    """What is renamed over it may be of the same size and older than what it replaces."""
    write(tmp_path / "other", "storms", description="new")
    write(tmp_path / "storms.yaml", "storms", description="old")

    async def story(followed: Followed) -> None:
        (tmp_path / "other").rename(tmp_path / "storms.yaml")
        await followed.settle()
        assert followed.served == {"storms": "new"}

    run(tmp_path, story)


def test_a_folder_that_is_swapped_by_a_link_is_followed(tmp_path: Path) -> None:
    """As the cluster mounts its configuration: files are links into a folder that is itself a link."""
    for version, description in (("..v1", "old"), ("..v2", "new")):
        (tmp_path / version).mkdir()
        write(tmp_path / version / "storms.yaml", "storms", description=description)
    write(tmp_path / "..v1" / "buoys.yaml", "buoys")
    (tmp_path / "..data").symlink_to("..v1")
    for name in ("storms.yaml", "buoys.yaml"):
        (tmp_path / name).symlink_to(f"..data/{name}")

    async def story(followed: Followed) -> None:
        assert followed.served == {"storms": "old", "buoys": ""}
        (tmp_path / "..new").symlink_to("..v2")
        (tmp_path / "..new").rename(tmp_path / "..data")
        await followed.settle()
        assert followed.changes[1:] == [{"storms": "new"}]

    run(tmp_path, story)


def test_a_file_that_is_gone_withdraws_what_it_declared(tmp_path: Path) -> None:
    write(tmp_path / "storms.yaml", "storms")

    async def story(followed: Followed) -> None:
        (tmp_path / "storms.yaml").unlink()
        await followed.settle()
        assert followed.served == {}
        assert isinstance(await followed.registry.get("storms"), Withdrawn)

    run(tmp_path, story)


def test_a_file_that_is_gone_for_a_moment_withdraws_nothing(tmp_path: Path) -> None:
    """Some editors take the old file away before they write the new one."""
    write(tmp_path / "storms.yaml", "storms", description="old")

    async def story(followed: Followed) -> None:
        (tmp_path / "storms.yaml").rename(tmp_path / "storms.yaml~")
        await followed.registry.look()
        write(tmp_path / "storms.yaml", "storms", description="new")
        await followed.settle()
        assert followed.changes == [{"storms": "old"}, {"storms": "new"}]

    run(tmp_path, story)


def test_a_broken_file_keeps_what_it_declared_and_is_reported_with_its_line(tmp_path: Path) -> None:
    write(tmp_path / "all.yaml", "storms", "buoys")

    async def story(followed: Followed) -> None:
        (tmp_path / "all.yaml").write_text("a: 1\nb: ]\n", encoding="utf-8")
        await followed.settle()
        assert set(followed.served) == {"storms", "buoys"}
        assert followed.reasons.keys() == {"storms", "buoys"}
        assert followed.reasons["storms"].startswith("all.yaml, line 2: is not YAML")
        write(tmp_path / "all.yaml", "storms", description="mended")
        await followed.settle()
        assert followed.served == {"storms": "mended"}
        assert followed.reasons == {}

    run(tmp_path, story)


def test_a_broken_file_that_is_mended_as_it_was_is_good_again(tmp_path: Path) -> None:
    write(tmp_path / "storms.yaml", "storms", description="old")

    async def story(followed: Followed) -> None:
        (tmp_path / "storms.yaml").write_text("]", encoding="utf-8")
        await followed.settle()
        assert followed.reasons.keys() == {"storms"}
        write(tmp_path / "storms.yaml", "storms", description="old")
        await followed.settle()
        assert followed.reasons == {}
        assert followed.follower.revision_of("storms") == 3

    run(tmp_path, story)


def test_a_broken_file_that_is_removed_withdraws_what_it_declared(tmp_path: Path) -> None:
    write(tmp_path / "storms.yaml", "storms")

    async def story(followed: Followed) -> None:
        (tmp_path / "storms.yaml").write_text("]", encoding="utf-8")
        await followed.settle()
        (tmp_path / "storms.yaml").unlink()
        await followed.settle()
        assert followed.served == {}
        assert followed.reasons == {}

    run(tmp_path, story)


def test_a_file_that_was_never_good_is_reported_until_it_is_gone(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("]", encoding="utf-8")

    async def story(followed: Followed) -> None:
        assert followed.reasons.keys() == {"broken.yaml"}
        (tmp_path / "broken.yaml").unlink()
        await followed.settle()
        assert followed.reasons == {}

    run(tmp_path, story)


def test_a_file_that_may_not_be_read_is_reported(tmp_path: Path) -> None:
    """Here it is a link that leads to itself, which not even an administrator can read."""
    write(tmp_path / "storms.yaml", "storms")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")

    async def story(followed: Followed) -> None:
        assert set(followed.served) == {"storms"}
        assert "loop.yaml cannot be read" in followed.reasons["loop.yaml"]

    run(tmp_path, story)


def test_a_file_that_may_be_read_now_is_another_than_before(tmp_path: Path) -> None:
    """Permissions change nothing that `ls -l` dates."""
    write(tmp_path / "storms.yaml", "storms")
    before = stamps_of(tmp_path)
    (tmp_path / "storms.yaml").chmod(0o400)
    assert stamps_of(tmp_path) != before


def test_a_folder_that_is_gone_withdraws_nothing_and_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    write(folder / "storms.yaml", "storms")

    async def story(followed: Followed) -> None:
        folder.rename(tmp_path / "elsewhere")
        await followed.settle()
        assert set(followed.served) == {"storms"}
        assert "cannot be read: No such file" in followed.reasons["schemas"]
        (tmp_path / "elsewhere").rename(folder)
        await followed.settle()
        assert followed.reasons == {}
        assert set(followed.served) == {"storms"}

    run(folder, story)


def test_without_a_folder_there_is_no_registry(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_folder_registry(tmp_path / "nowhere", clock=ManualClock()):
            pass

    with pytest.raises(Unavailable, match="nowhere cannot be read: No such file"):
        asyncio.run(main())


def test_what_was_read_is_remembered(tmp_path: Path) -> None:
    """The history of an event type is that of this process."""
    write(tmp_path / "storms.yaml", "storms", description="one")

    async def story(followed: Followed) -> None:
        (tmp_path / "storms.yaml").write_text("]", encoding="utf-8")
        await followed.settle()
        first, second = await followed.registry.history("storms")
        assert first.revision < second.revision
        assert isinstance(second, Unreadable)
        assert (await followed.registry.all())["storms"] == second

    run(tmp_path, story)


def test_what_a_configuration_declares_is_served_beside_the_folder(tmp_path: Path) -> None:
    """Whatever becomes of the folder."""
    folder = tmp_path / "schemas"
    folder.mkdir()
    write(folder / "storms.yaml", "storms")

    async def story(followed: Followed) -> None:
        assert followed.served == {"buoys": "configured", "storms": ""}
        (folder / "storms.yaml").unlink()
        await followed.settle()
        assert followed.served == {"buoys": "configured"}
        folder.rename(tmp_path / "elsewhere")
        await followed.settle()
        assert followed.served == {"buoys": "configured"}

    run(folder, story, configured=[schema("buoys", description="configured")])


def test_a_manifest_does_not_replace_what_a_configuration_declares(tmp_path: Path) -> None:
    """Neither one that was there before the start nor one that comes later; both places are reported."""
    write(tmp_path / "a.yaml", "storms", description="of the folder")

    async def story(followed: Followed) -> None:
        write(tmp_path / "b.yaml", "buoys", description="of the folder")
        await followed.settle()
        assert followed.served == {"buoys": "configured", "storms": "configured"}
        assert followed.reasons == {
            "storms": "is declared more than once: in a.yaml, line 1 and in notification_schema",
            "buoys": "is declared more than once: in b.yaml, line 1 and in notification_schema",
        }
        (tmp_path / "a.yaml").unlink()
        (tmp_path / "b.yaml").unlink()
        await followed.settle()
        assert followed.served == {"buoys": "configured", "storms": "configured"}
        assert followed.reasons == {}

    configured = [schema(name, description="configured") for name in ("storms", "buoys")]
    run(tmp_path, story, configured=configured)


def test_a_manifest_does_not_take_the_base_of_what_a_configuration_declares(tmp_path: Path) -> None:
    """Though its name would come first."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(manifest("a", base="buoys")), encoding="utf-8")

    async def story(followed: Followed) -> None:
        assert followed.served == {"buoys": ""}
        assert set(followed.reasons) == {"a"}

    run(tmp_path, story, configured=[schema("buoys")])


def test_the_folder_is_looked_at_by_itself(tmp_path: Path) -> None:
    """With the machine's clock, as a service runs it."""

    async def main() -> None:
        async with (
            asyncio.timeout(30),
            open_folder_registry(
                tmp_path, clock=SystemClock(), interval_seconds=0.01, settle_seconds=0.02
            ) as registry,
            registry.follow(lambda _: None) as follower,
        ):
            before = follower.served
            write(tmp_path / "storms.yaml", "storms")
            await follower.wait_changed(before)
            assert set(follower.catalog.event_types) == {"storms"}

    asyncio.run(main())
