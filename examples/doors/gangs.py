import krmfn

worker = {"name": "rank", "image": "example/train:1.4.0", "resources": {"requests": {"cpu": "8"}}}
pods = {"template": {"spec": {"restartPolicy": "Never", "containers": [worker]}}}
spec = {"parallelism": 4, "completions": 4, "completionMode": "Indexed", **pods}
metadata = {"name": "train", "annotations": {"krmfn.dev/gang": "true"}}
job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}

made = krmfn.generate(job, kubernetes="1.37")
for each in made.objects:
    print(each["kind"], each["metadata"]["name"])
made.objects[-1]["spec"]["schedulingPolicy"]["gang"]["minCount"] = 5
print(krmfn.validate(made.objects, kubernetes="1.37").errors)
