/*
 * The floor of load generators: a closed loop as a C programmer writes it by
 * hand, with one thread, one level-triggered epoll and one buffer. Each answer
 * is one recv and one send, and its latency is counted by powers of two.
 * bench/generator.sh compares netco-bench load with it.
 *
 * usage: load ADDRESS PORT CONNECTIONS SIZE SECONDS
 * It prints the requests answered and the CPU time in ns.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_EVENTS 512

struct conn {
	int fd;
	size_t left; /* bytes missing of the answer */
	uint64_t sent;
};

static char *buf;
static size_t size;
static uint64_t requests, latencies[64];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t cpu(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return ((uint64_t)r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000 +
	       ((uint64_t)r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000;
}

static void request(struct conn *c, uint64_t at)
{
	if (send(c->fd, buf, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("send"); /* a request is smaller than the socket's buffer */
	c->left = size;
	c->sent = at;
}

static void answer(struct conn *c)
{
	ssize_t n = recv(c->fd, buf + size, size, 0);
	if (n <= 0)
		die("recv");
	if ((c->left -= n) > 0)
		return;
	uint64_t at = now();
	latencies[63 - __builtin_clzll((at - c->sent) | 1)]++;
	requests++;
	request(c, at);
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "usage: load ADDRESS PORT CONNECTIONS SIZE SECONDS\n");
		return 2;
	}
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[2])) };
	int count = atoi(argv[3]), ep = epoll_create1(0), one = 1;
	if (inet_pton(AF_INET, argv[1], &sa.sin_addr) != 1 || ep < 0)
		die(argv[1]);
	size = atoi(argv[4]);
	buf = calloc(2, size);
	struct conn *conns = calloc(count, sizeof *conns);
	for (int i = 0; i < count; i++) {
		struct conn *c = &conns[i];
		struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };
		c->fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(c->fd, (void *)&sa, sizeof sa) < 0)
			die("connect");
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		if (epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev) < 0)
			die("epoll_ctl");
	}
	uint64_t end = now() + (uint64_t)(atof(argv[5]) * 1e9), before = cpu();
	for (int i = 0; i < count; i++)
		request(&conns[i], now());
	while (now() < end) {
		struct epoll_event events[MAX_EVENTS];
		int n = epoll_wait(ep, events, MAX_EVENTS, 100);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < n; i++)
			answer(events[i].data.ptr);
	}
	printf("%llu %llu\n", (unsigned long long)requests, (unsigned long long)(cpu() - before));
	return 0;
}
