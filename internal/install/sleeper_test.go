package install

import (
	"fmt"
	"os"
	"time"
)

// sleeperEnv makes the test's own executable a program that runs for a while,
// to be copied as the plugin that is in use.
const sleeperEnv = "INSTALL_TEST_SLEEP"

func sleeper() {
	fmt.Println("running")
	time.Sleep(time.Minute)
	os.Exit(0)
}
