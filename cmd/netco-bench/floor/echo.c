/*
 * The floor: an echo server as a C programmer writes it by hand, with one
 * thread, one level-triggered epoll and one buffer. Each event is one recv and
 * one send. It prints where it listens; the kernel chooses a PORT of 0.
 *
 * usage: echo ADDRESS SIZE PORT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void watch(int ep, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };
	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0)
		die("epoll_ctl");
}

/* listen_on listens on a port, one that the kernel chooses if 0, and says which. */
static int listen_on(const char *address, in_port_t port)
{
	struct sockaddr_storage sa = { 0 };
	struct sockaddr_in *in4 = (void *)&sa;
	struct sockaddr_in6 *in6 = (void *)&sa;
	socklen_t len;
	if (inet_pton(AF_INET, address, &in4->sin_addr) == 1) {
		sa.ss_family = AF_INET;
		in4->sin_port = htons(port);
		len = sizeof *in4;
	} else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
		sa.ss_family = AF_INET6;
		in6->sin6_port = htons(port);
		len = sizeof *in6;
	} else {
		fprintf(stderr, "%s is no address\n", address);
		exit(1);
	}
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1;
	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (void *)&sa, len) < 0)
		die("bind");
	if (listen(fd, 4096) < 0)
		die("listen");
	if (getsockname(fd, (void *)&sa, &len) < 0)
		die("getsockname");
	int v6 = sa.ss_family == AF_INET6;
	printf("%s%s%s:%d\n", v6 ? "[" : "", address, v6 ? "]" : "",
	       ntohs(v6 ? in6->sin6_port : in4->sin_port));
	fflush(stdout);
	return fd;
}

static void accept_all(int ep, int ln)
{
	int one = 1, fd;
	while ((fd = accept4(ln, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		watch(ep, fd);
	}
	if (errno != EAGAIN)
		die("accept4");
}

/*
 * echo answers what has come on fd. The generator waits for answers, so what
 * it has in flight fits into the socket's buffer; a server for anybody would
 * have to keep what does not.
 */
static void echo(int fd, char *buf, size_t size)
{
	ssize_t n = recv(fd, buf, size, 0);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		close(fd);
		return;
	}
	for (ssize_t sent = 0; sent < n;) {
		ssize_t m = send(fd, buf + sent, n - sent, MSG_NOSIGNAL);
		if (m < 0 && errno != EAGAIN) {
			close(fd);
			return;
		}
		sent += m > 0 ? m : 0;
	}
}

int main(int argc, char **argv)
{
	static struct epoll_event events[1024];
	size_t size = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	in_port_t port = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	char *buf = malloc(size);
	if (size == 0 || buf == NULL) {
		fprintf(stderr, "usage: echo ADDRESS SIZE PORT\n");
		return 2;
	}
	int ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0)
		die("epoll_create1");
	int ln = listen_on(argv[1], port);
	watch(ep, ln);
	for (;;) {
		int n = epoll_wait(ep, events, 1024, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;
			if (fd == ln)
				accept_all(ep, ln);
			else
				echo(fd, buf, size);
		}
	}
}
