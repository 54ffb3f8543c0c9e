"""The gangs that the Job controller makes, as the real one does.

`conformance/data/jobgroups-1.38.jsonl.xz` has what `ensureWorkloadAndPodGroup` of Kubernetes 1.38.0-beta.0 answered
about 500 made-up Jobs (`python -m conformance jobgroups`).
"""

from __future__ import annotations

import json
import lzma

from conformance.jobgroups import RECORDED, differ, predict

CASES = lzma.decompress(RECORDED.read_bytes()).decode().splitlines()


def test_the_job_controller_makes_the_gangs_that_krmfn_says() -> None:
    made = 0
    for line in CASES:
        case = json.loads(line)
        assert not differ(case), line
        made += bool((case["policy"] or {}).get("gang"))
    assert made > 90


def test_until_1_38_the_job_of_a_cronjob_gets_none() -> None:
    cases = [json.loads(line) for line in CASES]
    assert not any(predict(case, "1.37") for case in cases if case["owned"])
    assert any(predict(case, "1.37") for case in cases if not case["owned"])
