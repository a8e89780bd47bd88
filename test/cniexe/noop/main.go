// Command noop is the cheapest plugin: what is left when it runs is the cost
// of starting a program.
package main

func main() {}
