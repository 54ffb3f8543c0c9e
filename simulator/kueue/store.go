package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	groups "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kueuev1beta1 "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/yaml"
)

// The definitions that the modules of Kueue and of the jobs' projects carry; `./dev simulator kueue` puts them here.
//
//go:embed crds/*.yaml
var definitions embed.FS

// store is the API server: objects in memory, the defaults of the definitions, and the webhooks of the manager, which
// it calls when an object is created.
type store struct {
	scheme  *runtime.Scheme
	objects client.WithWatch
	schemas map[groups.GroupVersionKind]*schema.Structural
	hooks   map[string]http.Handler
	spaces  map[string]bool
	owners  map[string]types.UID // of jobs that have a Workload
	asked   map[string]bool      // jobs that come
	of      map[string]string    // Workload to job, where this does not come
	writes  atomic.Int64
}

func newStore(scheme *runtime.Scheme) (*store, error) {
	made := &store{scheme: scheme, schemas: map[groups.GroupVersionKind]*schema.Structural{}, hooks: map[string]http.Handler{}, spaces: map[string]bool{}, owners: map[string]types.UID{}, asked: map[string]bool{}, of: map[string]string{}}
	var stateful []client.Object
	for kind := range scheme.AllKnownTypes() {
		object, err := scheme.New(kind)
		if err != nil {
			return nil, err
		}
		typed, ok := object.(client.Object)
		if ok && reflect.ValueOf(object).Elem().FieldByName("Status").IsValid() {
			stateful = append(stateful, typed)
		}
	}
	made.objects = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(stateful...).WithInterceptorFuncs(interceptor.Funcs{
		Create: made.create,
		Update: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			if made.isStored(ctx, to, object) {
				return nil
			}
			made.writes.Add(1)
			return to.Update(ctx, object, options...)
		},
		Patch: func(ctx context.Context, to client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			changed, moved := made.weigh(ctx, to, object, patch)
			if !changed {
				return to.Get(ctx, client.ObjectKeyFromObject(object), object)
			}
			if moved {
				made.writes.Add(1)
			}
			return to.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, to client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			changed, moved := made.weigh(ctx, to, object, patch)
			if !changed {
				return to.Get(ctx, client.ObjectKeyFromObject(object), object)
			}
			if moved {
				made.writes.Add(1)
			}
			return to.SubResource(name).Patch(ctx, object, patch, options...)
		},
		SubResourceUpdate: func(ctx context.Context, to client.Client, name string, object client.Object, options ...client.SubResourceUpdateOption) error {
			if made.isStored(ctx, to, object) {
				return nil
			}
			made.writes.Add(1)
			return to.SubResource(name).Update(ctx, object, options...)
		},
	}).Build()
	return made, made.readDefinitions()
}

// isStored is whether an update changes nothing: an API server then writes nothing, and no watch hears of it.
func (made *store) isStored(ctx context.Context, to client.Reader, object client.Object) bool {
	found := object.DeepCopyObject().(client.Object)
	if to.Get(ctx, client.ObjectKeyFromObject(object), found) != nil || found.GetResourceVersion() != object.GetResourceVersion() {
		return false
	}
	given := object.DeepCopyObject().(client.Object)
	for _, each := range []client.Object{found, given} {
		each.SetManagedFields(nil)
		each.GetObjectKind().SetGroupVersionKind(groups.GroupVersionKind{})
	}
	return bytes.Equal(mustMarshal(found), mustMarshal(given))
}

// weigh is the same of a merge patch: whether it changes anything, and whether anything but a message, since Kueue tries
// the head of a strict queue without end and names one of its pod sets after the other.
func (made *store) weigh(ctx context.Context, to client.Reader, object client.Object, patch client.Patch) (changed, moved bool) {
	found := object.DeepCopyObject().(client.Object)
	if patch.Type() != types.MergePatchType || to.Get(ctx, client.ObjectKeyFromObject(object), found) != nil {
		return true, true
	}
	text, err := patch.Data(object)
	must(err)
	before := mustMarshal(found)
	after, err := jsonpatch.MergePatch(before, text)
	if err != nil {
		return true, true
	}
	return !jsonpatch.Equal(before, after), !jsonpatch.Equal(message.ReplaceAll(before, nil), message.ReplaceAll(after, nil))
}

var message = regexp.MustCompile(`,?"message":"(?:[^"\\]|\\.)*"`)

func (made *store) readDefinitions() error {
	files, err := definitions.ReadDir("crds")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := definitions.ReadFile("crds/" + file.Name())
		if err != nil {
			return err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, definition); err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
		for _, version := range definition.Spec.Versions {
			props := &apiextensions.JSONSchemaProps{}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, props, nil); err != nil {
				return fmt.Errorf("%s: %w", file.Name(), err)
			}
			structural, err := schema.NewStructural(props)
			if err != nil {
				return fmt.Errorf("%s: %w", file.Name(), err)
			}
			made.schemas[groups.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind}] = structural
		}
	}
	return nil
}

// create is what the API server does to an object that is created: defaults, webhooks, what it notes in its metadata.
func (made *store) create(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
	made.writes.Add(1)
	kind, err := apiutil.GVKForObject(object, made.scheme)
	if err != nil {
		return err
	}
	if object.GetName() == "" && object.GetGenerateName() != "" {
		object.SetName(fmt.Sprintf("%s%05d", object.GetGenerateName(), made.writes.Load()))
	}
	if object.GetUID() == "" { // of what has a Workload already, that which this knows
		object.SetUID(made.owners[object.GetNamespace()+"/"+kind.Kind+"/"+object.GetName()])
	}
	if object.GetUID() == "" {
		object.SetUID(types.UID(uuid.NewSHA1(uuid.Nil, []byte(kind.Kind+"/"+object.GetNamespace()+"/"+object.GetName())).String()))
	}
	if stamp := object.GetCreationTimestamp(); stamp.IsZero() {
		object.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	}
	object.SetGeneration(1)
	object.SetResourceVersion("")
	if job, ok := object.(*batchv1.Job); ok {
		setJobDefaults(job)
	}
	for _, verb := range []string{"mutate", "validate"} {
		if err := made.setDefaults(object, kind); err != nil {
			return err
		}
		if err := made.call(ctx, verb, object, kind); err != nil {
			return err
		}
	}
	return to.Create(ctx, object, options...)
}

func (made *store) setDefaults(object client.Object, kind groups.GroupVersionKind) error {
	structural := made.schemas[kind]
	if structural == nil {
		return nil
	}
	value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(value, structural)
	defaulting.Default(value, structural)
	return runtime.DefaultUnstructuredConverter.FromUnstructured(value, object)
}

// call asks a webhook of the manager, if it has one of this kind.
func (made *store) call(ctx context.Context, verb string, object client.Object, kind groups.GroupVersionKind) error {
	path := fmt.Sprintf("/%s-%s-%s-%s", verb, strings.ReplaceAll(kind.Group, ".", "-"), kind.Version, strings.ToLower(kind.Kind))
	hook, ok := made.hooks[path].(*admission.Webhook)
	if !ok {
		return nil
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	response := hook.Handle(ctx, admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: object.GetUID(), Name: object.GetName(), Namespace: object.GetNamespace(), Operation: admissionv1.Create,
		Kind:   metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
		Object: runtime.RawExtension{Raw: text},
	}})
	if !response.Allowed {
		return apierrors.NewForbidden(groups.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind)}, object.GetName(), fmt.Errorf("%s", response.Result.Message))
	}
	if len(response.Patch) == 0 {
		return nil
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		return err
	}
	if text, err = patch.Apply(text); err != nil {
		return err
	}
	return json.Unmarshal(text, object)
}

// put creates an object of the question with its status.
func (made *store) put(ctx context.Context, value map[string]any) error {
	item := &unstructured.Unstructured{Object: value}
	if err := made.modernize(item); err != nil {
		return err
	}
	value = item.Object
	made.complete(item)
	if space := item.GetNamespace(); space != "" && !made.spaces[space] {
		if err := made.put(ctx, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": space}}); err != nil {
			return err
		}
	}
	for _, owner := range item.GetOwnerReferences() {
		name := item.GetNamespace() + "/" + owner.Kind + "/" + owner.Name
		made.owners[name] = owner.UID
		if item.GetKind() == "Workload" && !made.asked[name] { // Kueue finishes what has lost its owner
			made.of[item.GetNamespace()+"/"+item.GetName()] = name
			item.SetOwnerReferences(nil)
			labels := item.GetLabels()
			delete(labels, "kueue.x-k8s.io/job-uid")
			item.SetLabels(labels)
		}
	}
	if item.GetKind() == "Namespace" {
		if made.spaces[item.GetName()] {
			return nil
		}
		made.spaces[item.GetName()] = true
	}
	object, err := made.scheme.New(item.GroupVersionKind())
	if err != nil {
		return nil // no kind that Kueue looks at
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(value, object); err != nil {
		return err
	}
	typed := object.(client.Object)
	if err := made.objects.Create(ctx, typed); err != nil {
		return err
	}
	if _, ok := value["status"]; !ok {
		return nil
	}
	return made.objects.Status().Patch(ctx, typed, client.RawPatch(types.MergePatchType, mustMarshal(map[string]any{"status": value["status"]})))
}

// complete does what an API server does to a namespace, and leaves the status of queues to Kueue.
func (made *store) complete(item *unstructured.Unstructured) {
	switch kind := item.GetKind(); {
	case kind == "Namespace":
		labels := item.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[corev1.LabelMetadataName] = item.GetName()
		item.SetLabels(labels)
	case strings.HasSuffix(kind, "Queue") || kind == "Cohort":
		delete(item.Object, "status")
	}
}

// modernize rewrites an object of Kueue's older version in the one that the store keeps.
func (made *store) modernize(item *unstructured.Unstructured) error {
	kind := item.GroupVersionKind()
	if kind.GroupVersion() != kueuev1beta1.SchemeGroupVersion {
		return nil
	}
	old, err := made.scheme.New(kind)
	item.SetAPIVersion(kueue.SchemeGroupVersion.String())
	from, ok := old.(conversion.Convertible)
	if err != nil || !ok { // the same fields in both
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, old); err != nil {
		return err
	}
	hub, err := made.scheme.New(item.GroupVersionKind())
	if err != nil {
		return err
	}
	if err := from.ConvertTo(hub.(conversion.Hub)); err != nil {
		return err
	}
	_, stated := item.Object["status"]
	value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hub)
	item.Object = value
	item.SetGroupVersionKind(kueue.SchemeGroupVersion.WithKind(kind.Kind))
	if !stated {
		delete(value, "status")
	}
	return err
}

func mustMarshal(value any) []byte {
	text, err := json.Marshal(value)
	must(err)
	return text
}

// inform is an informer that lists and watches this store.
func (made *store) inform(_ toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	kind, err := apiutil.GVKForObject(object, made.scheme)
	must(err)
	list := func() client.ObjectList {
		plural := kind.GroupVersion().WithKind(kind.Kind + "List")
		switch object.(type) {
		case *metav1.PartialObjectMetadata:
			found := &metav1.PartialObjectMetadataList{}
			found.SetGroupVersionKind(plural)
			return found
		case *unstructured.Unstructured:
			found := &unstructured.UnstructuredList{}
			found.SetGroupVersionKind(plural)
			return found
		}
		found, err := made.scheme.New(plural)
		must(err)
		return found.(client.ObjectList)
	}
	return toolscache.NewSharedIndexInformer(listed{&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			found := list()
			return found, made.objects.List(ctx, found)
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			return made.objects.Watch(ctx, list())
		},
	}}, object, resync, indexers)
}

// listed is listed before it is watched: a watch of the store does not send what is there.
type listed struct{ *toolscache.ListWatch }

func (listed) IsWatchListSemanticsUnSupported() bool { return true }

// cached is the client of the manager: it writes to the store and reads what its informers have seen.
type cached struct {
	client.WithWatch
	reader client.Reader
}

func (made cached) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, ok := object.(*unstructured.Unstructured); ok {
		return made.WithWatch.Get(ctx, key, object, options...)
	}
	return made.reader.Get(ctx, key, object, options...)
}

func (made cached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*unstructured.UnstructuredList); ok {
		return made.WithWatch.List(ctx, list, options...)
	}
	return made.reader.List(ctx, list, options...)
}

// The store is the server of the manager's webhooks.

func (made *store) NeedLeaderElection() bool                { return false }
func (made *store) Register(path string, hook http.Handler) { made.hooks[path] = hook }
func (made *store) Start(ctx context.Context) error         { <-ctx.Done(); return nil }
func (made *store) StartedChecker() healthz.Checker         { return healthz.Ping }
func (made *store) WebhookMux() *http.ServeMux              { return nil }
