"""When the failure detector declares a worker dead, and by which clock."""

from mnemic.jobs.failure_detector import FailureDetector, WorkerStatus


def dead(detector: FailureDetector, now_s: float, *workers: WorkerStatus) -> list[str]:
    return [worker.worker for worker in detector.find_dead(workers, now_s=now_s)]


def test_a_worker_that_sends_heartbeats_is_alive_whatever_the_servers_clock_says() -> None:
    detector = FailureDetector()
    for beats in range(20):
        assert dead(detector, 3.0 * beats, WorkerStatus("a", beats, silent_s=3600)) == []


def test_a_worker_that_was_silent_already_is_dead_after_five_seconds_of_observation() -> None:
    detector = FailureDetector()
    assert dead(detector, 100, WorkerStatus("a", 7, silent_s=60)) == []
    assert dead(detector, 104.9, WorkerStatus("a", 7, silent_s=64.9)) == []
    assert dead(detector, 105, WorkerStatus("a", 7, silent_s=65)) == ["a"]


def test_a_worker_that_falls_silent_is_dead_after_fifteen_seconds() -> None:
    detector = FailureDetector()
    for now_s in range(0, 15, 2):
        assert dead(detector, now_s, WorkerStatus("a", 7, silent_s=now_s)) == []
    assert dead(detector, 15, WorkerStatus("a", 7, silent_s=15)) == ["a"]


def test_a_server_clock_set_back_does_not_keep_a_dead_worker_alive() -> None:
    detector = FailureDetector()
    assert dead(detector, 0, WorkerStatus("a", 7, silent_s=0)) == []
    assert dead(detector, 15, WorkerStatus("a", 7, silent_s=-3600)) == ["a"]


def test_after_a_database_outage_live_workers_have_time_for_a_heartbeat() -> None:
    detector = FailureDetector()
    assert dead(detector, 0, WorkerStatus("a", 7, silent_s=1)) == []
    # The database was down for 14 s: no heartbeats, no observations. The server's clock ran on.
    assert dead(detector, 14, WorkerStatus("a", 8, silent_s=0.1), WorkerStatus("b", 1, silent_s=20)) == []
    assert dead(detector, 17, WorkerStatus("a", 9, silent_s=0.1), WorkerStatus("b", 2, silent_s=0.1)) == []


def test_each_worker_is_judged_by_itself() -> None:
    detector = FailureDetector()
    assert dead(detector, 0, WorkerStatus("a", 1, silent_s=20), WorkerStatus("b", 1, silent_s=0)) == []
    assert dead(detector, 6, WorkerStatus("a", 1, silent_s=26), WorkerStatus("b", 3, silent_s=0)) == ["a"]
