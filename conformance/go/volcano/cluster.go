package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"volcano.sh/apis/pkg/apis/scheduling/scheme"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	nodeshard "volcano.sh/apis/pkg/apis/shard/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// A told is an event that the scheduler writes.
type told struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// A cluster is the scheduler's cache without an API server: what would be written there is kept here, and comes back to
// the cache after a cycle as an informer would bring it.
type cluster struct {
	mutex  sync.Mutex
	cache  *cache.SchedulerCache
	done   chan struct{}
	pods   map[string]*v1.Pod
	groups map[string]*v1beta1.PodGroup
	bound  map[string]string
	ran    map[string]bool
	wrote  map[string]*v1beta1.PodGroup
	said   []told
}

func start(asked world) (*cluster, error) {
	made := &cluster{
		done: make(chan struct{}), pods: map[string]*v1.Pod{}, groups: map[string]*v1beta1.PodGroup{},
		bound: map[string]string{}, ran: map[string]bool{}, wrote: map[string]*v1beta1.PodGroup{},
	}
	made.cache = cache.NewCustomMockSchedulerCache("volcano", made, made, made, nil, made)
	client := made.cache.Client()
	for _, node := range asked.Nodes {
		if _, err := client.CoreV1().Nodes().Create(context.Background(), node, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	made.cache.Run(made.done)
	made.cache.WaitForCacheSync(made.done)
	for _, node := range asked.Nodes {
		if err := made.cache.AddOrUpdateNode(node); err != nil {
			return nil, err
		}
	}
	for _, hyper := range asked.HyperNodes {
		if err := made.cache.HyperNodesInfo.UpdateHyperNode(hyper); err != nil {
			return nil, fmt.Errorf("HyperNode %s: %w", hyper.Name, err)
		}
	}
	for _, queue := range asked.Queues {
		made.cache.AddQueueV1beta1(queue)
	}
	for _, group := range asked.PodGroups {
		made.groups[group.Name] = group.DeepCopy()
		made.cache.AddPodGroupV1beta1(group.DeepCopy())
	}
	for _, pod := range asked.Pods {
		made.pods[pod.Name] = pod.DeepCopy()
		made.cache.AddPod(pod.DeepCopy())
	}
	return made, nil
}

func (c *cluster) stop() { close(c.done) }

func (c *cluster) runOnce(actions []framework.Action, tiers []conf.Tier, configurations []conf.Configuration) {
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range actions {
		conf.EnabledActionMap[action.Name()] = true
	}
	session := framework.OpenSession(c.cache, tiers, configurations)
	for _, action := range actions {
		action.Initialize()
		action.Execute(session)
		action.UnInitialize()
	}
	framework.CloseSession(session)
	time.Sleep(60 * time.Millisecond) // the cache binds in the background, every 20 milliseconds
	c.bringBack()
}

// bringBack gives the cache what the API server would tell it after a cycle: statuses of groups, and pods that run.
func (c *cluster) bringBack() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for name, group := range c.wrote {
		old := c.groups[name]
		number, _ := strconv.Atoi(old.ResourceVersion)
		group.ResourceVersion = strconv.Itoa(number + 1)
		c.cache.UpdatePodGroupV1beta1(old, group)
		c.groups[name] = group.DeepCopy()
	}
	c.wrote = map[string]*v1beta1.PodGroup{}
	for name, node := range c.bound {
		old := c.pods[name]
		if old.Spec.NodeName != "" {
			continue
		}
		pod := old.DeepCopy()
		pod.Spec.NodeName, pod.Status.Phase = node, v1.PodRunning
		c.pods[name] = pod
		c.ran[pod.Annotations[v1beta1.KubeGroupNameAnnotationKey]] = true
		c.cache.UpdatePod(old, pod.DeepCopy())
	}
}

func (c *cluster) report() *worldAnswer {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	made := &worldAnswer{Groups: map[string]*groupAnswer{}, Pods: map[string]*podAnswer{}, Events: c.said}
	for name, group := range c.groups {
		made.Groups[name] = &groupAnswer{Phase: group.Status.Phase, Conditions: group.Status.Conditions, Ran: c.ran[name]}
	}
	for name, pod := range c.pods {
		made.Pods[name] = &podAnswer{Node: pod.Spec.NodeName, Conditions: pod.Status.Conditions}
	}
	return made
}

// Bind keeps where pods go.
func (c *cluster) Bind(_ kubernetes.Interface, tasks []*api.TaskInfo) map[api.TaskID]string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, task := range tasks {
		c.bound[task.Name] = task.NodeName
	}
	return nil
}

// Evict says so; the pod stays, since no kubelet is here that would end it.
func (c *cluster) Evict(pod *v1.Pod, reason string) error {
	c.Event(pod, v1.EventTypeWarning, "Evict", reason)
	return nil
}

// UpdatePodStatus keeps the conditions of a pod.
func (c *cluster) UpdatePodStatus(pod *v1.Pod) (*v1.Pod, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if kept := c.pods[pod.Name]; kept != nil {
		kept.Status.Conditions = pod.Status.Conditions
	}
	return pod, nil
}

// UpdatePodGroup keeps the status of a group until the cycle ends.
func (c *cluster) UpdatePodGroup(group *api.PodGroup) (*api.PodGroup, error) {
	made := &v1beta1.PodGroup{}
	if err := scheme.Scheme.Convert(&group.PodGroup, made, nil); err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.wrote[group.Name] = made.DeepCopy()
	return group, nil
}

// UpdateQueueStatus is not asked about here.
func (c *cluster) UpdateQueueStatus(*api.QueueInfo) error { return nil }

// UpdateNodeShardStatus is not asked about here.
func (c *cluster) UpdateNodeShardStatus(shard *nodeshard.NodeShard) (*nodeshard.NodeShard, error) {
	return shard, nil
}

// Event keeps an event, each sentence once.
func (c *cluster) Event(object runtime.Object, kind, reason, message string) {
	made := told{Type: kind, Reason: reason, Message: message}
	switch about := object.(type) {
	case *v1.Pod:
		made.Kind, made.Name = "Pod", about.Name
	case *v1beta1.PodGroup:
		made.Kind, made.Name = "PodGroup", about.Name
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, old := range c.said {
		if old == made {
			return
		}
	}
	c.said = append(c.said, made)
}

// Eventf keeps an event.
func (c *cluster) Eventf(object runtime.Object, kind, reason, format string, words ...any) {
	c.Event(object, kind, reason, fmt.Sprintf(format, words...))
}

// AnnotatedEventf keeps an event.
func (c *cluster) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, words ...any) {
	c.Eventf(object, kind, reason, format, words...)
}
