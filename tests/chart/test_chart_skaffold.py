"""What Skaffold builds and installs is what there is: files, packages, values; and it can read what it is told."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from repo.tree import ROOT, member_folders, pyproject
from support.helm import find_program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.chart import Chart

FILE: Final = ROOT / "skaffold.yaml"
WHOLE: Final[Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
PROFILES: Final[Mapping[str, Any]] = {profile["name"]: profile for profile in WHOLE["profiles"]}
(RELEASE,) = WHOLE["deploy"]["helm"]["releases"]
# Which package is in which image, by the chart's name of the component.
PACKAGES: Final = {
    "ingest": "aviso-ingest",
    "gateway": "aviso-stream-gateway",
    "schema": "aviso-schema",
    "operator": "aviso-operator",
}


def added(profile: str) -> list[Any]:
    """Return the images that a profile adds."""
    return [one["value"] for one in PROFILES[profile]["patches"] if one["path"] == "/build/artifacts/-"]


ARTIFACTS: Final = [*WHOLE["build"]["artifacts"], *added("all-images")]


def test_every_service_of_the_chart_is_built_and_installed() -> None:
    """Under the values that the chart has for its image."""
    built = {artifact["image"].removeprefix("aviso/") for artifact in WHOLE["build"]["artifacts"]}
    assert built == set(PACKAGES)
    templates = RELEASE["setValueTemplates"]
    for name in built:
        assert templates[f"{name}.image.repository"] == f"{{{{.IMAGE_REPO_aviso_{name}}}}}"
        assert templates[f"{name}.image.tag"] == f"{{{{.IMAGE_TAG_aviso_{name}}}}}"
    assert {one["image"] for one in added("all-images")} == {"aviso/edge", "aviso/nats"}


@pytest.mark.parametrize("artifact", ARTIFACTS, ids=lambda artifact: artifact["image"])
def test_what_goes_into_an_image_is_there(artifact: Any) -> None:
    """A pattern that finds nothing would let an image go stale."""
    for pattern in artifact["custom"]["dependencies"]["paths"]:
        assert list(ROOT.glob(pattern)), pattern


@pytest.mark.parametrize("name", PACKAGES)
def test_an_image_depends_on_its_package_and_the_libraries(name: str) -> None:
    """As the Dockerfile takes them."""
    (artifact,) = [one for one in ARTIFACTS if one["image"] == f"aviso/{name}"]
    paths = set(artifact["custom"]["dependencies"]["paths"])
    (folder,) = [
        member for member in member_folders() if pyproject(member)["project"]["name"] == PACKAGES[name]
    ]
    assert {f"{folder}/src", f"{folder}/pyproject.toml", "libs/*/src"} <= paths
    assert {"Dockerfile", f"requirements/images/{PACKAGES[name]}.txt"} <= paths


def test_changed_modules_go_where_their_package_is() -> None:
    """Of the libraries and of the service, below the one that a name begins with."""
    patches = {one["path"]: one["value"] for one in PROFILES["dev"]["patches"]}
    for number, artifact in enumerate(WHOLE["build"]["artifacts"]):
        name = artifact["image"].removeprefix("aviso/")
        command = patches[f"/build/artifacts/{number}/custom/buildCommand"]
        assert command == f"RELOADING=true {artifact['custom']['buildCommand']}"
        sync = patches[f"/build/artifacts/{number}/sync"]
        packages = set()
        for one in sync["manual"]:
            assert one["src"] == f"{one['strip']}**/*.py"
            packages |= {path.name for path in (ROOT / one["strip"]).iterdir() if path.is_dir()}
        wanted = {"aviso_core", "aviso_http", PACKAGES[name].replace("-", "_")}
        assert {package for package in packages if package.startswith("aviso")} >= wanted


@pytest.mark.parametrize("profiles", [(), ("kind",), ("dev",), ("kind", "dev")], ids="+".join)
def test_values_of_a_profile_are_the_charts(chart: Chart, profiles: tuple[str, ...]) -> None:
    """The chart takes them, all at once."""
    files = [ROOT / file for file in _values_files(*profiles)]
    assert len(files) == 1 + len(profiles)
    ran = chart.helm.run(
        "template", RELEASE["name"], ROOT / RELEASE["chartPath"], *(f"--values={file}" for file in files)
    )
    assert ran.code == 0, ran.messages


def test_scripts_can_be_run() -> None:
    for artifact in ARTIFACTS:
        script = ROOT / artifact["custom"]["buildCommand"].split()[0]
        assert os.access(script, os.X_OK)
    assert os.access(ROOT / "skaffold" / "reloading.sh", os.X_OK)


def test_a_change_of_the_recipe_builds_everything_anew() -> None:
    for artifact in WHOLE["build"]["artifacts"]:
        script = artifact["custom"]["buildCommand"].split()[0]
        assert {script, "Dockerfile", ".dockerignore"} <= set(artifact["custom"]["dependencies"]["paths"])


def test_skaffold_reads_its_file(tmp_path: Path) -> None:
    """With every profile at once, where the program is there."""
    program = find_program("skaffold")
    if program is None:
        pytest.skip("not on this machine: Skaffold")
    ran = subprocess.run(
        [program, "diagnose", "--yaml-only", f"--filename={FILE}", f"--profile={','.join(PROFILES)}"],
        cwd=ROOT,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "SKAFFOLD_UPDATE_CHECK": "false"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    read = yaml.safe_load(ran.stdout)
    assert [one["image"] for one in read["build"]["artifacts"]] == [one["image"] for one in ARTIFACTS]
    (release,) = read["deploy"]["helm"]["releases"]
    assert release["valuesFiles"] == [str(ROOT / file) for file in _values_files("kind", "dev")]
    assert set(release["setValueTemplates"]) == {
        f"{name}.image.{part}" for name in (*PACKAGES, "edge", "nats") for part in ("repository", "tag")
    }


def _values_files(*profiles: str) -> list[str]:
    """Return the files of values that hold with some profiles."""
    more = [
        one["value"]
        for profile in profiles
        for one in PROFILES[profile]["patches"]
        if one["path"].endswith("/valuesFiles/-")
    ]
    return [*RELEASE["valuesFiles"], *more]
