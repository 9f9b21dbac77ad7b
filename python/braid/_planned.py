# SPDX-License-Identifier: Apache-2.0
"""Functions of a framework that adapters have captured, imported and planned."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, Optional

from braid._exec import Exec
from braid._graph import Graph
from braid._import import Imported, ImportInfo
from braid._runner import Runner, RunnerInfo


@dataclasses.dataclass(frozen=True)
class Found:
    """What an import found, which stays when the import is gone."""

    info: ImportInfo
    report: Dict[str, Any]
    text: str


class Planned:
    """A captured function as a plan. A subclass is called like the function."""

    imported: Imported
    _runner: Runner

    def wait(self) -> None:
        """Blocks until the last call's work has ended."""
        self._runner.wait()

    @property
    def graph(self) -> Graph:
        return self.imported.graph

    @property
    def exec(self) -> Optional[Exec]:
        """The exec that calls play by from now on. None while they try ways, and where the program's own graph is the fastest."""
        return self._runner.exec

    @property
    def info(self) -> RunnerInfo:
        """How calls play, and the time of each way that was tried."""
        return self._runner.info

    @property
    def report(self) -> Dict[str, Any]:
        """Nodes, orders, and each node that keeps all its captured orders with the reason. `plays_by` and `tried` are the way
        that plays, and the time of each that was tried or why it was not."""
        return {**self.imported.report, **self._ways()}

    @property
    def text(self) -> str:
        """The same as `report` and `info`, to read."""
        return self.imported.text + self._text_of_ways()

    def _ways(self) -> Dict[str, Any]:
        info = self.info
        return {"plays_by": info.way, "tried": info.reason, "is_chosen": info.is_chosen}

    def _text_of_ways(self) -> str:
        info = self.info
        return f"plays by: {info.way}{'' if info.is_chosen else ', and tries others'}\ntried: {info.reason or 'nothing yet'}\n"
