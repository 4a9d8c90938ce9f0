/* The command line of `post`. */
#pragma once

#include <getopt.h>
#include <stdbool.h>

#include "arguments.h"

struct options {
    struct sockaddr_in address;
    const char *to;
    const char *path;
    const char *body_file;
    const char *expected;
    char headers[HEADERS_BYTES];
    int connections;
    uint64_t count; /* 0: for `nanoseconds` */
    uint64_t nanoseconds;
    uint64_t warm_up_nanoseconds;
    uint64_t limit_nanoseconds;
    uint64_t first_number;
    bool retry;
};

static uint64_t read_seconds(const char *name, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value < 1e6))
        fail("--%s is a number of seconds, not '%s'", name, text);
    return (uint64_t)(value * (double)NANOSECONDS);
}

static struct options read_options(int argument_count, char **arguments)
{
    enum { TO, PATH, HEADER, BODY, EXPECT, CONNECTIONS, SECONDS, COUNT, WARM_UP, LIMIT, FIRST, RETRY };
    static const struct option known[] = {
        [TO] = {"to", required_argument, NULL, TO},
        [PATH] = {"path", required_argument, NULL, PATH},
        [HEADER] = {"header", required_argument, NULL, HEADER},
        [BODY] = {"body", required_argument, NULL, BODY},
        [EXPECT] = {"expect", required_argument, NULL, EXPECT},
        [CONNECTIONS] = {"connections", required_argument, NULL, CONNECTIONS},
        [SECONDS] = {"seconds", required_argument, NULL, SECONDS},
        [COUNT] = {"count", required_argument, NULL, COUNT},
        [WARM_UP] = {"warm-up", required_argument, NULL, WARM_UP},
        [LIMIT] = {"limit", required_argument, NULL, LIMIT},
        [FIRST] = {"first", required_argument, NULL, FIRST},
        [RETRY] = {"retry", no_argument, NULL, RETRY},
        {0},
    };
    struct options options = {.path = "/", .connections = 64, .limit_nanoseconds = 60 * NANOSECONDS};
    for (int found; (found = getopt_long(argument_count, arguments, "", known, NULL)) != -1;) {
        switch (found) {
        case TO:
            options.to = optarg;
            options.address = read_address(optarg);
            break;
        case PATH:
            options.path = optarg;
            break;
        case HEADER:
            add_header(options.headers, optarg);
            break;
        case BODY:
            options.body_file = optarg;
            break;
        case EXPECT:
            options.expected = optarg;
            break;
        case CONNECTIONS:
            options.connections = (int)read_count("connections", optarg);
            break;
        case SECONDS:
            options.nanoseconds = read_seconds("seconds", optarg);
            break;
        case COUNT:
            options.count = read_count("count", optarg);
            break;
        case WARM_UP:
            options.warm_up_nanoseconds = read_seconds("warm-up", optarg);
            break;
        case LIMIT:
            options.limit_nanoseconds = read_seconds("limit", optarg);
            break;
        case FIRST:
            options.first_number = read_count("first", optarg);
            break;
        case RETRY:
            options.retry = true;
            break;
        default:
            exit(2); /* getopt has said what is wrong */
        }
    }
    if (optind != argument_count)
        fail("unknown argument '%s'", arguments[optind]);
    if (options.to == NULL || options.body_file == NULL)
        fail("--to and --body are needed");
    if ((options.count > 0) == (options.nanoseconds > 0))
        fail("either --seconds or --count is needed");
    if (options.connections < 1 || options.connections > 10000)
        fail("--connections is between 1 and 10000");
    return options;
}
