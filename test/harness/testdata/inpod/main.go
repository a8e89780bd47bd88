// Command inpod tells what a process sees that is run as a pod's container.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func main() {
	fmt.Println("args", strings.Join(os.Args[1:], " "))
	fmt.Println("user", os.Getuid(), os.Getgid())
	policy, err := os.ReadFile("/policy-dir/policy.yaml")
	fmt.Println("policy", string(policy), err)
	fmt.Println("root writable", os.WriteFile("/x", nil, 0o600) == nil)
	fmt.Println("emptyDir writable", os.WriteFile("/scratch/x", nil, 0o600) == nil)
	fmt.Println("in cluster as", whoami())
}

func whoami() string {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err.Error()
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err.Error()
	}
	answer, err := client.AuthenticationV1().SelfSubjectReviews().Create(context.Background(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err.Error()
	}
	return answer.Status.UserInfo.Username
}
