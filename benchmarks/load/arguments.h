/* What an argument on the command line means. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base.h"

enum { HEADERS_BYTES = 4096 };

static struct sockaddr_in read_address(const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[INET_ADDRSTRLEN];
    unsigned port;
    char rest;
    if (sscanf(text, "%15[0-9.]:%u%c", host, &port, &rest) != 2 || port == 0 || port > 65535 ||
        inet_pton(AF_INET, host, &address.sin_addr) != 1)
        fail("--to is an IPv4 address and a port, as in 127.0.0.1:8000, not '%s'", text);
    if (ntohl(address.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
        fail("--to must be this machine (127.0.0.0/8): load is not sent to '%s'", text);
    address.sin_port = htons((uint16_t)port);
    return address;
}

static void add_header(char *headers, const char *line)
{
    size_t used = strlen(headers);
    if (strchr(line, ':') == NULL || strpbrk(line, "\r\n") != NULL)
        fail("--header is one line with a colon, not '%s'", line);
    if (used + strlen(line) + 3 > HEADERS_BYTES)
        fail("the headers are too long");
    sprintf(headers + used, "%s\r\n", line);
}

static uint64_t read_count(const char *name, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        fail("--%s is a whole number, not '%s'", name, text);
    return value;
}
