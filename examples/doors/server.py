from krmfn.server import answer

spec = {"schedulingPolicy": {"gang": {"minCount": 4}}, "workloadRef": {"workloadName": "train"}}
group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "train"}}
gates = {"GenericWorkload": True}

verdict = answer({**group, "spec": spec}, "1.37", gates)
print(verdict and verdict.message)

linked = {**spec, "workloadRef": {"workloadName": "train", "templateName": "job"}}
old, new = ({**group, "spec": each} for each in (linked, {**linked, "schedulingPolicy": {"basic": {}}}))
verdict = answer(new, "1.37", gates, stored=old, way="server-side-apply")
for cause in verdict.causes if verdict else ():
    print(cause.type, cause.path, cause.message)
