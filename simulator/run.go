package main

import (
	"context"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// run schedules once. The trial lives in a bubble of testing/synctest: its clock advances when every goroutine waits, so
// that the scheduler's pauses take no time, and "nothing moves any more" is a fact, not a guess.
func run(found *store, asked trial, limit time.Duration) (result *answer, err error) {
	start := time.Now()
	var late atomic.Bool
	defer time.AfterFunc(limit, func() { late.Store(true) }).Stop()
	defer func() {
		if result != nil {
			result.Milliseconds = time.Since(start).Milliseconds()
			_ = recover() // a bubble panics when a goroutine outlives it: no matter, the answer is there
		}
	}()
	synctest.Test(new(testing.T), func(*testing.T) { result, err = schedule(found, asked, &late) })
	return result, err
}

// schedule starts a scheduler on an empty store, fills the store in the order of the question, one object at a time, and
// reads what became of the pods. `late` says that time is up.
func schedule(found *store, asked trial, late *atomic.Bool) (*answer, error) {
	rand.Seed(asked.Seed) // the scheduler chooses by chance among nodes that are equally good
	ctx, cancel := context.WithCancel(context.Background())
	defer time.Sleep(time.Hour) // of the trial's own clock: until all that slept has seen that it is over
	defer cancel()
	client := fake.NewSimpleClientset()
	noted := &progress{refused: map[string]time.Time{}, stop: func() {
		if late.Load() {
			cancel()
		}
	}}
	preempted := []string{}
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		handled, object, err := bind(client, action)
		if handled {
			noted.place()
		}
		return handled, object, err
	})
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		preempted = append(preempted, action.GetNamespace()+"/"+action.(clienttesting.DeleteAction).GetName())
		return false, nil, nil
	})

	factory := newFactory(client)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	defer broadcaster.Shutdown()
	sched, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster),
		scheduler.WithParallelism(1), scheduler.WithPodInitialBackoffSeconds(1), scheduler.WithPodMaxBackoffSeconds(1))
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	noted.follow(sched)
	waiting := choose(found, asked)
	if err := found.fill(client, asked); err != nil {
		return nil, err
	}
	synctest.Wait()
	go sched.Run(ctx)

	steps := []func() error{}
	for _, group := range found.groups {
		steps = append(steps, func() error { return createGroup(ctx, client, group.DeepCopyObject()) })
	}
	pods := []func() error{}
	for number, pod := range waiting {
		pods = append(pods, func() error {
			pod := pod.DeepCopy()
			pod.CreationTimestamp = metav1.NewTime(time.Unix(int64(number), 0))
			_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
			return err
		})
	}
	// An odd seed creates the pods first: then a gang is tried as a whole, otherwise as soon as its quorum is there.
	if asked.Seed%2 == 0 {
		steps = append(steps, pods...)
	} else {
		steps = append(pods, steps...)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
		time.Sleep(time.Millisecond) // pods of a gang are taken in the order of their times
		synctest.Wait()
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

// progress notes when a pod was bound last, and when each pod was refused last. `stop` ends the trial when time is up.
type progress struct {
	sync.Mutex
	bound   time.Time
	refused map[string]time.Time
	stop    func()
}

func (noted *progress) place() {
	noted.Lock()
	noted.bound = time.Now()
	noted.Unlock()
	noted.stop()
}

// follow notes what the scheduler refuses.
func (noted *progress) follow(sched *scheduler.Scheduler) {
	handle := sched.FailureHandler
	sched.FailureHandler = func(ctx context.Context, framework framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, nominating *fwk.NominatingInfo, start time.Time) {
		handle(ctx, framework, info, status, nominating, start)
		noted.Lock()
		noted.refused[info.Pod.Namespace+"/"+info.Pod.Name] = start
		noted.Unlock()
		noted.stop()
	}
}

// wait returns true when nothing new can come: every pod is bound, waits for the rest of its gang, is held back before
// the queue, or was refused after the last pod was bound.
func wait(ctx context.Context, sched *scheduler.Scheduler, client *fake.Clientset, noted *progress) bool {
	for ctx.Err() == nil {
		synctest.Wait()
		if isQuiet(sched, client, noted) {
			return true
		}
		time.Sleep(time.Second) // of the trial's own clock: the length of a backoff
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
