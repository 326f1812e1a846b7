"""Push and pull to another host, by rsync through a real SSH server of our own."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hpcscope.archive.index import RunChoice
from hpcscope.archive.repository import Exchanged, Repository
from hpcscope.errors import ScopeError, UsageError
from tests.patience import PATIENCE_S
from tests.repository.test_repository import hostile_repository, variant

SSHD = Path("/usr/sbin/sshd")
SERVER = """HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
"""
CLIENT = """Host elsewhere
User {user}
IdentityFile {folder}/user
UserKnownHostsFile {folder}/known
BatchMode yes
ProxyCommand {sshd} -i -e -f {folder}/server 2>>{folder}/log
"""
"""Each connection has a server of its own at the other end of a pipe: no port, and nothing to wait for."""

pytestmark = pytest.mark.skipif(
    not SSHD.exists() or shutil.which("rsync") is None, reason="no SSH server or no rsync on this machine"
)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A host whose server has keys of its own; ssh is told of both by rsync's variable."""
    for name in ("host", "user"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name]
        subprocess.run(key, check=True, timeout=PATIENCE_S)
    words = {"folder": tmp_path, "user": getpass.getuser(), "sshd": SSHD}
    (tmp_path / "server").write_text(SERVER.format(**words))
    (tmp_path / "client").write_text(CLIENT.format(**words))
    (tmp_path / "known").write_text(f"elsewhere {(tmp_path / 'host.pub').read_text()}")
    monkeypatch.setenv("RSYNC_RSH", f"ssh -F {tmp_path / 'client'}")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where the server wants an empty folder
    return "elsewhere"


def test_runs_and_notes_travel_to_another_host_and_back(golden_run: Path, host: str, tmp_path: Path) -> None:
    here = Repository(tmp_path / "here", make=True)
    ((winter, _),) = here.add([variant(golden_run, tmp_path, "winter")], note="as bought")
    remote = f"{host}:{tmp_path / 'there'}"
    assert here.push(remote) == Exchanged(1, 0, [])
    there = Repository(tmp_path / "there")
    assert there.named("latest") == winter
    # The index there exists now; what comes must be found all the same.
    ((spring, _),) = here.add([variant(golden_run, tmp_path, "spring", 1)])
    here.note(winter.id, tags=["said-here"])
    assert here.push(remote) == Exchanged(1, 1, [])
    assert [one.id for one in there.chosen(RunChoice())] == [spring.id, winter.id]
    assert there.named(winter.id).notes.tags == ["said-here"]
    assert here.push(remote) == Exchanged(0, 0, [])
    there.note(winter.id, note="said there")
    there.remove([spring.id])
    assert here.pull(remote) == Exchanged(0, 1, [])
    assert here.named(winter.id).notes == there.named(winter.id).notes
    assert (here.verify(), there.verify()) == ([], [])
    with pytest.raises(ScopeError, match="rsync: "):
        here.pull(f"{host}:{tmp_path / 'nowhere'}")
    assert sorted(file.name for file in there.folder.path.iterdir()) == [
        *(".lock", "index.sqlite", "repository.json", "runs")
    ]


def test_only_good_runs_are_pulled_from_another_host(golden_run: Path, host: str, tmp_path: Path) -> None:
    runs = [variant(golden_run, tmp_path, name, days) for days, name in enumerate(("a", "b", "c"))]
    _, ids = hostile_repository(tmp_path / "there", runs)
    here = Repository(tmp_path / "here", make=True)
    taken = here.pull(f"{host}:{tmp_path / 'there'}")
    assert (taken.runs, sorted(one.id for one in taken.damaged)) == (1, sorted(ids[:2]))
    files = list((here.folder.path / "runs").iterdir())
    assert sorted(file.name for file in files) == [f"{ids[2]}.json", f"{ids[2]}.zip.xz"]
    assert not any(file.stat().st_mode & 0o111 for file in files)


def test_nothing_is_pushed_to_a_folder_of_other_things(golden_run: Path, host: str, tmp_path: Path) -> None:
    here = Repository(tmp_path / "here", make=True)
    here.add([variant(golden_run, tmp_path, "winter")])
    other = tmp_path / "home"
    other.mkdir()
    (other / "repository").write_text("mine")
    with pytest.raises(UsageError, match="must be a new or empty directory, or a repository"):
        here.push(f"{host}:{other}")
    assert [file.name for file in other.iterdir()] == ["repository"]
