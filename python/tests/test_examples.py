"""The notebooks of the examples run, and manifests are of their schemas."""

from __future__ import annotations

from pathlib import Path

import kubernetes_validate
import nbclient
import nbformat
import pytest
import yaml

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.ipynb")))
def test_notebooks(name):
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    # Outputs are not kept in the repository.
    assert all(not cell.get("outputs") for cell in notebook.cells)
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": EXAMPLES}}
    )
    client.execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)
    if name == "debian.ipynb":
        assert any("image/png" in output.get("data", {}) for output in shown)


def test_the_job_of_kubernetes_is_of_its_schema():
    text = (EXAMPLES / "cluster" / "kubernetes.yaml").read_text()
    service, job = yaml.safe_load_all(text)
    # Of the newest version, with no field that it does not know.
    for one in (service, job):
        kubernetes_validate.validate(one, kubernetes_validate.latest_version(), strict=True)
    for right, wrong in [("completionMode: Indexed", "completionMode: [1]"), ("env:", "envs:")]:
        assert right in text
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(
                list(yaml.safe_load_all(text.replace(right, wrong)))[1],
                kubernetes_validate.latest_version(),
                strict=True,
            )
    # Names and numbers that a schema knows nothing of.
    spec = job["spec"]
    pod = spec["template"]["spec"]
    said = {it["name"]: it["value"] for it in pod["containers"][0]["env"]}
    name, domain = job["metadata"]["name"], service["metadata"]["name"]
    assert said["MASTER_ADDR"] == f"{name}-0.{domain}" and pod["subdomain"] == domain
    assert service["spec"]["selector"] == {"job-name": name}
    assert int(said["WORLD_SIZE"]) == spec["completions"] == spec["parallelism"]
    mounts = {it["name"] for it in pod["containers"][0]["volumeMounts"]}
    assert mounts == {it["name"] for it in pod["volumes"]}


def test_the_set_of_jobs_has_a_job_of_its_schema():
    text = (EXAMPLES / "cluster" / "jobset.yaml").read_text()
    made = yaml.safe_load(text)
    # The schema of a set is of its own project; fields are those of its examples.
    assert made["apiVersion"] == "jobset.x-k8s.io/v1alpha2" and made["kind"] == "JobSet"
    assert set(made["spec"]) == {"network", "replicatedJobs"}
    assert set(made["spec"]["network"]) == {"enableDNSHostnames", "publishNotReadyAddresses"}
    (jobs,) = made["spec"]["replicatedJobs"]
    assert set(jobs) == {"name", "replicas", "template"} and jobs["replicas"] == 1
    name, spec = made["metadata"]["name"], jobs["template"]["spec"]
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    kubernetes_validate.validate(job, kubernetes_validate.latest_version(), strict=True)
    pod = spec["template"]["spec"]
    said = {it["name"]: it["value"] for it in pod["containers"][0]["env"]}
    assert said["MASTER_ADDR"] == f"{name}-{jobs['name']}-0-0.{name}"
    assert int(said["WORLD_SIZE"]) == spec["completions"] == spec["parallelism"]
    # The machine is told what that of a job alone is.
    _, alone = yaml.safe_load_all((EXAMPLES / "cluster" / "kubernetes.yaml").read_text())
    (container,) = alone["spec"]["template"]["spec"]["containers"]
    assert pod["containers"][0]["args"] == container["args"]
