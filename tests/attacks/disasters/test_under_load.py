"""Fifty disasters under mixed load: nothing acknowledged is lost, nothing doubled, and service resumes.

Two services run: one over an embedded server whose data folder is on a small disk of its own, one over a
PostgreSQL of another party. Every disaster happens while clients write, read and ingest. When its cause
has gone, both must serve again within `RECOVERY_S`.
"""

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest

from mnemic.db.embedded import status
from tests.attacks.disasters.disk import SmallDisk, image_folder, may_mount
from tests.attacks.disasters.mixed_load import MixedLoad
from tests.attacks.disasters.service import MNEMIC, Service
from tests.embedded.processes import descendants, end_everything, keeper_of
from tests.password_server import PasswordServer
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.skipif("SLOW_TESTS" not in os.environ, reason="takes minutes: make test-slow"),
    pytest.mark.skipif(not may_mount(), reason="needs to mount a disk, which only root may"),
]

DISASTERS = 50
RECOVERY_S = 10.0
START_S = 60.0
NOTICED_S = 30.0
WRITTEN_BETWEEN = 30
"""Texts that the clients of each service store between two disasters."""
MEMORY_LEFT_BYTES = 8 * 1024**2
LARGE_BATCHES = 3
PAGE = 200
LARGE_BATCH_BYTES = 8 * 1024**2


@dataclass
class Scene:
    """Both services with their loads."""

    disk: SmallDisk
    data_dir: Path
    embedded: Service
    external: Service
    database: PasswordServer
    loads: dict[Service, MixedLoad]

    def serves(self, service: Service) -> bool:
        """Whether a write and a recall succeed."""
        try:
            with self.loads[service].client() as client:
                text = f"probe {time.time_ns()}"
                written = client.post(
                    "/v1/memories", json={"content": text, "owner": "probe"}, timeout=RECOVERY_S
                )
                recalled = client.post(
                    "/v1/recall", json={"query": text, "owner": "probe"}, timeout=RECOVERY_S
                )
        except httpx.HTTPError:
            return False
        return written.is_success and recalled.is_success

    def send_large_batch(self, number: int) -> None:
        """A batch that may need more memory than there is; it need not succeed."""
        line = f'{{"content": "large {number} {time.time_ns()} {"word " * 1000}"}}\n'
        headers = {"Content-Type": "application/x-ndjson"}
        with self.loads[self.embedded].client() as client, contextlib.suppress(httpx.HTTPError):
            content = line * (LARGE_BATCH_BYTES // len(line))
            client.post("/v1/memories/batch?owner=large", content=content, headers=headers)

    def let_clients_write(self) -> None:
        """Wait until the clients of both have stored some texts more."""
        for load in self.loads.values():
            wanted = len(load.acknowledged) + WRITTEN_BETWEEN
            wait_until(partial(load.has_acknowledged, wanted), what="clients to write")

    def failed(self) -> int:
        return self.loads[self.embedded].failures.total()

    def wait_until_noticed(self) -> None:
        """Wait until clients of the embedded server got errors."""
        before = self.failed()
        wait_until(lambda: self.failed() > before, timeout_s=NOTICED_S, what="clients to get errors")


@pytest.fixture
def scene() -> Iterator[Scene]:
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="mnemic-test-"))
        stack.callback(shutil.rmtree, folder)
        folder.chmod(0o711)
        image = Path(tempfile.mkdtemp(prefix="mnemic-test-", dir=image_folder())) / "image"
        stack.callback(image.parent.rmdir)
        disk = stack.enter_context(SmallDisk(image, folder / "disk"))
        database = stack.enter_context(PasswordServer.start(folder))
        data_dir = disk.folder / "data"
        stack.callback(end_everything, data_dir)
        settings = {"MNEMIC_EMBEDDER": "test", "MNEMIC_RECALL_RATE_PER_MINUTE": "1000000"}
        here = {**settings, "MNEMIC_DATA_DIR": str(data_dir)}
        there = {**settings, "MNEMIC_DATABASE_URL": database.url()}
        _mnemic(there, "migrate")
        services = [Service(environment, folder / "log") for environment in (here, there)]
        loads = {}
        for service, environment in zip(services, (here, there), strict=True):
            key = _mnemic(environment, "keys", "create", "--role", "write")
            stack.callback(service.close)
            service.start()
            loads[service] = MixedLoad(service.url, key, "here" if environment is here else "there")
        made = Scene(disk, data_dir, services[0], services[1], database, loads)
        for service in services:
            wait_until(partial(made.serves, service), timeout_s=START_S, what="the first start")
        yield made


def _mnemic(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [MNEMIC, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def kill_server(scene: Scene, chance: random.Random) -> None:
    for service in (scene.embedded, scene.external):
        if service.pid is not None:
            os.kill(service.pid, signal.SIGKILL)


def kill_keeper(scene: Scene, chance: random.Random) -> None:
    os.kill(keeper_of(scene.data_dir), signal.SIGKILL)


def kill_postmaster(scene: Scene, chance: random.Random) -> None:
    pid = status(scene.data_dir).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def kill_backend(scene: Scene, chance: random.Random) -> None:
    postmaster = status(scene.data_dir).pid
    assert postmaster is not None
    os.kill(chance.choice(descendants(postmaster)), signal.SIGKILL)


def fill_the_disk(scene: Scene, chance: random.Random) -> None:
    scene.disk.fill()
    scene.wait_until_noticed()
    scene.disk.free()


def make_the_disk_read_only(scene: Scene, chance: random.Random) -> None:
    scene.disk.abort()
    scene.wait_until_noticed()
    scene.embedded.stop()
    end_everything(scene.data_dir)
    scene.disk.repair()
    scene.embedded.start()


def limit_the_memory(scene: Scene, chance: random.Random) -> None:
    pid = scene.embedded.pid
    assert pid is not None
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY_LEFT_BYTES
    before = resource.prlimit(pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    for number in range(LARGE_BATCHES):
        scene.send_large_batch(number)
    if scene.embedded.pid == pid:
        resource.prlimit(pid, resource.RLIMIT_AS, before)


def restart_the_other_database(scene: Scene, chance: random.Random) -> None:
    scene.database.stop()
    scene.database.run()


KINDS: tuple[Callable[[Scene, random.Random], None], ...] = (
    kill_server,
    kill_keeper,
    kill_postmaster,
    kill_backend,
    fill_the_disk,
    make_the_disk_read_only,
    limit_the_memory,
    restart_the_other_database,
)


def test_nothing_acknowledged_is_lost_or_doubled_in_fifty_disasters(scene: Scene) -> None:
    chance = random.Random(16)
    for load in scene.loads.values():
        load.start()
    for number in range(DISASTERS):
        kind = KINDS[number % len(KINDS)]
        scene.let_clients_write()
        kind(scene, chance)
        for service in (scene.embedded, scene.external):
            wait_until(
                partial(scene.serves, service),
                timeout_s=RECOVERY_S,
                what=f"service after disaster {number}, {kind.__name__}",
            )
    for load in scene.loads.values():
        load.stop()
    for load in scene.loads.values():
        check_what_is_stored(load)


def check_what_is_stored(load: MixedLoad) -> None:
    """Every acknowledged text exactly once, no other one twice, and every document ingested."""
    with load.client() as client:
        stored = Counter(_contents(client))
        assert {text for text, times in stored.items() if times > 1} == set()
        assert load.acknowledged - stored.keys() == set()
        notes = {text for text in stored if text.startswith(("note ", "batched "))}
        assert notes <= load.attempted
        for name in load.documents:
            wait_until(partial(_is_ingested, client, name), what=f"document {name} to be ingested")
    assert len(load.acknowledged) > DISASTERS
    assert load.recalled > DISASTERS


def _contents(client: httpx.Client) -> Iterator[str]:
    query = {"owner": "o", "limit": str(PAGE)}
    while page := client.get("/v1/memories", params=query).raise_for_status().json():
        yield from (item["content"] for item in page)
        query["before"] = page[-1]["memory_id"]


def _is_ingested(client: httpx.Client, name: str) -> bool:
    answer = client.get(f"/v1/documents/{name}/status", params={"owner": "o"}).raise_for_status().json()
    return bool(answer["is_complete"])
