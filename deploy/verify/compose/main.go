// Loads a compose file as docker compose does: schema, variables, references. Prints each service with what it waits for.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func main() {
	project, err := load(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range project.ServiceNames() {
		fmt.Println(name, project.Services[name].GetDependencies())
	}
}

func load(files []string) (*types.Project, error) {
	options, err := cli.NewProjectOptions(files,
		cli.WithOsEnv,
		cli.WithInterpolation(true),
		cli.WithNormalization(true),
		cli.WithConsistency(true),
		cli.WithProfiles([]string{"*"}))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}
