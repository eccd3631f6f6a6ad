// Decodes a resource of KEDA or of the Prometheus operator by the types of its own project; an unknown field is an error.
package main

import (
	"fmt"
	"os"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	kinds := map[string]any{"ScaledObject": &keda.ScaledObject{}, "ServiceMonitor": &monitoring.ServiceMonitor{}}
	text, err := os.ReadFile(os.Args[2])
	if err == nil {
		err = yaml.UnmarshalStrict(text, kinds[os.Args[1]])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
