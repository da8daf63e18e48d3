package socket_test

const childEnv = "NETCO_SOCKET_TEST_CHILD"

var children = map[string]func(){}
