package main

import (
	"context"
	"math/rand"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

var podResource = v1.SchemeGroupVersion.WithResource("pods")

// run schedules once, in a cluster of its own.
func run(found *store, asked trial, limit time.Duration) (*answer, error) {
	start := time.Now()
	objects := []runtime.Object{}
	for _, object := range found.things {
		objects = append(objects, object.DeepCopyObject())
	}
	if !asked.Empty {
		for _, pod := range found.bound {
			objects = append(objects, pod.DeepCopy())
		}
	}
	waiting := choose(found, asked)
	client := fake.NewSimpleClientset(objects...)
	preempted := []string{}
	var noted *progress
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		handled, object, err := bind(client, action)
		if handled && noted != nil {
			noted.Lock()
			noted.bound = time.Now()
			noted.Unlock()
		}
		return handled, object, err
	})
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		preempted = append(preempted, action.GetNamespace()+"/"+action.(clienttesting.DeleteAction).GetName())
		return false, nil, nil
	})

	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	factory := newFactory(client)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	sched, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster),
		scheduler.WithPodInitialBackoffSeconds(1), scheduler.WithPodMaxBackoffSeconds(1))
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	noted = follow(sched)
	go sched.Run(ctx)

	// An odd seed creates the pods first: then a gang is tried as a whole, otherwise as soon as its quorum is there.
	create := func() error { return createGroups(ctx, client, found.groups) }
	if asked.Seed%2 == 0 {
		if err := create(); err != nil {
			return nil, err
		}
	}
	for number, pod := range waiting {
		pod = pod.DeepCopy()
		pod.CreationTimestamp = metav1.NewTime(time.Unix(int64(number), 0))
		if _, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	if asked.Seed%2 != 0 {
		if err := create(); err != nil {
			return nil, err
		}
	}
	settled := wait(ctx, sched, client, noted)
	result := &answer{Name: asked.Name, Pods: map[string]placement{}, Preempted: preempted, Settled: settled}
	for _, pod := range waiting {
		result.Pods[pod.Namespace+"/"+pod.Name] = describe(client, pod)
	}
	for name, reason := range found.refused {
		if takesPart(name, asked) {
			result.Pods[name] = placement{Refused: reason}
		}
	}
	result.Milliseconds = time.Since(start).Milliseconds()
	return result, nil
}

func choose(found *store, asked trial) []*v1.Pod {
	waiting := []*v1.Pod{}
	for _, pod := range found.waiting {
		if takesPart(pod.Namespace+"/"+pod.Name, asked) {
			waiting = append(waiting, pod)
		}
	}
	if asked.Seed != 0 {
		rand.New(rand.NewSource(asked.Seed)).Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
	}
	return waiting
}

func takesPart(name string, asked trial) bool {
	if asked.Pods == nil {
		return true
	}
	for _, each := range asked.Pods {
		if each == name {
			return true
		}
	}
	return false
}

func bind(client *fake.Clientset, action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
	stored, err := client.Tracker().Get(podResource, action.GetNamespace(), binding.Name)
	if err != nil {
		return true, nil, err
	}
	pod := stored.(*v1.Pod).DeepCopy()
	pod.Spec.NodeName = binding.Target.Name
	return true, binding, client.Tracker().Update(podResource, pod, action.GetNamespace())
}

// progress notes when a pod was bound last, and when each pod was refused last.
type progress struct {
	sync.Mutex
	bound   time.Time
	refused map[string]time.Time
}

// follow notes what the scheduler does.
func follow(sched *scheduler.Scheduler) *progress {
	noted := &progress{refused: map[string]time.Time{}}
	handle := sched.FailureHandler
	sched.FailureHandler = func(ctx context.Context, framework framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, nominating *fwk.NominatingInfo, start time.Time) {
		handle(ctx, framework, info, status, nominating, start)
		noted.Lock()
		noted.refused[info.Pod.Namespace+"/"+info.Pod.Name] = start
		noted.Unlock()
	}
	return noted
}

// wait returns true when nothing new can come: the queue is at rest, and every pod is bound, waits for the rest of its
// gang, is held back before the queue, or was refused after the last pod was bound. It looks several times, further apart
// than the scheduler's threads are stopped on a busy machine.
func wait(ctx context.Context, sched *scheduler.Scheduler, client *fake.Clientset, noted *progress) bool {
	quiet := 0
	for ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
		if isQuiet(sched, client, noted) {
			quiet++
		} else {
			quiet = 0
		}
		if quiet == 5 {
			return true
		}
	}
	return false
}

func isQuiet(sched *scheduler.Scheduler, client *fake.Clientset, noted *progress) bool {
	queue := sched.SchedulingQueue
	noted.Lock()
	defer noted.Unlock()
	tried := func(pod *v1.Pod) bool {
		refused, ok := noted.refused[pod.Namespace+"/"+pod.Name]
		return ok && refused.After(noted.bound)
	}
	moving, held := map[types.UID]bool{}, map[types.UID]bool{}
	for _, pods := range [][]*v1.Pod{queue.InFlightPods(), queue.PodsInActiveQ(), queue.PodsInBackoffQ()} {
		for _, pod := range pods {
			moving[pod.UID] = true
			if !tried(pod) {
				return false
			}
		}
	}
	list, err := client.Tracker().List(podResource, v1.SchemeGroupVersion.WithKind("Pod"), "")
	if err != nil {
		return false
	}
	pending, _ := queue.PendingPods()
	for _, pod := range pending {
		held[pod.UID] = !moving[pod.UID]
	}
	for _, each := range sched.Profiles {
		each.IterateOverWaitingPods(func(pod fwk.WaitingPod) { held[pod.GetPod().UID] = true })
	}
	for _, pod := range list.(*v1.PodList).Items {
		if pod.Spec.NodeName != "" || pod.Spec.SchedulerName != v1.DefaultSchedulerName || held[pod.UID] {
			continue
		}
		if !tried(&pod) {
			return false
		}
	}
	return true
}

func describe(client *fake.Clientset, pod *v1.Pod) placement {
	stored, err := client.Tracker().Get(podResource, pod.Namespace, pod.Name)
	if err != nil {
		return placement{Message: "preempted"}
	}
	current := stored.(*v1.Pod)
	result := placement{Node: current.Spec.NodeName}
	for _, condition := range current.Status.Conditions {
		if result.Node == "" && condition.Type == v1.PodScheduled && condition.Status != v1.ConditionTrue {
			result.Message = condition.Message
		}
	}
	return result
}
