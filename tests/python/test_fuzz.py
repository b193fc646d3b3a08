"""Forged checkpoints, changed scenarios and other inputs: some of those that `make fuzz` tries, and
that it notices what it looks for."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

import odonata

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import fuzz
import fuzz_inputs


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> fuzz.Cases:
    directory = tmp_path_factory.mktemp("fuzz")
    return fuzz.Cases(1, fuzz.checkpoints(directory), directory)


def test_nothing_crashes(cases: fuzz.Cases) -> None:
    pending = [("checkpoint", n) for n in range(60)] + [("scenario", n) for n in range(40)]
    outcomes = list(fuzz.fuzz(cases, iter(pending), 1))
    crashes = [outcome for outcome in outcomes if outcome[2].startswith("crash")]
    assert not crashes
    # Each case once, and not all of them refused for one reason.
    assert sorted(outcome[:2] for outcome in outcomes) == sorted(pending)
    assert {"a result", "exit code 2", "exit code 4"} <= {outcome[2] for outcome in outcomes}


def test_changed_inputs_crash_nothing(tmp_path: Path) -> None:
    """Unchanged inputs are accepted: what is tried is beyond the first check."""
    made = tmp_path / "made"
    made.mkdir()
    inputs = {**fuzz_inputs.seeds(), "results": fuzz_inputs.results(made)}
    fuzz_inputs.check_seeds(inputs, tmp_path / "seed")
    cases = fuzz.Cases(1, {}, tmp_path, inputs)
    pending = [(kind, number) for kind in inputs for number in range(10)]
    outcomes = list(fuzz.fuzz(cases, iter(pending), 1))
    assert not [outcome for outcome in outcomes if outcome[2].startswith("crash")]
    assert sorted(outcome[:2] for outcome in outcomes) == sorted(pending)
    # Not all of them are refused, neither are all accepted.
    assert {outcome[0] for outcome in outcomes if outcome[2] == "a result"} == {*inputs}
    assert {"exit code 2", "exit code 4"} <= {outcome[2] for outcome in outcomes}


def test_what_a_command_must_not_do_is_noticed() -> None:
    done = fuzz_inputs.Done
    for found, word in (
        (done(0, "fine", ""), "a result"),
        (done(2, "", "Error: x"), "exit code 2"),
        (done(1, "", "Internal error: KeyError: 'x'"), "crash"),
        (done(0, "a \x1b[2J title", ""), "crash"),
        (done(3, "", "Error: not enough memory on this machine"), "crash"),
    ):
        assert fuzz_inputs.outcome(found).partition(":")[0] == word
    _, peak = fuzz_inputs.peak_memory(lambda: str(len(bytearray(300 << 20))))
    assert 300 << 20 < peak < fuzz_inputs.MOST_MEMORY


def test_a_forgery_has_the_hash_that_the_engine_expects(cases: fuzz.Cases) -> None:
    assert fuzz.blake3(b"").hex()[:16] == "af1349b9f5f9a1a6"
    saved = cases.saved["requests"][3]
    whole = saved.signed(saved.records)
    again = fuzz.Saved.of(whole)
    assert again.signed(again.records) == whole
    # The engine takes it up and goes on to its end.
    place = cases.directory / "whole"
    place.mkdir()
    (place / "checkpoint").write_bytes(whole)
    options = odonata.Checkpoint(place, resume=True)
    scenario = odonata.Scenario.from_toml(fuzz.SCENARIOS["requests"])
    result = odonata.run(scenario, checkpoint=options)
    assert result.claim is not None
    result.claim.release()
    assert result.meta == odonata.run(scenario).meta


def test_cases_are_the_same_for_the_same_seed(cases: fuzz.Cases) -> None:
    other = fuzz.Cases(2, cases.saved, cases.directory)
    for kind in ("checkpoint", "scenario"):
        assert cases.input(kind, 7) == cases.input(kind, 7)
        assert cases.input(kind, 7) != other.input(kind, 7)
        assert cases.input(kind, 7) != cases.input(kind, 8)


class Broken(fuzz.Cases):
    """Its third case ends the process, its fifth raises, its seventh goes on for ever."""

    def run(self, kind: str, number: int) -> str:
        if number == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 6:
            while True:
                pass

        def work() -> None:
            if number == 4:
                raise ZeroDivisionError("of a test")

        return fuzz._outcome(work)


def test_crashes_are_noticed_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "CPU_LIMIT", 0.2)
    pending = iter([("scenario", number) for number in range(10)])
    outcomes = {case[1]: case[2] for case in fuzz.fuzz(Broken(1, {}, tmp_path), pending, 2)}
    assert outcomes.pop(2) == "crash: SIGSEGV"
    assert outcomes.pop(4) == "crash: ZeroDivisionError: of a test"
    assert outcomes.pop(6) == "crash: 0.2 s of CPU time"
    assert outcomes == dict.fromkeys((0, 1, 3, 5, 7, 8, 9), "a result")


def test_a_crash_leaves_its_input_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "Cases", Broken)
    monkeypatch.setattr(fuzz, "checkpoints", lambda _: {})
    keep = tmp_path / "kept"
    arguments = ["--checkpoints", "0", "--inputs", "0", "--workers", "1", "--keep", str(keep)]
    assert fuzz.main([*arguments, "--scenarios", "3"]) == 1
    assert [file.name for file in keep.iterdir()] == ["scenario-1-2.json"]
    assert "1 crashes" in capsys.readouterr().out
    assert fuzz.main([*arguments, "--scenarios", "2"]) == 0
