"""The scenarios that the tests look at: each is one run of `record -- python run_sglang.py`."""

from __future__ import annotations

from dataclasses import dataclass

FETCHED = ("0.5.15", "0.5.21", "0.5.23")
"""Releases that every test run has; the others are fetched for the full one."""


@dataclass(frozen=True)
class Scenario:
    """A run's name, the release that it drives, and its options.

    `topk` 1 never moves; `plain` decodes without speculation; `fault` is planted from outside; `workload` is a
    script of what arrives, `environment` what the engine reads beside its arguments.
    """

    name: str
    release: str = "0.5.23"
    algorithm: str = "STANDALONE"
    topk: int = 2
    page: int = 1
    overlap: bool = False
    attention: str = "intel_amx"
    noise: float = 0.06
    fault: str | None = None
    plain: bool = False
    workload: str = "waves"
    environment: tuple[tuple[str, str], ...] = ()
    recorded: bool = True
    more: tuple[str, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether accepted rows may lie apart."""
        return self.topk > 1 or self.algorithm == "NGRAM"

    def options(self) -> list[str]:
        """Options of run_sglang.py; the folder of the release is the caller's."""
        options = ["--algorithm", self.algorithm, "--topk", str(self.topk), "--page", str(self.page)]
        options += [
            "--attention",
            self.attention,
            "--noise",
            str(self.noise),
            "--pool",
            str(1024 * self.page),
        ]
        options += ["--workload", self.workload]
        options += ["--overlap"] if self.overlap else []
        options += ["--plain"] if self.plain else []
        options += ["--fault", self.fault] if self.fault else []
        return [*options, *self.more]


CLEAN = (
    Scenario("topk2-page1"),
    Scenario("topk2-page1-overlap", overlap=True, more=("--pool", "300")),
    Scenario("topk2-page16", page=16, attention="triton"),
    Scenario("topk1-page16-overlap", topk=1, page=16, overlap=True, noise=0.2),
    Scenario("ngram", algorithm="NGRAM"),
    Scenario("release-0.5.15", release="0.5.15", attention="triton"),
    Scenario("release-0.5.21", release="0.5.21", overlap=True, more=("--pool", "300")),
)
RELEASES = (
    Scenario("release-0.5.13", release="0.5.13", attention="triton"),
    Scenario("release-0.5.13-overlap", release="0.5.13", attention="triton", overlap=True),
    Scenario("release-0.5.14", release="0.5.14", attention="triton"),
    Scenario("release-0.5.16", release="0.5.16", attention="triton"),
    Scenario("release-0.5.17", release="0.5.17", attention="triton"),
    Scenario("release-0.5.17-overlap", release="0.5.17", attention="triton", overlap=True),
    Scenario("release-0.5.18", release="0.5.18", attention="triton"),
    Scenario("release-0.5.19", release="0.5.19"),
    Scenario("release-0.5.19-overlap", release="0.5.19", overlap=True, more=("--pool", "300")),
    Scenario("release-0.5.20", release="0.5.20", overlap=True, more=("--pool", "300")),
    Scenario("release-0.5.22", release="0.5.22", overlap=True, more=("--pool", "300")),
)
"""The rest of the range: these take minutes. Trees need SGLang's Triton attention, interpreted, up to 0.5.18."""
SHORT = ("--new-tokens", "12")
RETRACTS = (("SGLANG_TEST_RETRACT", "1"),)
SIMULATED = (("SGLANG_SIMULATE_ACC_LEN", "2.5"), ("SGLANG_SIMULATE_ACC_TOKEN_MODE", "real-draft-token"))
OFTEN = (("SGLANG_SWA_EVICTION_INTERVAL", "4"),)
WINDOW = ("--window", "16", "--pool", "300")
LIVES = (Scenario("sessions", workload="sessions", overlap=True, more=(*SHORT, "--requests", "7")),)
MORE_LIVES = (
    Scenario("sessions-page16", workload="sessions", topk=1, page=16, overlap=True, noise=0.2),
    Scenario("sessions-0.5.15", release="0.5.15", workload="sessions", attention="triton", more=SHORT),
    Scenario("aborts", workload="aborts", overlap=True),
    Scenario("aborts-0.5.15", release="0.5.15", workload="aborts", attention="triton", more=SHORT),
    Scenario("retracts", overlap=True, environment=RETRACTS),
    Scenario("retracts-page16", topk=1, page=16, overlap=True, noise=0.2, environment=RETRACTS),
    Scenario(
        "little-room",
        workload="crowd",
        topk=1,
        noise=0.2,
        overlap=True,
        environment=(("SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION", "2"),),
        more=("--pool", "300", "--hopeful", "--requests", "8"),
    ),
    Scenario(
        "window-retracts",
        algorithm="NGRAM",
        overlap=True,
        environment=(*RETRACTS, *OFTEN),
        more=("--window", "16"),
    ),
    Scenario("window-trees", overlap=True, environment=OFTEN, more=WINDOW),
    Scenario(
        "window-0.5.21",
        release="0.5.21",
        topk=1,
        noise=0.2,
        overlap=True,
        environment=OFTEN,
        more=("--window", "16", *SHORT),
    ),
    Scenario("grammar", workload="ruled", noise=0.03, overlap=True),
    Scenario("eagle-topk4", algorithm="EAGLE", topk=4),
    Scenario("eagle-topk4-page4", algorithm="EAGLE", topk=4, page=4, attention="triton", more=SHORT),
    Scenario("eagle-topk1-page4", algorithm="EAGLE", topk=1, page=4, overlap=True),
    Scenario("dflash", algorithm="DFLASH", topk=1, attention="triton", more=(*SHORT, "--requests", "4")),
    Scenario("dspark", algorithm="DSPARK", topk=1, attention="triton", more=(*SHORT, "--requests", "4")),
    Scenario(
        "dflash-simulated-page4",
        algorithm="DFLASH",
        topk=1,
        page=4,
        overlap=True,
        attention="triton",
        environment=SIMULATED,
        more=SHORT,
    ),
    Scenario("simulated", topk=1, overlap=True, environment=SIMULATED),
    Scenario("multi-layer", algorithm="EAGLE", topk=1, noise=0.0, overlap=True, more=("--multi-layer",)),
    Scenario("frozen-kv", algorithm="FROZEN_KV_MTP", topk=1, noise=0.0, overlap=True),
    Scenario(
        "frozen-kv-topk2",
        algorithm="FROZEN_KV_MTP",
        topk=2,
        noise=0.0,
        overlap=True,
        attention="triton",
        more=(*SHORT, "--requests", "4"),
    ),
)
UNO = (
    Scenario("uno", algorithm="UNO", topk=1, noise=0.0, overlap=True),
    Scenario("uno-tree", algorithm="UNO", noise=0.0, overlap=True),
)
FAULTY = (
    Scenario("swapped", fault="swapped-mover-arguments"),
    Scenario("skipped", fault="skipped-move"),
    Scenario("leaked", fault="leaked-tail", overlap=True),
    Scenario("short", fault="short-commit"),
    Scenario("late", fault="late-commit", overlap=True),
    Scenario("untranslated", overlap=True, environment=OFTEN, more=WINDOW, fault="untranslated-window"),
    Scenario("left-behind", overlap=True, environment=OFTEN, more=WINDOW, fault="window-left-behind"),
)
PLAIN = Scenario("plain", plain=True, recorded=False)
BROKEN_HOOKS = Scenario(
    "broken-hooks",
    more=(
        "--break-hook",
        "speckv_debug.collectors.sglang.moves:MoveHooks._emit",
        "--break-hook",
        "speckv_debug.collectors.sglang.growth:SpecGrant.begin",
    ),
)
ATTACHED = Scenario("attached", overlap=True, recorded=False)

EAGLE = Scenario("eagle", algorithm="EAGLE")
REVERTED = (
    Scenario("reverted-25015", algorithm="EAGLE", environment=(("SGLANG_DEBUG_REVERT_PR", "25015"),)),
    Scenario("reverted-26329", algorithm="EAGLE", environment=(("SGLANG_DEBUG_REVERT_PR", "26329"),)),
    Scenario(
        "reverted-26972",
        page=16,
        attention="triton",
        noise=0.02,
        environment=(("SGLANG_DEBUG_REVERT_PR", "26972"), ("PYTHONOPTIMIZE", "1")),  # it would assert
        more=("--pool", "4096", "--requests", "1", "--new-tokens", "200"),
    ),
)
"""Faults that SGLang 0.5.23 can bring back: those of the six that need no GPU."""
SCENARIOS = {
    each.name: each
    for each in (
        *CLEAN,
        EAGLE,
        *REVERTED,
        *RELEASES,
        *LIVES,
        *MORE_LIVES,
        *UNO,
        *FAULTY,
        PLAIN,
        BROKEN_HOOKS,
        ATTACHED,
    )
}
